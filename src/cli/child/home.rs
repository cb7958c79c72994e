//! Where a child belongs: the client's own place below the store or below the root of its parent, else beside the parent.

use std::path::{Path, PathBuf};

use crate::{
    cli::{Run, pick::Opened},
    format::Birth,
    log::Encoding,
    store::Store,
};

/// Where a child of a session belongs.
pub(super) struct Home {
    /// What paths in reports are relative to.
    pub base: PathBuf,
    /// The client's folder of logs; none where the source lies outside of any layout.
    pub logs: Option<PathBuf>,
    /// Its sessions.
    pub store: Store,
}

impl Home {
    pub fn of(run: &Run, opened: &Opened) -> Self {
        let layout = opened.session.format.layout();
        let (_, source) = opened.parent();
        let own = layout.root_of(&source).filter(|root| root.is_dir());
        let in_own = |root: PathBuf| {
            let base = match root.parent() {
                Some(parent)
                    if root.file_name().is_some_and(|name| name == layout.sessions_folder()) =>
                {
                    parent.into()
                }
                _ => root.clone(),
            };
            Self { base, store: Store::home(layout, root.clone()), logs: Some(root) }
        };
        let Some(given) = run.store.given().map(Path::to_path_buf) else {
            let folder = opened
                .path
                .as_deref()
                .and_then(Path::parent)
                .unwrap_or(Path::new(""))
                .to_path_buf();
            return own.map_or_else(
                || Self { store: Store::near(&folder), base: folder, logs: None },
                in_own,
            );
        };
        match own {
            Some(root) if root.starts_with(&given) => {
                Self { base: given, store: Store::home(layout, root.clone()), logs: Some(root) }
            }
            _ => {
                let named = given.file_name().is_some_and(|name| name == layout.sessions_folder());
                let logs = if named { given.clone() } else { given.join(layout.sessions_folder()) };
                // A session that lies loose in the folder given keeps its child beside it.
                let loose =
                    opened.manifest.is_none() && source.starts_with(&given) && !logs.is_dir();
                Self {
                    store: Store::of(given.clone()),
                    base: given,
                    logs: Some(logs).filter(|_| !loose),
                }
            }
        }
    }

    pub fn place(&self, run: &Run, opened: &Opened, out: Option<&Path>, birth: &Birth) -> PathBuf {
        let layout = opened.session.format.layout();
        match (out, &self.logs) {
            (Some(out), _) => run.env.absolute(out),
            (None, Some(logs)) => layout.place(logs, birth, self.encoding(opened, None)),
            (None, None) => {
                let beside = opened
                    .path
                    .clone()
                    .unwrap_or_else(|| run.env.absolute(Path::new("session.jsonl")));
                layout.beside(&beside, birth)
            }
        }
    }

    /// Whether the client would find a log of that path where it keeps its own.
    pub fn holds(&self, path: &Path) -> bool {
        self.logs.as_deref().is_some_and(|logs| path.starts_with(logs))
    }

    /// The source's own form, but one folder of logs holds one.
    pub fn encoding(&self, opened: &Opened, out: Option<&Path>) -> Encoding {
        let layout = opened.session.format.layout();
        let own = layout.stores(opened.session.log.encoding());
        let zstd = |path: &Path| {
            path.extension().is_some_and(|extension| extension == "zstd" || extension == "zst")
        };
        if let Some(out) = out {
            let jsonl = out.extension().is_some_and(|extension| extension == "jsonl");
            return if zstd(out) {
                Encoding::Zstd
            } else if jsonl {
                Encoding::Plain
            } else {
                own
            };
        }
        let lies_here = opened
            .path
            .as_deref()
            .zip(self.logs.as_deref())
            .is_some_and(|(path, logs)| path.starts_with(logs));
        if self.logs.is_none() || lies_here || !layout.one_encoding() {
            return own;
        }
        match self.store.logs().iter().find(|path| layout.root_of(path).is_some()) {
            Some(neighbour) if zstd(neighbour) => Encoding::Zstd,
            Some(_) => Encoding::Plain,
            None => own,
        }
    }
}

//! What a client keeps beside a log: counted in the report, carried along when asked for.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use crate::{
    cli::pick::Opened,
    error::Result,
    format::{Birth, Layout, Sidecar, Writer},
    log::Log,
    store::{self, Glance},
};

/// The files beside a session's log.
#[derive(Default)]
pub(super) struct Sidecars {
    files: Vec<Beside>,
}

struct Beside {
    path: PathBuf,
    /// Where it lies below the folder of its session.
    below: PathBuf,
    what: Sidecar,
}

impl Sidecars {
    /// What lies beside the log of `opened`.
    pub fn of(opened: &Opened) -> Self {
        let layout = opened.session.format.layout();
        let (_, source) = opened.parent();
        let Some(folder) = layout.beside_log(&source) else { return Self::default() };
        let mut files = Vec::new();
        for path in store::files_below(&folder) {
            let Ok(below) = path.strip_prefix(&folder).map(Path::to_path_buf) else { continue };
            files.extend(layout.sidecar(&below).map(|what| Beside { path, below, what }));
        }
        // Older clients put the logs of helpers flat beside those of sessions; only their lines tell whose they are.
        for path in store::files_in(source.parent().unwrap_or(Path::new("."))) {
            let Some(name) = path.file_name() else { continue };
            let below = Path::new("subagents").join(name);
            let helper = Glance::at(&path).is_some_and(|glance| {
                glance.header.subagent
                    && glance.header.parent.as_deref() == Some(opened.session.id())
            });
            if helper && let Some(what) = layout.sidecar(&below) {
                files.push(Beside { path, below, what });
            }
        }
        Self { files }
    }

    /// How many there are of each kind, of those that are carried or that are not.
    pub fn told(&self, carried: impl Fn(&Sidecar) -> bool) -> Vec<String> {
        let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
        for file in self.files.iter().filter(|file| file.what.counts && carried(&file.what)) {
            *kinds.entry(file.what.kind).or_default() += 1;
        }
        kinds.into_iter().map(|(kind, count)| format!("{kind}:{count}")).collect()
    }

    /// Where those that can be carried come to lie.
    pub fn places(&self, layout: &dyn Layout, birth: &Birth, child: &Path) -> Vec<PathBuf> {
        let folder = layout.beside_log(child).unwrap_or_else(|| child.with_file_name(&birth.id));
        self.carried().map(|file| folder.join(&file.below)).collect()
    }

    fn carried(&self) -> impl Iterator<Item = &Beside> {
        self.files.iter().filter(|file| file.what.carried)
    }

    /// Writes those that can be carried beside the child; what was written, also where it failed.
    pub fn carry(
        &self,
        writer: &dyn Writer,
        layout: &dyn Layout,
        birth: &Birth,
        child: &Path,
        written: &mut Vec<PathBuf>,
    ) -> Result<()> {
        for (file, to) in self.carried().zip(self.places(layout, birth, child)) {
            let mut log = Log::open(&file.path)?;
            if file.what.lines {
                let mut lines = Vec::new();
                log.each(|line| {
                    // A line that cannot be read stays as it is, as everywhere.
                    lines.extend(
                        writer.sidecar(line.bytes, birth).unwrap_or_else(|_| line.bytes.to_vec()),
                    );
                    lines.push(b'\n');
                    Ok(())
                })?;
                store::write_new(&to, 0o600, |out| Ok(out.write_all(&lines)))?;
            } else {
                store::write_new(&to, 0o600, |out| log.copy_all(out))?;
            }
            written.push(to);
        }
        Ok(())
    }
}

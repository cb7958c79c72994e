//! Where DSH's logs lie: `<root>/<project>/<session>/session[.vN].jsonl[.zstd]`, one encoding in one root.

use std::{
    fmt::Write,
    path::{Path, PathBuf},
};

use super::super::{Birth, Layout};
use crate::{
    env::Env,
    fact::{Errand, Header},
    log::Encoding,
};

pub(super) struct DshLayout;

impl Layout for DshLayout {
    fn roots(&self, env: &Env) -> Vec<PathBuf> {
        env.path("DSH_HOME")
            .or_else(|| env.home(".dsh"))
            .map(|home| home.join("sessions"))
            .into_iter()
            .collect()
    }

    fn sessions_folder(&self) -> &'static str {
        "sessions"
    }

    fn valid_id(&self, id: &str) -> bool {
        // Ids are free strings, made harmless by an escape before they become a folder; new ones need no more than this.
        let edge = id.chars().next().is_some_and(|c| c.is_ascii_alphanumeric());
        edge && id.len() <= 128
            && id.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
    }

    fn valid_header_id(&self, id: &str) -> bool {
        !id.is_empty() && !id.chars().any(char::is_control)
    }

    fn name_id(&self, path: &Path) -> Option<String> {
        self.root_of(path)?;
        unescape(path.parent()?.file_name()?.to_str()?)
    }

    fn placed(&self, path: &Path, header: &mut Header) {
        // What we keep in the folder of a session, where the harness looks for nothing.
        let above = path.parent().and_then(Path::parent);
        if above.is_some_and(|above| above.ends_with("side")) {
            header.errand = Some(Errand::Aside);
        }
    }

    fn root_of(&self, path: &Path) -> Option<PathBuf> {
        self.generation(path)?;
        let project = path.parent()?.parent()?;
        let name = project.file_name()?.to_str()?;
        let known =
            name == "_no-cwd" || name.len() > 4 && name.starts_with("--") && name.ends_with("--");
        known.then(|| project.parent().map(Into::into)).flatten()
    }

    fn place(&self, root: &Path, birth: &Birth, encoding: Encoding) -> PathBuf {
        let suffix = if encoding == Encoding::Zstd { ".zstd" } else { "" };
        let name = match birth.version {
            0 => format!("session.jsonl{suffix}"),
            version => format!("session.v{version}.jsonl{suffix}"),
        };
        root.join(project(birth.cwd.as_deref())).join(escape(&birth.id)).join(name)
    }

    fn beside(&self, parent: &Path, birth: &Birth) -> PathBuf {
        let name = parent.file_name().unwrap_or_else(|| "session.jsonl".as_ref());
        parent.with_file_name(escape(&birth.id)).join(name)
    }

    fn generation(&self, path: &Path) -> Option<u128> {
        let name = path.file_name()?.to_str()?;
        let name = name.strip_suffix(".zstd").unwrap_or(name).strip_suffix(".jsonl")?;
        match name.strip_prefix("session")? {
            "" => Some(0),
            version => version.strip_prefix(".v")?.parse().ok(),
        }
    }

    fn one_encoding(&self) -> bool {
        true
    }

    fn lock(&self, path: &Path, version: u32) -> Option<PathBuf> {
        // 0.1.0-rc.8 has no lock; newer versions hold this one from write-open on.
        (version > 0).then(|| path.with_file_name("session.lock"))
    }

    fn new_id(&self) -> String {
        format!("session-{}", uuid::Uuid::new_v4())
    }

    fn takes_question(&self) -> bool {
        false
    }

    fn opens(&self, id: &str, _path: &Path, _in_store: bool) -> Vec<String> {
        // The launcher hands what follows the profile to the app.
        ["dsh", "tui", "--resume", id].map(Into::into).to_vec()
    }
}

/// The project folder of a working folder. Lossy, so the header's `cwd` is the truth.
fn project(cwd: Option<&str>) -> String {
    let Some(cwd) = cwd else { return "_no-cwd".into() };
    let mut name = String::new();
    let mut separated = false;
    for c in cwd.chars() {
        if matches!(c, '/' | '\\' | ':') {
            if !separated {
                name.push('-');
            }
            separated = true;
        } else {
            separated = false;
            push_escaped(&mut name, c);
        }
    }
    let name = name.trim_start_matches('-');
    let name = if name.is_empty() { "root" } else { name };
    format!("--{}--", &name[..name.len().min(251)])
}

/// The session folder of an id; reversible.
fn escape(id: &str) -> String {
    match id {
        "." => "~002E".into(),
        ".." => "~002E~002E".into(),
        id => {
            let mut name = String::new();
            id.chars().for_each(|c| push_escaped(&mut name, c));
            name
        }
    }
}

fn push_escaped(name: &mut String, c: char) {
    if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') {
        name.push(c);
    } else {
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(name, "~{unit:04X}"); // a String takes everything
        }
    }
}

fn unescape(name: &str) -> Option<String> {
    let mut units = Vec::new();
    let mut rest = name;
    while let Some((plain, escaped)) = rest.split_once('~') {
        units.extend(plain.encode_utf16());
        units.push(u16::from_str_radix(escaped.get(..4)?, 16).ok()?);
        rest = &escaped[4..];
    }
    units.extend(rest.encode_utf16());
    String::from_utf16(&units).ok().filter(|id| !id.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_named_as_the_harness_names_them() {
        assert_eq!(project(Some("/home/ada/dsh-demo")), "--home-ada-dsh-demo--");
        assert_eq!(project(Some("C:\\Users\\Ada Lovelace")), "--C-Users-Ada~0020Lovelace--");
        assert_eq!(project(Some("/")), "--root--");
        assert_eq!(project(None), "_no-cwd");
        assert_eq!(escape("a/b:c~"), "a~002Fb~003Ac~007E");
        assert_eq!(escape(".."), "~002E~002E");
        assert_eq!(escape("\u{1F980}"), "~D83E~DD80");
    }

    #[test]
    fn a_session_folder_gives_the_id_back() {
        for id in ["session-1", "a/b:c~", "..", "\u{1F980}x", "plain.id_2"] {
            assert_eq!(unescape(&escape(id)).as_deref(), Some(id));
        }
        assert_eq!(unescape("bad~12"), None);
    }
}

//! Where prime's logs lie: flat in `<agent>/sessions/<id>.jsonl`. Children and side conversations lie below
//! `<agent>/session-artifacts/<id>`, in `sub-<8 hex>` and `btw-<pane>`, as deep as children have children.

use std::path::{Path, PathBuf};

use super::super::{Birth, Format as _, Layout, Presence, Sidecar, pi::Pi};
use crate::{
    env::Env,
    fact::{Errand, Header},
    log::Encoding,
};

pub(super) struct PrimeLayout;

/// The folder beside the folder of logs.
const ARTIFACTS: &str = "session-artifacts";

impl Layout for PrimeLayout {
    fn roots(&self, env: &Env) -> Vec<PathBuf> {
        let own = env.path("PRIME_AGENT_CODING_AGENT_DIR").or_else(|| env.home(".prime/agent"));
        let named = ["PRIME_AGENT_SESSION_DIR", "PRIME_AGENT_CODING_AGENT_SESSION_DIR"];
        own.into_iter()
            .map(|agent| agent.join("sessions"))
            .chain(named.into_iter().filter_map(|name| env.path(name)))
            .flat_map(|sessions| [sessions.with_file_name(ARTIFACTS), sessions])
            .collect()
    }

    fn sessions_folder(&self) -> &'static str {
        "sessions"
    }

    fn valid_id(&self, id: &str) -> bool {
        Pi.layout().valid_id(id)
    }

    fn name_id(&self, path: &Path) -> Option<String> {
        let stem = path.file_stem().filter(|_| path.extension().is_some_and(|end| end == "jsonl"));
        let stem = stem?.to_str()?;
        // What was moved here from folders like pi's kept its name.
        if is_uuid(stem) { Some(stem.to_owned()) } else { Pi.layout().name_id(path) }
    }

    fn placed(&self, path: &Path, header: &mut Header) {
        match folder_of(path) {
            Some(name) if name.starts_with("btw-") => {
                (header.subagent, header.errand) = (false, Some(Errand::Aside));
            }
            Some(name) if name.starts_with("sub-") => header.subagent = true,
            // A fork is as deep as its source, but nobody spawned it.
            Some("sessions") => header.subagent = false,
            _ => {}
        }
    }

    fn root_of(&self, path: &Path) -> Option<PathBuf> {
        self.name_id(path)?;
        let folder = path.parent()?;
        if folder.file_name()? == "sessions" {
            return Some(folder.into());
        }
        let artifacts = folder
            .ancestors()
            .find(|above| above.file_name().is_some_and(|name| name == ARTIFACTS));
        Some(artifacts?.with_file_name("sessions"))
    }

    fn attic(&self, root: &Path) -> Option<PathBuf> {
        Some(root.with_file_name(ARTIFACTS))
    }

    fn place(&self, root: &Path, birth: &Birth, _encoding: Encoding) -> PathBuf {
        root.join(format!("{}.jsonl", birth.id))
    }

    fn beside(&self, parent: &Path, birth: &Birth) -> PathBuf {
        parent.with_file_name(format!("{}.jsonl", birth.id))
    }

    fn presence(&self, path: &Path) -> Option<Presence> {
        use sha2::{Digest, Sha256};
        let agent = self.root_of(path)?.parent()?.to_path_buf();
        let canonical = std::fs::canonicalize(path).ok()?;
        let digest = Sha256::digest(canonical.as_os_str().as_encoded_bytes());
        let lease = format!("{}.lock/owner.json", crate::format::json::hex(&digest));
        Some(Presence::Lease(agent.join("session-leases").join(lease)))
    }

    fn beside_log(&self, path: &Path) -> Option<PathBuf> {
        Some(self.root_of(path)?.with_file_name(ARTIFACTS).join(self.name_id(path)?))
    }

    fn sidecar(&self, name: &Path) -> Option<Sidecar> {
        // Each log there is a session of its own id, so that a copy would be the same session twice.
        let log = name.extension().is_some_and(|end| end == "jsonl");
        let kind = match folder_of(name) {
            Some(folder) if log && folder.starts_with("btw-") => "asides",
            Some(folder) if log && folder.starts_with("sub-") => "subagents",
            _ => "other",
        };
        Some(Sidecar { kind, counts: kind != "other", carried: false, lines: false })
    }

    fn opens(&self, id: &str, path: &Path, in_store: bool) -> Vec<String> {
        let session = if in_store { id.to_owned() } else { path.display().to_string() };
        vec!["prime-agent".into(), "--resume".into(), session]
    }
}

/// The name of the folder that a file lies in.
fn folder_of(path: &Path) -> Option<&str> {
    path.parent()?.file_name()?.to_str()
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36 && uuid::Uuid::parse_str(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_known_by_its_place() {
        let id = "01a2282d-9435-71aa-9554-b510a3eabc16";
        let root = |path: String| PrimeLayout.root_of(Path::new(&path));
        let sessions = Some(PathBuf::from("/h/agent/sessions"));
        assert_eq!(root(format!("/h/agent/sessions/{id}.jsonl")), sessions);
        assert_eq!(
            root(format!("/h/agent/session-artifacts/{id}/sub-9a8b7c6d/sub-1/{id}.jsonl")),
            sessions
        );
        assert_eq!(root(format!("/h/agent/sessions/--x--/2026_{id}.jsonl")), None);
        assert_eq!(root("/h/agent/sessions/notes.jsonl".into()), None);
    }
}

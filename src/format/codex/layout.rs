//! Where Codex's logs lie: `sessions/YYYY/MM/DD/rollout-<time>-<thread>[_<rollout>].jsonl[.zst]`, and put away flat in
//! `archived_sessions`.

use std::path::{Path, PathBuf};

use chrono::{DateTime, Local, SecondsFormat};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::PAGINATED;
use crate::{
    env::Env,
    format::{
        Birth, Layout,
        json::{self, Text},
        seam::with_question,
    },
    log::Encoding,
};

pub(super) struct CodexLayout;

/// A naming in `session_index.jsonl`.
#[derive(Serialize)]
struct Naming<'a> {
    id: &'a str,
    thread_name: &'a str,
    updated_at: String,
}

#[derive(Deserialize)]
struct Named<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    thread_name: Text<'a>,
}

impl Layout for CodexLayout {
    fn roots(&self, env: &Env) -> Vec<PathBuf> {
        let home = env.path("CODEX_HOME").or_else(|| env.home(".codex"));
        home.into_iter()
            .flat_map(|home| [home.join("sessions"), home.join("archived_sessions")])
            .collect()
    }

    fn sessions_folder(&self) -> &'static str {
        "sessions"
    }

    fn valid_id(&self, id: &str) -> bool {
        id.len() == 36 && Uuid::parse_str(id).is_ok()
    }

    fn name_id(&self, path: &Path) -> Option<String> {
        ids(path).map(|(thread, _)| thread)
    }

    fn file_id(&self, path: &Path) -> Option<String> {
        ids(path).map(|(thread, rollout)| rollout.unwrap_or(thread))
    }

    fn root_of(&self, path: &Path) -> Option<PathBuf> {
        let name = path.file_name()?.to_str()?;
        if !name.starts_with("rollout-") {
            return None;
        }
        let folder = path.parent()?;
        if folder.file_name()? == "archived_sessions" {
            return Some(folder.with_file_name("sessions"));
        }
        let mut above = folder;
        for digits in [2, 2, 4] {
            let name = above.file_name()?.to_str()?;
            if name.len() != digits || !name.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            above = above.parent()?;
        }
        (above.file_name()? == "sessions").then(|| above.into())
    }

    fn place(&self, root: &Path, birth: &Birth, _encoding: Encoding) -> PathBuf {
        root.join(local(birth).format("%Y/%m/%d").to_string()).join(file_name(birth))
    }

    fn beside(&self, parent: &Path, birth: &Birth) -> PathBuf {
        parent.with_file_name(file_name(birth))
    }

    fn generation(&self, path: &Path) -> Option<u128> {
        // Rollouts of one thread are named by UUIDv7: the newest has the greatest.
        let (_, rollout) = ids(path)?;
        Some(rollout.and_then(|id| Uuid::parse_str(&id).ok()).map_or(0, |id| id.as_u128()))
    }

    fn scattered(&self) -> bool {
        true
    }

    fn attic(&self, root: &Path) -> Option<PathBuf> {
        (root.file_name()? == "sessions").then(|| root.with_file_name("archived_sessions"))
    }

    fn index(&self, root: &Path) -> Option<PathBuf> {
        Some(root.parent()?.join("session_index.jsonl"))
    }

    fn indexed(&self, line: &[u8]) -> Option<(String, String)> {
        let named: Named<'_> = serde_json::from_slice(line).ok()?;
        Some((named.id.owned(), named.thread_name.owned()))
    }

    fn index_line(&self, birth: &Birth) -> Option<Vec<u8>> {
        // Numbered threads have their names in the client's database, which is not ours to write.
        let title = birth.title.as_deref().filter(|_| birth.version < PAGINATED)?;
        let updated_at = birth.at.to_rfc3339_opts(SecondsFormat::Nanos, true);
        Some(json::line(&Naming { id: &birth.id, thread_name: title, updated_at }))
    }

    fn stores(&self, _parent: Encoding) -> Encoding {
        Encoding::Plain // Logs are packed when they rest; the client itself unpacks one before it goes on.
    }

    fn lock(&self, path: &Path, _version: u32) -> Option<PathBuf> {
        let home = self.root_of(path)?.parent()?.to_path_buf();
        Some(home.join("thread-writer-locks").join(format!("{}.lock", self.name_id(path)?)))
    }

    fn opens(&self, id: &str, _path: &Path, _in_store: bool) -> Vec<String> {
        ["codex", "resume", id].map(Into::into).to_vec()
    }

    fn asks(
        &self,
        id: &str,
        path: Option<&Path>,
        _in_store: bool,
        question: &str,
    ) -> Option<Vec<String>> {
        path.map(|_| with_question(["codex", "exec", "resume", id], question))
    }
}

/// The client names folders and files by the clock on the wall.
fn local(birth: &Birth) -> DateTime<Local> {
    birth.at.with_timezone(&Local)
}

fn file_name(birth: &Birth) -> String {
    format!("rollout-{}-{}.jsonl", local(birth).format("%Y-%m-%dT%H-%M-%S"), birth.id)
}

/// Thread and rollout, as the name has them.
fn ids(path: &Path) -> Option<(String, Option<String>)> {
    let name = path.file_name()?.to_str()?.strip_prefix("rollout-")?;
    let name =
        [".jsonl", ".jsonl.zst", ".jsonl.zstd"].iter().find_map(|end| name.strip_suffix(end))?;
    let (time, ids) = name.split_at_checked(20)?;
    let shape: String = time.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    if shape != "0000-00-00T00-00-00-" {
        return None;
    }
    let (thread, rollout) =
        ids.split_once('_').map_or((ids, None), |(thread, rollout)| (thread, Some(rollout)));
    let is_id = |id: &str| id.len() == 36 && Uuid::parse_str(id).is_ok();
    (is_id(thread) && rollout.is_none_or(is_id))
        .then(|| (thread.to_owned(), rollout.map(str::to_owned)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREAD: &str = "01a22820-c332-77b1-b22c-084d5069e316";
    const ROLLOUT: &str = "01a22820-c4c9-7e30-a57d-0375da1e21e2";

    #[test]
    fn a_name_tells_thread_and_rollout() {
        let plain = format!("rollout-2026-11-29T16-26-05-{THREAD}.jsonl");
        assert_eq!(ids(Path::new(&plain)), Some((THREAD.into(), None)));
        let page = format!("rollout-2026-11-29T16-26-05-{THREAD}_{ROLLOUT}.jsonl.zst");
        assert_eq!(ids(Path::new(&page)), Some((THREAD.into(), Some(ROLLOUT.into()))));
        assert!(
            CodexLayout.generation(Path::new(&page)) > CodexLayout.generation(Path::new(&plain))
        );
        for other in ["session_index.jsonl", "rollout-2026-11-29T16-26-05-x.jsonl", "side.jsonl"] {
            assert_eq!(ids(Path::new(other)), None, "{other}");
        }
    }

    #[test]
    fn a_log_that_was_put_away_belongs_to_the_same_home() {
        let name = format!("rollout-2026-11-29T16-26-05-{THREAD}.jsonl");
        let (dated, flat) = (
            format!("/home/ada/.codex/sessions/2026/11/29/{name}"),
            format!("/home/ada/.codex/archived_sessions/{name}"),
        );
        for path in [dated, flat] {
            let root = CodexLayout.root_of(Path::new(&path)).unwrap();
            assert_eq!(root, Path::new("/home/ada/.codex/sessions"));
            let lock = CodexLayout.lock(Path::new(&path), 0).unwrap();
            assert!(lock.ends_with(format!(".codex/thread-writer-locks/{THREAD}.lock")));
        }
        assert_eq!(CodexLayout.root_of(Path::new(&format!("/tmp/{name}"))), None);
    }
}

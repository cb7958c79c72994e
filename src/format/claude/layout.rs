//! Where Claude Code's logs lie: `<root>/projects/<folder>/<session>.jsonl`, subagents below `<session>/subagents`.

use std::path::{Component, Path, PathBuf};

use super::super::{Birth, Layout, Presence, Sidecar, seam::with_question};
use crate::{env::Env, log::Encoding};

/// The longest name of a project's folder before it is cut and marked with a hash.
const LONGEST_FOLDER: usize = 200;

pub(super) struct ClaudeLayout;

impl Layout for ClaudeLayout {
    fn roots(&self, env: &Env) -> Vec<PathBuf> {
        let folders: Vec<PathBuf> = match env.path("CLAUDE_CONFIG_DIR") {
            // Counters of the field take several, with commas between them.
            Some(given) => {
                let given = given.to_string_lossy().into_owned();
                given.split(',').filter(|one| !one.is_empty()).map(PathBuf::from).collect()
            }
            None => [".claude", ".config/claude"].iter().filter_map(|own| env.home(own)).collect(),
        };
        folders.into_iter().map(|root| root.join("projects")).collect()
    }

    fn sessions_folder(&self) -> &'static str {
        "projects"
    }

    fn valid_id(&self, id: &str) -> bool {
        id.len() == 36
            && id.bytes().enumerate().all(|(at, byte)| match at {
                8 | 13 | 18 | 23 => byte == b'-',
                _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
            })
    }

    fn valid_header_id(&self, id: &str) -> bool {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        self.valid_id(id)
            || id.strip_prefix("agent-").is_some_and(|agent| {
                !agent.is_empty() && agent.len() <= 128 && agent.chars().all(plain)
            })
    }

    fn name_id(&self, path: &Path) -> Option<String> {
        let name = path.file_name()?.to_str()?;
        let stem =
            [".jsonl", ".jsonl.zst", ".jsonl.zstd"].iter().find_map(|end| name.strip_suffix(end));
        stem.filter(|stem| self.valid_header_id(stem)).map(str::to_owned)
    }

    fn root_of(&self, path: &Path) -> Option<PathBuf> {
        self.name_id(path)?;
        // The folder of a project lies right in `projects`; subagents lie deeper.
        let mut folders = path.ancestors().skip(2);
        folders
            .find(|folder| folder.file_name().is_some_and(|name| name == "projects"))
            .filter(|root| {
                let below = path.strip_prefix(root).map_or(0, |below| below.components().count());
                let project =
                    path.strip_prefix(root).ok().and_then(|below| below.components().next());
                let project = match project {
                    Some(Component::Normal(name)) => name.to_string_lossy().into_owned(),
                    _ => String::new(),
                };
                // Every absolute path begins so, on one system or the other.
                let known = project.starts_with('-') || project.get(1..3) == Some("--");
                known
                    && (below == 2 || path.components().any(|part| part.as_os_str() == "subagents"))
            })
            .map(Path::to_path_buf)
    }

    fn place(&self, root: &Path, birth: &Birth, _encoding: Encoding) -> PathBuf {
        root.join(folder(birth.cwd.as_deref().unwrap_or("/"))).join(format!("{}.jsonl", birth.id))
    }

    fn beside(&self, parent: &Path, birth: &Birth) -> PathBuf {
        parent.with_file_name(format!("{}.jsonl", birth.id))
    }

    fn new_id(&self) -> String {
        uuid::Uuid::new_v4().to_string()
    }

    fn presence(&self, path: &Path) -> Option<Presence> {
        Some(Presence::Folder(self.root_of(path)?.parent()?.join("sessions")))
    }

    fn beside_log(&self, path: &Path) -> Option<PathBuf> {
        Some(path.with_file_name(self.name_id(path)?))
    }

    fn sidecar(&self, name: &Path) -> Option<Sidecar> {
        let folder = name.components().next()?.as_os_str().to_str()?;
        let file = name.file_name()?.to_str()?;
        let transcript = file.starts_with("agent-")
            && Path::new(file).extension().is_some_and(|end| end == "jsonl");
        let copy = file.contains("side_question") || file.contains("compact-");
        Some(match folder {
            // What a helper copied of the session to answer beside it is no part of the session.
            "subagents" if transcript && copy => {
                Sidecar { kind: "asides", counts: true, carried: false, lines: true }
            }
            "subagents" => {
                Sidecar { kind: "subagents", counts: transcript, carried: true, lines: transcript }
            }
            "tool-results" => {
                Sidecar { kind: "tool-results", counts: true, carried: true, lines: false }
            }
            _ => Sidecar { kind: "other", counts: true, carried: false, lines: false },
        })
    }

    fn starts(&self, id: &str) -> Option<Vec<String>> {
        Some(vec!["claude".into(), "--session-id".into(), id.into()])
    }

    fn opens(&self, id: &str, path: &Path, in_store: bool) -> Vec<String> {
        // An id is looked for in the client's own folders only; 2.1.332 takes the path of a file anywhere.
        let session = if in_store { id.to_owned() } else { path.display().to_string() };
        vec!["claude".into(), "--resume".into(), session]
    }

    fn asks(
        &self,
        id: &str,
        path: Option<&Path>,
        in_store: bool,
        question: &str,
    ) -> Option<Vec<String>> {
        let opening = match path {
            Some(path) => self.opens(id, path, in_store),
            None => self.starts(id)?,
        };
        let [client, flag, session] = opening.as_slice() else { return None };
        Some(with_question([client, flag, session, "-p"], question))
    }
}

/// The folder of a project: its path with every unit of UTF-16 that is no letter or digit turned into a dash, so that
/// it cannot be turned back.
fn folder(cwd: &str) -> String {
    let unit = |unit: u16| match u8::try_from(unit) {
        Ok(byte) if byte.is_ascii_alphanumeric() => char::from(byte),
        _ => '-',
    };
    let name: String = cwd.encode_utf16().map(unit).collect();
    if name.len() <= LONGEST_FOLDER {
        return name;
    }
    let hash = cwd.encode_utf16().fold(0i32, |hash, unit| {
        hash.wrapping_shl(5).wrapping_sub(hash).wrapping_add(i32::from(unit))
    });
    format!("{}-{}", &name[..LONGEST_FOLDER], base36(hash.unsigned_abs()))
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit(number % 36, 36).unwrap_or('0'));
        number /= 36;
        if number == 0 {
            return digits.into_iter().rev().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_folder_is_the_path_with_dashes_and_a_long_one_is_hashed() {
        assert_eq!(folder("/home/ada/web.shop_2"), "-home-ada-web-shop-2");
        let long = folder(&format!("/{}", "a".repeat(240)));
        assert_eq!(long.len().min(201), 201);
        assert!(long.starts_with(&format!("-{}-", "a".repeat(199))));
        assert_eq!(base36(0), "0");
        assert_eq!(base36(35 * 36 + 1), "z1");
    }

    #[test]
    fn subagents_lie_below_the_folder_of_their_session() {
        let root = Path::new("/c/projects");
        let id = "11111111-1111-4111-8111-000000000001";
        let inside = |name: &str| ClaudeLayout.root_of(&root.join("-home-ada").join(name));
        assert_eq!(inside(&format!("{id}.jsonl")).as_deref(), Some(root));
        assert_eq!(inside(&format!("{id}/subagents/agent-a1.jsonl")).as_deref(), Some(root));
        assert_eq!(inside("agent-d237f2a0.jsonl").as_deref(), Some(root));
        assert_eq!(inside("notes.jsonl"), None);
        assert_eq!(ClaudeLayout.root_of(&root.join(format!("sub/{id}.jsonl"))), None);
    }
}

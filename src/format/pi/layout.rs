//! Where pi's logs lie: `<agent>/sessions/--<cwd>--/<time>_<id>.jsonl`, or flat in a folder that a setting names.

use std::path::{Path, PathBuf};

use super::super::{Birth, Layout, Sidecar, seam::with_question};
use crate::{
    env::Env,
    fact::{Errand, Header},
    log::Encoding,
};

pub(super) struct PiLayout;

impl Layout for PiLayout {
    fn roots(&self, env: &Env) -> Vec<PathBuf> {
        let agent = env.path("PI_CODING_AGENT_DIR").or_else(|| env.home(".pi/agent"));
        agent
            .into_iter()
            .map(|agent| agent.join("sessions"))
            .chain(env.path("PI_CODING_AGENT_SESSION_DIR"))
            .collect()
    }

    fn sessions_folder(&self) -> &'static str {
        "sessions"
    }

    fn valid_id(&self, id: &str) -> bool {
        // pi 1.x takes custom ids; before, they were UUIDs.
        let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        id.len() <= 128
            && id.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
            && edge(id.chars().next())
            && edge(id.chars().next_back())
    }

    fn name_id(&self, path: &Path) -> Option<String> {
        let (time, id) = path.file_stem()?.to_str()?.split_once('_')?;
        let shape: String =
            time.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
        (shape == "0000-00-00T00-00-00-000Z" && self.valid_id(id)).then(|| id.to_owned())
    }

    fn placed(&self, path: &Path, header: &mut Header) {
        if pane_of(path).is_some() {
            header.errand = Some(Errand::Aside);
        }
    }

    fn root_of(&self, path: &Path) -> Option<PathBuf> {
        // The transcript of a pane lies two folders deeper.
        let project = pane_of(path).unwrap_or(path).parent()?;
        let sessions = project.parent()?;
        let name = project.file_name()?.to_str()?;
        let known =
            name.starts_with("--") && name.ends_with("--") && sessions.file_name()? == "sessions";
        known.then(|| sessions.into())
    }

    fn place(&self, root: &Path, birth: &Birth, _encoding: Encoding) -> PathBuf {
        let cwd = birth.cwd.as_deref().unwrap_or("/");
        let cwd = cwd.strip_prefix(['/', '\\']).unwrap_or(cwd).replace(['/', '\\', ':'], "-");
        root.join(format!("--{cwd}--")).join(file_name(birth))
    }

    fn beside(&self, parent: &Path, birth: &Birth) -> PathBuf {
        parent.with_file_name(file_name(birth))
    }

    fn beside_log(&self, path: &Path) -> Option<PathBuf> {
        Some(path.with_file_name(self.name_id(path)?))
    }

    fn sidecar(&self, name: &Path) -> Option<Sidecar> {
        // Each is a session of its own id, so that a copy would be the same session twice.
        let aside = pane_of(name).is_some() && name.extension().is_some_and(|end| end == "jsonl");
        aside.then_some(Sidecar { kind: "asides", counts: true, carried: false, lines: false })
    }

    fn opens(&self, id: &str, path: &Path, in_store: bool) -> Vec<String> {
        // 1.6.0 and 0.73.1 take an id only where they look for sessions, a path anywhere.
        let session = if in_store { id.to_owned() } else { path.display().to_string() };
        vec!["pi".into(), "--session".into(), session]
    }

    fn asks(
        &self,
        _id: &str,
        path: Option<&Path>,
        _in_store: bool,
        question: &str,
    ) -> Option<Vec<String>> {
        // What begins with an at sign is a file for this client, also behind `--`.
        let question =
            if question.starts_with('@') { format!(" {question}") } else { question.to_owned() };
        Some(with_question(["pi", "-p", "--session", &path?.display().to_string()], &question))
    }
}

/// The folder of the session that a transcript in a folder `btw-<pane>` belongs to.
fn pane_of(path: &Path) -> Option<&Path> {
    let pane = path.parent()?;
    pane.file_name()?.to_str()?.starts_with("btw-").then(|| pane.parent()).flatten()
}

fn file_name(birth: &Birth) -> String {
    format!(
        "{}_{}.jsonl",
        crate::format::json::timestamp(birth.at).replace([':', '.'], "-"),
        birth.id
    )
}

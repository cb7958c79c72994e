//! Completion of what only the stores know: sessions by id and by title. The shell asks the program itself.

mod bash;

use std::ffi::OsStr;

use clap_complete::{
    CompleteEnv, CompletionCandidate,
    engine::{PathCompleter, ValueCompleter},
    env::{Elvish, Fish, Powershell, Shells, Zsh},
};

use crate::{
    env::Env,
    finding::Code,
    store::{Glance, Store},
};

/// How many sessions are offered: as many as a person may want to look through.
const OFFERED: usize = 60;

/// Answers a shell that asks for completions, and ends the run; else does nothing.
pub(super) fn answer() {
    let shells = Shells(&[&bash::Bash, &Elvish, &Fish, &Powershell, &Zsh]);
    CompleteEnv::with_factory(super::definition).shells(shells).complete();
}

/// The sessions written last whose id or title begins as typed, and files.
pub(super) fn sessions(typed: &OsStr) -> Vec<CompletionCandidate> {
    let mut offered = PathCompleter::any().complete(typed);
    // A title has blanks, and who types one has opened a quote.
    let Some(typed) = typed.to_str().map(|typed| typed.trim_start_matches(['\'', '"'])) else {
        return offered;
    };
    let env = Env::of_process();
    let given = env.path("SESSCTL_STORE").into_iter().collect::<Vec<_>>();
    let mut recent = Store::new(&given, &env).recent();
    let own = |glance: &Glance| !glance.header.subagent;
    for glance in recent.by_ref().filter(own).take(OFFERED) {
        let title = glance.title.as_deref().map(super::output::printable).unwrap_or_default();
        if let Some(wanted) = typed.strip_prefix('=') {
            if !title.is_empty() && title.starts_with(wanted) {
                let help = format!("{} {}", glance.format, glance.header.id);
                offered.push(CompletionCandidate::new(format!("={title}")).help(Some(help.into())));
            }
        } else if glance.header.id.starts_with(typed) {
            let help = format!("{} {title}", glance.format);
            offered.push(CompletionCandidate::new(glance.header.id).help(Some(help.into())));
        }
    }
    offered
}

/// The codes of findings.
pub(super) fn codes(typed: &OsStr) -> Vec<CompletionCandidate> {
    among(Code::ALL.iter().map(|code| code.name()), typed)
}

/// The words for places where a log may be cut.
pub(super) fn boundaries(typed: &OsStr) -> Vec<CompletionCandidate> {
    const PLACES: [(&str, &str); 6] = [
        ("tip", "the end of the session"),
        ("last-turn", "the last turn that has ended"),
        ("start", "before the first turn"),
        ("turn:", "behind a turn, by number or id"),
        ("line:", "behind a line of the log"),
        ("seq:", "behind an event, by its number"),
    ];
    let typed = typed.to_string_lossy();
    let fits = PLACES.iter().filter(|(place, _)| place.starts_with(typed.as_ref()));
    fits.map(|(place, help)| CompletionCandidate::new(*place).help(Some((*help).into()))).collect()
}

/// What `help` explains.
pub(super) fn topics(typed: &OsStr) -> Vec<CompletionCandidate> {
    const TOPICS: [&str; 12] = [
        "boundaries",
        "codes",
        "environment",
        "exit-status",
        "formats",
        "fork",
        "list",
        "merge",
        "replay",
        "side",
        "snapshot",
        "usage",
    ];
    among(TOPICS.into_iter().chain(super::help::names()), typed)
}

/// The names that begin as typed, in whatever case.
fn among<'a>(names: impl Iterator<Item = &'a str>, typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy().to_uppercase();
    let fits = names.filter(|name| name.to_uppercase().starts_with(&typed));
    fits.map(|name| CompletionCandidate::new(name.to_owned())).collect()
}

//! The clients: one folder each. A new client is a folder, a row in [`ALL`], and a folder of fixtures.

mod claude;
mod codex;
mod dsh;
pub mod id;
pub mod json;
mod pi;
mod prime;
pub mod record;
mod scan;
mod seam;

pub use seam::{
    Adopted, Birth, Context, Fault, Format, Head, Layout, Message, Note, Origin, Presence, Reader,
    Rewire, Sidecar, Tip, Unfolded, Writer,
};

/// Every client we know.
pub const ALL: &[&dyn Format] =
    &[&claude::Claude, &codex::Codex, &dsh::Dsh, &pi::Pi, &prime::Prime];

/// The client of that name.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static dyn Format> {
    ALL.iter().copied().find(|format| format.name() == name)
}

/// The client that printed sums of what was paid.
#[must_use]
pub fn of_sums(head: &Head<'_>) -> Option<&'static dyn Format> {
    ALL.iter().copied().find(|format| format.sums_up(head))
}

/// The client that wrote a log which begins with `head`.
#[must_use]
pub fn of(head: &Head<'_>) -> Option<&'static dyn Format> {
    // The first line mostly tells, or else the first few; what one client's tools put out may be another one's lines.
    let all = || ALL.iter().copied();
    let early = [1, 20].into_iter().find_map(|lines| {
        let early = head.first(lines);
        all().find(|format| format.claims(&early) && format.claims(head))
    });
    early.or_else(|| all().find(|format| format.claims(head)))
}

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

/// The client that wrote a log which begins with `head`.
#[must_use]
pub fn of(head: &Head<'_>) -> Option<&'static dyn Format> {
    // The first lines mostly tell; what one client's tools put out may be another one's lines.
    let early = head.early();
    let sure = |format: &&dyn Format| format.claims(&early) && format.claims(head);
    let all = || ALL.iter().copied();
    all().find(sure).or_else(|| all().find(|format| format.claims(head)))
}

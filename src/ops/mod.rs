//! The verbs, pure: a session and an intent to a draft or an answer. Nothing here opens a file.

mod cut;
pub mod export;
mod fork;
mod merge;
mod note;
pub mod price;
pub mod record;
mod replay;
mod snapshot;
pub mod usage;

pub use cut::{Cut, Intent, Policy, cut};
pub use fork::{Child, base_of, beginning, child};
pub use merge::{
    CHARS_PER_TOKEN, Merge, Source, answer_among, chars_of, last_answer, merge, own_messages,
    takes_note, transcript,
};
pub use note::{FRAMING, framing, is_bidi_control, note, trimmed};
pub use replay::{Against, against, merges, merges_on};
pub use snapshot::{Manifest, Meta, Origin, SNAPSHOT_VERSION, manifest, manifest_of, seed_lines};

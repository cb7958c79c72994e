//! The report of `merge`: what the note cost the parent, and what the side session burnt.

use std::{
    io::{self, Write},
    path::Path,
};

use schemars::JsonSchema;
use serde::Serialize;

use super::{Args, condense::Condensed, target};
use crate::{
    cli::{
        output::{Report, printable},
        pick::Opened,
        report::{Next, ParentReport},
    },
    error::Result,
    ops,
    session::Session,
};

#[derive(Serialize, JsonSchema)]
pub(in crate::cli) struct Merged {
    appended_messages: usize,
    appended_lines: usize,
    already_merged: bool,
    /// None where it has yet to be asked for.
    note: Option<NoteReport>,
    parent: ParentReport,
    parent_context: BeforeAfter,
    side_tokens: u64,
    condense: Option<Condensed>,
    next: Next,
    #[serde(skip)]
    dry_run: bool,
    #[serde(skip)]
    lines: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
pub(in crate::cli) struct NoteReport {
    pub id: String,
    pub chars: usize,
}

/// How tokens are estimated, in the words of reports.
const ESTIMATE: &str = "4 characters a token";

/// What the model sees of the parent.
#[derive(Serialize, JsonSchema)]
pub(in crate::cli) struct BeforeAfter {
    before: Size,
    after: Size,
    /// How tokens are estimated.
    estimate: &'static str,
}

#[derive(Clone, Copy, Serialize, JsonSchema)]
pub(in crate::cli) struct Size {
    chars: u64,
    tokens: u64,
}

impl Size {
    fn of(chars: u64) -> Self {
        Self { chars, tokens: chars.div_ceil(ops::CHARS_PER_TOKEN) }
    }
}

impl Report for Merged {
    fn json(&self) -> String {
        serde_json::to_string(self).expect("a report always serialises")
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let parent = &self.parent.id;
        let chars = self.note.as_ref().map_or(0, |note| note.chars);
        match (self.already_merged, self.dry_run, &self.note) {
            (true, ..) => writeln!(out, "the note is in {parent} already; nothing was written")?,
            (_, true, None) => writeln!(out, "would ask for a note and merge it into {parent}")?,
            (_, true, _) => {
                writeln!(out, "would merge a note of {chars} characters into {parent}")?;
            }
            _ => writeln!(out, "merged a note of {chars} characters into {parent}")?,
        }
        if self.dry_run {
            let run = self.condense.as_ref().and_then(|condense| condense.run.as_ref());
            if let (Some(run), None) = (run, &self.note) {
                writeln!(out, "  run: {}", printable(&run.pasted()))?;
            }
            for line in &self.lines {
                writeln!(out, "{}", printable(line))?;
            }
        }
        let (before, after) = (self.parent_context.before, self.parent_context.after);
        writeln!(
            out,
            "  parent's context: {} -> {} characters, {} -> {} tokens (estimated: {}); side session: {} tokens",
            before.chars,
            after.chars,
            before.tokens,
            after.tokens,
            self.parent_context.estimate,
            self.side_tokens
        )
    }
}

/// What a note that was written, is there or would be asked for comes to. The characters that the model sees of the
/// parent are those before it, and those after it if they were counted.
pub(super) fn report_of(
    args: &Args,
    side: &Opened,
    (parent, path): (&Session, &Path),
    (before, after): (u64, Option<u64>),
    note: Option<NoteReport>,
    lines: &[Vec<u8>],
    condense: Option<Condensed>,
) -> Result<Merged> {
    let chars = note.as_ref().map_or(0, |note| note.chars as u64);
    let added = if lines.is_empty() { 0 } else { chars };
    let elsewhere = condense.as_ref().and_then(|condense| condense.answered_in.as_deref());
    Ok(Merged {
        appended_messages: usize::from(!lines.is_empty()),
        appended_lines: lines.len(),
        already_merged: lines.is_empty() && note.is_some(),
        note,
        parent: ParentReport {
            id: parent.id().into(),
            path: Some(path.into()),
            format: parent.format.name(),
        },
        parent_context: BeforeAfter {
            before: Size::of(before),
            after: Size::of(after.unwrap_or(before + added)),
            estimate: ESTIMATE,
        },
        side_tokens: target::burnt(side, elsewhere, path)?,
        next: Next::of(parent, path),
        condense,
        dry_run: args.dry_run,
        lines: lines.iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect(),
    })
}

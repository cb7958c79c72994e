//! How a side conversation that some other program held is written down, in each client's own form.

use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};

use super::{Birth, Tip, id};
use crate::{
    error::Result,
    fact::{Facts, Tokens},
    log::Encoding,
};

/// One settled turn of a side conversation, as it was told.
#[derive(Clone, Debug)]
pub struct Said {
    /// What was asked.
    pub question: String,
    /// What was answered; empty where nothing came.
    pub answer: String,
    /// What went wrong, if the other program said so.
    pub error: Option<String>,
    /// The completion that gave the answer.
    pub paid: Paid,
    /// Completions that were paid for on the way and are no part of the conversation: summaries, attempts that
    /// overflowed.
    pub auxiliary: Vec<Paid>,
    /// The id that its request had.
    pub request_id: Option<String>,
}

impl Said {
    /// The digest that identifies the turn in the pane of a session: by its request, else by its number.
    #[must_use]
    pub fn digest(&self, parent: &str, pane: &str, nth: u64) -> String {
        let number = nth.to_string();
        let (kind, own) = match &self.request_id {
            Some(request) => ("request", request),
            None => ("turn", &number),
        };
        id::digest(&["sessctl/side-turn/1", parent, pane, kind, own])
    }

    /// Every completion that was paid for.
    pub fn completions(&self) -> impl Iterator<Item = Tokens> {
        let all = self.auxiliary.iter().chain([&self.paid]).map(|paid| paid.tokens);
        all.filter(|tokens| *tokens != Tokens::default())
    }
}

/// The same on its way into a transcript.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// What was said.
    pub said: Said,
    /// The digest that identifies the turn, in hex.
    pub digest: String,
    /// Its number in the transcript, from 1.
    pub nth: u64,
    /// When it was written down.
    pub at: DateTime<Utc>,
    /// What the transcript had cost before.
    pub before: Tokens,
}

impl Exchange {
    /// The digest of one of its parts.
    #[must_use]
    pub fn part(&self, part: &str) -> String {
        id::digest(&[&self.digest, part])
    }
}

/// A completion that was paid for.
#[derive(Clone, Debug, Default)]
pub struct Paid {
    /// What for, if not for the answer.
    pub purpose: Option<String>,
    /// Who was paid.
    pub provider: Option<String>,
    /// The model.
    pub model: String,
    /// How much.
    pub tokens: Tokens,
    /// How it ended.
    pub stop: Stop,
}

/// How a completion ended, and with that of the answer its turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stop {
    /// As it should.
    #[default]
    Complete,
    /// At a limit.
    Length,
    /// By an error.
    Failed,
    /// By a person.
    Aborted,
}

impl Stop {
    /// What a program means by its word for it; the clients and the providers have several.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        Some(match word {
            "stop" | "end_turn" | "stop_sequence" | "complete" | "completed" => Self::Complete,
            "length" | "max_tokens" | "max-tokens" => Self::Length,
            "error" | "failed" | "refusal" => Self::Failed,
            "aborted" | "cancelled" | "canceled" | "interrupted" => Self::Aborted,
            _ => return None,
        })
    }
}

/// How a pane was left.
#[derive(Clone, Debug)]
pub struct Left {
    /// Whether in good order.
    pub stop: Stop,
    /// What went wrong last.
    pub error: Option<String>,
    /// When.
    pub at: DateTime<Utc>,
}

/// The transcript that turns are written into.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    /// The transcript as a session: id, folder, parent, version.
    pub birth: &'a Birth,
    /// The pane that the turns were held in.
    pub pane: &'a str,
    /// The parent's own header line; empty where the client has none.
    pub header: &'a [u8],
    /// A record of the parent that new ones are modelled on; empty where it has none.
    pub like: &'a [u8],
}

/// A link from a session to the transcript of a pane beside it.
#[derive(Clone, Debug)]
pub struct Pointer<'a> {
    /// The digest that identifies it, in hex.
    pub digest: String,
    /// The pane.
    pub pane: &'a str,
    /// The session of the transcript.
    pub session: &'a str,
    /// The transcript, absolute.
    pub file: &'a Path,
    /// The first question.
    pub question: &'a str,
    /// When it was asked.
    pub at: DateTime<Utc>,
}

/// Where a pointer is kept.
#[derive(Debug)]
pub enum Pointing {
    /// In a record of the parent that the model never sees.
    Line(Vec<u8>),
    /// In a file of ours.
    File(PathBuf, Vec<u8>),
    /// In the journal alone.
    Journal,
}

/// Writes side conversations down.
pub trait Recorder {
    /// The session of the transcript of a pane: always the same for a parent that began at `created`.
    fn session_id(&self, parent: &str, created: Option<DateTime<Utc>>, pane: &str) -> String {
        let digest = id::digest(&["sessctl/side/1", parent, pane]);
        id::dated(created.map_or(0, |created| created.timestamp_millis()), &digest)
    }

    /// The file of the transcript: below the client's folder of logs `root` if the parent lies in one, where no client
    /// takes it for a session of a person.
    fn place(&self, root: Option<&Path>, scene: Scene<'_>, encoding: Encoding) -> PathBuf;

    /// Whether the record on a line of the parent is one to model new ones on.
    fn is_model(&self, _facts: &Facts, _line: u32) -> bool {
        false
    }

    /// The first lines of a transcript whose first turn is `first`.
    fn begin(&self, scene: Scene<'_>, first: &Exchange, tip: &mut Tip) -> Result<Vec<Vec<u8>>>;

    /// The lines of a turn.
    fn turn(&self, scene: Scene<'_>, turn: &Exchange, tip: &mut Tip) -> Result<Vec<Vec<u8>>>;

    /// The id by which a reader of the transcript knows the turn.
    fn mark(&self, turn: &Exchange) -> String;

    /// A line that says how the pane was left, and by which error.
    fn status(&self, _scene: Scene<'_>, _left: &Left, _tip: &mut Tip) -> Option<Vec<u8>> {
        None
    }

    /// The pointer in the parent, whose next line must follow `tip`; `taken` tells whether it has a record of that id.
    fn pointer(
        &self,
        pointer: &Pointer<'_>,
        parent: &Path,
        tip: &mut Tip,
        taken: &dyn Fn(&str) -> bool,
    ) -> Pointing;
}

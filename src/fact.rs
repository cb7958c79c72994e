//! The shared words: what one line of a log states, whoever wrote it.
//!
//! Facts are the few things that our rules ask for; all else stays in the bytes. They hold ids and spans, never text,
//! so that a log of a million lines fits into memory.

mod ids;

use std::{borrow::Borrow, collections::HashSet, fmt, num::NonZeroU128, ops::Deref, sync::Arc};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_128;

use ids::Ids;
pub use ids::{Id, IdMap, IdSet, Keys, Table, index};

use crate::{
    finding::{Code, Finding},
    log::Span,
};

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The system prompt.
    System,
    /// The client, to the model.
    Developer,
    /// A person, or what the client says in a person's place.
    User,
    /// The model.
    Assistant,
    /// A tool.
    Tool,
}

impl Role {
    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Developer => "developer",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// As it should.
    Completed,
    /// By a person or a parent.
    Aborted,
    /// By an error.
    Failed,
    /// Cut off: by a crash, or by the next prompt.
    Interrupted,
}

impl Ending {
    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Aborted => "aborted",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
        }
    }

    /// Whether the client makes up the results that are missing in such a turn.
    #[must_use]
    pub fn excuses(self) -> bool {
        self != Self::Completed
    }
}

/// A message of ours, recognised by its shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Carrier {
    /// The framing of a side session.
    Framing,
    /// A note merged back.
    Note,
}

/// One thing that one line states. A line may state several, or none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fact {
    /// A record of a tree.
    Linked {
        /// Its id.
        id: Id,
        /// The record it hangs off.
        parent: Option<Id>,
        /// A digest of its time, which a copy keeps.
        stamp: u32,
        /// Whether its time is before the session's own beginning.
        older: bool,
    },
    /// The line holds `count` events, numbered from `first`.
    Numbered {
        /// The number of the first.
        first: u32,
        /// How many; packed rows hold several.
        count: u32,
    },
    /// The line should have a number and has none.
    Unnumbered,
    /// A turn starts here, whatever was open.
    Opened(Id),
    /// A person's words to the model, outside of what the client says in a person's place. A turn that is not written
    /// down begins with them.
    Asked,
    /// A person's words as they were shown: they start a turn of this name unless one that is written down is open.
    Implied(Id),
    /// The last turns are taken back, with what was said in them.
    Retracted {
        /// How many.
        turns: u32,
        /// Whether only the model forgets them, while they stay to be seen.
        shown: bool,
    },
    /// A turn ends here.
    Closed {
        /// Which one, where the line names it.
        turn: Option<Id>,
        /// How.
        how: Ending,
    },
    /// A model call starts.
    Stepped,
    /// A person's words: they start a turn, or steer the open one once it has answered and owes no result.
    Prompted,
    /// What follows may be the turn of this record, if an answer comes and nothing else opened one.
    MayOpen,
    /// The model answers; with an ending, the turn is over unless a call is pending.
    Answering(Option<Ending>),
    /// Prompts were put into or taken out of the client's queue.
    Queued {
        /// How many came in.
        inserted: u32,
        /// How many left.
        removed: u32,
    },
    /// A unit of several lines that must not be cut starts (`true`) or ends.
    Held(bool),
    /// The id of the message on this line, where it has one that is no link in a tree.
    Named(Id),
    /// A message that the model sees; the span is the value that counts.
    Said(Role, Place),
    /// What the model sees with the message before it: a call, a result, a thought. The place is that of the whole item.
    Attached(Place),
    /// A system prompt, or the part of one, that is no message of its own: the request header's in DSH up to format 2,
    /// the named sections in pi 1.6.0. The latest one is in force.
    Prompt(Place),
    /// The message replaces what stands in these positions of the surface, by event number.
    Replaced {
        /// The first event shadowed.
        start: u32,
        /// The last event shadowed.
        end: u32,
    },
    /// Everything before was summed up in this message; what follows `kept` stays.
    Compacted {
        /// The first record that stays, if it is on the path before this one.
        kept: Option<Id>,
    },
    /// Everything before but a person's own words is summed up in the message of this line.
    Condensed,
    /// The content of an earlier record is replaced, or hidden where the span is empty.
    Edited {
        /// The record.
        target: Id,
        /// The new content.
        content: Place,
    },
    /// The message stays in the history, but the client leaves it out of its requests.
    Unsent,
    /// A setting that stays in force until one of the same kind follows.
    Setting(u8),
    /// A name for another record, which a fork leaves out and writes again.
    Labelled {
        /// The record named.
        target: Id,
        /// Whether it has a name now; else it lost it.
        set: bool,
    },
    /// The model asks for a tool.
    Called(Id),
    /// A tool's result.
    Answered {
        /// The call.
        call: Id,
        /// Whether a recovery made it up.
        made_up: bool,
    },
    /// The message on this line is ours.
    Carried(Carrier, Id),
    /// A link to the transcript of a side conversation, by the pane that it was held in.
    Pointed(Id),
    /// What stands before this line was inherited.
    Seeded,
    /// The line is a copy of this record of the parent.
    Copied(Id),
    /// The line is one part of an answer that was written as several lines.
    Part(Id),
    /// The record belongs to this session, whatever the header says.
    Owner(Id),
    /// The record's time: seconds since 1970, and milliseconds.
    At {
        /// Seconds.
        secs: u32,
        /// The rest.
        millis: u16,
    },
    /// The message belongs to no turn: what a client says of itself between two of them.
    Beside,
    /// A link without content: walked through, never a tip, and of no use in a child.
    Hollow,
    /// A person's or the model's own record: where a client goes on that has no mark of the place.
    Spoken,
    /// The model owes an answer to this record; a client that finds none makes one up before it goes on.
    Awaited,
    /// The client would go on below this record.
    Marked(Id),
    /// The compaction on this line leaves that record, of those before it, in the history.
    Kept(Id),
    /// It leaves the records from `head` to `tail`.
    KeptRun {
        /// The first.
        head: Id,
        /// The last.
        tail: Id,
    },
    /// What it leaves stands right behind this record.
    KeptBehind(Id),
    /// The line is older than the session itself, so that it was copied as it stood.
    Older,
    /// A file of a chain begins here, or a copy of its first line stands here, which was written for the session of that id.
    Joined(Id),
}

/// Where in its line something stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The offset from the line's first byte.
    pub at: u32,
    /// How many bytes.
    pub len: u32,
}

impl From<Span> for Place {
    fn from(span: Span) -> Self {
        Self { at: span.at, len: span.len }
    }
}

impl Place {
    /// The place as a span of `line`.
    #[must_use]
    pub fn on(self, line: u32) -> Span {
        Span { line, at: self.at, len: self.len }
    }
}

/// A fact and the line that states it, counted from zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stated {
    /// The line.
    pub line: u32,
    /// What it states.
    pub fact: Fact,
}

/// What a client's own helper is at, other than what subagents are asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Errand {
    /// A question that is asked aside.
    Aside,
    /// Summing up a session.
    Compaction,
}

impl Errand {
    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Aside => "aside",
            Self::Compaction => "compaction",
        }
    }
}

/// The session's id, folder and parent, as its first record has it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The line, counted from zero; none where the client writes no header, and this is gathered from the records.
    pub line: Option<u32>,
    /// The session.
    pub id: String,
    /// The version of the format.
    pub version: u32,
    /// The working folder.
    pub cwd: Option<String>,
    /// The parent as the client names it: an id or a path.
    pub parent: Option<String>,
    /// The agent preset, which decides the system prompt.
    pub preset: Option<String>,
    /// When the session began.
    pub created: Option<DateTime<Utc>>,
    /// How many events were inherited, where the header says so.
    pub seed_length: Option<u64>,
    /// Whether a client's own subagent is at work here.
    pub subagent: bool,
    /// What else a client's own helper is at.
    pub errand: Option<Errand>,
}

impl Header {
    /// Whether a client's helper is at work here, so that nobody means this session who asks for the latest one.
    #[must_use]
    pub fn is_helpers(&self) -> bool {
        self.subagent || self.errand.is_some()
    }
}

/// The beginning of another log that a log continues without holding it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Base {
    /// The id of its file.
    pub file: String,
    /// The number that follows its last event.
    pub end: u64,
    /// How many of its bytes are meant.
    pub bytes: u64,
}

/// Tokens of one model answer; the five counters of a sum are disjoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Tokens {
    /// Input that was neither read from nor written to the cache.
    pub input: u64,
    /// Input read from the cache.
    pub cache_read: u64,
    /// Input written to the cache for five minutes, or for an unknown time.
    pub cache_write_5m: u64,
    /// Input written to the cache for an hour.
    pub cache_write_1h: u64,
    /// Output, reasoning included.
    pub output: u64,
    /// The part of the output that was reasoning.
    pub reasoning: u64,
}

impl Tokens {
    /// All that was billed.
    #[must_use]
    pub fn total(&self) -> u64 {
        [self.cache_read, self.cache_write_5m, self.cache_write_1h, self.output]
            .into_iter()
            .fold(self.input, u64::saturating_add)
    }

    /// Adds `other`, counter by counter.
    pub fn add(&mut self, other: &Self) {
        let pairs = [
            (&mut self.input, other.input),
            (&mut self.cache_read, other.cache_read),
            (&mut self.cache_write_5m, other.cache_write_5m),
            (&mut self.cache_write_1h, other.cache_write_1h),
            (&mut self.output, other.output),
            (&mut self.reasoning, other.reasoning),
        ];
        for (mine, more) in pairs {
            *mine = mine.saturating_add(more);
        }
    }

    /// These without `other`, which has no counter that is greater.
    #[must_use]
    pub fn less(&self, other: &Self) -> Option<Self> {
        Some(Self {
            input: self.input.checked_sub(other.input)?,
            cache_read: self.cache_read.checked_sub(other.cache_read)?,
            cache_write_5m: self.cache_write_5m.checked_sub(other.cache_write_5m)?,
            cache_write_1h: self.cache_write_1h.checked_sub(other.cache_write_1h)?,
            output: self.output.checked_sub(other.output)?,
            reasoning: self.reasoning.checked_sub(other.reasoning)?,
        })
    }
}

/// A word that many records share, such as a model's name: once in memory, and no wider than a pointer where it is meant.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Word(Arc<Box<str>>);

impl Deref for Word {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Word {
    fn as_ref(&self) -> &str {
        self
    }
}

impl Borrow<str> for Word {
    fn borrow(&self) -> &str {
        self
    }
}

impl From<&str> for Word {
    fn from(text: &str) -> Self {
        Self(Arc::new(text.into()))
    }
}

impl From<String> for Word {
    fn from(text: String) -> Self {
        Self(Arc::new(text.into()))
    }
}

impl From<Word> for String {
    fn from(word: Word) -> Self {
        word.as_ref().to_owned()
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

/// What two records of one completion have in common: a hash, since there are millions of them.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Key(pub u128);

impl From<&[u8]> for Key {
    fn from(id: &[u8]) -> Self {
        Self(XxHash3_128::oneshot(id))
    }
}

impl From<&str> for Key {
    fn from(text: &str) -> Self {
        text.as_bytes().into()
    }
}

impl From<String> for Key {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

/// The key of a call that has no id: who made it, its figures, and when, where the figures alone may come again.
#[must_use]
pub fn figures_key(owner: &str, figures: u128, moment: &str) -> Key {
    format!("{owner} {figures:032x}{moment}").into()
}

/// One record of a paid model call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usage {
    /// The line, counted from zero.
    pub line: u32,
    /// What makes two records one completion, as the client gives it; copies keep it.
    pub key: Key,
    /// Whether the key is no id, but was made of what else is there.
    pub weak: bool,
    /// Whether the counters are the step of a running total between whose ends a record is missing.
    pub derived: bool,
    /// `compaction`, `tool`, or a usage entry's own; none is an answer of the session itself.
    pub kind: Option<Word>,
    /// Who was paid.
    pub provider: Option<Word>,
    /// The model, as the log names it.
    pub model: Option<Word>,
    /// What else decides the price, as the log names it, such as `priority` or `fast`; none where it is the usual one.
    pub tier: Option<Word>,
    /// When.
    pub at: Option<DateTime<Utc>>,
    /// How much.
    pub tokens: Tokens,
    /// What it cost in nano-dollars, as the client reckoned.
    pub cost: Option<u64>,
    /// Whether the record was copied from a parent, as far as the log alone tells.
    pub inherited: Option<bool>,
    /// Whether the counters may be those of an answer that was still coming in.
    pub provisional: bool,
    /// Whether the counters are told apart by the calls that the answer took.
    pub itemized: bool,
    /// The session that made the call, where the record names it or its place in the log tells.
    pub owner: Option<Word>,
    /// A digest of the record's figures, for logs that cannot tell by themselves what was copied.
    pub figures: Option<NonZeroU128>,
    /// Whose call it tells of.
    pub telling: Telling,
    /// How many more records behind it in the same log this one stands for.
    pub again: u32,
}

impl Usage {
    /// Whether it says what was paid, and not only that a call was made.
    #[must_use]
    pub fn is_recorded(&self) -> bool {
        self.telling != Telling::Nothing
    }

    /// What of several records of one completion has the greatest one's figures counted.
    #[must_use]
    pub fn finality(&self) -> impl Ord + use<> {
        (self.tokens.output, self.itemized, !self.provisional, self.tokens)
    }

    /// Puts a record behind those of the same log that stand before it, or makes it a part of the last one.
    pub fn put(self, behind: &mut Vec<Self>) {
        let absorbed = behind.last_mut().is_some_and(|last| last.absorb(&self));
        if !absorbed {
            behind.push(self);
        }
    }

    /// Makes one record of this and the one behind it in the same log, where both are of one completion and nothing that
    /// anybody asks of the two gets lost: an answer that was written in parts has a record in each of them.
    pub fn absorb(&mut self, next: &Self) -> bool {
        if self.key != next.key {
            return false;
        }
        let greater = next.finality() > self.finality();
        let provisional = if greater { next.provisional } else { self.provisional };
        // The figures are those of the greatest, while the answer is final if any of its records is.
        let final_alike = provisional == (self.provisional && next.provisional);
        let in_order = match (self.at, next.at) {
            (Some(at), Some(next)) => at <= next,
            (None, None) => true,
            _ => false,
        };
        let telling = |usage: &Self| (usage.weak, usage.derived, usage.inherited, usage.cost);
        let alike = self.telling == next.telling
            && matches!(self.telling, Telling::Own | Telling::Relayed)
            && self.figures == next.figures
            && telling(self) == telling(next)
            && self.kind == next.kind
            && self.provider == next.provider
            && self.model == next.model
            && self.tier == next.tier
            && self.owner == next.owner;
        if !(alike && final_alike && in_order) {
            return false;
        }
        if greater {
            (self.tokens, self.itemized) = (next.tokens, next.itemized);
        }
        self.provisional = provisional;
        self.again += 1 + next.again;
        true
    }
}

/// Whose call a record of usage tells of. Ledgers keep the place in this list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Telling {
    /// That of its own answer.
    #[default]
    Own,
    /// Its own, but a copy may have what others spent added to it: of several the smallest is right.
    Folded,
    /// Another session's, which has a log of its own unless that is gone, and knows the call by another key.
    Others,
    /// Its own, and with it all that its parent had spent: a running total that a child goes on with.
    Carried,
    /// That a call was made, of which no usage is left here: its counters are none. Another log may have them.
    Nothing,
    /// That of a helper, in the log of the session that sent it: the helper's own log may have it too.
    Relayed,
    /// Those of a whole turn, as one: no calls where the session has a log.
    Turn,
}

/// What a client itself says that a session has cost so far: a sum of its own, which is no completion.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Claim {
    /// The line, counted from zero.
    pub line: u32,
    /// The model, where the client keeps a sum of each.
    pub model: Option<Word>,
    /// How much.
    pub tokens: Tokens,
    /// What it cost in nano-dollars, as the client reckoned.
    pub cost: Option<u64>,
}

/// Why a record that states usage is no completion, whatever else there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// Every counter is zero.
    Zero,
    /// The client's own words in the model's name: an error it shows.
    Synthetic,
    /// A running total that has not moved since the last one.
    Unmoved,
    /// A running total in a log that records each response: it says the same again.
    Again,
    /// A sum over calls that stand elsewhere, such as a subagent's.
    Sum,
    /// A sample of an answer under way, which its message or its end says again.
    Sample,
}

impl Refusal {
    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Zero => "zero",
            Self::Synthetic => "synthetic",
            Self::Unmoved => "unmoved-total",
            Self::Again => "said-again",
            Self::Sum => "sum",
            Self::Sample => "sample",
        }
    }

    /// The rule, in a sentence.
    #[must_use]
    pub fn why(self) -> &'static str {
        match self {
            Self::Zero => "all its counters are zero",
            Self::Synthetic => "the client's own words, which no model was paid for",
            Self::Unmoved => "the running total is the same as before: a repeat",
            Self::Again => "a running total; the log records each response itself",
            Self::Sum => "a sum over calls that are recorded elsewhere",
            Self::Sample => "a sample of an answer under way; its message, or its end, counts",
        }
    }
}

/// A record that states usage and is no completion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Refused {
    /// The line, counted from zero.
    pub line: u32,
    /// When, where the record says so.
    pub at: Option<DateTime<Utc>>,
    /// Why.
    pub why: Refusal,
}

/// What was asked, for clients that keep the last question beside the conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prompts {
    /// What the client wrote down last.
    pub told: Option<String>,
    /// The beginning of each prompt, with its line.
    pub asked: Vec<(u32, String)>,
}

/// Kinds of facts that many logs have none of, so that nobody need look through all for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Rare {
    /// [`Fact::Linked`], in logs that are trees.
    Linked,
    /// [`Fact::Labelled`].
    Labelled,
    /// [`Fact::Compacted`].
    Compacted,
    /// [`Fact::Edited`].
    Edited,
    /// [`Fact::Queued`].
    Queued,
    /// [`Fact::Seeded`].
    Seeded,
}

impl Rare {
    #[inline]
    fn of(fact: Fact) -> Option<Self> {
        Some(match fact {
            Fact::Linked { .. } => Self::Linked,
            Fact::Labelled { .. } => Self::Labelled,
            Fact::Compacted { .. } => Self::Compacted,
            Fact::Edited { .. } => Self::Edited,
            Fact::Queued { .. } => Self::Queued,
            Fact::Seeded => Self::Seeded,
            _ => return None,
        })
    }
}

/// Which facts are worth their memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// What paths, turns and messages are made of.
    Path,
    /// Usage, and what tells a side session.
    Usages,
    /// The same, with the records of usage that do not count.
    Refusals,
    /// Both.
    All,
}

/// Room for how many records of usage is made at once.
const FIRST_USAGES: usize = 64;

/// How many words are looked at before all are.
const LATEST: usize = 6;

/// What a log says of itself beyond single lines, and all that its lines state.
#[derive(Debug)]
pub struct Facts {
    ids: Ids,
    stated: Vec<Stated>,
    /// Which of the rare kinds were stated, a bit for each.
    rare: u8,
    /// Where the facts of each line begin, as far as lines were stated.
    firsts: Vec<u32>,
    words: HashSet<Word>,
    /// Some words that were asked for of late.
    latest: Vec<Word>,
    /// The header, once read.
    pub header: Option<Header>,
    /// Paid model calls. Empty when a verb has no use for them.
    pub usages: Vec<Usage>,
    /// The client's own sums, where it keeps some; the last ones.
    pub claims: Vec<Claim>,
    /// Records of usage that are no completions, if anybody wants to know.
    pub refused: Vec<Refused>,
    keep: Keep,
    /// The title, where the log has a place for it; the last one.
    pub title: Option<String>,
    /// The beginning of the first prompt of a person.
    pub first_prompt: Option<String>,
    /// The words that the client shows as the last ones asked, where it writes them down, else those of each prompt.
    pub prompts: Prompts,
    /// The first working folder, where a log names more than one.
    pub cwd_first: Option<String>,
    /// The version of the client that wrote last, where the lines name it.
    pub client: Option<String>,
    /// In a session that came from another one: what its running total stood at when it first did, and in which line.
    pub carried: Option<(u32, Tokens)>,
    /// The newest time seen, in milliseconds.
    pub newest: i64,
    last_time: Option<i64>,
    /// What the client's own rules find.
    pub findings: Vec<Finding>,
}

/// What a log says of itself beyond usage, where nothing else was kept: for a later run that goes on behind it. What it is
/// called and what was asked in it is not part of it: no words of a conversation are written down.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gist {
    carried: Vec<(u32, Carrier)>,
    header: Option<Header>,
    cwd_first: Option<String>,
    client: Option<String>,
    begun: Option<(u32, Tokens)>,
    newest: i64,
    last_time: Option<i64>,
}

impl Gist {
    /// What `facts` say but for usage. None if they hold anything else that what follows may depend on.
    #[must_use]
    pub fn of(facts: &Facts) -> Option<Self> {
        // All of them by name, so that none that is new is forgotten.
        let Facts {
            ids: _,
            stated,
            rare: _,
            firsts: _,
            words: _,
            latest: _,
            header,
            usages: _,
            claims: _,
            refused: _,
            keep,
            title: _,
            first_prompt: _,
            prompts: _,
            cwd_first,
            client,
            carried: begun,
            newest,
            last_time,
            findings: _,
        } = facts;
        let carried = stated.iter().map(|stated| match stated.fact {
            Fact::Carried(carrier, _) => Some((stated.line, carrier)),
            _ => None,
        });
        (*keep == Keep::Usages).then_some(())?;
        Some(Self {
            carried: carried.collect::<Option<_>>()?,
            header: header.clone(),
            cwd_first: cwd_first.clone(),
            client: client.clone(),
            begun: *begun,
            newest: *newest,
            last_time: *last_time,
        })
    }

    /// The facts, with what was paid.
    #[must_use]
    pub fn facts(self, usages: Vec<Usage>, claims: Vec<Claim>) -> Facts {
        let mut facts = Facts::new(Keep::Usages);
        for (line, carrier) in self.carried {
            let id = facts.ids.only();
            facts.state(line, Fact::Carried(carrier, id));
        }
        Facts {
            header: self.header,
            usages,
            claims,
            cwd_first: self.cwd_first,
            client: self.client,
            carried: self.begun,
            newest: self.newest,
            last_time: self.last_time,
            ..facts
        }
    }
}

impl Default for Facts {
    fn default() -> Self {
        Self {
            ids: Ids::default(),
            stated: Vec::new(),
            rare: 0,
            firsts: Vec::new(),
            words: HashSet::new(),
            latest: Vec::new(),
            header: None,
            usages: Vec::new(),
            claims: Vec::new(),
            refused: Vec::new(),
            keep: Keep::All,
            title: None,
            first_prompt: None,
            prompts: Prompts::default(),
            cwd_first: None,
            client: None,
            carried: None,
            newest: i64::MIN,
            last_time: None,
            findings: Vec::new(),
        }
    }
}

impl Facts {
    /// No facts yet, of which only some will be kept.
    #[must_use]
    pub fn new(keep: Keep) -> Self {
        Self { keep, ..Self::default() }
    }

    /// The number of `text` among the ids.
    pub fn id(&mut self, text: &str) -> Id {
        match self.keep {
            Keep::Usages | Keep::Refusals => self.ids.only(), // no fact that is kept is looked up by its id
            _ => self.ids.id(text),
        }
    }

    /// The same, for what is mostly named again: `likely` is compared before all others are searched.
    pub fn id_again(&mut self, text: &str, likely: Option<Id>) -> Id {
        likely.filter(|likely| self.name(*likely) == text).unwrap_or_else(|| self.id(text))
    }

    /// A number for an id that other records do not point to and hardly anybody looks for.
    pub fn loose_id(&mut self, text: &str) -> Id {
        match self.keep {
            Keep::Usages | Keep::Refusals => self.id(text),
            _ => self.ids.loose(text),
        }
    }

    /// The number of `text`, if any line named it.
    #[must_use]
    pub fn known(&self, text: &str) -> Option<Id> {
        self.all_known(text).next()
    }

    /// All numbers of `text`: its own, and those that it got as a loose id.
    pub fn all_known(&self, text: &str) -> impl Iterator<Item = Id> {
        self.ids.known(text)
    }

    /// The id behind a number.
    #[must_use]
    pub fn name(&self, id: Id) -> &str {
        self.ids.name(id)
    }

    /// All ids, in the order of their numbers.
    #[cfg(test)]
    pub(crate) fn names(&self) -> Vec<&str> {
        self.ids.all().map(|id| self.name(id)).collect()
    }

    /// A word that many records share, such as a model's name, once in memory.
    pub fn word(&mut self, text: impl AsRef<[u8]>) -> Word {
        let text = text.as_ref();
        // The same few come again and again.
        if let Some(latest) = self.latest.iter().find(|latest| latest.as_bytes() == text) {
            return latest.clone();
        }
        let word = self.find_word(&String::from_utf8_lossy(text));
        if self.latest.len() == LATEST {
            self.latest.remove(0);
        }
        self.latest.push(word.clone());
        word
    }

    fn find_word(&mut self, text: &str) -> Word {
        if let Some(known) = self.words.get(text) {
            return known.clone();
        }
        let word: Word = text.into();
        self.words.insert(word.clone());
        word
    }

    /// How many ids there are; a number as an index is below it.
    #[must_use]
    pub fn id_count(&self) -> usize {
        self.ids.len()
    }

    /// Adds what `line` states. Lines come in order.
    pub fn state(&mut self, line: u32, fact: Fact) {
        if matches!(fact, Fact::Carried(..)) || !matches!(self.keep, Keep::Usages | Keep::Refusals)
        {
            let next = u32::try_from(self.stated.len()).unwrap_or(u32::MAX);
            if self.firsts.len() <= line as usize {
                self.firsts.resize(line as usize + 1, next);
            }
            self.rare |= Rare::of(fact).map_or(0, |rare| 1 << rare as u8);
            self.stated.push(Stated { line, fact });
        }
    }

    /// Whether any line states such a fact.
    #[must_use]
    pub fn has(&self, rare: Rare) -> bool {
        self.rare & 1 << rare as u8 != 0
    }

    /// Whether more than records of usage is wanted.
    #[must_use]
    pub fn keeps_path(&self) -> bool {
        self.keep != Keep::Usages
    }

    /// Whether records of usage are wanted.
    #[must_use]
    pub fn keeps_usages(&self) -> bool {
        self.keep != Keep::Path
    }

    /// Adds a paid call, if anybody wants to know.
    pub fn spend(&mut self, usage: Usage) {
        if usage.tokens == Tokens::default() && usage.is_recorded() {
            return self.refuse(usage.line, usage.at, Refusal::Zero);
        }
        if self.usages.is_empty() && self.keeps_usages() {
            self.usages.reserve(FIRST_USAGES);
        }
        match self.keep {
            Keep::Usages => usage.put(&mut self.usages),
            Keep::Refusals | Keep::All => self.usages.push(usage),
            Keep::Path => {}
        }
    }

    /// Whether records of usage that do not count are wanted.
    #[must_use]
    pub fn tells_refusals(&self) -> bool {
        self.keep == Keep::Refusals
    }

    /// Takes note of a record of usage that is no completion, if anybody wants to know.
    pub fn refuse(&mut self, line: u32, at: Option<DateTime<Utc>>, why: Refusal) {
        if self.tells_refusals() {
            self.refused.push(Refused { line, at, why });
        }
    }

    /// The client's own sums so far, which take the place of those before.
    pub fn claim(&mut self, claims: Vec<Claim>) {
        if self.keeps_usages() {
            self.claims = claims;
        }
    }

    /// Takes note of a record's time, in milliseconds. Order is that of lines, never of times; a step back is a note.
    pub fn time(&mut self, line: u32, millis: i64) {
        if let Some(last) = self.last_time
            && millis < last
            && !self.findings.iter().any(|finding| finding.code == Code::TimeBack)
        {
            let message =
                format!("the time goes back by {} ms; order is that of the lines", last - millis);
            self.findings.push(Finding::new(Code::TimeBack, message).on(line as usize + 1));
        }
        self.last_time = Some(millis);
        self.newest = self.newest.max(millis);
    }

    /// Everything stated, in the order of lines.
    #[must_use]
    pub fn all(&self) -> &[Stated] {
        &self.stated
    }

    /// What one line states.
    pub fn of(&self, line: u32) -> impl Iterator<Item = Fact> + '_ {
        let first = self.firsts.get(line as usize);
        let from = first.map_or(self.stated.len(), |first| *first as usize);
        self.stated[from..]
            .iter()
            .take_while(move |stated| stated.line == line)
            .map(|stated| stated.fact)
    }

    /// Forgets what single lines state; what the log says of itself as a whole stays.
    pub fn shed(&mut self) {
        let kept = std::mem::take(self);
        *self = Self {
            ids: Ids::default(),
            stated: Vec::new(),
            rare: 0,
            firsts: Vec::new(),
            words: HashSet::new(),
            ..kept
        };
    }

    /// Gives back memory that was kept for growing.
    pub fn settle(&mut self) {
        self.stated.shrink_to_fit();
        self.usages.shrink_to_fit();
        self.firsts.shrink_to_fit();
    }
}

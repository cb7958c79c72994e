//! Messages as bytes: digests that prove two histories equal, and texts for people.

use sha2::{Digest, Sha256};

use super::{Session, Thread};
use crate::{
    error::Result,
    format::{Message, Origin, Unfolded, json::hex},
};

/// The digest of one message.
pub type Sha = [u8; 32];

/// The messages of a thread with their digests.
pub struct History {
    /// In order.
    pub messages: Vec<Message>,
    /// One for each message.
    pub digests: Vec<Sha>,
    /// The digest of the system prompt where the log holds it apart from the messages.
    pub system: Option<Sha>,
}

impl History {
    /// The history of `thread` behind its first `keep` records, of which `seed` were inherited.
    pub fn of(thread: &Thread<'_>, keep: usize, seed: usize) -> Result<Self> {
        let messages = thread.history(keep, seed);
        let session = thread.session;
        let digests =
            messages.iter().map(|message| digest(session, message)).collect::<Result<_>>()?;
        let system = system_digest(thread, keep)?;
        Ok(Self { messages, digests, system })
    }

    /// One digest for all of them: that of their digests in order, one hex line each.
    #[must_use]
    pub fn hash(&self) -> String {
        hash_of(&self.digests)
    }

    /// The first message in which two histories differ, counted from zero, over the length of the longer one.
    #[must_use]
    pub fn first_difference(&self, other: &Self) -> Option<usize> {
        let (mine, theirs) = (&self.digests, &other.digests);
        let same = mine.iter().zip(theirs).take_while(|(mine, theirs)| mine == theirs).count();
        (same < mine.len().max(theirs.len())).then_some(same)
    }

    /// How many messages have that origin.
    #[must_use]
    pub fn count(&self, origin: Origin) -> usize {
        self.messages.iter().filter(|message| message.origin == origin).count()
    }
}

/// A history in short: for histories that are only compared as a whole, without a digest for each message in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    /// How many messages there are.
    pub messages: usize,
    /// The hash of the messages asked for.
    pub hash: String,
    /// The digest of the system prompt where the log holds it apart from the messages.
    pub system: Option<Sha>,
    /// The line of the summary that stands for the older part, counted from one.
    pub compacted: Option<usize>,
}

impl Outline {
    /// The outline of `thread` behind its first `keep` records, with another hash than that of the messages.
    pub fn under(thread: &Thread<'_>, keep: usize, hash: String) -> Result<Self> {
        Ok(Self { hash, ..Self::of(thread, keep, 0)? })
    }

    /// The outline of `thread` behind its first `keep` records; the hash is that of the first `hashed` messages.
    pub fn of(thread: &Thread<'_>, keep: usize, hashed: usize) -> Result<Self> {
        let session = thread.session;
        let messages = thread.history(keep, thread.seed);
        let mut hash = Sha256::new();
        for message in messages.iter().take(hashed) {
            hash.update(hex(&digest(session, message)?));
            hash.update(b"\n");
        }
        let summary = messages.iter().find(|message| message.origin == Origin::Compaction);
        Ok(Self {
            messages: messages.len(),
            hash: hex(&hash.finalize()),
            system: system_digest(thread, keep)?,
            compacted: summary.map(|message| message.line as usize + 1),
        })
    }
}

fn system_digest(thread: &Thread<'_>, keep: usize) -> Result<Option<Sha>> {
    let session = thread.session;
    let prompt = session.format.system_prompt(&session.facts, &thread.path()[..keep]);
    prompt.map(|span| Ok(Sha256::digest(session.log.text(span)?).into())).transpose()
}

/// The digest of `digests` in order, one hex line each.
#[must_use]
pub fn hash_of(digests: &[Sha]) -> String {
    let mut hash = Sha256::new();
    for digest in digests {
        hash.update(hex(digest));
        hash.update(b"\n");
    }
    hex(&hash.finalize())
}

/// Role, NUL, and the value as it stands in the line; ids, usage and times are no part of it.
fn digest(session: &Session, message: &Message) -> Result<Sha> {
    let mut hash = Sha256::new();
    hash.update(message.role.name());
    hash.update([0]);
    hash.update(session.log.text(message.body)?);
    for item in &message.items {
        let item = session.log.text(*item)?;
        for range in session.format.seen(&item) {
            hash.update(&item[range]);
        }
    }
    Ok(hash.finalize().into())
}

/// A message's words, calls and results.
pub fn unfold(session: &Session, message: &Message) -> Result<Unfolded> {
    let mut unfolded = session.format.unfold(&session.log.text(message.body)?);
    for item in &message.items {
        session.format.unfold_item(&session.log.text(*item)?, &mut unfolded);
    }
    if unfolded.results.is_empty() {
        unfolded.results = session
            .facts
            .of(message.line)
            .filter_map(|fact| match fact {
                crate::fact::Fact::Answered { call, .. } => {
                    Some(session.facts.name(call).to_owned())
                }
                _ => None,
            })
            .collect();
    }
    Ok(unfolded)
}

//! The traits that a client's folder implements, and the values that pass through them.

use std::{
    ops::Range,
    path::{Path, PathBuf},
};

use chrono::{DateTime, Utc};
use serde::{Serialize, de::DeserializeOwned};

use super::record::Recorder;
use crate::{
    env::Env,
    error::{Error, Result},
    fact::{Base, Carrier, Fact, Facts, Header, Id, Role},
    finding::{Code, Finding},
    log::{Encoding, Line, Reread, Span, Splice},
};

/// The first bytes of a log, cut at a line end where there is one: enough to tell whose it is.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a>(pub &'a [u8]);

impl<'a> Head<'a> {
    /// The first `lines` of it.
    #[must_use]
    pub fn first(self, lines: usize) -> Self {
        let end = memchr::memchr_iter(b'\n', self.0).nth(lines.saturating_sub(1));
        Self(&self.0[..end.map_or(self.0.len(), |end| end + 1)])
    }

    /// The lines, without line ends and without a byte order mark.
    pub fn lines(self) -> impl Iterator<Item = &'a [u8]> + Clone {
        let bytes = self.0.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(self.0);
        let mut ends = memchr::memchr_iter(b'\n', bytes).chain([bytes.len()]);
        let mut start = 0;
        std::iter::from_fn(move || {
            let end = ends.next()?;
            Some(bytes[std::mem::replace(&mut start, end + 1)..end].trim_ascii())
        })
    }
}

/// Why a reader could not take a line as it stands.
#[derive(Debug)]
pub enum Fault {
    /// The JSON is broken, or lacks what its type promises; the line stated nothing.
    Malformed(serde_json::Error),
    /// Readable, but against the client's own rules.
    Found(Box<Finding>),
}

impl Fault {
    /// A fault of kind `code`.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self::Found(Box::new(Finding::new(code, message)))
    }
}

impl From<serde_json::Error> for Fault {
    fn from(error: serde_json::Error) -> Self {
        Self::Malformed(error)
    }
}

/// One client's dialect of session log.
pub trait Format: Sync {
    /// The client's short name: the same on the command line, in reports and in `fixtures/`.
    fn name(&self) -> &'static str;

    /// The versions that are read, and those that are written, as their logs name them.
    fn versions(&self) -> (&'static [u32], &'static [u32]);

    /// The version in which a child of a session of version `parent` is written.
    fn written_version(&self, parent: u32) -> u32 {
        parent
    }

    /// Whether this client wrote a log that begins like this.
    fn claims(&self, head: &Head<'_>) -> bool;

    /// Whether a file that begins so is what the client prints of its turns: no log, but it sums up what was paid.
    fn sums_up(&self, _head: &Head<'_>) -> bool {
        false
    }

    /// A reader for one log. It may remember lines.
    fn reader(&self) -> Box<dyn Reader>;

    /// A last look at what all lines state together: what only the whole log tells. `name` is the id that the file's
    /// name gives.
    fn settle(&self, _facts: &mut Facts, _name: Option<&str>) {}

    /// The path that the client makes of a chain of records: what it puts back from other branches stands in it too.
    fn path(&self, _facts: &Facts, chain: Vec<u32>) -> Vec<u32> {
        chain
    }

    /// The record that the client would go on from; `None` where a log is one line of events. In a tree without any
    /// record it is `Some(None)`.
    fn leaf(&self, facts: &Facts) -> Option<Option<Id>>;

    /// Which messages the model sees, in order, when the session is at the end of `path`: the client's own choice of
    /// compaction, edits and surface.
    fn history(&self, facts: &Facts, path: &[u32]) -> Vec<Message>;

    /// How many records of `path` were inherited, where the log itself tells.
    fn seed(&self, facts: &Facts, path: &[u32]) -> Option<usize>;

    /// The inherited length in the client's own unit, as reports give it: events in DSH, else records.
    fn seed_length(&self, _facts: &Facts, kept: &[u32]) -> u64 {
        kept.len() as u64
    }

    /// How much of a parent's history a record stands for, in a unit that parent and child share.
    fn weight(&self, facts: &Facts, line: u32) -> u64 {
        self.seed_length(facts, &[line])
    }

    /// The text of a message, and the calls in it; `body` is the value as it stands in the line.
    fn unfold(&self, body: &[u8]) -> Unfolded;

    /// Whether requests hold neighbouring messages of one speaker as one, and calls without a result not at all.
    fn joins(&self) -> bool {
        false
    }

    /// Adds what an item that stands with a message holds: a call, a result, a thought.
    fn unfold_item(&self, _item: &[u8], _into: &mut Unfolded) {}

    /// The values of such an item that the model sees, as ranges of it, in the order in which they are hashed.
    fn seen(&self, _item: &[u8]) -> Vec<Range<usize>> {
        Vec::new()
    }

    /// What the client calls the numbers of its events.
    fn number_name(&self) -> &'static str {
        "seq"
    }

    /// The number of the event on a line.
    fn number_of(&self, _line: &[u8]) -> Option<u64> {
        None
    }

    /// The log that one which begins like this continues, if it only refers to it.
    fn base(&self, _head: &Head<'_>) -> Option<Base> {
        None
    }

    /// Whether the client makes a child of a session of that version by reference to its parent's bytes.
    fn refers(&self, _version: u32) -> bool {
        false
    }

    /// Whether the events of a self-contained child are numbered anew.
    fn renumbers(&self, _version: u32) -> bool {
        false
    }

    /// Whether nothing that follows a finished turn can change what stood before its end, so that a cut there needs no
    /// look at the rest.
    fn settled(&self, _version: u32) -> bool {
        false
    }

    /// The system prompt in force at the end of `path`, where it is no message.
    fn system_prompt(&self, facts: &Facts, path: &[u32]) -> Option<Span> {
        path.iter().rev().find_map(|line| {
            facts.of(*line).find_map(|fact| match fact {
                Fact::Prompt(place) => Some(place.on(*line)),
                _ => None,
            })
        })
    }

    /// Where logs of this client lie.
    fn layout(&self) -> &dyn Layout;

    /// The half that writes side conversations down which another program held.
    fn recorder(&self) -> &dyn Recorder;

    /// The writing half, for logs of the version that `facts` tell of.
    fn writer(&self, facts: &Facts) -> Result<&dyn Writer>;
}

/// What a reader knows of the lines behind it, as bytes that another run can go on from: no words of a conversation.
pub trait Memory {
    /// The bytes.
    fn pack(&self) -> Option<Vec<u8>>;

    /// Takes over what the reader knew that bytes were made of.
    fn unpack(&mut self, bytes: &[u8]) -> Option<()>;
}

impl<T: Serialize + DeserializeOwned> Memory for T {
    fn pack(&self) -> Option<Vec<u8>> {
        postcard::to_stdvec(self).ok()
    }

    fn unpack(&mut self, bytes: &[u8]) -> Option<()> {
        *self = postcard::from_bytes(bytes).ok()?;
        Some(())
    }
}

/// Reads one log, line by line, in order.
pub trait Reader: Memory {
    /// A file of a chain begins; the last one is the session's `own`. Logs of one file are their own.
    fn part(&mut self, _own: bool) {}

    /// Adds to `facts` what `line` states. A line that is malformed states nothing.
    fn read(&mut self, line: &Line<'_>, facts: &mut Facts) -> Result<(), Fault>;

    /// Whether the line read last is known to name no character by its number, so that nobody need look for such names.
    fn is_plain(&self) -> bool {
        false
    }

    /// Whether `bytes` are a whole record of this client: what a damaged line is searched for.
    fn is_record(&self, bytes: &[u8]) -> bool;
}

/// Where a message comes from, as far as a person would want to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Said in this session.
    Own,
    /// Copied from the parent.
    Inherited,
    /// The framing of a side session.
    Framing,
    /// A note from a side session.
    Merge,
    /// A summary of what stood before.
    Compaction,
}

impl Origin {
    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Inherited => "inherited",
            Self::Framing => "framing",
            Self::Merge => "merge",
            Self::Compaction => "compaction",
        }
    }
}

/// One message of the model's history.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// The line of the record it belongs to.
    pub line: u32,
    /// Who speaks.
    pub role: Role,
    /// The value that the model sees, as it stands in a line; an edit may put it on another line.
    pub body: Span,
    /// What the model sees with it and is no message of its own: whole items, in order.
    pub items: Vec<Span>,
    /// Where it comes from.
    pub origin: Origin,
    /// Whether the client would put it into the next request.
    pub sent: bool,
}

/// A message's value, unfolded for people and scripts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unfolded {
    /// The words.
    pub text: String,
    /// Calls made in it: id, name, arguments.
    pub calls: Vec<(String, String, String)>,
    /// Ids of the calls it answers.
    pub results: Vec<String>,
    /// What the tools put out, where that is not the text itself.
    pub output: String,
}

/// What is new about a child.
#[derive(Clone, Debug)]
pub struct Birth {
    /// The child.
    pub id: String,
    /// When.
    pub at: DateTime<Utc>,
    /// Its working folder.
    pub cwd: Option<String>,
    /// Its title, if it gets one.
    pub title: Option<String>,
    /// The session it comes from.
    pub parent: String,
    /// Where that lies, absolute.
    pub parent_path: PathBuf,
    /// What is inherited, in the client's own unit.
    pub seed_length: u64,
    /// The version of the format that the parent is in.
    pub version: u32,
    /// The parent's bytes that the child refers to instead of holding them.
    pub base: Option<Base>,
    /// Whether it is a side session of its parent.
    pub aside: bool,
}

/// A text to be said into a session.
#[derive(Clone, Debug)]
pub struct Note {
    /// Framing or note.
    pub carrier: Carrier,
    /// The words, trimmed.
    pub text: String,
    /// The digest that identifies it, in hex.
    pub digest: String,
    /// The side session of a note, the parent of a framing.
    pub other: String,
    /// First and last message of the side session that the note stands for; empty when a person wrote it.
    pub range: [String; 2],
}

/// What the next line of a log must follow.
#[derive(Clone, Debug, Default)]
pub struct Tip {
    /// The last record on the active path.
    pub last: Option<String>,
    /// The next event's number.
    pub seq: u64,
    /// The newest time, in milliseconds; a new line is not older.
    pub time: i64,
    /// The version of the format.
    pub version: u32,
    /// The session that the line is written into, where each line names it.
    pub session: String,
    /// A record that the new one is modelled on.
    pub like: Vec<u8>,
    /// The words last asked.
    pub prompt: Option<String>,
    /// The working folder of what follows, if not that of the model.
    pub cwd: Option<String>,
}

/// What becomes of a line in a child.
#[derive(Clone, Debug, PartialEq)]
pub enum Adopted {
    /// Copied as it stands.
    AsIs,
    /// Copied with some values replaced.
    Spliced(Splice),
    /// Left out.
    Dropped,
}

/// Answers for ids whose record may be left out.
pub trait Rewire {
    /// `id` if it is kept, else its nearest kept ancestor.
    fn parent(&self, id: Id) -> Option<Id>;
    /// The kept record that stands before `id` on the path.
    fn before(&self, id: Id) -> Option<Id>;
    /// `id` if it is kept, else the next record of the path that is.
    fn successor(&self, id: Id) -> Option<Id>;
    /// The last record that is kept.
    fn last(&self) -> Option<Id>;
    /// Whether a record is kept.
    fn keeps(&self, id: Id) -> bool;
}

/// What a writer may look at while a child is made.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The parent's facts.
    pub facts: &'a Facts,
    /// What is new.
    pub birth: &'a Birth,
    /// What became of the parent's records.
    pub rewire: &'a dyn Rewire,
    /// The parent's own header line; empty where the client has none.
    pub header: &'a [u8],
}

/// Says things the way the client itself would have. No line has its line end.
pub trait Writer {
    /// The first line of a child; empty where the client writes none.
    fn header(&self, context: Context<'_>) -> Vec<u8>;

    /// Whether the parent's own header is copied behind the child's.
    fn keeps_header(&self, _context: Context<'_>) -> bool {
        false
    }

    /// What becomes of line `index` of the parent, which is on the path and before the boundary; `lines` give its bytes
    /// to those that need them.
    fn adopt(&self, index: u32, lines: &mut Reread<'_>, context: Context<'_>) -> Result<Adopted>;

    /// What stands right behind the seed.
    fn seal(&self, tip: &mut Tip, context: Context<'_>) -> Vec<Vec<u8>>;

    /// A setting that was in force in the parent, said anew in a child without its context.
    fn setting(&self, line: &[u8], tip: &mut Tip, context: Context<'_>) -> Result<Vec<u8>>;

    /// `line` with another number.
    fn renumber(&self, line: &[u8], _number: u64) -> Result<Vec<u8>> {
        Ok(line.to_vec())
    }

    /// Whether a child says its parent's settings anew although it inherits the context.
    fn restates(&self, _context: Context<'_>) -> bool {
        false
    }

    /// A framing or a note; `taken` tells whether the log has a record of that id.
    fn note(
        &self,
        note: &Note,
        at: DateTime<Utc>,
        tip: &mut Tip,
        taken: &dyn Fn(&str) -> bool,
    ) -> Vec<u8>;

    /// The lines that must follow a note at the end of a log, so that its client finds it as the tip.
    fn mark_tip(&self, _tip: &Tip) -> Vec<Vec<u8>> {
        Vec::new()
    }

    /// Why the client that wrote the log would not send a note or a framing, if that is so.
    fn unsent(&self, _facts: &Facts) -> Option<Finding> {
        None
    }

    /// A line of a sidecar as the child's own.
    fn sidecar(&self, line: &[u8], _birth: &Birth) -> Result<Vec<u8>> {
        Ok(line.to_vec())
    }

    /// The last lines of a child: names, titles. `labels` are the parent's lines that name a kept record.
    fn finish(
        &self,
        labels: &[Vec<u8>],
        tip: &mut Tip,
        context: Context<'_>,
    ) -> Result<Vec<Vec<u8>>>;

    /// What the next line must follow at the end of `path`, whose last line is `last`.
    fn tip(&self, facts: &Facts, path: &[u32], last: Option<&[u8]>) -> Tip;

    /// Whether a log of that version takes a message of ours behind `path`.
    fn takes_note(&self, _facts: &Facts, _version: u32, _path: &[u32]) -> bool {
        true
    }

    /// Whether a torn tail may be closed with a newline, so that the client skips it as a line of its own.
    fn mends_tail(&self) -> bool {
        true
    }

    /// The words of a note as the model sees it, without what the client wraps them in.
    fn words<'a>(&self, text: &'a str) -> &'a str {
        text.trim()
    }

    /// What a reader recognises the note by: the id that [`crate::fact::Fact::Carried`] then has.
    fn mark(&self, note: &Note) -> String;
}

/// Where a client's logs lie and what they are called.
pub trait Layout {
    /// The folders in which the client of this environment keeps its logs.
    fn roots(&self, env: &Env) -> Vec<PathBuf>;

    /// The folder of logs inside a client's own folder, such as `sessions`.
    fn sessions_folder(&self) -> &'static str;

    /// Whether the client could have made that id.
    fn valid_id(&self, id: &str) -> bool;

    /// Whether a header may hold that id; clients that make ids harmless before they name files take more.
    fn valid_header_id(&self, id: &str) -> bool {
        self.valid_id(id)
    }

    /// The id that the file's name or folder gives, if that has an id's form.
    fn name_id(&self, path: &Path) -> Option<String>;

    /// What the place of a file says of the session in it: whose errand it is on.
    fn placed(&self, _path: &Path, _header: &mut Header) {}

    /// The folder of logs, if the file lies in it where the client would put it.
    fn root_of(&self, path: &Path) -> Option<PathBuf>;

    /// The place of a child below the folder of logs `root`.
    fn place(&self, root: &Path, birth: &Birth, encoding: Encoding) -> PathBuf;

    /// The place of a child whose parent lies outside of any layout.
    fn beside(&self, parent: &Path, birth: &Birth) -> PathBuf;

    /// Which generation of its session a file is, where there are several and the highest is the live one.
    fn generation(&self, _path: &Path) -> Option<u128> {
        None
    }

    /// Whether the generations of one session may lie in different folders, and each holds what the others do not.
    fn scattered(&self) -> bool {
        false
    }

    /// The id of the file itself, where a session may have several.
    fn file_id(&self, path: &Path) -> Option<String> {
        self.name_id(path)
    }

    /// The folder beside the folder of logs `root` in which the client keeps logs that were put away.
    fn attic(&self, _root: &Path) -> Option<PathBuf> {
        None
    }

    /// The client's own list of names beside the folder of logs `root`.
    fn index(&self, _root: &Path) -> Option<PathBuf> {
        None
    }

    /// The session and the name on a line of that list.
    fn indexed(&self, _line: &[u8]) -> Option<(String, String)> {
        None
    }

    /// The line of that list for a child, if the client would look there for it.
    fn index_line(&self, _birth: &Birth) -> Option<Vec<u8>> {
        None
    }

    /// How the client stores a new log whose parent is stored in the given way.
    fn stores(&self, parent: Encoding) -> Encoding {
        parent
    }

    /// Whether one folder of logs must not mix plain and compressed ones.
    fn one_encoding(&self) -> bool {
        false
    }

    /// The file whose lock a writer of `path` must hold, if the client has one.
    fn lock(&self, _path: &Path, _version: u32) -> Option<PathBuf> {
        None
    }

    /// An id as the client would make it.
    fn new_id(&self) -> String {
        uuid::Uuid::now_v7().to_string()
    }

    /// Where the client says which of its processes has the session open.
    fn presence(&self, _path: &Path) -> Option<Presence> {
        None
    }

    /// The folder beside a log in which the client keeps what belongs to it.
    fn beside_log(&self, _path: &Path) -> Option<PathBuf> {
        None
    }

    /// What a file is that lies beside a log, such as `subagents`, whether it counts, and whether it can be carried.
    fn sidecar(&self, _name: &Path) -> Option<Sidecar> {
        None
    }

    /// The command that starts a session under an id, where the client cannot open one without messages.
    fn starts(&self, _id: &str) -> Option<Vec<String>> {
        None
    }

    /// Whether that command takes a first prompt as its last word.
    fn takes_question(&self) -> bool {
        true
    }

    /// The command that opens a session in its client.
    fn opens(&self, id: &str, path: &Path, in_store: bool) -> Vec<String>;

    /// The command that has the client answer `question` in a session without a screen; none where no such command is
    /// known. Without a `path` the client starts the session under that id.
    fn asks(
        &self,
        _id: &str,
        _path: Option<&Path>,
        _in_store: bool,
        _question: &str,
    ) -> Option<Vec<String>> {
        None
    }
}

/// A command line with `question` as its last word, which no client takes for a flag.
#[must_use]
pub fn with_question<const N: usize>(words: [&str; N], question: &str) -> Vec<String> {
    let guard = question.starts_with('-').then_some("--");
    words.into_iter().chain(guard).chain([question]).map(Into::into).collect()
}

/// Where a client says which of its processes has a session open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Presence {
    /// A folder with one JSON file a process, each with a `pid` and a `sessionId`.
    Folder(PathBuf),
    /// A JSON file with the `pid` of the process that has this one session.
    Lease(PathBuf),
}

/// What a file is that a client keeps beside a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sidecar {
    /// The word in reports.
    pub kind: &'static str,
    /// Whether it counts as one; else it goes with another.
    pub counts: bool,
    /// Whether a child can have it.
    pub carried: bool,
    /// Whether its lines name the session.
    pub lines: bool,
}

/// A line of the wrong shape, as the error of a verb that cannot do without it.
pub fn malformed(number: usize, error: &serde_json::Error) -> Error {
    Finding::new(Code::LineCorrupt, format!("line {number}: {error}")).on(number).into()
}

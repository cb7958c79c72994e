//! What can be wrong with a log, and what is merely worth knowing: one set of codes for all clients.

use std::{borrow::Cow, fmt, path::PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Never a reason to stop.
    Note,
    /// An error only under `--strict`.
    Warning,
    /// Stops whatever would write from this log.
    Error,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident $name:literal $severity:ident $lost:literal,)*) => {
        /// A kind of finding. The names are an interface.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code { $($(#[$doc])* $variant,)* }

        impl Code {
            /// Every code there is.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The stable name.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The severity that a finding of this kind has unless its place says otherwise.
            #[must_use]
            pub fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity,)* }
            }

            /// Whether a printed message is lost or doubtful when this is found.
            #[must_use]
            pub fn loses(self) -> bool {
                match self { $(Self::$variant => $lost,)* }
            }
        }
    };
}

codes! {
    /// No client is known to write this.
    FormatUnknown "FORMAT_UNKNOWN" Error true,
    /// A version of the format that cannot be read.
    VersionUnsupported "VERSION_UNSUPPORTED" Error true,
    /// An event that its client refuses to load.
    EventUnknown "EVENT_UNKNOWN" Error false,
    /// No bytes at all.
    EmptyFile "EMPTY_FILE" Error true,
    /// The first record does not say whose log this is.
    HeaderMissing "HEADER_MISSING" Error true,
    /// A session id that its client could not have made.
    IdInvalid "ID_INVALID" Error false,
    /// File name and header name different sessions.
    IdMismatch "ID_MISMATCH" Error false,
    /// A line that its client cannot read.
    LineCorrupt "LINE_CORRUPT" Error true,
    /// Bytes after the last line end: a write in progress, or one that was cut.
    TornTail "TORN_TAIL" Error false,
    /// A run of zero bytes.
    NulBlock "NUL_BLOCK" Error true,
    /// Bytes that are no UTF-8.
    InvalidUtf8 "INVALID_UTF8" Error false,
    /// An escape that names half a character.
    LoneSurrogate "LONE_SURROGATE" Error false,
    /// Several records on one line.
    RecordsFused "RECORDS_FUSED" Error true,
    /// One record on several lines.
    RecordSplit "RECORD_SPLIT" Error true,
    /// A line longer than can be dealt with.
    RecordTooLarge "RECORD_TOO_LARGE" Error true,
    /// A parent that is not in the log.
    ChainBroken "CHAIN_BROKEN" Error true,
    /// A record that is its own ancestor.
    ChainCycle "CHAIN_CYCLE" Error true,
    /// Two records with one id.
    DuplicateId "DUPLICATE_ID" Error false,
    /// A record of another session.
    ForeignRecord "FOREIGN_RECORD" Error false,
    /// A call without a result.
    OrphanToolCall "ORPHAN_TOOL_CALL" Error false,
    /// A result without a call.
    OrphanToolResult "ORPHAN_TOOL_RESULT" Error false,
    /// Two results for one call.
    DuplicateResult "DUPLICATE_RESULT" Error true,
    /// Numbers left out.
    SeqGap "SEQ_GAP" Error true,
    /// A number smaller than the one before.
    SeqBack "SEQ_BACK" Error true,
    /// The same number again.
    SeqRepeat "SEQ_REPEAT" Error true,
    /// A record without its number.
    SeqMissing "SEQ_MISSING" Error true,
    /// A turn that starts while another goes on.
    InterleavedTurns "INTERLEAVED_TURNS" Error false,
    /// A pointer to a record that is not in the log.
    PointerDangling "POINTER_DANGLING" Error false,
    /// The log that this one continues is not there.
    HistoryBaseMissing "HISTORY_BASE_MISSING" Error true,
    /// A log that continues itself.
    HistoryBaseCycle "HISTORY_BASE_CYCLE" Error true,
    /// A compressed frame that does not decode.
    FrameCorrupt "FRAME_CORRUPT" Error true,
    /// A byte order mark.
    Bom "BOM" Warning false,
    /// Lines that end with carriage return and newline.
    Crlf "CRLF" Warning false,
    /// An escaped U+0000 in text that the model sees.
    ControlChars "CONTROL_CHARS" Warning false,
    /// Thinking whose text is gone while its signature is kept.
    ThinkingEmpty "THINKING_EMPTY" Warning false,
    /// Another session of the store has that title.
    TitleInUse "TITLE_IN_USE" Warning false,
    /// What the client keeps beside the log did not come along.
    SidecarsNotCarried "SIDECARS_NOT_CARRIED" Warning false,
    /// Somebody seems to have the session open.
    SessionLive "SESSION_LIVE" Warning false,
    /// The boundary is not the end of the log.
    Clipped "CLIPPED" Warning false,
    /// A prompt that was queued and has not run.
    StillQueued "STILL_QUEUED" Warning false,
    /// The versions of the client choose different branches.
    LeafDisagrees "LEAF_DISAGREES" Warning false,
    /// This version of the client will not send the note.
    NoteNotSent "NOTE_NOT_SENT" Warning false,
    /// The working folder changed on the way.
    CwdChanged "CWD_CHANGED" Note false,
    /// The model sees a summary of the older part.
    CompactedSource "COMPACTED_SOURCE" Note false,
    /// A time earlier than the one before.
    TimeBack "TIME_BACK" Note false,
    /// The session was forked from another.
    IsFork "IS_FORK" Note false,
}

impl Code {
    /// The code of that name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.name() == name)
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl JsonSchema for Code {
    fn schema_name() -> Cow<'static, str> {
        "Code".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = Self::ALL.iter().map(|code| code.name()).collect();
        json_schema!({ "description": "A kind of finding.", "type": "string", "enum": names })
    }
}

/// One thing found in a log, and where.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Finding {
    /// What kind of thing.
    pub code: Code,
    /// How much it matters here.
    pub severity: Severity,
    /// The line, counted from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// First and last line, where it spans or pairs two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<[usize; 2]>,
    /// The byte in the file, where it helps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub byte: Option<u64>,
    /// The file, where it is not the one that the report is about.
    #[serde(skip)]
    pub path: Option<PathBuf>,
    /// For people.
    pub message: String,
    /// What else this kind tells.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
}

impl Finding {
    /// A finding about the whole file.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: code.severity(),
            line: None,
            lines: None,
            byte: None,
            path: None,
            message: message.into(),
            fields: Map::new(),
        }
    }

    /// The same on `line`, counted from one.
    #[must_use]
    pub fn on(mut self, line: usize) -> Self {
        self.line = Some(line);
        self
    }

    /// The same with a severity that its place gives it.
    #[must_use]
    pub fn rated(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// The same with one more field.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(key.into(), value.into());
        self
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

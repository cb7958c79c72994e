//! DSH's JSON as borrowing structs: only the fields that we use.

use std::borrow::Cow;

use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny},
};

use super::super::{
    Unfolded,
    json::{self, Count, Raw, Text},
    scan::{self, Parsed, Unread},
};

/// What tells a DSH header from others.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Claim<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Cow<'a, str>,
    #[serde(borrow)]
    pub created_at: Option<Raw<'a>>,
    #[serde(borrow)]
    pub delegation_depth: Option<Raw<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Header<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Text<'a>,
    pub version: u32,
    #[serde(borrow)]
    pub id: Text<'a>,
    pub created_at: i64,
    #[serde(borrow)]
    pub cwd: Option<Text<'a>>,
    #[serde(borrow)]
    pub parent_session: Option<Text<'a>>,
    pub seed_length: Option<u64>,
    pub is_seeded: Option<bool>,
    #[serde(borrow)]
    pub origin: Option<Text<'a>>,
    #[serde(borrow)]
    pub agent_preset: Option<Text<'a>>,
    #[expect(dead_code, reason = "required: the real loaders refuse a header without it")]
    pub delegation_depth: u64,
}

/// Any line behind the header. The loaders refuse every other key.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Event<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Text<'a>,
    pub seq: Option<u64>,
    pub time: Option<i64>,
    /// Packed rows hold several events and number them from here.
    pub seq0: Option<u64>,
    pub time0: Option<i64>,
    #[serde(borrow)]
    pub data: Raw<'a>,
    #[serde(borrow)]
    pub surface_op: Option<Raw<'a>>,
    #[serde(rename = "sourceEventSeqs", borrow)]
    pub _sources: Option<Raw<'a>>,
    pub ignorable: Option<bool>,
}

/// The data of an event, by its type. What is large lies in a box, because most events are small.
pub(super) enum Body<'a> {
    TurnStart(TurnMark<'a>),
    TurnEnd(TurnMark<'a>),
    User(Box<Message<'a>>),
    /// `system/message` and `developer/message`.
    Context(Box<Said<'a>>),
    Answer(Box<Said<'a>>),
    Result(Box<Said<'a>>),
    Chunk(Box<Chunk<'a>>),
    /// A packed row, and how many chunks it holds.
    Chunks(u32),
    Attempt(Attempt<'a>),
    Retry,
    Summary(Box<Summary<'a>>),
    Compaction {
        starts: bool,
    },
    Title(Title<'a>),
    /// A call to a helper model whose usage is recorded nowhere.
    HelperCall,
    Inbox(Spliced<'a>),
    EndSeed(EndSeed),
    Request(Box<RequestHeader<'a>>),
    StepStart,
    /// A setting, by its kind.
    Setting(u8),
    /// Our link to the transcript of a pane.
    Pointer(Pointer<'a>),
    Other,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Pointer<'a> {
    #[serde(borrow)]
    pub btw_id: Text<'a>,
}

impl<'a> Body<'a> {
    /// What the data of an event of type `kind` says.
    pub(super) fn read<D: Deserializer<'a>>(kind: &str, data: D) -> Result<Self, D::Error> {
        Ok(match kind {
            "turn/start" => Self::TurnStart(TurnMark::deserialize(data)?),
            "turn/end" => Self::TurnEnd(TurnMark::deserialize(data)?),
            "user/message" => Self::User(Box::deserialize(data)?),
            "system/message" | "developer/message" => Self::Context(Box::deserialize(data)?),
            "assistant/message" => Self::Answer(Box::deserialize(data)?),
            "tool/result" => Self::Result(Box::deserialize(data)?),
            "assistant/chunk" => Self::Chunk(Box::deserialize(data)?),
            "text-chunks" | "reasoning-chunks" | "tool-call-chunks" => {
                Self::Chunks(Row::deserialize(data)?.members()?)
            }
            "assistant/attempt" => Self::Attempt(Attempt::deserialize(data)?),
            "compaction/summary" => Self::Summary(Box::deserialize(data)?),
            "session/title" => Self::Title(Title::deserialize(data)?),
            "agent/inbox/spliced" => Self::Inbox(Spliced::deserialize(data)?),
            "session/end-seed" => Self::EndSeed(EndSeed::deserialize(data)?),
            "request/header" => Self::Request(Box::deserialize(data)?),
            "plugin:sessctl/side" => Pointer::deserialize(data).map_or(Self::Other, Self::Pointer),
            _ => {
                IgnoredAny::deserialize(data)?;
                Self::named(kind)
            }
        })
    }

    /// Of these the type says all.
    fn named(kind: &str) -> Self {
        match kind {
            "llm/retry-started" => Self::Retry,
            "compaction/start" => Self::Compaction { starts: true },
            "compaction/end" => Self::Compaction { starts: false },
            "session/title-llm-request" | "web/deepseek-search-llm-request" => Self::HelperCall,
            "step/start" => Self::StepStart,
            "permission/preset" => Self::Setting(0),
            "sandbox/mode" => Self::Setting(1),
            "approval/policy" => Self::Setting(2),
            "model/selection" => Self::Setting(3),
            _ => Self::Other,
        }
    }

    /// How many events the line holds.
    pub(super) fn events(&self) -> u32 {
        match self {
            Self::Chunks(count) => *count,
            _ => 1,
        }
    }
}

/// Replacement ends: `start` and `end` up to format 2, then `startSeq` and `endSeq`.
#[derive(Deserialize)]
pub(super) struct Replace {
    #[serde(alias = "startSeq")]
    pub start: u32,
    #[serde(alias = "endSeq")]
    pub end: u32,
}

#[derive(Deserialize)]
pub(super) struct Row<'a> {
    #[serde(borrow)]
    pub texts: Option<Vec<Raw<'a>>>,
    #[serde(borrow)]
    pub args: Option<Vec<Raw<'a>>>,
}

impl Row<'_> {
    /// How many chunks; a row without any is none.
    fn members<E: Error>(&self) -> Result<u32, E> {
        let members = self.texts.as_ref().or(self.args.as_ref()).map_or(0, Vec::len);
        match u32::try_from(members) {
            Ok(members @ 1..) => Ok(members),
            _ => Err(E::custom("a packed row without members")),
        }
    }
}

#[derive(Deserialize)]
pub(super) struct TurnMark<'a> {
    pub turn: u64,
    #[serde(borrow)]
    pub reason: Option<Kind<'a>>,
}

#[derive(Clone, Deserialize)]
pub(super) struct Kind<'a> {
    #[serde(borrow)]
    pub kind: Text<'a>,
}

/// The envelope of an answer or a result; a `user/message` has no envelope and is the message.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Said<'a> {
    #[serde(borrow)]
    pub message: Message<'a>,
    pub usage: Option<Usage>,
    pub interrupted: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub role: Text<'a>,
    #[serde(borrow)]
    pub id: Option<Text<'a>>,
    #[serde(borrow)]
    pub content: Parsed<'a, Vec<Link<'a>>>,
    #[serde(borrow)]
    pub source: Option<Source<'a>>,
    #[serde(borrow)]
    pub tool_call_id: Option<Text<'a>>,
}

#[derive(Default, Deserialize)]
pub(super) struct Source<'a> {
    #[serde(borrow)]
    pub kind: Option<Text<'a>>,
    #[serde(borrow)]
    pub plugin: Option<Text<'a>>,
    #[serde(borrow)]
    pub provider: Option<Text<'a>>,
    #[serde(borrow)]
    pub model: Option<Text<'a>>,
}

/// Counters: the input ones are disjoint, reasoning is inside output. Missing or null is zero.
#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Usage {
    pub input_tokens: Count,
    pub output_tokens: Count,
    pub cache_read_tokens: Count,
    pub cache_write_tokens: Count,
    pub reasoning_tokens: Count,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Summary<'a> {
    #[serde(borrow)]
    pub compaction_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub provider: Option<Text<'a>>,
    #[serde(borrow)]
    pub model: Option<Text<'a>>,
    pub usage: Option<Usage>,
}

#[derive(Deserialize)]
pub(super) struct Chunk<'a> {
    pub turn: u64,
    pub step: u64,
    #[serde(borrow)]
    pub chunk: ChunkBody<'a>,
}

#[derive(Deserialize)]
pub(super) struct ChunkBody<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Text<'a>,
    pub usage: Option<Usage>,
}

#[derive(Deserialize)]
pub(super) struct Attempt<'a> {
    pub turn: u64,
    pub step: u64,
    #[serde(borrow)]
    pub stream: Vec<Streamed<'a>>,
}

impl Attempt<'_> {
    /// The last usage sample of the attempt's stream.
    pub(super) fn last_usage(&self) -> Option<&Usage> {
        self.stream.iter().rev().find_map(|part| part.chunk.as_ref()?.usage.as_ref())
    }
}

#[derive(Deserialize)]
pub(super) struct Streamed<'a> {
    #[serde(borrow)]
    pub chunk: Option<ChunkBody<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Spliced<'a> {
    pub removed_count: Option<u32>,
    #[serde(borrow)]
    pub inserted: Option<Vec<Raw<'a>>>,
}

#[derive(Deserialize)]
pub(super) struct Title<'a> {
    #[serde(borrow)]
    pub title: Text<'a>,
}

#[derive(Deserialize)]
pub(super) struct EndSeed {
    pub inherited: Option<bool>,
}

#[derive(Deserialize)]
pub(super) struct RequestHeader<'a> {
    #[serde(borrow)]
    pub header: SystemOf<'a>,
}

#[derive(Deserialize)]
pub(super) struct SystemOf<'a> {
    #[serde(borrow)]
    pub system: Option<Raw<'a>>,
    #[serde(borrow)]
    pub config: Option<Config<'a>>,
}

#[derive(Deserialize)]
pub(super) struct Config<'a> {
    #[serde(borrow)]
    pub provider: Option<Text<'a>>,
    #[serde(borrow)]
    pub model: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Block<'a> {
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    arguments: Option<Text<'a>>,
    #[serde(borrow)]
    tool_call_id: Option<Text<'a>>,
    #[serde(borrow)]
    content: Option<Raw<'a>>,
}

/// A [`Block`], of which no more is read than which call it makes or answers.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Link<'a> {
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
    #[serde(rename = "text")]
    _text: Option<Unread>,
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(rename = "name")]
    _name: Option<Unread>,
    #[serde(rename = "arguments")]
    _arguments: Option<Unread>,
    #[serde(borrow)]
    tool_call_id: Option<Text<'a>>,
    #[serde(rename = "content")]
    _content: Option<IgnoredAny>,
}

/// The types of the blocks that matter.
const CALL: &str = "tool-call";
const RESULT: &str = "tool-result";

impl<'a> Link<'a> {
    /// The block of that type, if it is one that calls or answers.
    pub(super) fn of(
        kind: Text<'a>,
        id: Option<Text<'a>>,
        answers: Option<Text<'a>>,
    ) -> Option<Self> {
        matches!(kind.0.as_ref(), CALL | RESULT).then(|| Self {
            kind,
            _text: None,
            id,
            _name: None,
            _arguments: None,
            tool_call_id: answers,
            _content: None,
        })
    }
}

impl Message<'_> {
    /// The ids of the calls in it.
    pub(super) fn calls(&self) -> impl Iterator<Item = &str> {
        self.links(CALL).map(|link| link.id.as_ref().map_or("", |id| id.0.as_ref()))
    }

    /// The call that a result of formats 0 to 3 answers: it stands in the one block of its content.
    pub(super) fn answers(&self) -> Option<&str> {
        let link = self.links(RESULT).next()?;
        Some(link.tool_call_id.as_ref().map_or("", |id| id.0.as_ref()))
    }

    fn links(&self, kind: &'static str) -> impl Iterator<Item = &Link<'_>> {
        let all = self.content.value.iter().flatten();
        all.filter(move |link| link.kind.0 == kind)
    }
}

/// A message's content, which is always a list of blocks.
pub(super) fn unfold(body: &[u8]) -> Unfolded {
    let mut unfolded = Unfolded::default();
    let mut texts = Vec::new();
    for block in scan::read::<Vec<Block<'_>>>(body).unwrap_or_default() {
        let own = |text: Option<Text<'_>>| text.unwrap_or_default().owned();
        match block.kind.0.as_ref() {
            "text" => texts.push(own(block.text)),
            "tool-call" => {
                unfolded.calls.push((own(block.id), own(block.name), own(block.arguments)));
            }
            "tool-result" => {
                unfolded.results.push(own(block.tool_call_id));
                if let Some(content) = block.content {
                    let inner = unfold(content.get().as_bytes());
                    texts.push(inner.text);
                }
            }
            "image" => texts.push("[image]".into()),
            _ => {}
        }
    }
    unfolded.text = json::joined(texts);
    unfolded
}

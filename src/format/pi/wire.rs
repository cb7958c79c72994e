//! pi's JSON as borrowing structs: only the fields that we use.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, de::IgnoredAny};

use super::super::{
    Head, Unfolded,
    json::{self, Count, Raw, Text},
    scan::{Parsed, Unread},
};

/// Whose session it is. prime 0.8.0 grew out of pi; the two differ in folders, some entries and two header fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::format) enum Dialect {
    Pi,
    Prime,
}

/// What tells a header from others, and one dialect from the other.
#[derive(Deserialize)]
pub(in crate::format) struct Claim<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Cow<'a, str>,
    #[serde(borrow)]
    pub timestamp: Option<Text<'a>>,
    #[serde(rename = "rlmDepth", borrow)]
    pub rlm_depth: Option<Raw<'a>>,
}

/// Entries that only prime writes.
const PRIMES: &[&str] = &[
    "service_tier_change",
    "child_usage_attributed",
    "session_state",
    "agent_status",
    "git_state",
];

/// The dialect of a log that begins like this, if it is either. The first object must be the header. DSH headers begin
/// alike but have no `timestamp`. prime's have `rlmDepth`, but for old ones, which entries of its own give away.
pub(in crate::format) fn dialect(head: &Head<'_>) -> Option<Dialect> {
    let mut records =
        head.lines().filter_map(|line| serde_json::from_slice::<Claim<'_>>(line).ok());
    let header =
        records.next().filter(|claim| claim.kind == "session" && claim.timestamp.is_some())?;
    let is_primes = header.rlm_depth.is_some()
        || head.lines().filter(|line| may_be_primes(line)).any(|line| {
            let claim = serde_json::from_slice::<Claim<'_>>(line);
            claim.is_ok_and(|claim| PRIMES.contains(&claim.kind.as_ref()))
        });
    Some(if is_primes { Dialect::Prime } else { Dialect::Pi })
}

/// Whether an entry may be of a kind that only prime writes. Mostly the kind stands first.
fn may_be_primes(line: &[u8]) -> bool {
    let is = |kind: &&str| match line.strip_prefix(br#"{"type":""#) {
        Some(line) => line.starts_with(kind.as_bytes()),
        None => memchr::memmem::find(line, kind.as_bytes()).is_some(),
    };
    PRIMES.iter().any(is)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::format) struct Header<'a> {
    #[serde(borrow)]
    pub id: Text<'a>,
    #[serde(borrow)]
    pub version: Option<Raw<'a>>,
    #[serde(borrow)]
    pub timestamp: Option<Text<'a>>,
    #[serde(borrow)]
    pub cwd: Option<Text<'a>>,
    #[serde(borrow)]
    pub parent_session: Option<Text<'a>>,
    /// Version 1 branch copies name their source so.
    #[serde(borrow)]
    pub branched_from: Option<Text<'a>>,
}

/// Any line: the envelope, and what the types put beside it.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::format) struct Entry<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Text<'a>,
    #[serde(borrow)]
    pub id: Option<Text<'a>>,
    #[serde(borrow)]
    pub parent_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub timestamp: Option<Text<'a>>,
    /// In a box, because what serde reads is moved from hand to hand.
    #[serde(borrow)]
    pub message: Option<Parsed<'a, Box<Message<'a>>>>,
    #[serde(borrow)]
    pub summary: Option<Raw<'a>>,
    #[serde(borrow)]
    pub first_kept_entry_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub first_kept_entry_index: Option<Raw<'a>>,
    #[serde(borrow)]
    pub system_message: Option<Raw<'a>>,
    #[serde(borrow)]
    pub usage: Option<Raw<'a>>,
    #[serde(borrow)]
    pub from_hook: Option<Raw<'a>>,
    #[serde(rename = "kind", borrow)]
    pub usage_kind: Option<Text<'a>>,
    #[serde(borrow)]
    pub custom_type: Option<Text<'a>>,
    #[serde(borrow)]
    pub content: Option<Raw<'a>>,
    #[serde(borrow)]
    pub details: Option<Raw<'a>>,
    #[serde(borrow)]
    pub data: Option<Raw<'a>>,
    #[serde(borrow)]
    pub target_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub label: Option<Text<'a>>,
    #[serde(borrow)]
    pub replacement: Option<Raw<'a>>,
    #[serde(borrow)]
    pub name: Option<Text<'a>>,
    #[serde(borrow)]
    pub provider: Option<Text<'a>>,
    #[serde(borrow)]
    pub model: Option<Text<'a>>,
    #[serde(borrow)]
    pub model_id: Option<Text<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::format) struct Message<'a> {
    #[serde(borrow)]
    pub role: Text<'a>,
    #[serde(borrow)]
    pub content: Option<Parsed<'a, Vec<Called<'a>>>>,
    #[serde(borrow)]
    pub summary: Option<Raw<'a>>,
    #[serde(borrow)]
    pub sections: Option<Raw<'a>>,
    #[serde(borrow)]
    pub stop_reason: Option<Text<'a>>,
    #[serde(borrow)]
    pub tool_call_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub usage: Option<Raw<'a>>,
    #[serde(borrow)]
    pub provider: Option<Text<'a>>,
    #[serde(borrow)]
    pub model: Option<Text<'a>>,
    #[serde(borrow)]
    pub response_model: Option<Text<'a>>,
    #[serde(borrow)]
    pub response_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub timestamp: Option<Raw<'a>>,
    #[serde(borrow)]
    pub exclude_from_context: Option<Raw<'a>>,
}

impl Message<'_> {
    /// Whether an answer ended before its provider had said all of it.
    pub fn was_cut(&self) -> bool {
        let reason = self.stop_reason.as_ref().map(|reason| reason.0.as_ref());
        matches!(reason, Some("aborted" | "error"))
    }

    /// Whether anything was said in it.
    pub fn has_content(&self) -> bool {
        let blocks = self.content.as_ref().and_then(|content| content.value.as_ref());
        blocks.is_some_and(|blocks| !blocks.is_empty())
    }
}

/// Counters, disjoint but for `cache_write_1h` (in `cache_write`) and `reasoning` (in `output`), and what the client
/// reckons that they cost. A counter that is missing, null or no number is zero.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::format) struct Usage {
    pub input: Count,
    pub output: Count,
    pub cache_read: Count,
    pub cache_write: Count,
    #[serde(rename = "cacheWrite1h")]
    pub cache_write_1h: Count,
    pub reasoning: Count,
    pub cost: Cost,
}

/// A cost in nano-dollars, if it is an object with a total.
#[derive(Clone, Copy, Default)]
pub(in crate::format) struct Cost(pub Option<u64>);

impl Cost {
    /// That of a total in dollars.
    pub fn of(total: Option<f64>) -> Self {
        Self(total.and_then(json::nano_dollars))
    }
}

impl<'de> Deserialize<'de> for Cost {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Sum {
            total: Option<f64>,
        }
        let cost = Option::<Raw<'de>>::deserialize(deserializer)?;
        let sum: Option<Sum> = cost.and_then(|cost| json::counters(cost.get()));
        Ok(Self::of(sum.and_then(|sum| sum.total)))
    }
}

/// A block of a message's content, with what the views need.
#[derive(Deserialize)]
pub(in crate::format) struct Block<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Text<'a>,
    #[serde(borrow)]
    pub text: Option<Text<'a>>,
    #[serde(borrow)]
    pub id: Option<Text<'a>>,
    #[serde(borrow)]
    pub name: Option<Text<'a>>,
    #[serde(borrow)]
    pub arguments: Option<Raw<'a>>,
}

/// A [`Block`], of which no more is read than whether it is a call.
#[derive(Deserialize)]
pub(in crate::format) struct Called<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Text<'a>,
    #[serde(rename = "text")]
    _text: Option<Unread>,
    #[serde(borrow)]
    pub id: Option<Text<'a>>,
    #[serde(rename = "name")]
    _name: Option<Unread>,
    #[serde(rename = "arguments")]
    _arguments: Option<IgnoredAny>,
}

impl<'a> Called<'a> {
    /// The call with that id.
    pub fn of(id: Text<'a>) -> Self {
        let kind = Text(CALL.into());
        Self { kind, _text: None, id: Some(id), _name: None, _arguments: None }
    }
}

/// The type of a block that is a call.
pub(in crate::format) const CALL: &str = "toolCall";

/// What identifies a framing or note of ours.
#[derive(Deserialize)]
pub(in crate::format) struct Details<'a> {
    #[serde(borrow)]
    pub kind: Option<Text<'a>>,
    #[serde(borrow)]
    pub id: Option<Text<'a>>,
}

/// A link to the transcript of a pane.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::format) struct SideQuestion<'a> {
    #[serde(borrow)]
    pub btw_id: Text<'a>,
}

#[derive(Deserialize)]
pub(in crate::format) struct Replacement<'a> {
    #[serde(borrow)]
    pub content: Option<Raw<'a>>,
}

/// A user's shell command, which the model sees with its output.
#[derive(Deserialize)]
struct Shell<'a> {
    #[serde(borrow)]
    command: Text<'a>,
    #[serde(borrow)]
    output: Option<Text<'a>>,
}

/// Whether a raw value is `true`.
pub(in crate::format) fn is_true(value: Option<Raw<'_>>) -> bool {
    value.is_some_and(|value| value.get() == "true")
}

/// A message's value: a string, blocks, or the whole message of a shell command.
pub(in crate::format) fn unfold(body: &[u8]) -> Unfolded {
    let mut unfolded = Unfolded::default();
    match body.first() {
        Some(b'"') => {
            unfolded.text =
                serde_json::from_slice::<Cow<'_, str>>(body).unwrap_or_default().into_owned();
        }
        Some(b'[') => {
            let mut texts = Vec::new();
            for block in serde_json::from_slice::<Vec<Block<'_>>>(body).unwrap_or_default() {
                match block.kind.0.as_ref() {
                    "text" => texts.push(block.text.unwrap_or_default().owned()),
                    "toolCall" => {
                        let text = |text: Option<Text<'_>>| text.unwrap_or_default().owned();
                        let arguments = block.arguments.map_or("{}", Raw::get).to_owned();
                        unfolded.calls.push((text(block.id), text(block.name), arguments));
                    }
                    "image" => texts.push("[image]".into()),
                    _ => {}
                }
            }
            unfolded.text = json::joined(texts);
        }
        _ => {
            if let Ok(shell) = serde_json::from_slice::<Shell<'_>>(body) {
                unfolded.text =
                    format!("$ {}\n{}", shell.command.0, shell.output.unwrap_or_default().0);
            }
        }
    }
    unfolded
}

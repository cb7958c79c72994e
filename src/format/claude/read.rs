//! Claude Code's lines as facts.

use std::{borrow::Cow, collections::BTreeMap};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize, de::Error as _};
use twox_hash::XxHash3_64;

use super::{
    bill::{self, inherited},
    quick::{self, Answer},
    wire::{self, is, is_true, text},
};
use crate::{
    fact::{
        Carrier, Claim, Ending, Errand, Fact, Facts, Header, Id, Key, Refusal, Role, Telling,
        Tokens, Usage,
    },
    finding::{Code, Finding},
    format::{
        Fault, Reader, id,
        json::{self, Raw, place},
        scan::{self, Marks},
    },
    log::Line,
};

/// The highest count of output that a client writes before it knows the true one.
const PLACEHOLDER: u64 = 8;

/// How far back the records of the answer before are looked for.
const NEAR: u32 = 64;

/// How many ways of naming the session are remembered.
const TOLD: usize = 16;

/// The longest beginning of a prompt that is kept.
const PROMPT: usize = 200;

/// In the names of helpers that begin with a copy of the session and belong to no task of it: side questions, and what
/// the client asks by itself.
const ASIDES: [&str; 4] = ["side_question", "prompt_suggestion", "session_memory", "speculation"];

/// What the client writes where a person broke off.
const INTERRUPTED: [&str; 2] =
    ["[Request interrupted by user]", "[Request interrupted by user for tool use]"];

/// How lines begin in which the client says what a command of its own did.
const ECHOES: [&str; 7] = [
    "<command-name>",
    "<command-message>",
    "<local-command-",
    "<bash-input>",
    "<bash-stdout>",
    "<bash-stderr>",
    "<user-memory-input>",
];

/// Reads one transcript.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct ClaudeReader {
    /// Whether the file is a subagent's: all of its records are then side chain.
    agent: Option<bool>,
    /// Words of a conversation, which are not for a later run.
    #[serde(skip)]
    titles: Titles,
    /// The last answer, as long as nobody has asked for another, and whether the client has said something since.
    answer: Option<(Key, bool)>,
    /// What lines said of their session that told nothing new, the latest last.
    told: Vec<quick::Told>,
    /// The record that the next one most likely hangs off, and whose it was.
    before: Option<Id>,
    owner: Option<Id>,
    #[serde(skip)]
    marks: Marks,
}

/// The header as far as it is known, the first folder, the client's version, and whether the file is a subagent's.
type Whose = (Option<Header>, Option<String>, Option<String>, Option<bool>);

/// What a session may be called, best first.
#[derive(Default)]
struct Titles {
    custom: Option<String>,
    made: Option<String>,
    summary: Option<String>,
}

impl Reader for ClaudeReader {
    fn read(&mut self, line: &Line<'_>, facts: &mut Facts) -> Result<(), Fault> {
        let line = *line;
        self.marks.forget();
        if line.bytes.trim_ascii().is_empty() {
            return Ok(());
        }
        // Who asks for the reasons wants to hear of every line.
        let whole = facts.keeps_path() || facts.tells_refusals();
        let quick = if whole { None } else { quick::line(line.bytes, &mut self.marks) };
        let Some(quick) = quick else { return self.take_apart(line, facts) };
        let begun = facts.header.as_ref().is_none_or(|header| header.created.is_some());
        let told = || self.told.iter().rev().any(|told| told.is(&quick.whose));
        let known = begun && self.agent.is_some() && told();
        if quick.silent && known {
            if quick.linked && !self.is_beside(quick.side) && quick.kind == b"user" {
                self.asked(quick.meta);
            }
            return Ok(());
        }
        if known && let Some(answer) = quick.answer {
            if quick.kind == b"progress" || self.is_beside(quick.side) {
                answer.bill.spend(line, Some("subagent"), facts);
            } else {
                self.answered(line, answer, facts);
            }
            return Ok(());
        }
        let before = (!known).then(|| self.whose(facts));
        self.take_apart(line, facts)?;
        match before {
            Some(before) if before == self.whose(facts) => {
                if self.told.len() == TOLD {
                    self.told.remove(0);
                }
                self.told.push(quick.whose.kept());
            }
            Some(_) => self.told.clear(),
            None => {}
        }
        Ok(())
    }

    fn is_plain(&self) -> bool {
        self.marks.is_plain()
    }

    fn is_record(&self, bytes: &[u8]) -> bool {
        scan::read::<wire::Record<'_>>(bytes).is_ok_and(|record| {
            let Some(kind) = text(record.kind) else { return false };
            let known = text(record.uuid).is_some();
            match kind.as_ref() {
                "user" | "assistant" => known && record.message.is_some(),
                _ => {
                    known
                        || text(record.session_id).is_some()
                        || record.leaf_uuid.is_some()
                        || record.message_id.is_some()
                }
            }
        })
    }
}

impl ClaudeReader {
    /// What lines say of their session, as it is known so far.
    fn whose(&self, facts: &Facts) -> Whose {
        (facts.header.clone(), facts.cwd_first.clone(), facts.client.clone(), self.agent)
    }

    /// Whether a record of a side chain or not is none of the session's own. The client walks past such lines.
    fn is_beside(&self, side: bool) -> bool {
        side && self.agent == Some(false)
    }

    /// Somebody speaks to the model.
    fn asked(&mut self, meta: bool) {
        self.answer = self.answer.take().filter(|_| meta).map(|(key, _)| (key, true));
    }

    /// What a ledger keeps of an answer whose session is known.
    fn answered(&mut self, line: Line<'_>, answer: Answer<'_>, facts: &mut Facts) {
        let Answer { bill, truncated } = answer;
        self.watch(bill.own_key(), truncated, facts);
        bill.spend(line, None, facts);
    }

    fn take_apart(&mut self, line: Line<'_>, facts: &mut Facts) -> Result<(), Fault> {
        let record: wire::Record<'_> = self.marks.read(line.bytes)?;
        let Some(kind) = text(record.kind) else { return Ok(()) };
        let uuid = text(record.uuid);
        let at = text(record.timestamp).as_deref().and_then(json::moment);
        if let Some(at) = at {
            facts.newest = facts.newest.max(at.timestamp_millis());
        }
        self.header(&record, at, facts);
        let said = record.message.as_ref().and_then(|message| message.value.as_deref());
        let none = wire::Message::default();
        let message = match kind.as_ref() {
            "user" | "assistant" => said.unwrap_or(&none),
            _ => &none,
        };
        let Some(uuid) = uuid else {
            // It has no place in the conversation, but may have been paid for.
            match kind.as_ref() {
                "assistant" => bill::spend(line, &record, message, at, None, facts),
                "progress" => progress(line, &record, at, facts),
                _ => self.beside(line, &kind, &record, facts),
            }
            return match kind.as_ref() {
                "user" | "assistant" => {
                    Err(serde_json::Error::custom("a message without a uuid").into())
                }
                _ => Ok(()),
            };
        };
        let side = is_true(record.is_sidechain);
        self.agent.get_or_insert(side);
        if self.is_beside(side) {
            // The client walks past such lines; what they cost was paid all the same.
            match kind.as_ref() {
                "assistant" => bill::spend(line, &record, message, at, Some("subagent"), facts),
                "progress" => progress(line, &record, at, facts),
                _ => {}
            }
            return Ok(());
        }
        self.link(line, &kind, &uuid, &record, at, facts);
        match kind.as_ref() {
            "user" => self.asked(is_true(record.is_meta)),
            "assistant" => {
                let id = text(message.id).filter(|_| !is(message.model, wire::SYNTHETIC));
                let key = id.as_deref().map(Key::from);
                let cut = text(record.stream_cut_cause).is_some();
                self.watch(key, cut || is_true(record.truncated_after_output), facts);
            }
            _ => {}
        }
        // An agent's result sums up what stands in its own log.
        if kind == "user"
            && facts.tells_refusals()
            && wire::read::<wire::AgentResult<'_>>(record.tool_use_result)
                .is_some_and(|result| result.usage.is_some())
        {
            facts.refuse(json::index(line), at, Refusal::Sum);
        }
        match kind.as_ref() {
            "user" if !facts.keeps_path() => {}
            "user" => user(line, &uuid, &record, message, facts),
            "assistant" => assistant(line, &record, message, at, facts),
            "system" => system(line, &uuid, &record, at, facts),
            "progress" => {
                facts.state(json::index(line), Fact::Hollow);
                progress(line, &record, at, facts);
            }
            _ => {}
        }
        Ok(())
    }

    /// No line is a header: the session is what its records say of it.
    fn header(&mut self, record: &wire::Record<'_>, at: Option<DateTime<Utc>>, facts: &mut Facts) {
        let Some(session) = text(record.session_id) else { return };
        let header = facts.header.get_or_insert_with(|| Header {
            id: session.as_ref().to_owned(),
            version: 2,
            ..Header::default()
        });
        header.created = header.created.or(at);
        if let Some(cwd) = text(record.cwd) {
            if facts.cwd_first.is_none() {
                facts.cwd_first = Some(cwd.as_ref().to_owned());
            }
            if header.cwd.as_deref() != Some(&cwd) {
                header.cwd = Some(cwd.into_owned());
            }
        }
        if let Some(version) = text(record.version)
            && facts.client.as_deref() != Some(&version)
        {
            facts.client = Some(version.into_owned());
        }
        if is_true(record.is_sidechain) && self.agent.unwrap_or(true) {
            let agent = text(record.agent_id).unwrap_or_default();
            header.subagent = true;
            header.parent = Some(session.into_owned());
            if agent.is_empty() {
                return;
            }
            header.id = format!("agent-{agent}");
            // The client names its helpers by what they are at; all but true subagents begin with a copy of the whole
            // session.
            header.errand = match agent.as_ref() {
                agent if ASIDES.iter().any(|name| agent.contains(name)) => Some(Errand::Aside),
                agent if agent.contains("compact-") => Some(Errand::Compaction),
                _ => None,
            };
            return;
        }
        let from: Option<wire::ForkedFrom<'_>> = wire::read(record.forked_from);
        let parent = from.as_ref().and_then(|from| text(from.session_id));
        // A copy by the client's own flag names only who made the calls.
        let owner = text(record.request_session_id).filter(|_| header.parent.is_none());
        if let Some(parent) = parent.or(owner).filter(|parent| *parent != session) {
            header.parent = Some(parent.into_owned());
        }
    }

    /// A stream that was cut looks like a finished answer but for its count of output, which is the opening one: the
    /// client goes on behind a line of its own, or says so.
    fn watch(&mut self, answer: Option<Key>, truncated: bool, facts: &mut Facts) {
        let cut = |key: Key, facts: &mut Facts| {
            let mut near = NEAR;
            for usage in facts.usages.iter_mut().rev() {
                if usage.key == key && usage.tokens.output <= PLACEHOLDER {
                    usage.provisional = true;
                }
                let Some(left) = near.checked_sub(1 + usage.again) else { break };
                near = left;
            }
        };
        let before = self.answer.take();
        if truncated && let Some((key, _)) = before {
            return cut(key, facts);
        }
        let Some(key) = answer else { return };
        if let Some((other, true)) = before
            && other != key
        {
            cut(other, facts);
        }
        self.answer = Some((key, false));
    }

    /// The place of a record in the tree, whose it is, and when it was written.
    fn link(
        &mut self,
        line: Line<'_>,
        kind: &str,
        uuid: &str,
        record: &wire::Record<'_>,
        at: Option<DateTime<Utc>>,
        facts: &mut Facts,
    ) {
        let number = json::index(line);
        let id = facts.id(uuid);
        let before = self.before.replace(id);
        let parent = text(record.parent_uuid).map(|parent| facts.id_again(&parent, before));
        let stamp = text(record.timestamp).unwrap_or_default();
        let stamp = u32::try_from(XxHash3_64::oneshot(stamp.as_bytes()) >> 32).unwrap_or_default();
        let older = inherited(record);
        facts.state(number, Fact::Linked { id, parent, stamp, older });
        if let Some(session) = text(record.session_id) {
            let session = facts.id_again(&session, self.owner);
            self.owner = Some(session);
            facts.state(number, Fact::Owner(session));
        }
        if let Some(original) = wire::read::<wire::ForkedFrom<'_>>(record.forked_from)
            .and_then(|from| from.message_uuid)
            .and_then(|raw| text(Some(raw)))
        {
            let original = facts.id(&original);
            facts.state(number, Fact::Copied(original));
        }
        if let Some(at) = at {
            let secs = u32::try_from(at.timestamp()).unwrap_or_default();
            let millis = u16::try_from(at.timestamp_subsec_millis()).unwrap_or_default();
            facts.state(number, Fact::At { secs, millis });
            // Context lines are written together and not in the order of their times.
            if matches!(kind, "user" | "assistant") {
                facts.time(number, at.timestamp_millis());
            }
        }
        if matches!(kind, "user" | "assistant") {
            facts.state(number, Fact::Spoken);
        }
    }

    /// Records of the session, which are no part of the conversation.
    fn beside(&mut self, line: Line<'_>, kind: &str, record: &wire::Record<'_>, facts: &mut Facts) {
        let owned = |raw: Option<Raw<'_>>| {
            text(raw).filter(|text| !text.trim().is_empty()).map(Cow::into_owned)
        };
        match kind {
            "custom-title" => self.titles.custom = owned(record.custom_title),
            "ai-title" => self.titles.made = owned(record.ai_title),
            "summary" => self.titles.summary = owned(record.summary),
            "cost-state" => {
                let claims = claims(line, record.model_usage, facts);
                facts.refuse(json::index(line), None, Refusal::Sum);
                return facts.claim(claims);
            }
            "side-question" => {
                let mark: wire::Mark<'_> = wire::read(record.sessctl).unwrap_or_default();
                if let Some(pane) = text(mark.btw_id) {
                    let pane = facts.id(&pane);
                    facts.state(json::index(line), Fact::Pointed(pane));
                }
            }
            "last-prompt" => {
                facts.prompts.told = owned(record.last_prompt).or(facts.prompts.told.take());
                if let Some(leaf) = text(record.leaf_uuid) {
                    let leaf = facts.id(&leaf);
                    facts.state(json::index(line), Fact::Marked(leaf));
                }
            }
            "content-replacement" => {
                // Without it the model would see the whole result instead of its beginning.
                for replaced in wire::read::<Vec<wire::Replacement<'_>>>(record.replacements)
                    .unwrap_or_default()
                {
                    if let Some(call) = text(replaced.tool_use_id) {
                        let target = facts.id(&call);
                        facts.state(json::index(line), Fact::Labelled { target, set: true });
                    }
                }
            }
            _ => return,
        }
        let Titles { custom, made, summary } = &self.titles;
        facts.title = custom
            .as_ref()
            .or(made.as_ref())
            .cloned()
            .or_else(|| facts.prompts.told.as_deref().map(crate::session::headline))
            .or_else(|| summary.clone());
    }
}

fn user(
    line: Line<'_>,
    uuid: &str,
    record: &wire::Record<'_>,
    message: &wire::Message<'_>,
    facts: &mut Facts,
) {
    let number = json::index(line);
    let said = Fact::Said(Role::User, place(line, message.body()));
    let mut results = 0;
    for block in message.blocks().iter().filter(|block| is(block.kind, "tool_result")) {
        let call = facts.id(&text(block.tool_use_id).unwrap_or_default());
        let made_up = wire::begins(block.content, "[Tool call interrupted:");
        facts.state(number, Fact::Answered { call, made_up });
        results += 1;
    }
    if results > 0 {
        facts.state(number, Fact::Awaited);
        return facts.state(number, said);
    }
    let words = message.words();
    let echo = ECHOES.iter().any(|echo| words.trim_start().starts_with(echo));
    let summary = is_true(record.is_compact_summary);
    if summary {
        facts.state(number, Fact::Compacted { kept: None });
    }
    if !summary && !echo {
        facts.state(number, Fact::Awaited);
    }
    if summary || is_true(record.is_meta) {
        facts.state(number, Fact::Beside);
        return facts.state(number, said);
    }
    if INTERRUPTED.contains(&words.trim()) {
        facts.state(number, said);
        return facts.state(number, Fact::Closed { turn: None, how: Ending::Interrupted });
    }
    if echo {
        // A command of the user's own is a prompt in other words: then an answer follows.
        if words.contains("<command-name>") {
            facts.state(number, Fact::MayOpen);
        }
        facts.state(number, Fact::Beside);
        return facts.state(number, said);
    }
    let turn = facts.id(uuid);
    facts.state(number, Fact::Opened(turn));
    facts.state(number, said);
    let words: String = words.trim().chars().take(PROMPT).collect();
    if words.is_empty() || words.starts_with("<task-notification>") {
        return;
    }
    if facts.first_prompt.is_none() {
        facts.first_prompt = Some(words.clone());
    }
    facts.prompts.asked.push((number, words));
}

fn assistant(
    line: Line<'_>,
    record: &wire::Record<'_>,
    message: &wire::Message<'_>,
    at: Option<DateTime<Utc>>,
    facts: &mut Facts,
) {
    let number = json::index(line);
    if is_true(record.is_api_error_message) {
        // Shown to the user, never sent.
        bill::spend(line, record, message, at, None, facts);
        return facts.state(number, Fact::Answering(Some(Ending::Failed)));
    }
    let said = Fact::Said(Role::Assistant, place(line, message.body()));
    if is(message.model, wire::SYNTHETIC) {
        // What the client puts where an answer is missing, before it goes on.
        bill::spend(line, record, message, at, None, facts);
        facts.state(number, said);
        return facts.state(number, Fact::Closed { turn: None, how: Ending::Interrupted });
    }
    if !facts.keeps_path() {
        return bill::spend(line, record, message, at, None, facts);
    }
    let blocks = message.blocks();
    let calls = blocks.iter().filter(|block| is(block.kind, "tool_use"));
    let calls: Vec<Cow<'_, str>> = calls.filter_map(|block| text(block.id)).collect();
    let spoken = blocks.last().is_some_and(|block| is(block.kind, "text"))
        || message.body().is_some_and(|body| body.starts_with(b"\""));
    let ending = match text(message.stop_reason).as_deref() {
        Some("tool_use" | "pause_turn") => None,
        Some(_) => Some(Ending::Completed),
        // Versions before 2.1.97 leave it open; the last block tells.
        None => (spoken && calls.is_empty()).then_some(Ending::Completed),
    };
    facts.state(number, Fact::Answering(ending));
    for call in &calls {
        let call = facts.id(call);
        facts.state(number, Fact::Called(call));
    }
    if let Some(id) = text(message.id) {
        let part = facts.id(&id);
        facts.state(number, Fact::Part(part));
    }
    facts.state(number, said);
    let emptied = |block: &wire::Block<'_>| {
        is(block.kind, "thinking")
            && is(block.thinking, "")
            && text(block.signature).is_some_and(|signature| !signature.is_empty())
    };
    if blocks.iter().any(emptied) {
        let message =
            "a thinking block without its text, signature kept: the provider may refuse it";
        facts.findings.push(Finding::new(Code::ThinkingEmpty, message).on(line.number()));
    }
    bill::spend(line, record, message, at, None, facts);
}

fn system(
    line: Line<'_>,
    uuid: &str,
    record: &wire::Record<'_>,
    at: Option<DateTime<Utc>>,
    facts: &mut Facts,
) {
    let number = json::index(line);
    if is(record.subtype, "local_command") {
        facts.state(number, Fact::Beside);
        facts.state(number, Fact::Said(Role::User, place(line, record.content)));
        if let Some((carrier, mark)) = carrier(uuid, record) {
            let mark = facts.id(&mark);
            facts.state(number, Fact::Carried(carrier, mark));
        }
    }
    if !is(record.subtype, "compact_boundary") {
        return;
    }
    facts.state(number, Fact::Compacted { kept: None });
    // Copies may have another id; what they keep is when it was.
    let time = text(record.timestamp);
    let kind = Some(facts.word("compaction"));
    facts.spend(Usage {
        line: number,
        key: time.map_or_else(|| uuid.into(), |time| format!("b\0{time}").into()),
        kind,
        at,
        inherited: inherited(record).then_some(true),
        telling: Telling::Nothing,
        ..Usage::default()
    });
    let metadata: wire::CompactMetadata<'_> =
        wire::read(record.compact_metadata).unwrap_or_default();
    let list: Option<wire::Preserved<'_>> = wire::read(metadata.preserved_messages);
    let run: Option<wire::Preserved<'_>> = wire::read(metadata.preserved_segment);
    let uuids: Option<Vec<Raw<'_>>> = list.as_ref().and_then(|list| wire::read(list.uuids));
    let anchor = list.as_ref().or(run.as_ref()).and_then(|kept| text(kept.anchor_uuid));
    if let Some(anchor) = anchor {
        let anchor = facts.id(&anchor);
        facts.state(number, Fact::KeptBehind(anchor));
    }
    match (uuids, run) {
        (Some(uuids), _) => {
            for kept in uuids.into_iter().filter_map(|raw| text(Some(raw))) {
                let kept = facts.id(&kept);
                facts.state(number, Fact::Kept(kept));
            }
        }
        (None, Some(run)) => {
            if let (Some(head), Some(tail)) = (text(run.head_uuid), text(run.tail_uuid)) {
                let (head, tail) = (facts.id(&head), facts.id(&tail));
                facts.state(number, Fact::KeptRun { head, tail });
            }
        }
        (None, None) => {}
    }
}

/// A framing or note of ours and its id. A fork gives the line another one, and keeps the first in `forkedFrom`.
fn carrier(uuid: &str, record: &wire::Record<'_>) -> Option<(Carrier, String)> {
    let from: wire::ForkedFrom<'_> = wire::read(record.forked_from).unwrap_or_default();
    let original = text(from.message_uuid).filter(|id| id.starts_with("5e55c71"));
    let mark: wire::Mark<'_> = wire::read(record.sessctl).unwrap_or_default();
    let ours = |id: &str| id.starts_with(id::NOTE) || id.starts_with(id::FRAMING);
    let id = if ours(uuid) { uuid } else { original.as_deref().unwrap_or(uuid) };
    let carrier = match text(mark.kind).as_deref() {
        Some("note") => Carrier::Note,
        Some("framing") => Carrier::Framing,
        _ if id.starts_with(id::NOTE) => Carrier::Note,
        _ if id.starts_with(id::FRAMING) => Carrier::Framing,
        _ => return None,
    };
    Some((carrier, id.to_owned()))
}

/// A subagent's message, told again in the log of the session that sent it.
fn progress(
    line: Line<'_>,
    record: &wire::Record<'_>,
    at: Option<DateTime<Utc>>,
    facts: &mut Facts,
) {
    let data: wire::Progress<'_> = wire::read(record.data).unwrap_or_default();
    let inner: wire::Record<'_> = wire::read(data.message).unwrap_or_default();
    if is(inner.kind, "assistant") {
        let message: Option<Box<wire::Message<'_>>> = match inner.message {
            Some(message) => message.value,
            None => wire::read(data.message),
        };
        let message = message.unwrap_or_default();
        bill::spend(line, record, &message, at, Some("subagent"), facts);
    }
}

/// The client's own sums, one for each model. A model's name may say how large its context was.
fn claims(line: Line<'_>, sums: Option<Raw<'_>>, facts: &mut Facts) -> Vec<Claim> {
    let sums: BTreeMap<Cow<'_, str>, wire::ModelUsage> = wire::read(sums).unwrap_or_default();
    let claim = |(model, sum): (Cow<'_, str>, wire::ModelUsage)| {
        let hour = sum.cache_creation_1h.0;
        let tokens = Tokens {
            input: sum.input_tokens.0,
            cache_read: sum.cache_read_input_tokens.0,
            cache_write_5m: sum.cache_creation_input_tokens.0.saturating_sub(hour),
            cache_write_1h: hour,
            output: sum.output_tokens.0,
            reasoning: sum.thinking_tokens.0,
        };
        let name = model.split_once('[').map_or(model.as_ref(), |(name, _)| name);
        let model = Some(facts.word(name));
        let cost = sum.cost_usd.and_then(json::nano_dollars);
        Claim { line: json::index(line), model, tokens, cost }
    };
    sums.into_iter().map(claim).collect()
}

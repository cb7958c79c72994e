//! DSH's lines as facts.

use chrono::DateTime;
use serde::{Deserialize, Serialize};

use super::{quick, wire};
use crate::{
    fact::{
        Carrier, Ending, Fact, Facts, Header, Key, Refusal, Role, Telling, Tokens, Usage, Word,
    },
    finding::{Code, Finding},
    format::{
        Fault, Reader,
        json::{self, Text, place},
        scan::{self, Marks},
    },
    log::Line,
};

/// The newest format that is understood.
const NEWEST: u32 = 4;

/// Event types that formats 0 to 4 know. Their loaders refuse any other that is not marked ignorable. Sorted.
const KNOWN: &[&str] = &[
    "agent-preset/selected",
    "agent/inbox/spliced",
    "approval/asked",
    "approval/decided",
    "approval/policy",
    "assistant/attempt",
    "assistant/chunk",
    "assistant/message",
    "command/done",
    "command/run",
    "compaction/end",
    "compaction/prune",
    "compaction/start",
    "compaction/summary",
    "deliverables/presented",
    "developer/message",
    "feedback/message-delete",
    "feedback/message-put",
    "feedback/record",
    "goal/change",
    "hook/invoked",
    "hook/result",
    "image/offload",
    "job/registered",
    "job/settled",
    "llm/retry",
    "llm/retry-started",
    "model/selection",
    "permission/preset",
    "plan/mode",
    "reasoning-chunks",
    "request/context",
    "request/header",
    "sandbox/mode",
    "schedule/change",
    "session-log-deepseek/delivery-accepted",
    "session/end-seed",
    "session/title",
    "session/title-llm-request",
    "slots/dispatch",
    "step/end",
    "step/start",
    "subagent/catalog",
    "subagent/descriptor",
    "subagent/model-selection-policy",
    "system/message",
    "team/member",
    "team/message/delivered",
    "team/message/queued",
    "team/task",
    "text-chunks",
    "todo/write",
    "tool-call-chunks",
    "tool-workflow/agent-end",
    "tool-workflow/agent-start",
    "tool-workflow/run-end",
    "tool-workflow/run-start",
    "tool/call",
    "tool/code-dispatch",
    "tool/code-dispatch-start",
    "tool/ptc-dispatch",
    "tool/ptc-dispatch-start",
    "tool/result",
    "turn/end",
    "turn/start",
    "user/message",
    "web/deepseek-search-llm-request",
    "working-directory/change",
    "workspace/changes",
];

/// Usage that a stream tells of: turn, step, when, in milliseconds, and how much.
type Sample = (u64, u64, Option<i64>, Tokens);

/// Reads one DSH log.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct DshReader {
    /// A blank line that was seen; the loaders refuse it unless nothing follows.
    blank: Option<usize>,
    /// The usage sample of the attempt that is under way, with its turn, its step and its time (format 0 and 1).
    sample: Option<Sample>,
    /// Provider and model of the latest request header.
    route: (Option<Word>, Option<Word>),
    #[serde(skip)]
    marks: Marks,
}

impl Reader for DshReader {
    fn read(&mut self, line: &Line<'_>, facts: &mut Facts) -> Result<(), Fault> {
        let line = *line;
        self.marks.forget();
        if line.bytes.trim_ascii().is_empty() {
            self.blank.get_or_insert(line.number());
            return Ok(());
        }
        if let Some(blank) = self.blank.take() {
            facts
                .findings
                .push(Finding::new(Code::LineCorrupt, "a blank line inside the log").on(blank));
        }
        if facts.header.is_none() {
            return read_header(line, facts);
        }
        // Everything that may fail is parsed before anything is stated.
        let (event, body) = match quick::event(line.bytes, facts.keeps_usages(), &mut self.marks) {
            Some(read) => read,
            None => taken_apart(line.bytes)?,
        };
        // What has a meaning is known, but for our own.
        let strange = matches!(body, wire::Body::Other | wire::Body::Pointer(_))
            && !event.ignorable.unwrap_or(false)
            && KNOWN.binary_search(&event.kind.0.as_ref()).is_err();
        if strange {
            let fault = Fault::new(
                Code::EventUnknown,
                format!("the client refuses events of type {}", event.kind.0),
            );
            number(line, &event, 1, facts)?;
            return Err(fault);
        }
        number(line, &event, body.events(), facts)?;
        self.state(line, &event, body, facts)
    }

    fn is_plain(&self) -> bool {
        self.marks.is_plain()
    }

    fn is_record(&self, bytes: &[u8]) -> bool {
        scan::read::<wire::Event<'_>>(bytes).is_ok()
    }
}

/// The event, and then what its data says.
fn taken_apart(bytes: &[u8]) -> serde_json::Result<(wire::Event<'_>, wire::Body<'_>)> {
    let event: wire::Event<'_> = scan::read(bytes)?;
    let mut data = serde_json::Deserializer::from_str(event.data.get());
    let body = wire::Body::read(&event.kind.0, &mut data)?;
    Ok((event, body))
}

impl DshReader {
    fn state(
        &mut self,
        line: Line<'_>,
        event: &wire::Event<'_>,
        body: wire::Body<'_>,
        facts: &mut Facts,
    ) -> Result<(), Fault> {
        let at = json::index(line);
        match body {
            wire::Body::TurnStart(mark) => {
                let turn = facts.id(&mark.turn.to_string());
                facts.state(at, Fact::Opened(turn));
            }
            wire::Body::TurnEnd(mark) => {
                // An attempt that nobody tries again.
                if let Some(sample) = self.sample.take() {
                    self.spend_attempt(line, event, sample, facts);
                }
                let turn = Some(facts.id(&mark.turn.to_string()));
                facts.state(at, Fact::Closed { turn, how: ending(mark.reason.as_ref()) });
            }
            wire::Body::User(message) => {
                note_prompt(&message, facts);
                say(line, event, &message, facts)?;
                carry(line, &message, facts);
            }
            wire::Body::Context(said) => {
                say(line, event, &said.message, facts)?;
            }
            wire::Body::Answer(said) => {
                say(line, event, &said.message, facts)?;
                for call in said.message.calls() {
                    let call = facts.id(call);
                    facts.state(at, Fact::Called(call));
                }
                self.sample = None;
                self.spend_message(line, event, &said, facts);
            }
            wire::Body::Result(said) => result(line, event, &said.message, facts)?,
            wire::Body::Chunk(chunk) => {
                if let Some(usage) = chunk.chunk.usage.filter(|_| chunk.chunk.kind.0 == "usage") {
                    self.sample = Some((chunk.turn, chunk.step, event.time, tokens(&usage)));
                    facts.refuse(at, record(line, event, facts).at, Refusal::Sample);
                }
            }
            wire::Body::Attempt(attempt) => match attempt.last_usage() {
                Some(usage) => {
                    let sample = (attempt.turn, attempt.step, event.time, tokens(usage));
                    self.spend_attempt(line, event, sample, facts);
                }
                None => unrecorded(line, event, facts),
            },
            wire::Body::Retry => {
                // The attempt ended without a message; its last sample is what was billed.
                if let Some(sample) = self.sample.take() {
                    self.spend_attempt(line, event, sample, facts);
                }
            }
            wire::Body::Summary(summary) => spend_summary(line, event, &summary, facts),
            wire::Body::Compaction { starts } => facts.state(at, Fact::Held(starts)),
            wire::Body::Title(title) => facts.title = Some(title.title.owned()),
            wire::Body::HelperCall => unrecorded(line, event, facts), // It leaves its usage nowhere.
            wire::Body::Inbox(spliced) => {
                let inserted = spliced.inserted.map_or(0, |inserted| inserted.len());
                let inserted = u32::try_from(inserted).unwrap_or(u32::MAX);
                let removed = spliced.removed_count.unwrap_or(0);
                facts.state(at, Fact::Queued { inserted, removed });
            }
            wire::Body::EndSeed(mark) => {
                facts.state(at, Fact::Held(false)); // A compaction that a crash left open ends here.
                if mark.inherited == Some(true) {
                    facts.state(at, Fact::Seeded);
                    // What stands before is the parent's to report.
                    facts.usages.retain(Usage::is_recorded);
                    for usage in &mut facts.usages {
                        usage.inherited = Some(true);
                    }
                }
            }
            wire::Body::Request(request) => {
                if let Some(system) = request.header.system {
                    facts.state(at, Fact::Prompt(line.span(system.get().as_bytes()).into()));
                }
                if let Some(config) = request.header.config {
                    let mut word = |text: Option<Text<'_>>| text.map(|text| facts.word(text));
                    self.route = (word(config.provider), word(config.model));
                }
            }
            wire::Body::StepStart => facts.state(at, Fact::Stepped),
            wire::Body::Pointer(pointer) => {
                let pane = facts.id(&pointer.btw_id.0);
                facts.state(at, Fact::Pointed(pane));
            }
            wire::Body::Setting(kind) => facts.state(at, Fact::Setting(kind)),
            wire::Body::Chunks(_) | wire::Body::Other => {}
        }
        Ok(())
    }

    fn spend_message(
        &self,
        line: Line<'_>,
        event: &wire::Event<'_>,
        said: &wire::Said<'_>,
        facts: &mut Facts,
    ) {
        let Some(usage) = &said.usage else {
            if said.interrupted == Some(true) {
                unrecorded(line, event, facts); // The stream was aborted before its usage came.
            }
            return;
        };
        if !facts.keeps_usages() {
            return;
        }
        let id = said.message.id.as_ref();
        let key = id.map_or_else(|| unnamed(event, usage), |id| format!("m\0{}", id.0).into());
        let source = said.message.source.as_ref();
        let mut word = |text: Option<&Text<'_>>| text.map(|text| facts.word(text));
        let provider = word(source.and_then(|source| source.provider.as_ref()));
        let model = word(source.and_then(|source| source.model.as_ref()));
        let record = Usage {
            key,
            weak: id.is_none(),
            provider: provider.or_else(|| self.route.0.clone()),
            model: model.or_else(|| self.route.1.clone()),
            tokens: tokens(usage),
            ..record(line, event, facts)
        };
        facts.spend(record);
    }

    fn spend_attempt(
        &self,
        line: Line<'_>,
        event: &wire::Event<'_>,
        sample: Sample,
        facts: &mut Facts,
    ) {
        let (turn, step, time, tokens) = sample;
        let record = Usage {
            key: format!("a\0{turn}\0{step}\0{}\0{tokens:?}", event.time.unwrap_or(0)).into(),
            weak: true,
            at: time.and_then(DateTime::from_timestamp_millis),
            provider: self.route.0.clone(),
            model: self.route.1.clone(),
            tokens,
            ..record(line, event, facts)
        };
        facts.spend(record);
    }
}

fn spend_summary(
    line: Line<'_>,
    event: &wire::Event<'_>,
    summary: &wire::Summary<'_>,
    facts: &mut Facts,
) {
    let Some(usage) = &summary.usage else { return unrecorded(line, event, facts) };
    let id = summary.compaction_id.as_ref();
    let key = id.map_or_else(|| unnamed(event, usage), |id| format!("c\0{}", id.0).into());
    let mut word = |text: Option<&Text<'_>>| text.map(|text| facts.word(text));
    let record = Usage {
        key,
        weak: id.is_none(),
        kind: Some("compaction".into()),
        provider: word(summary.provider.as_ref()),
        model: word(summary.model.as_ref()),
        tokens: tokens(usage),
        ..record(line, event, facts)
    };
    facts.spend(record);
}

/// A model call that left no usage. What was inherited is the parent's to report.
fn unrecorded(line: Line<'_>, event: &wire::Event<'_>, facts: &mut Facts) {
    if record_seed(facts).is_some_and(|seed| event.seq.is_none_or(|seq| seq < seed)) {
        return;
    }
    let session = facts.header.as_ref().map_or("", |header| header.id.as_str());
    let key = format!("u\0{session}\0{}\0{:?}", json::index(line), event.time).into();
    let telling = Telling::Nothing;
    facts.spend(Usage { key, telling, ..record(line, event, facts) });
}

/// The inherited length, where the header says it (formats 0 and 1).
fn record_seed(facts: &Facts) -> Option<u64> {
    facts.header.as_ref().filter(|header| header.version < 2)?.seed_length
}

/// The first prompt of a person is what a session without a title is known by.
fn note_prompt(message: &wire::Message<'_>, facts: &mut Facts) {
    let person = message.source.as_ref().is_some_and(|source| kind_is(source, "user"));
    if person && facts.first_prompt.is_none() {
        let text = wire::unfold(message.content.bytes()).text;
        facts.first_prompt = Some(text).filter(|text| !text.trim().is_empty());
    }
}

/// A tool's result. One that replaces another only changes its content and answers nothing.
fn result(
    line: Line<'_>,
    event: &wire::Event<'_>,
    message: &wire::Message<'_>,
    facts: &mut Facts,
) -> Result<(), Fault> {
    let call = message.tool_call_id.as_ref().map(|call| call.0.as_ref());
    let call = call.or_else(|| message.answers());
    let replaces = say(line, event, message, facts)?;
    if let Some(call) = call.filter(|_| !replaces) {
        let call = facts.id(call);
        let id = message.id.as_ref().map_or("", |id| id.0.as_ref());
        let made_up = ["interrupted-tool-result-", "forked-tool-result-"];
        let made_up = made_up.iter().any(|prefix| id.starts_with(prefix));
        facts.state(json::index(line), Fact::Answered { call, made_up });
    }
    Ok(())
}

/// The key of a call whose record has no id: when it was made, and its counters.
fn unnamed(event: &wire::Event<'_>, usage: &wire::Usage) -> Key {
    format!("t\0{}\0{:?}", event.time.unwrap_or(0), tokens(usage)).into()
}

/// What all records of usage have in common.
fn record(line: Line<'_>, event: &wire::Event<'_>, facts: &Facts) -> Usage {
    let seeded = record_seed(facts).unwrap_or(0);
    Usage {
        line: json::index(line),
        at: event.time.and_then(DateTime::from_timestamp_millis),
        inherited: Some(event.seq.is_some_and(|seq| seq < seeded)),
        ..Usage::default()
    }
}

/// A message on the surface; says whether it replaces others.
fn say(
    line: Line<'_>,
    event: &wire::Event<'_>,
    message: &wire::Message<'_>,
    facts: &mut Facts,
) -> Result<bool, Fault> {
    let role = match message.role.0.as_ref() {
        "system" => Role::System,
        "developer" => Role::Developer,
        "assistant" => Role::Assistant,
        "tool" => Role::Tool,
        _ => Role::User,
    };
    let at = json::index(line);
    let Some(op) = event.surface_op else {
        return Err(Fault::new(
            Code::LineCorrupt,
            format!("an event of type {} without surfaceOp", event.kind.0),
        ));
    };
    let replaces = op.get().starts_with('{');
    if replaces {
        let wire::Replace { start, end } = serde_json::from_str(op.get())
            .map_err(|error| Fault::new(Code::LineCorrupt, format!("surfaceOp: {error}")))?;
        facts.state(at, Fact::Replaced { start, end });
    }
    if let Some(id) = &message.id {
        let id = facts.loose_id(&id.0);
        facts.state(at, Fact::Named(id));
    }
    let source = message.source.as_ref();
    if source
        .is_some_and(|source| kind_is(source, "compact-checkpoint") || plugin_is(source, "compact"))
    {
        facts.state(at, Fact::Compacted { kept: None });
    }
    facts.state(at, Fact::Said(role, place(line, Some(message.content.bytes()))));
    Ok(replaces)
}

/// A framing or a note of ours: the source is `sidechat`, and the id says which.
fn carry(line: Line<'_>, message: &wire::Message<'_>, facts: &mut Facts) {
    let (Some(source), Some(id)) = (&message.source, &message.id) else { return };
    if !(kind_is(source, "plugin:sidechat") || plugin_is(source, "sidechat")) {
        return;
    }
    let carrier = if id.0.starts_with("sidechat-note-") {
        Carrier::Note
    } else if id.0.starts_with("sidechat-framing-") {
        Carrier::Framing
    } else {
        return;
    };
    let id = facts.id(&id.0);
    facts.state(json::index(line), Fact::Carried(carrier, id));
}

fn kind_is(source: &wire::Source<'_>, kind: &str) -> bool {
    source.kind.as_ref().is_some_and(|text| text.0 == kind)
}

fn plugin_is(source: &wire::Source<'_>, plugin: &str) -> bool {
    kind_is(source, "plugin") && source.plugin.as_ref().is_some_and(|text| text.0 == plugin)
}

/// The number and the time of the events on a line.
fn number(
    line: Line<'_>,
    event: &wire::Event<'_>,
    count: u32,
    facts: &mut Facts,
) -> Result<(), Fault> {
    let at = json::index(line);
    if let Some(time) = event.time.or(event.time0) {
        facts.time(at, time);
    }
    let Some(seq) = event.seq.or(event.seq0) else {
        facts.state(at, Fact::Unnumbered);
        return Ok(());
    };
    let first = u32::try_from(seq)
        .map_err(|_| Fault::new(Code::LineCorrupt, format!("{seq} is no event number")))?;
    facts.state(at, Fact::Numbered { first, count });
    Ok(())
}

fn ending(reason: Option<&wire::Kind<'_>>) -> Ending {
    match reason.map(|reason| reason.kind.0.as_ref()) {
        Some("completed" | "max-tokens") => Ending::Completed,
        Some("aborted") => Ending::Aborted,
        Some("error" | "blocked") => Ending::Failed,
        _ => Ending::Interrupted, // `interrupted`, `forked`, and reasons to come.
    }
}

fn tokens(usage: &wire::Usage) -> Tokens {
    Tokens {
        input: usage.input_tokens.0,
        cache_read: usage.cache_read_tokens.0,
        cache_write_5m: usage.cache_write_tokens.0,
        cache_write_1h: 0,
        output: usage.output_tokens.0,
        reasoning: usage.reasoning_tokens.0,
    }
}

fn read_header(line: Line<'_>, facts: &mut Facts) -> Result<(), Fault> {
    let header: wire::Header<'_> = serde_json::from_slice(line.bytes).map_err(|error| {
        Fault::new(Code::HeaderMissing, format!("no header that the client would take: {error}"))
    })?;
    if header.kind.0 != "session" {
        return Err(Fault::new(Code::HeaderMissing, "the first line is no session header"));
    }
    if header.version > NEWEST {
        let message =
            format!("format {} is newer than {NEWEST}, the newest one known", header.version);
        return Err(Fault::new(Code::VersionUnsupported, message));
    }
    if header.version >= 2 && header.is_seeded.is_none() {
        return Err(Fault::new(Code::HeaderMissing, "the header lacks isSeeded"));
    }
    let owned = |text: Text<'_>| text.owned();
    facts.header = Some(Header {
        line: Some(json::index(line)),
        id: header.id.owned(),
        version: header.version,
        cwd: header.cwd.map(owned),
        parent: header.parent_session.map(owned),
        preset: header.agent_preset.map(owned),
        created: DateTime::from_timestamp_millis(header.created_at),
        seed_length: header.seed_length,
        subagent: header.origin.is_some_and(|origin| origin.0 == "subagent"),
        errand: None,
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn known_types_are_sorted_so_that_they_can_be_searched() {
        assert!(super::KNOWN.is_sorted());
    }
}

//! Codex's lines as facts.

use chrono::{DateTime, Utc};
use memchr::memmem;
use serde::{Deserialize, Serialize, de::Error as _};

use super::{
    BARE, CONTEXT, LEGACY, PAGINATED, PRINTED, SETTINGS, WRAPPED, millis_of,
    quick::{self, States},
    tally::{Tally, Vector},
    wire::{self, Shape},
    write,
};
use crate::{
    fact::{Carrier, Ending, Fact, Facts, Header, Id, Place, Role, Telling, Usage},
    finding::Code,
    format::{
        Fault, Reader, id,
        json::{self, Raw, Text, place},
        scan::{self, Marks},
    },
    log::Line,
};

/// How much of a first prompt is kept.
const PROMPT: usize = 200;

/// Of what the model said, whether it is known what was paid for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Owed {
    /// There is nothing that is not paid.
    #[default]
    Nothing,
    /// The model spoke, and what it says now is the same response.
    Spoken,
    /// It spoke and was answered: what it says next is another response.
    Answered,
}

/// Reads one rollout, or a chain of them.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct CodexReader {
    /// Whether the file in hand is the session's own; a log of one file is.
    base: bool,
    /// Whether the first line of the file in hand was seen.
    begun: bool,
    /// How many lines of it its client can decode: by this it names turns that have no name.
    decoded: u32,
    /// Whether its lines are numbered.
    paginated: bool,
    /// In an agent's own file: the number at which its own part begins. Of the copies before it the client shows no turn.
    shown_from: u32,
    /// Whether its lines are bare items.
    bare: bool,
    /// Whether it is no rollout, but what the client printed.
    printed: bool,
    /// The turn that is open by what was written down.
    turn: Option<String>,
    /// Whether the settings were written down; then context lines do not stand for them.
    settings: bool,
    /// When the session began, in milliseconds.
    began: Option<i64>,
    /// What was said of which no usage is known yet. In bare logs there never is any.
    owed: Owed,
    tally: Tally,
    /// Whether the latest line is known to name no character by its number.
    plain: bool,
    /// Whether every line is taken apart: a test holds the other way to this one.
    closely: bool,
    #[serde(skip)]
    marks: Marks,
}

impl Reader for CodexReader {
    fn part(&mut self, own: bool) {
        self.base = !own;
        (self.begun, self.decoded) = (false, 0);
    }

    fn read(&mut self, line: &Line<'_>, facts: &mut Facts) -> Result<(), Fault> {
        let line = *line;
        if line.bytes.trim_ascii().is_empty() {
            return Ok(());
        }
        let number = json::index(line);
        self.plain = false;
        if !std::mem::replace(&mut self.begun, true) {
            self.decoded = 1;
            return self.begin(line, facts);
        }
        if self.bare {
            return self.bare_item(line, facts);
        }
        if self.printed {
            return self.printed(line, facts);
        }
        let wanted = quick::Wanted { usages: facts.keeps_usages(), path: facts.keeps_path() };
        if let Some(quick) =
            quick::line(line.bytes, wanted, &mut self.marks).filter(|_| !self.closely)
        {
            self.quick(line, &quick, facts);
            return Ok(());
        }
        let wire::Line { timestamp, ordinal, kind, payload } = scan::read(line.bytes)?;
        let lacks =
            |what: &str| Fault::from(serde_json::Error::custom(format!("a line without {what}")));
        // The client drops a line without a time.
        let timestamp = timestamp.ok_or_else(|| lacks("a timestamp"))?;
        let (Some(kind), Some(payload)) = (kind, payload) else {
            return Err(lacks("type or payload"));
        };
        let at = self.envelope(number, &timestamp.0, ordinal, &kind.0, facts);
        match kind.0.as_ref() {
            "session_meta" => self.copied_header(number, payload, facts),
            "response_item" => {
                let item: wire::Payload<'_> = scan::read(payload.get().as_bytes())?;
                if facts.keeps_usages() && !self.is_copied(ordinal) {
                    let [kind, role, id] = [&item.kind, &item.role, &item.id]
                        .map(|text| text.as_ref().map(|text| text.0.as_ref()));
                    let shape = wire::shape(kind.unwrap_or_default());
                    let spoke = wire::speaks(shape, role, id);
                    self.follow(spoke, number, &timestamp.0, facts);
                }
                self.item(line, payload, &item, facts);
                Ok(())
            }
            "event_msg" => {
                let event: wire::Payload<'_> = scan::read(payload.get().as_bytes())?;
                if self.is_copied(ordinal) {
                    self.copied_event(number, &event, at, facts);
                } else {
                    self.event(line, &event, at, facts);
                }
                Ok(())
            }
            "turn_context" => {
                let context: wire::Payload<'_> = scan::read(payload.get().as_bytes())?;
                let turn = context.turn_id.as_ref().map(|turn| turn.0.as_ref());
                if let Some(model) = &context.model {
                    self.tally.context(turn.or(self.turn.as_deref()), &model.0, facts);
                }
                if !self.settings {
                    facts.state(number, Fact::Setting(CONTEXT));
                }
                self.decoded -= u32::from(!context.is_current_context());
                Ok(())
            }
            "compacted" => {
                let compacted: wire::Payload<'_> = scan::read(payload.get().as_bytes())?;
                self.compacted(line, &compacted, facts);
                let response = compacted.compaction_response_id.as_ref().map(|id| id.0.as_ref());
                if !response.is_some_and(|id| Tally::compaction(id, facts)) {
                    let turn = self.turn.as_deref();
                    let maker = self.tally.maker_of(turn, at, self.is_copied(ordinal));
                    let call = Usage { line: number, at, ..Usage::default() };
                    self.tally.miss_compaction(response, maker, call, facts);
                }
                self.owed = Owed::Nothing;
                Ok(())
            }
            "token_usage_record" => {
                let record: wire::Payload<'_> = scan::read(payload.get().as_bytes())?;
                self.tally.record(&wire::Response::of(&record), number, at, facts);
                self.owed = Owed::Nothing;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn is_plain(&self) -> bool {
        self.plain
    }

    fn is_record(&self, bytes: &[u8]) -> bool {
        if self.bare {
            return scan::read::<wire::Payload<'_>>(bytes).is_ok_and(|item| item.kind.is_some());
        }
        if self.printed {
            return scan::read::<wire::Printed<'_>>(bytes).is_ok();
        }
        scan::read::<wire::Line<'_>>(bytes).is_ok_and(|line| {
            line.timestamp.is_some() && line.kind.is_some() && line.payload.is_some()
        })
    }
}

impl CodexReader {
    /// The first line of a file must be its header.
    fn begin(&mut self, line: Line<'_>, facts: &mut Facts) -> Result<(), Fault> {
        let number = json::index(line);
        if let Ok(claim) = scan::read::<wire::Claim<'_>>(line.bytes)
            && claim.is_bare_header()
        {
            self.bare = true;
            let meta: wire::Meta<'_> = scan::read(line.bytes)?;
            self.own_header(line, &meta, BARE, facts);
            return Ok(());
        }
        if !facts.keeps_path()
            && let Some(thread) = wire::started(line.bytes)
        {
            self.printed = true;
            let (id, line) = (thread.owned(), Some(number));
            facts.header = Some(Header { line, id, version: PRINTED, ..Header::default() });
            return Ok(());
        }
        let wire::Line { timestamp, ordinal, kind, payload } = scan::read(line.bytes)?;
        let missing = |what: &str| Fault::new(Code::HeaderMissing, what);
        let (Some(_), Some(payload)) = (kind.filter(|kind| kind.0 == "session_meta"), payload)
        else {
            return Err(missing("the first line is no session header"));
        };
        let meta: wire::Meta<'_> = scan::read(payload.get().as_bytes())?;
        self.paginated = meta.is_paginated();
        self.shown_from =
            meta.subagent_history_start_ordinal.filter(|_| self.paginated).unwrap_or(0);
        self.number(number, ordinal, facts);
        let Some(id) = &meta.id else { return Err(missing("the session header has no id")) };
        let id = facts.id(&id.0);
        facts.state(number, Fact::Joined(id));
        if self.base {
            return Ok(());
        }
        let version = match meta.history_mode {
            _ if self.paginated => PAGINATED,
            Some(_) => LEGACY,
            None => WRAPPED, // Until a turn is written down.
        };
        self.own_header(line, &meta, version, facts);
        let needed = [
            ("timestamp", timestamp.is_some() && meta.timestamp.is_some()),
            ("cwd", meta.cwd.is_some()),
            ("originator", meta.originator.is_some()),
            ("cli_version", meta.cli_version.is_some()),
        ];
        match needed.iter().find(|(_, there)| !there) {
            Some((name, _)) => Err(missing(&format!(
                "the session header lacks `{name}`, and its client does not open it"
            ))),
            None => Ok(()),
        }
    }

    fn own_header(
        &mut self,
        line: Line<'_>,
        meta: &wire::Meta<'_>,
        version: u32,
        facts: &mut Facts,
    ) {
        let text = |text: &Option<Text<'_>>| text.as_ref().map(Text::owned);
        let (subagent, spawner) = meta.spawned();
        let errand = meta.errand();
        let created = meta.timestamp.as_ref().and_then(json::moment);
        let id = text(&meta.id).unwrap_or_default();
        let parent =
            text(&meta.forked_from_id).or(spawner).or_else(|| text(&meta.parent_thread_id));
        self.began = created.map(|created| created.timestamp_millis());
        self.tally.parent = parent.as_deref().map(Into::into);
        self.tally.makers = vec![(id.as_str().into(), millis_of(&id).or(self.began))];
        let provider = meta.model_provider.and_then(|raw| serde_json::from_str(raw.get()).ok());
        self.tally.provider = provider.map(|provider: Text<'_>| facts.word(provider));
        let number = json::index(line);
        if let Some(prompt) = meta.base_instructions.or(meta.instructions)
            && prompt.get() != "null"
        {
            facts.state(number, Fact::Prompt(place(line, Some(prompt))));
        }
        facts.header = Some(Header {
            line: Some(number),
            id,
            version,
            cwd: text(&meta.cwd),
            parent,
            created,
            seed_length: meta.subagent_history_start_ordinal.map(u64::from),
            subagent: subagent && errand.is_none(),
            errand,
            ..Header::default()
        });
    }

    /// A fork copies the headers of its ancestors; only the first one is about the file.
    fn copied_header(
        &mut self,
        number: u32,
        payload: Raw<'_>,
        facts: &mut Facts,
    ) -> Result<(), Fault> {
        let meta: wire::Meta<'_> = scan::read(payload.get().as_bytes())?;
        let Some(id) = meta.id else { return Ok(()) };
        let known = facts.id(&id.0);
        if self.tally.makers.first().is_some_and(|(own, _)| **own == *id.0) {
            return Ok(());
        }
        facts.state(number, Fact::Joined(known));
        let began = meta.timestamp.and_then(json::moment);
        let began = millis_of(&id.0).or(began.map(|began| began.timestamp_millis()));
        self.tally.makers.push((id.0.as_ref().into(), began));
        // 0.80 leaves no other mark of the parent.
        if let Some(header) = facts.header.as_mut().filter(|header| header.parent.is_none()) {
            header.parent = Some(id.owned());
            self.tally.parent = Some(id.0.as_ref().into());
        }
        Ok(())
    }

    /// What every line states: its number and its time.
    fn envelope(
        &mut self,
        number: u32,
        timestamp: &str,
        ordinal: Option<u32>,
        kind: &str,
        facts: &mut Facts,
    ) -> Option<DateTime<Utc>> {
        let at = json::moment(timestamp);
        self.number(number, ordinal, facts);
        if let Some(at) = at {
            let millis = at.timestamp_millis();
            facts.time(number, millis);
            if !self.base && self.began.is_some_and(|began| millis < began) {
                facts.state(number, Fact::Older);
            }
        }
        let known = matches!(
            kind,
            "session_meta"
                | "response_item"
                | "event_msg"
                | "turn_context"
                | "compacted"
                | "world_state"
                | "token_usage_record"
                | "inter_agent_communication_metadata"
        );
        self.decoded += u32::from(known);
        at
    }

    fn quick(&mut self, line: Line<'_>, quick: &quick::Line<'_>, facts: &mut Facts) {
        let number = json::index(line);
        self.plain = !quick.names_characters;
        // Where nobody follows the path, times are asked for where something was paid alone.
        let text = |word| quick::text(Some(word)).unwrap_or_default();
        let timestamp = || text(quick.timestamp);
        let at = if facts.keeps_path() {
            self.envelope(number, timestamp(), quick.ordinal, text(quick.kind), facts)
        } else {
            match &quick.states {
                States::Total(..) | States::Paid(_) => json::moment(timestamp()),
                States::Spoke(_) | States::Model(..) => None,
                _ => return,
            }
        };
        let place = |part: &[u8]| line.span(part).into();
        let spoke = match &quick.states {
            States::Spoke(spoke) => Some(*spoke),
            States::Answer(id, _) => {
                wire::speaks(wire::Shape::Message, Some("assistant"), id.map(text))
            }
            States::Item(shape, ..) => wire::speaks(*shape, None, None),
            _ => None,
        };
        if facts.keeps_usages() && !self.is_copied(quick.ordinal) {
            self.follow(spoke, number, timestamp(), facts);
        }
        match &quick.states {
            States::Nothing | States::Spoke(_) => {}
            States::Total(info, _) if self.is_copied(quick.ordinal) => {
                self.tally.copied_total(info.as_ref(), number, at, facts);
            }
            States::During(_) if self.is_copied(quick.ordinal) => {}
            States::During(turn) => {
                facts.id(text(turn));
            }
            States::Answer(id, content) => {
                named(number, id.map(text), facts);
                let content = content.map(place).unwrap_or_default();
                facts.state(number, Fact::Said(Role::Assistant, content));
            }
            States::Item(shape, call, whole) => {
                attach(number, *shape, call.map(text), place(whole), facts);
            }
            States::Total(info, turn) => {
                if let Some(turn) = turn {
                    facts.id(text(turn));
                }
                self.total(info.as_ref(), number, at, facts);
            }
            States::Paid(response) => {
                self.tally.record(response, number, at, facts);
                self.owed = Owed::Nothing;
            }
            States::Model(turn, model) => {
                let turn = turn.map(text).or(self.turn.as_deref());
                self.tally.context(turn, text(model), facts);
            }
        }
    }

    fn total(
        &mut self,
        info: Option<&wire::Info>,
        number: u32,
        at: Option<DateTime<Utc>>,
        facts: &mut Facts,
    ) {
        let before = facts.usages.len();
        self.tally.total(info, self.turn.as_deref(), number, at, facts);
        if facts.usages.len() > before {
            self.owed = Owed::Nothing;
        }
    }

    /// An item tells whether the model speaks, or somebody answers it. A response of which no usage is written down before
    /// the next one, or the end of its turn, failed or was cut off.
    fn follow(&mut self, spoke: Option<bool>, number: u32, timestamp: &str, facts: &mut Facts) {
        match (spoke, self.owed) {
            (Some(true), Owed::Answered) => {
                self.settle(number, json::moment(timestamp), facts);
                self.owed = Owed::Spoken;
            }
            (Some(true), _) => self.owed = Owed::Spoken,
            (Some(false), Owed::Spoken) => self.owed = Owed::Answered,
            _ => {}
        }
    }

    /// No usage will come any more of what was said. Copies are their owners' to report.
    fn settle(&mut self, number: u32, at: Option<DateTime<Utc>>, facts: &mut Facts) {
        let owed = std::mem::take(&mut self.owed);
        if owed != Owed::Nothing && self.tally.is_own(self.turn.as_deref(), at) {
            miss(Usage { line: number, at, ..Usage::default() }, facts);
        }
    }

    /// Whether a line of an agent's own file is a copy of its parent's.
    fn is_copied(&self, ordinal: Option<u32>) -> bool {
        ordinal.is_some_and(|ordinal| ordinal < self.shown_from)
    }

    fn number(&self, line: u32, ordinal: Option<u32>, facts: &mut Facts) {
        match ordinal {
            _ if !self.paginated => {}
            Some(first) => facts.state(line, Fact::Numbered { first, count: 1 }),
            None => facts.state(line, Fact::Unnumbered),
        }
    }

    /// What a turn came to. Nothing tells when it was, and by which model.
    fn printed(&mut self, line: Line<'_>, facts: &mut Facts) -> Result<(), Fault> {
        let line_read: wire::Printed<'_> = scan::read(line.bytes)?;
        let Some(counts) = line_read.usage.filter(|_| line_read.kind.0 == "turn.completed") else {
            return Ok(());
        };
        self.decoded += 1;
        let session = facts.header.as_ref().map_or("", |header| header.id.as_str());
        let tokens = Vector::of(&counts).tokens();
        facts.spend(Usage {
            line: json::index(line),
            key: format!("t\0{session}\0{}\0{tokens:?}", self.decoded).into(),
            weak: true,
            tokens,
            inherited: Some(false),
            telling: Telling::Turn,
            ..Usage::default()
        });
        Ok(())
    }

    fn bare_item(&mut self, line: Line<'_>, facts: &mut Facts) -> Result<(), Fault> {
        let item: wire::Payload<'_> = scan::read(line.bytes)?;
        let Some(kind) = &item.kind else { return Ok(()) };
        let said = item.role.as_ref().is_some_and(|role| role.0 == "assistant");
        let spoke = match wire::shape(&kind.0) {
            Shape::Message => said,
            Shape::Call | Shape::Other | Shape::Told => true,
            Shape::Result => false,
            Shape::Unseen => return Ok(()),
        };
        // No usage was written down, so that responses can only be counted.
        if spoke && self.owed != Owed::Spoken {
            miss(Usage { line: json::index(line), ..Usage::default() }, facts);
        }
        self.owed = if spoke { Owed::Spoken } else { Owed::Answered };
        let whole: Raw<'_> = serde_json::from_slice(line.bytes.trim_ascii())?;
        self.item(line, whole, &item, facts);
        Ok(())
    }

    fn item(&mut self, line: Line<'_>, raw: Raw<'_>, item: &wire::Payload<'_>, facts: &mut Facts) {
        let number = json::index(line);
        let kind = item.kind.as_ref().map_or("", |kind| kind.0.as_ref());
        let text = |text: &Option<Text<'_>>| text.as_ref().map(Text::owned);
        match wire::shape(kind) {
            Shape::Message => {
                named(number, text(&item.id).as_deref(), facts);
                self.message(line, item, facts);
            }
            shape => {
                let whole = place(line, Some(raw));
                attach(number, shape, text(&item.call_id).as_deref(), whole, facts);
            }
        }
    }

    fn message(&self, line: Line<'_>, item: &wire::Payload<'_>, facts: &mut Facts) {
        let number = json::index(line);
        let role = match item.role.as_ref().map_or("", |role| role.0.as_ref()) {
            "assistant" => Role::Assistant,
            "developer" => Role::Developer,
            "system" => Role::System,
            _ => Role::User,
        };
        facts.state(number, Fact::Said(role, place(line, item.content)));
        let words = || item.content.map(|content| wire::words(content.get().as_bytes()));
        match role {
            Role::User => {
                if let Some(words) = words().filter(|words| wire::is_typed(words)) {
                    facts.state(number, Fact::Asked);
                    prompted(&words, facts);
                }
            }
            Role::Developer => {
                let id = item.id.as_ref().map_or("", |id| id.0.as_ref());
                let carrier = match id.strip_prefix("msg_").and_then(|id| id.get(..8)) {
                    Some(id::NOTE) => Carrier::Note,
                    Some(id::FRAMING) if self.frames(id, words().as_deref(), facts) => {
                        Carrier::Framing
                    }
                    _ => return,
                };
                let mark = facts.id(id);
                if carrier == Carrier::Framing {
                    facts.state(number, Fact::Seeded);
                }
                facts.state(number, Fact::Carried(carrier, mark));
            }
            _ => {}
        }
    }

    /// Whether a framing is this session's own: its id is made of the session's.
    fn frames(&self, id: &str, words: Option<&str>, facts: &Facts) -> bool {
        let own = facts.header.as_ref().filter(|_| !self.base).map(|header| header.id.as_str());
        own.zip(words).is_some_and(|(own, words)| write::framing_id(own, words) == id)
    }

    /// Of the copies in an agent's own file nothing is looked at but the number, the time and what was paid.
    fn copied_event(
        &mut self,
        number: u32,
        event: &wire::Payload<'_>,
        at: Option<DateTime<Utc>>,
        facts: &mut Facts,
    ) {
        if event.kind.as_ref().is_some_and(|kind| kind.0 == "token_count") {
            self.tally.copied_total(event.info().as_ref(), number, at, facts);
        }
    }

    fn event(
        &mut self,
        line: Line<'_>,
        event: &wire::Payload<'_>,
        at: Option<DateTime<Utc>>,
        facts: &mut Facts,
    ) {
        let number = json::index(line);
        let turn = event.turn_id.as_ref().map(|turn| facts.id(&turn.0));
        match event.kind.as_ref().map_or("", |kind| kind.0.as_ref()) {
            "task_started" | "turn_started" => {
                self.settle(number, at, facts);
                let turn = turn.unwrap_or_else(|| self.unnamed(facts));
                facts.state(number, Fact::Opened(turn));
                self.turn = event.turn_id.as_ref().map(Text::owned);
                self.tally.started = event.started_at.and_then(|raw| raw.get().parse().ok());
                if let Some(header) =
                    facts.header.as_mut().filter(|header| header.version == WRAPPED)
                {
                    header.version = LEGACY;
                }
            }
            "task_complete" | "turn_complete" => {
                self.settle(number, at, facts);
                facts.state(number, Fact::Closed { turn, how: Ending::Completed });
                (self.turn, self.tally.started) = (None, None);
            }
            "turn_aborted" => {
                self.settle(number, at, facts);
                facts.state(number, Fact::Closed { turn, how: Ending::Aborted });
                (self.turn, self.tally.started) = (None, None);
            }
            "user_message" if !self.paginated => {
                let turn = self.unnamed(facts);
                facts.state(number, Fact::Implied(turn));
            }
            "thread_rolled_back" => {
                let turns = event.num_turns.unwrap_or(0);
                facts.state(number, Fact::Retracted { turns, shown: self.paginated });
            }
            "token_count" => {
                self.total(event.info().as_ref(), number, at, facts);
            }
            "thread_settings_applied" if event.thread_settings.is_some() => {
                self.settings = true;
                facts.state(number, Fact::Setting(SETTINGS));
                facts.state(number, Fact::Setting(CONTEXT));
                let own = facts.header.as_ref().filter(|_| !self.base).map(|header| &header.id);
                if event
                    .thread_id
                    .as_ref()
                    .is_some_and(|thread| Some(thread.0.as_ref()) == own.map(String::as_str))
                {
                    facts.state(number, Fact::Seeded);
                }
            }
            _ => {}
        }
    }

    /// The name that the client gives a turn which has none: the place of its first event in the file.
    fn unnamed(&self, facts: &mut Facts) -> Id {
        facts.id(&format!("rollout-{}", self.decoded.saturating_sub(1)))
    }

    fn compacted(&self, line: Line<'_>, compacted: &wire::Payload<'_>, facts: &mut Facts) {
        let number = json::index(line);
        let list = compacted
            .replacement_history
            .and_then(|raw| serde_json::from_str::<Vec<Raw<'_>>>(raw.get()).ok());
        let Some(list) = list else {
            facts.state(number, Fact::Condensed);
            facts.state(number, Fact::Said(Role::User, place(line, compacted.message)));
            return;
        };
        facts.state(number, Fact::Compacted { kept: None });
        if !facts.keeps_path() && !compacted.replacement_history.is_some_and(may_be_ours) {
            return;
        }
        for raw in list {
            let Ok(item) = serde_json::from_str::<wire::Payload<'_>>(raw.get()) else { continue };
            match wire::shape(item.kind.as_ref().map_or("", |kind| kind.0.as_ref())) {
                Shape::Message => self.message(line, &item, facts),
                Shape::Unseen => {}
                _ => facts.state(number, Fact::Attached(place(line, Some(raw)))),
            }
        }
    }
}

/// A response that left no usage.
fn miss(call: Usage, facts: &mut Facts) {
    let session = facts.header.as_ref().map_or("", |header| header.id.as_str());
    let key = format!("u\0{session}\0{}\0{:?}", call.line, call.at).into();
    facts.spend(Usage { key, telling: Telling::Nothing, ..call });
}

/// Whether a message of ours may stand somewhere in a value.
fn may_be_ours(raw: Raw<'_>) -> bool {
    let bytes = raw.get().as_bytes();
    [&b"5e55c71"[..], b"\\u00"].iter().any(|part| memmem::find(bytes, part).is_some())
}

/// The id of a message.
fn named(line: u32, id: Option<&str>, facts: &mut Facts) {
    if let Some(id) = id {
        let id = facts.id(id);
        facts.state(line, Fact::Named(id));
    }
}

/// An item that is no message.
fn attach(line: u32, shape: Shape, call: Option<&str>, whole: Place, facts: &mut Facts) {
    let call = call.filter(|_| matches!(shape, Shape::Call | Shape::Result));
    if let Some(call) = call.map(|call| facts.id(call)) {
        facts.state(
            line,
            match shape {
                Shape::Call => Fact::Called(call),
                _ => Fact::Answered { call, made_up: false },
            },
        );
    }
    if shape != Shape::Unseen {
        facts.state(line, Fact::Attached(whole));
    }
}

fn prompted(words: &str, facts: &mut Facts) {
    if facts.first_prompt.is_none() {
        facts.first_prompt = Some(words.chars().take(PROMPT).collect());
    }
}

#[cfg(test)]
mod tests {
    use std::{fmt::Write as _, io::Cursor};

    use super::CodexReader;
    use crate::{
        fact::{Fact, Facts, Keep},
        finding::Code,
        format::{Reader, by_name},
        log::{Line, Log},
        session::{At, Boundary, Session},
    };

    const OWN: &str = "01a22820-a1cd-78f0-a7db-aadcf675cf49";

    fn line(kind: &str, payload: &str) -> String {
        format!(r#"{{"timestamp":"2026-01-01T10:00:01.000Z","type":"{kind}","payload":{payload}}}"#)
    }

    fn event(kind: &str, more: &str) -> String {
        line("event_msg", &format!(r#"{{"type":"{kind}"{more}}}"#))
    }

    fn says(role: &str, text: &str) -> String {
        let content = format!(r#"[{{"type":"input_text","text":"{text}"}}]"#);
        line(
            "response_item",
            &format!(r#"{{"type":"message","role":"{role}","content":{content}}}"#),
        )
    }

    fn session(lines: &[String]) -> Session {
        let meta = format!(
            r#"{{"id":"{OWN}","timestamp":"2026-01-01T10:00:00.000Z","cwd":"/home/ada","originator":"codex_exec","cli_version":"0.80.0"}}"#
        );
        let text = [&[line("session_meta", &meta)], lines].concat().join("\n") + "\n";
        Session::read(Log::spool(Cursor::new(text)).unwrap(), by_name("codex")).unwrap()
    }

    fn asks(text: &str) -> [String; 2] {
        [says("user", text), event("user_message", &format!(r#","message":"{text}""#))]
    }

    /// All that the lines of `text` state, and how each was taken.
    fn stated(text: &[u8], closely: bool, keep: Keep) -> (String, Vec<bool>) {
        let mut facts = Facts::new(keep);
        let mut reader = CodexReader { closely, ..CodexReader::default() };
        let mut taken = Vec::new();
        for (index, bytes) in text.split(|byte| *byte == b'\n').enumerate() {
            let line = Line { index, start: 0, inset: 0, bytes, crlf: false };
            taken.push(reader.read(&line, &mut facts).is_ok());
        }
        let ids: Vec<&str> = facts
            .all()
            .iter()
            .filter_map(|stated| match stated.fact {
                Fact::Called(id) | Fact::Named(id) | Fact::Opened(id) => Some(facts.name(id)),
                _ => None,
            })
            .collect();
        let mut all = format!("{:?}", (facts.all(), ids, &facts.usages, &facts.header));
        // A ledger has no use for the order of times.
        if facts.keeps_path() {
            let _ = write!(all, "{:?}", (&facts.findings, facts.newest));
        }
        (all, taken)
    }

    #[test]
    fn a_line_read_in_one_pass_states_what_it_states_when_taken_apart() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/codex");
        let logs: Vec<_> = walkdir::WalkDir::new(folder)
            .into_iter()
            .map(|entry| entry.unwrap().into_path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
            .collect();
        assert!(logs.len() > 10);
        for log in logs {
            let text = std::fs::read(&log).unwrap();
            for keep in [Keep::Path, Keep::All, Keep::Usages] {
                assert_eq!(
                    stated(&text, false, keep),
                    stated(&text, true, keep),
                    "{}",
                    log.display()
                );
            }
            // The same with a byte of some lines changed; a step that has nothing in common with the length of lines.
            let mut broken = text.clone();
            for at in (400..broken.len()).step_by(1013) {
                if broken[at] != b'\n' && broken[at - 1] != b'\n' {
                    broken[at] = [b'"', b'\\', 0, 0xFF, b'}', b'7', b' '][at % 7];
                }
            }
            let (quick, close) =
                (stated(&broken, false, Keep::All), stated(&broken, true, Keep::All));
            assert_eq!(quick, close, "{} broken", log.display());
        }
    }

    #[test]
    fn a_turn_that_is_not_written_down_goes_up_to_the_next_prompt() {
        let count = event("token_count", r#","info":null"#);
        let lines = [
            &asks("one")[..],
            &[says("assistant", "1"), count.clone()],
            &asks("two"),
            &[says("assistant", "2"), count],
        ]
        .concat();
        let session = session(&lines);
        let thread = session.thread(None).unwrap();
        let turns: Vec<_> = thread
            .turns
            .list
            .iter()
            .map(|turn| (turn.first, turn.last, turn.how.is_some()))
            .collect();
        assert_eq!(turns, [(0, 3, true), (4, 7, true)]);
        assert_eq!(thread.turn_names(), ["rollout-2", "rollout-6"]);
    }

    #[test]
    fn a_turn_without_an_answer_is_open() {
        let session = session(&asks("one"));
        let thread = session.thread(None).unwrap();
        assert!(thread.turns.open().is_some());
        assert!(Boundary::find(&thread, &At::Tip, false).is_err());
    }

    #[test]
    fn two_prompts_in_one_written_turn_are_one_turn() {
        let turn = |kind: &str| event(kind, r#","turn_id":"t1""#);
        let lines = [
            &[turn("task_started")][..],
            &asks("one"),
            &[says("assistant", "1")],
            &asks("and"),
            &[says("assistant", "2"), turn("task_complete")],
        ]
        .concat();
        let session = session(&lines);
        assert_eq!(session.thread(None).unwrap().turns.list.len(), 1);
    }

    #[test]
    fn a_mark_takes_back_the_last_turns_and_what_was_said_in_them() {
        let lines = [
            &asks("one")[..],
            &[says("assistant", "1")],
            &asks("two"),
            &[says("assistant", "2"), event("thread_rolled_back", r#","num_turns":1"#)],
            &asks("three"),
            &[says("assistant", "3")],
        ]
        .concat();
        let session = session(&lines);
        let thread = session.thread(None).unwrap();
        assert_eq!(thread.turns.list.len(), 2);
        assert_eq!(thread.history(thread.path().len(), 0).len(), 4);
        // A cut through what was taken back is none.
        assert!(Boundary::find(&thread, &At::Line(6), false).is_err());
    }

    #[test]
    fn an_old_compaction_keeps_a_persons_words() {
        let summary = line("compacted", r#"{"message":"Summary."}"#);
        let lines = [
            &asks("one")[..],
            &[says("user", "<environment_context>x"), says("assistant", "1"), summary],
        ]
        .concat();
        let session = session(&lines);
        let thread = session.thread(None).unwrap();
        let texts: Vec<String> = thread
            .history(thread.path().len(), 0)
            .iter()
            .map(|message| crate::session::history::unfold(&session, message).unwrap().text)
            .collect();
        assert_eq!(texts, ["one", "Summary."]);
    }

    #[test]
    fn a_line_that_the_client_drops_is_found() {
        let session = session(&[r#"{"type":"event_msg","payload":{"type":"x"}}"#.into()]);
        assert_eq!(session.findings[0].code, Code::LineCorrupt);
    }
}

//! pi's lines as facts.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize, de::Error as _};
use twox_hash::XxHash3_64;

use super::{quick, wire};
use crate::{
    fact::{Carrier, Ending, Fact, Facts, Header, Id, Role, Telling, Tokens, Usage, Word},
    finding::{Code, Finding, Severity},
    format::{
        Fault, Reader,
        json::{self, Raw, Text, place},
        scan::{self, Marks, Parsed},
    },
    log::Line,
};

/// Reads one pi log.
#[derive(Default, Serialize, Deserialize)]
pub(in crate::format) struct PiReader {
    /// The ids of version 1 entries, which have none on disk: entry number, counted with the header as 0.
    made: Vec<Id>,
    /// The model in force, for usage that does not name one.
    model: Option<Word>,
    provider: Option<Word>,
    /// A digest of the id of the entry read last, where usage is wanted.
    pub last: u64,
    /// The entry that the next one most likely hangs off.
    before: Option<Id>,
    #[serde(skip)]
    marks: Marks,
}

impl Reader for PiReader {
    fn read(&mut self, line: &Line<'_>, facts: &mut Facts) -> Result<(), Fault> {
        let line = *line;
        self.marks.forget();
        if line.bytes.trim_ascii().is_empty() {
            return Ok(()); // Every version skips blank lines.
        }
        if facts.header.is_none() {
            return read_header(line, facts);
        }
        let numbered = facts.header.as_ref().is_some_and(|header| header.version < 2);
        if !facts.keeps_path() && !numbered {
            match quick::line(line.bytes, &mut self.marks) {
                Some(quick::Line::Nothing) => return Ok(()),
                Some(quick::Line::Answer(answer)) => {
                    let (entry, message, paid) = *answer;
                    let id = entry.id.as_ref().map_or("", |id| id.0.as_ref());
                    self.last = XxHash3_64::oneshot(id.as_bytes());
                    let kind = (message.role.0 == "toolResult").then_some("tool");
                    self.spend(line, &entry, Some(paid), Some(&message), kind, facts);
                    return Ok(());
                }
                None => {}
            }
        }
        if !facts.keeps_usages()
            && !numbered
            && let Some((entry, message)) = quick::said(line.bytes, &mut self.marks)
        {
            self.place(line, &entry, facts)?;
            self.message(line, &entry, &message, facts);
            return Ok(());
        }
        let entry: wire::Entry<'_> = self.marks.read(line.bytes)?;
        if entry.kind.0 == "session" {
            return Ok(()); // A second header is ignored by every version.
        }
        let message = entry.message.as_ref().and_then(|message| message.value.as_deref());
        let id = self.place(line, &entry, facts)?;
        match (entry.kind.0.as_ref(), message) {
            ("message", Some(message)) => self.message(line, &entry, message, facts),
            ("message", None) => {
                let fault = Finding::new(Code::LineCorrupt, "a message entry without a message");
                return Err(Fault::Found(Box::new(fault.with("lost_records", 1))));
            }
            _ => self.other(line, &entry, id, facts),
        }
        Ok(())
    }

    fn is_plain(&self) -> bool {
        self.marks.is_plain()
    }

    fn is_record(&self, bytes: &[u8]) -> bool {
        let entry = scan::read::<wire::Entry<'_>>(bytes);
        entry.is_ok_and(|entry| {
            !entry.kind.0.is_empty()
                && entry.timestamp.is_some()
                && (entry.id.is_some() || !self.made.is_empty())
        })
    }
}

impl PiReader {
    /// The place of an entry in the tree and in time.
    fn place(
        &mut self,
        line: Line<'_>,
        entry: &wire::Entry<'_>,
        facts: &mut Facts,
    ) -> Result<Id, Fault> {
        let at = entry.timestamp.as_ref().and_then(json::moment);
        let id = self.link(line, entry, at, facts)?;
        if let Some(time) = at {
            facts.time(json::index(line), time.timestamp_millis());
        }
        Ok(id)
    }

    /// The place of an entry in the tree.
    fn link(
        &mut self,
        line: Line<'_>,
        entry: &wire::Entry<'_>,
        at: Option<DateTime<Utc>>,
        facts: &mut Facts,
    ) -> Result<Id, Fault> {
        let header = facts.header.as_ref().expect("entries are read behind the header");
        let (id, parent) = if header.version < 2 {
            // The client gives new random ids at every load; ours depend on the log alone, so that a fork made twice
            // is the same fork.
            if self.made.is_empty() {
                let session = header.id.clone();
                self.made.push(facts.id(&session));
            }
            let session = facts.header.as_ref().map_or("", |header| header.id.as_str());
            let nth = u64::try_from(self.made.len()).unwrap_or(u64::MAX);
            let made = format!(
                "{:08x}",
                XxHash3_64::oneshot(session.as_bytes()).wrapping_add(nth) & 0xFFFF_FFFF
            );
            let parent = self.made.last().copied().filter(|_| nth > 1);
            let id = facts.id(&made);
            self.made.push(id);
            (id, parent)
        } else {
            let Some(id) = &entry.id else {
                return Err(serde_json::Error::custom("an entry without an id").into());
            };
            if facts.keeps_usages() {
                self.last = XxHash3_64::oneshot(id.0.as_bytes());
            }
            let id = facts.id(&id.0);
            let before = self.before.replace(id);
            (id, entry.parent_id.as_ref().map(|parent| facts.id_again(&parent.0, before)))
        };
        let text = entry.timestamp.as_ref().map_or("", |text| text.0.as_ref());
        let older = is_older(at, facts);
        let stamp = u32::try_from(XxHash3_64::oneshot(text.as_bytes()) >> 32).unwrap_or_default();
        facts.state(json::index(line), Fact::Linked { id, parent, stamp, older });
        Ok(id)
    }

    /// Entries that are no messages. `custom` and unknown types are links in the chain that the model never sees.
    fn other(&mut self, line: Line<'_>, entry: &wire::Entry<'_>, id: Id, facts: &mut Facts) {
        let number = json::index(line);
        match entry.kind.0.as_ref() {
            "custom_message" => {
                facts.state(number, Fact::MayOpen);
                facts.state(number, Fact::Said(Role::User, place(line, entry.content)));
                if let Some((carrier, digest)) = carrier(entry) {
                    let mark = digest.map_or(id, |digest| facts.id(&digest.0));
                    facts.state(number, Fact::Carried(carrier, mark));
                }
            }
            "compaction" => self.compaction(line, entry, facts),
            "branch_summary" => {
                // Without words it is nothing to the model.
                let empty = |summary: Raw<'_>| matches!(summary.get(), "\"\"" | "null");
                if entry.summary.is_some_and(|summary| !empty(summary)) {
                    facts.state(number, Fact::Said(Role::User, place(line, entry.summary)));
                }
                self.summary_usage(line, entry, facts);
            }
            "context_edit" => {
                let Some(target) = &entry.target_id else { return };
                let target = facts.id(&target.0);
                let new = entry.replacement.and_then(|raw| serde_json::from_str(raw.get()).ok());
                let content = new.and_then(|new: wire::Replacement<'_>| new.content);
                facts.state(number, Fact::Edited { target, content: place(line, content) });
            }
            "label" => {
                let target = entry.target_id.as_ref().map_or(id, |target| facts.id(&target.0));
                let set = entry.label.as_ref().is_some_and(|label| !label.0.is_empty());
                facts.state(number, Fact::Labelled { target, set });
            }
            "session_info" => {
                let name = entry.name.as_ref().map(Text::owned);
                facts.title = name.filter(|name| !name.is_empty());
            }
            "usage" => {
                let kind = entry.usage_kind.as_ref().map_or("usage", |kind| kind.0.as_ref());
                self.spend(line, entry, paid(entry.usage, facts), None, Some(kind), facts);
            }
            "model_change" => {
                facts.state(number, Fact::Setting(0));
                self.model = entry.model_id.as_ref().map(|text| facts.word(text));
                self.provider = entry.provider.as_ref().map(|text| facts.word(text));
            }
            "thinking_level_change" => facts.state(number, Fact::Setting(1)),
            "custom"
                if entry.custom_type.as_ref().is_some_and(|kind| kind.0 == "side_question") =>
            {
                let data = entry.data.and_then(|raw| serde_json::from_str(raw.get()).ok());
                if let Some(wire::SideQuestion { btw_id }) = data {
                    let pane = facts.id(&btw_id.0);
                    facts.state(number, Fact::Pointed(pane));
                }
            }
            _ => {}
        }
    }

    fn compaction(&mut self, line: Line<'_>, entry: &wire::Entry<'_>, facts: &mut Facts) {
        let number = json::index(line);
        let nth = |index: Raw<'_>| self.made.get(index.get().parse::<usize>().ok()?).copied();
        let kept = match &entry.first_kept_entry_id {
            Some(text) => Some(facts.id(&text.0)),
            None => entry.first_kept_entry_index.and_then(nth), // version 1
        };
        facts.state(number, Fact::Compacted { kept });
        let system = entry.system_message.and_then(|raw| serde_json::from_str(raw.get()).ok());
        if let Some(system) = system {
            let system: wire::Message<'_> = system;
            facts.state(
                number,
                Fact::Said(Role::System, place(line, system.content.as_ref().map(Parsed::bytes))),
            );
            prompt(line, &system, facts);
        }
        facts.state(number, Fact::Said(Role::User, place(line, entry.summary)));
        self.summary_usage(line, entry, facts);
    }

    fn message(
        &mut self,
        line: Line<'_>,
        entry: &wire::Entry<'_>,
        message: &wire::Message<'_>,
        facts: &mut Facts,
    ) {
        let number = json::index(line);
        let body = place(line, message.content.as_ref().map(Parsed::bytes));
        let role = message.role.0.as_ref();
        match role {
            "user" => {
                facts.state(number, Fact::Prompted);
                facts.state(number, Fact::Said(Role::User, body));
                if facts.first_prompt.is_none() {
                    let content = message.content.as_ref().map(Parsed::bytes);
                    let text = content.map(|body| wire::unfold(body).text);
                    facts.first_prompt = text.filter(|text| !text.trim().is_empty());
                }
            }
            "assistant" => {
                let ending = match message.stop_reason.as_ref().map(|reason| reason.0.as_ref()) {
                    Some("error") => Some(Ending::Failed),
                    Some("aborted") => Some(Ending::Aborted),
                    Some("toolUse" | "deferred" | "pending") => None,
                    _ => Some(Ending::Completed),
                };
                facts.state(number, Fact::Answering(ending));
                let blocks = message.content.as_ref().and_then(|content| content.value.as_ref());
                for block in blocks.into_iter().flatten().filter(|one| one.kind.0 == wire::CALL) {
                    let call = facts.id(block.id.as_ref().map_or("", |id| id.0.as_ref()));
                    facts.state(number, Fact::Called(call));
                }
                facts.state(number, Fact::Said(Role::Assistant, body));
                if ending.is_some_and(|ending| ending != Ending::Completed) {
                    facts.state(number, Fact::Unsent);
                }
                self.spend(line, entry, paid(message.usage, facts), Some(message), None, facts);
            }
            "toolResult" => {
                if let Some(call) = &message.tool_call_id {
                    let call = facts.id(&call.0);
                    facts.state(number, Fact::Answered { call, made_up: false });
                }
                facts.state(number, Fact::Said(Role::Tool, body));
                let paid = paid(message.usage, facts);
                self.spend(line, entry, paid, Some(message), Some("tool"), facts);
            }
            "system" => {
                facts.state(number, Fact::Said(Role::System, body));
                prompt(line, message, facts);
            }
            "bashExecution" => {
                // Command and output are what counts; they stand in the message, beside each other.
                facts.state(
                    number,
                    Fact::Said(Role::User, place(line, entry.message.as_ref().map(Parsed::bytes))),
                );
                if wire::is_true(message.exclude_from_context) {
                    facts.state(number, Fact::Unsent);
                }
            }
            "branchSummary" | "compactionSummary" => {
                facts.state(number, Fact::Said(Role::User, place(line, message.summary)));
            }
            "custom" | "hookMessage" => {
                facts.state(number, Fact::MayOpen);
                facts.state(number, Fact::Said(Role::User, body));
            }
            _ => {
                facts.state(number, Fact::Said(Role::User, body));
                facts.state(number, Fact::Unsent); // Unknown roles are dropped before the request.
            }
        }
    }

    /// A compaction or a branch summary: newer versions record what it cost.
    fn summary_usage(&mut self, line: Line<'_>, entry: &wire::Entry<'_>, facts: &mut Facts) {
        let paid = match entry.usage {
            Some(_) => paid(entry.usage, facts),
            None if wire::is_true(entry.from_hook) => return,
            None => Some(wire::Usage::default()),
        };
        self.spend(line, entry, paid, None, Some("compaction"), facts);
    }

    fn spend(
        &mut self,
        line: Line<'_>,
        entry: &wire::Entry<'_>,
        paid: Option<wire::Usage>,
        message: Option<&wire::Message<'_>>,
        kind: Option<&str>,
        facts: &mut Facts,
    ) {
        let Some(paid) = paid else { return };
        let tokens = tokens(&paid);
        let answer = message.filter(|message| message.role.0 == "assistant");
        let model =
            answer.and_then(|answer| answer.response_model.as_ref().or(answer.model.as_ref()));
        let model = model.or(entry.model.as_ref());
        let provider = answer.and_then(|answer| answer.provider.as_ref());
        let provider = provider.or(entry.provider.as_ref());
        let plain = |text: Option<&Text<'_>>| text.map_or(String::new(), Text::owned);
        let time = plain(entry.timestamp.as_ref());
        let response = answer.and_then(|answer| answer.response_id.as_ref());
        let key = match (response, &entry.id) {
            // Providers without ids of their own repeat one constant; the time of the request tells such answers apart.
            (Some(response), _) => {
                let asked = answer.and_then(|answer| answer.timestamp).map_or("", Raw::get);
                format!("r\0{}\0{}\0{asked}", plain(provider), response.0)
            }
            (None, Some(id)) => format!("e\0{}\0{time}", id.0),
            (None, None) => format!("t\0{time}\0{}\0{tokens:?}", plain(model)),
        };
        let mut word = |text: Option<&Text<'_>>| text.map(|text| facts.word(text));
        let (provider, model) = (word(provider), word(model));
        // Of what was cut short some providers had said no usage yet, others none of the output but its beginning.
        let cut = answer.is_some_and(wire::Message::was_cut);
        let made = match answer {
            Some(answer) => cut && answer.has_content(),
            None => kind == Some("compaction") && entry.usage.is_none(),
        };
        let missed = made && tokens == Tokens::default();
        let kind = kind.map(|kind| facts.word(kind));
        facts.spend(Usage {
            line: json::index(line),
            key: key.into(),
            weak: response.is_none() && entry.id.is_none(),
            kind,
            provider: provider.or_else(|| self.provider.clone()),
            model: model.or_else(|| self.model.clone()),
            at: json::moment(&time),
            tokens,
            cost: paid.cost.0,
            inherited: Some(inherited(entry, facts)),
            provisional: cut && !missed,
            telling: if missed { Telling::Nothing } else { Telling::Own },
            ..Usage::default()
        });
    }
}

/// What was paid, if anybody wants to know.
fn paid(usage: Option<Raw<'_>>, facts: &Facts) -> Option<wire::Usage> {
    usage.filter(|_| facts.keeps_usages()).and_then(|usage| json::counters(usage.get()))
}

/// The counters as disjoint ones; what is written for an hour is a part of what is written.
pub(in crate::format) fn tokens(usage: &wire::Usage) -> Tokens {
    let cache_write = usage.cache_write.0;
    let cache_write_1h = usage.cache_write_1h.0.min(cache_write);
    Tokens {
        input: usage.input.0,
        cache_read: usage.cache_read.0,
        cache_write_5m: cache_write - cache_write_1h,
        cache_write_1h,
        output: usage.output.0,
        reasoning: usage.reasoning.0,
    }
}

/// Whether an entry is older than the session it stands in, and so a copy.
fn inherited(entry: &wire::Entry<'_>, facts: &Facts) -> bool {
    is_older(entry.timestamp.as_ref().and_then(json::moment), facts)
}

/// Whether a time is before the beginning of the session, if that came from another one.
pub(in crate::format) fn is_older(at: Option<DateTime<Utc>>, facts: &Facts) -> bool {
    let header = facts.header.as_ref().filter(|header| header.parent.is_some());
    let created = header.and_then(|header| header.created);
    at.zip(created).is_some_and(|(at, created)| at < created)
}

fn read_header(line: Line<'_>, facts: &mut Facts) -> Result<(), Fault> {
    // Garbage before the header is skipped by every version; anything else that is an object is refused.
    let claim: wire::Claim<'_> = serde_json::from_slice(line.bytes)?;
    if claim.kind != "session" {
        return Err(Fault::new(Code::HeaderMissing, "the first record is no session header"));
    }
    let header: wire::Header<'_> = serde_json::from_slice(line.bytes).map_err(|error| {
        Fault::new(Code::HeaderMissing, format!("the header has no id: {error}"))
    })?;
    // The version decides, not the content: a header without one is version 1, anything above 3 is read as 3.
    let version = header.version.map_or(1, |raw| raw.get().trim_matches('"').parse().unwrap_or(1));
    if version > 3 {
        let finding = Finding::new(
            Code::VersionUnsupported,
            format!("version {version} is read as version 3"),
        );
        facts.findings.push(finding.rated(Severity::Warning).on(line.number()));
    }
    let owned = |text: Text<'_>| text.owned();
    facts.header = Some(Header {
        line: Some(json::index(line)),
        id: header.id.owned(),
        version,
        cwd: header.cwd.map(owned),
        parent: header.parent_session.or(header.branched_from).map(owned),
        preset: None,
        created: header.timestamp.and_then(json::moment),
        seed_length: None,
        subagent: false,
        errand: None,
    });
    Ok(())
}

fn prompt(line: Line<'_>, system: &wire::Message<'_>, facts: &mut Facts) {
    if system.sections.is_some() {
        facts.state(json::index(line), Fact::Prompt(place(line, system.sections)));
    }
}

/// A framing or note of ours, and the digest that it is known by.
fn carrier<'a>(entry: &wire::Entry<'a>) -> Option<(Carrier, Option<Text<'a>>)> {
    let ours = entry.custom_type.as_ref().is_some_and(|kind| kind.0 == "sidechat");
    let details: wire::Details<'a> =
        entry.details.filter(|_| ours).and_then(|raw| serde_json::from_str(raw.get()).ok())?;
    match details.kind?.0.as_ref() {
        "framing" => Some((Carrier::Framing, details.id)),
        "note" => Some((Carrier::Note, details.id)),
        _ => None,
    }
}

//! Messages, looked through in one pass without being taken apart: for a path what they say and what they call; for a
//! ledger, to which a person's words and what tools put out are nothing, what was paid for an answer.
//!
//! What states more is read by the structs of [`super::wire`], which say what a line means.

use super::wire::{CALL, Called, Cost, Entry, Message, Usage};
use crate::format::{
    json::Text,
    scan::{Marks, Parsed, Scan, once},
};

/// What a ledger keeps of an entry with an id.
pub(super) enum Line<'a> {
    Nothing,
    Answer(Box<(Entry<'a>, Message<'a>, Usage)>),
}

/// The line, if it is one that can be read like this.
pub(super) fn line<'a>(bytes: &'a [u8], marks: &mut Marks) -> Option<Line<'a>> {
    let mut scan = Scan::of(bytes, marks);
    let line = entry(&mut scan)?;
    scan.ends().then_some(line)
}

/// What a path is made of, if the line is a message that stands there as pi writes it. What was paid is not read.
pub(super) fn said<'a>(bytes: &'a [u8], marks: &mut Marks) -> Option<(Entry<'a>, Message<'a>)> {
    const BEGIN: &[u8; 23] = br#"{"type":"message","id":"#;
    bytes.starts_with(BEGIN).then_some(())?; // before all of it is looked through
    let mut scan = Scan::of(bytes, marks);
    scan.follows(BEGIN)?;
    let id = scan.text()?;
    scan.follows(br#","parentId":"#)?;
    let parent_id = scan.text()?;
    scan.follows(br#","timestamp":"#)?;
    let timestamp = scan.text()?;
    scan.follows(br#","message":"#)?;
    let message = spoken(&mut scan)?;
    scan.follows(b"}")?;
    let kind = Text("message".into());
    scan.ends().then(|| (Entry { kind, id, parent_id, timestamp, ..Entry::default() }, message))
}

fn spoken<'a>(scan: &mut Scan<'a, '_>) -> Option<Message<'a>> {
    let (mut message, mut seen) = (Message::default(), 0);
    scan.object(|scan, key| {
        let bit = match key {
            b"role" => {
                message.role = scan.text()??;
                let read = matches!(message.role.0.as_ref(), "user" | "assistant" | "toolResult");
                read.then_some(0)?
            }
            // Whose the content is tells how it is read.
            b"content" if message.role.0.is_empty() => return None,
            b"content" if message.role.0 == "assistant" => {
                message.content = Some(calls(scan)?);
                1
            }
            b"content" => {
                message.content = Some(Parsed::of(scan.value()?, None));
                1
            }
            b"stopReason" => {
                message.stop_reason = scan.text()?;
                2
            }
            b"toolCallId" => {
                message.tool_call_id = scan.text()?;
                3
            }
            b"usage" => scan.value().map(|_| 4)?,
            b"provider" => scan.word().map(|_| 5)?,
            b"model" => scan.word().map(|_| 6)?,
            b"responseModel" => scan.word().map(|_| 7)?,
            b"responseId" => scan.word().map(|_| 8)?,
            b"timestamp" => scan.value().map(|_| 9)?,
            b"summary" | b"sections" | b"excludeFromContext" => return None,
            _ => return scan.value().map(|_| ()),
        };
        once(&mut seen, bit)
    })?;
    (!message.role.0.is_empty()).then_some(message)
}

/// The content of an answer, with the calls in it.
fn calls<'a>(scan: &mut Scan<'a, '_>) -> Option<Parsed<'a, Vec<Called<'a>>>> {
    if !scan.begins(b'[') {
        return scan.value().map(|bytes| Parsed::of(bytes, None));
    }
    let mut calls = Vec::new();
    let bytes = scan.span(|scan| {
        scan.list(|scan| {
            let (mut kind, mut id, mut seen) = (None, None, 0);
            scan.object(|scan, key| {
                let bit = match key {
                    b"type" => {
                        kind = scan.word()?;
                        0
                    }
                    b"text" => scan.unread_text().map(|()| 1)?,
                    b"id" => {
                        id = scan.text()?;
                        2
                    }
                    b"name" => scan.unread_text().map(|()| 3)?,
                    b"arguments" => scan.value().map(|_| 4)?,
                    _ => return scan.value().map(|_| ()),
                };
                once(&mut seen, bit)
            })?;
            if kind? == CALL.as_bytes() {
                calls.push(Called::of(id.unwrap_or_default()));
            }
            Some(())
        })
    })?;
    Some(Parsed::of(bytes, Some(calls)))
}

fn entry<'a>(scan: &mut Scan<'a, '_>) -> Option<Line<'a>> {
    let (mut id, mut timestamp, mut said) = (None, None, None);
    let mut seen = 0; // a key that comes twice is not for us to judge
    scan.object(|scan, key| {
        let bit = match key {
            b"type" => {
                (scan.word()?? == b"message").then_some(())?;
                0
            }
            b"id" => {
                id = scan.word()?;
                1
            }
            b"message" => {
                said = Some(message(scan)?);
                2
            }
            b"parentId" => scan.word().map(|_| 3)?,
            b"timestamp" => {
                timestamp = scan.word()?;
                4
            }
            b"summary"
            | b"firstKeptEntryId"
            | b"firstKeptEntryIndex"
            | b"systemMessage"
            | b"usage"
            | b"fromHook"
            | b"kind"
            | b"customType"
            | b"content"
            | b"details"
            | b"data"
            | b"targetId"
            | b"label"
            | b"replacement"
            | b"name"
            | b"provider"
            | b"model"
            | b"modelId" => return None,
            _ => return scan.value().map(|_| ()),
        };
        once(&mut seen, bit)
    })?;
    if seen & 1 == 0 || id.is_none() {
        return None;
    }
    let Some((message, paid)) = said? else { return Some(Line::Nothing) };
    let text = |word: Option<&'a [u8]>| {
        word.and_then(|word| std::str::from_utf8(word).ok()).map(|text| Text(text.into()))
    };
    let entry = Entry { id: text(id), timestamp: text(timestamp), ..Entry::default() };
    Some(Line::Answer(Box::new((entry, message, paid))))
}

/// What is nothing says nothing of what was paid.
type Said<'a> = Option<(Message<'a>, Usage)>;

fn message<'a>(scan: &mut Scan<'a, '_>) -> Option<Said<'a>> {
    let mut message = Message::default();
    let (mut role, mut paid, mut seen) = (None, None, 0);
    scan.object(|scan, key| {
        let bit = match key {
            b"role" => {
                role = scan.word()?;
                0
            }
            b"usage" => {
                paid = Some(usage(scan)?);
                1
            }
            b"content" => scan.value().map(|_| 2)?,
            b"summary" => scan.value().map(|_| 3)?,
            b"sections" => scan.value().map(|_| 4)?,
            b"timestamp" => {
                message.timestamp = scan.raw()?;
                5
            }
            b"excludeFromContext" => scan.value().map(|_| 6)?,
            b"stopReason" => match scan.word()? {
                // What was said then tells what was paid.
                Some(b"aborted" | b"error") => return None,
                _ => 7,
            },
            b"toolCallId" => scan.word().map(|_| 8)?,
            b"provider" => {
                message.provider = scan.text()?;
                9
            }
            b"model" => {
                message.model = scan.text()?;
                10
            }
            b"responseModel" => {
                message.response_model = scan.text()?;
                11
            }
            b"responseId" => {
                message.response_id = scan.text()?;
                12
            }
            _ => return scan.value().map(|_| ()),
        };
        once(&mut seen, bit)
    })?;
    let role = role?;
    let Some(paid) = paid else { return Some(None) };
    // Nobody else is paid in a message.
    let role = match role {
        b"assistant" => "assistant",
        b"toolResult" => "toolResult",
        _ => return None,
    };
    message.role = Text(role.into());
    Some(Some((message, paid)))
}

fn usage(scan: &mut Scan<'_, '_>) -> Option<Usage> {
    let (mut usage, mut seen) = (Usage::default(), 0);
    scan.object(|scan, key| {
        let (bit, field) = match key {
            b"input" => (0, &mut usage.input),
            b"output" => (1, &mut usage.output),
            b"cacheRead" => (2, &mut usage.cache_read),
            b"cacheWrite" => (3, &mut usage.cache_write),
            b"cacheWrite1h" => (4, &mut usage.cache_write_1h),
            b"reasoning" => (5, &mut usage.reasoning),
            b"cost" => {
                usage.cost = cost(scan)?;
                return once(&mut seen, 6);
            }
            _ => return scan.value().map(|_| ()),
        };
        *field = scan.count()?;
        once(&mut seen, bit)
    })?;
    Some(usage)
}

fn cost(scan: &mut Scan<'_, '_>) -> Option<Cost> {
    let (mut total, mut seen) = (None, 0);
    scan.object(|scan, key| {
        if key != b"total" {
            return scan.value().map(|_| ());
        }
        total = serde_json::from_slice(scan.value()?).ok()?;
        once(&mut seen, 0)
    })?;
    Some(Cost::of(total))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn silent(line: &[u8]) -> bool {
        matches!(super::line(line, &mut Marks::default()), Some(Line::Nothing))
    }

    #[test]
    fn only_a_whole_message_without_usage_is_silent() {
        let entry = |message: &str| {
            silent(format!(r#"{{"type":"message","id":"a","message":{message}}}"#).as_bytes())
        };
        assert!(entry(r#"{"role":"user","content":"\"usage\":{}"}"#));
        assert!(!entry(r#"{"role":"toolResult","usage":{}}"#));
        assert!(!entry(r#"{"role":"toolResult","us\u0061ge":{}}"#));
        assert!(!entry(r#"{"content":[]}"#));
        assert!(!entry(r#"{"role":7}"#));
        assert!(!silent(br#"{"type":"message","message":{"role":"user"}}"#));
        assert!(!silent(br#"{"type":"usage","id":"a"}"#));
    }
}

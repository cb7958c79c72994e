//! An event with what its data says, in one pass: which shape the data has, the type tells that stands before it.
//!
//! What is not read here is read by [`wire::Event`], and its data once that is known.

use super::wire::{Body, Event, Message, Said};
use crate::format::{
    json::Text,
    scan::{Marks, Scan, once},
};

/// The event, if it is one that can be read like this.
pub(super) fn event<'a>(bytes: &'a [u8], marks: &mut Marks) -> Option<(Event<'a>, Body<'a>)> {
    let mut scan = Scan::of(bytes, marks);
    usual(&mut scan).or_else(|| {
        scan.again();
        other(&mut scan)
    })
}

/// The event as the harness writes most of them.
fn usual<'a>(scan: &mut Scan<'a, '_>) -> Option<(Event<'a>, Body<'a>)> {
    let mut event = Event::default();
    scan.follows(br#"{"type":"#)?;
    event.kind = Text(scan.text()??.into());
    scan.follows(br#","seq":"#)?;
    event.seq = scan.whole_number()?;
    scan.follows(br#","time":"#)?;
    event.time = scan.whole_number()?.map(i64::try_from).transpose().ok()?;
    scan.follows(br#","data":"#)?;
    let body = body(&event.kind.0, scan)?;
    if scan.follows(br#","surfaceOp":"#).is_some() {
        event.surface_op = scan.raw()?;
    }
    scan.follows(b"}")?;
    scan.ends().then_some((event, body))
}

/// What the data says. That of messages is read by hand, since they are most of a log.
fn body<'a>(kind: &str, scan: &mut Scan<'a, '_>) -> Option<Body<'a>> {
    Some(match kind {
        "user/message" => Body::User(Box::new(message(scan)?)),
        "assistant/message" => Body::Answer(Box::new(said(scan)?)),
        "tool/result" => Body::Result(Box::new(said(scan)?)),
        _ => Body::read(kind, scan.here()).ok()?,
    })
}

fn said<'a>(scan: &mut Scan<'a, '_>) -> Option<Said<'a>> {
    let (mut said, mut usage, mut interrupted, mut seen) = (None, None, None, 0);
    scan.object(|scan, key| {
        let bit = match key {
            b"message" => {
                said = Some(message(scan)?);
                0
            }
            b"usage" => {
                usage = scan.typed()?;
                1
            }
            b"interrupted" => {
                interrupted = scan.typed()?;
                2
            }
            _ => return scan.value().map(|_| ()),
        };
        once(&mut seen, bit)
    })?;
    Some(Said { message: said?, usage, interrupted })
}

fn message<'a>(scan: &mut Scan<'a, '_>) -> Option<Message<'a>> {
    let (mut role, mut id, mut content, mut source, mut call) = (None, None, None, None, None);
    let mut seen = 0;
    let text = |scan: &mut Scan<'a, '_>| scan.text().map(|text| text.map(|text| Text(text.into())));
    scan.object(|scan, key| {
        let bit = match key {
            b"role" => {
                role = text(scan)?;
                0
            }
            b"id" => {
                id = text(scan)?;
                1
            }
            b"content" => {
                content = Some(scan.typed()?);
                2
            }
            b"source" => {
                source = scan.typed()?;
                3
            }
            b"toolCallId" => {
                call = text(scan)?;
                4
            }
            _ => return scan.value().map(|_| ()),
        };
        once(&mut seen, bit)
    })?;
    Some(Message { role: role?, id, content: content?, source, tool_call_id: call })
}

/// The event with its keys in any order.
fn other<'a>(scan: &mut Scan<'a, '_>) -> Option<(Event<'a>, Body<'a>)> {
    let (mut event, mut body) = (Event::default(), None);
    let mut seen = 0; // a key that comes twice is not for us to judge
    scan.object(|scan, key| {
        let number = match key {
            b"type" => {
                event.kind = Text(scan.text()??.into());
                0
            }
            b"seq" => {
                event.seq = scan.whole_number()?;
                1
            }
            b"time" => {
                event.time = scan.whole_number()?.map(i64::try_from).transpose().ok()?;
                2
            }
            b"seq0" => {
                event.seq0 = scan.whole_number()?;
                3
            }
            b"time0" => {
                event.time0 = scan.whole_number()?.map(i64::try_from).transpose().ok()?;
                4
            }
            b"data" if seen & 1 != 0 => {
                body = Some(Body::read(&event.kind.0, scan.here()).ok()?);
                5
            }
            b"surfaceOp" => {
                event.surface_op = scan.raw()?;
                6
            }
            b"sourceEventSeqs" => scan.value().map(|_| 7)?,
            b"ignorable" => {
                event.ignorable = scan.typed()?;
                8
            }
            _ => return None,
        };
        once(&mut seen, number)
    })?;
    scan.ends().then_some((event, body?))
}

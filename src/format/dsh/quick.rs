//! An event with what its data says, in one pass: which shape the data has, the type tells that stands before it.
//!
//! What is not read here is read by [`wire::Event`], and its data once that is known.

use super::wire::{Body, Event, Link, Message, Said, Source, Usage};
use crate::format::scan::{Marks, Parsed, Scan, once};

/// The event, if it is one that can be read like this. Where nobody wants to know what was `paid`, that is passed over.
pub(super) fn event<'a>(
    bytes: &'a [u8],
    paid: bool,
    marks: &mut Marks,
) -> Option<(Event<'a>, Body<'a>)> {
    let mut scan = Scan::of(bytes, marks);
    usual(&mut scan, paid).or_else(|| {
        scan.again();
        other(&mut scan, paid)
    })
}

/// The event as the harness writes most of them.
fn usual<'a>(scan: &mut Scan<'a, '_>, paid: bool) -> Option<(Event<'a>, Body<'a>)> {
    let mut event = Event::default();
    scan.follows(br#"{"type":"#)?;
    event.kind = scan.text()??;
    scan.follows(br#","seq":"#)?;
    event.seq = scan.whole_number()?;
    scan.follows(br#","time":"#)?;
    event.time = scan.whole_number()?.map(i64::try_from).transpose().ok()?;
    scan.follows(br#","data":"#)?;
    let body = body(&event.kind.0, scan, paid)?;
    if scan.follows(br#","surfaceOp":"#).is_some() {
        event.surface_op = scan.raw()?;
    }
    scan.follows(b"}")?;
    scan.ends().then_some((event, body))
}

/// What the data says. That of messages is read by hand, since they are most of a log.
fn body<'a>(kind: &str, scan: &mut Scan<'a, '_>, paid: bool) -> Option<Body<'a>> {
    Some(match kind {
        "user/message" => Body::User(Box::new(message(scan, false)?)),
        "assistant/message" => Body::Answer(Box::new(said(scan, paid)?)),
        "tool/result" => Body::Result(Box::new(said(scan, paid)?)),
        _ => Body::read(kind, scan.here()).ok()?,
    })
}

fn said<'a>(scan: &mut Scan<'a, '_>, paid: bool) -> Option<Said<'a>> {
    let (mut said, mut usage, mut interrupted, mut seen) = (None, None, None, 0);
    scan.object(|scan, key| {
        let bit = match key {
            b"message" => {
                said = Some(message(scan, true)?);
                0
            }
            b"usage" if paid || !scan.begins(b'{') => {
                usage = scan.typed()?;
                1
            }
            b"usage" => {
                usage = scan.value().map(|_| Some(Usage::default()))?;
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

/// A message, with its calls and what it answers if there may be any of these.
fn message<'a>(scan: &mut Scan<'a, '_>, calls: bool) -> Option<Message<'a>> {
    let (mut role, mut id, mut content, mut source, mut call) = (None, None, None, None, None);
    let mut seen = 0;
    scan.object(|scan, key| {
        let bit = match key {
            b"role" => {
                role = scan.text()?;
                0
            }
            b"id" => {
                id = scan.text()?;
                1
            }
            b"content" if calls && scan.begins(b'[') => {
                content = Some(links(scan)?);
                2
            }
            b"content" => {
                content = Some(Parsed::of(scan.value()?, None));
                2
            }
            b"source" if scan.begins(b'{') => {
                source = Some(self::source(scan)?);
                3
            }
            b"source" => scan.is_null()?.then_some(3)?,
            b"toolCallId" => {
                call = scan.text()?;
                4
            }
            _ => return scan.value().map(|_| ()),
        };
        once(&mut seen, bit)
    })?;
    Some(Message { role: role?, id, content: content?, source, tool_call_id: call })
}

/// A content, with what calls or answers a call in it.
fn links<'a>(scan: &mut Scan<'a, '_>) -> Option<Parsed<'a, Vec<Link<'a>>>> {
    let mut links = Vec::new();
    let bytes = scan.span(|scan| {
        scan.list(|scan| {
            let (mut kind, mut id, mut call, mut seen) = (None, None, None, 0);
            scan.object(|scan, key| {
                let bit = match key {
                    b"type" => {
                        kind = scan.text()?;
                        0
                    }
                    b"text" => scan.unread_text().map(|()| 1)?,
                    b"id" => {
                        id = scan.text()?;
                        2
                    }
                    b"name" => scan.unread_text().map(|()| 3)?,
                    b"arguments" => scan.unread_text().map(|()| 4)?,
                    b"toolCallId" => {
                        call = scan.text()?;
                        5
                    }
                    b"content" => scan.value().map(|_| 6)?,
                    _ => return scan.value().map(|_| ()),
                };
                once(&mut seen, bit)
            })?;
            links.extend(Link::of(kind?, id, call));
            Some(())
        })
    })?;
    Some(Parsed::of(bytes, Some(links)))
}

fn source<'a>(scan: &mut Scan<'a, '_>) -> Option<Source<'a>> {
    let (mut source, mut seen) = (Source::default(), 0);
    scan.object(|scan, key| {
        let (bit, field) = match key {
            b"kind" => (0, &mut source.kind),
            b"plugin" => (1, &mut source.plugin),
            b"provider" => (2, &mut source.provider),
            b"model" => (3, &mut source.model),
            _ => return scan.value().map(|_| ()),
        };
        *field = scan.text()?;
        once(&mut seen, bit)
    })?;
    Some(source)
}

/// The event with its keys in any order.
fn other<'a>(scan: &mut Scan<'a, '_>, paid: bool) -> Option<(Event<'a>, Body<'a>)> {
    let (mut event, mut body) = (Event::default(), None);
    let mut seen = 0; // a key that comes twice is not for us to judge
    scan.object(|scan, key| {
        let number = match key {
            b"type" => {
                event.kind = scan.text()??;
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
                body = Some(self::body(&event.kind.0, scan, paid)?);
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

//! An event with what its data says, in one pass: which shape the data has, the type tells that stands before it.
//!
//! What is not read here is read by [`wire::Event`], and its data once that is known.

use super::wire::{Body, Event};
use crate::format::{
    json::Text,
    scan::{Marks, Scan, once},
};

/// The event, if it is one that can be read like this.
pub(super) fn event<'a>(bytes: &'a [u8], marks: &mut Marks) -> Option<(Event<'a>, Body<'a>)> {
    let mut scan = Scan::of(bytes, marks);
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

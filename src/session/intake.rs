//! Lines into facts, with what can be saved of those that are damaged.

use memchr::memmem;

use super::{Damage, salvage};
use crate::{
    fact::{Fact, Facts},
    finding::{Code, Finding},
    format::{Fault, Reader},
    log::Line,
};

/// How many unreadable lines are held back to see whether together they are one record.
const HELD: usize = 16;

/// Hands lines to a client's reader and keeps account of the damaged ones.
pub(super) struct Intake {
    reader: Box<dyn Reader>,
    held: Vec<Held>,
    crlf: u64,
    pub findings: Vec<Finding>,
    pub damage: Damage,
    pub blank: Vec<u32>,
}

/// An unreadable line, kept until the next one tells what it was.
struct Held {
    index: usize,
    start: u64,
    bytes: Vec<u8>,
    why: String,
}

impl Intake {
    pub fn new(reader: Box<dyn Reader>) -> Self {
        Self {
            reader,
            held: Vec::new(),
            crlf: 0,
            findings: Vec::new(),
            damage: Damage::default(),
            blank: Vec::new(),
        }
    }

    /// What the reader knows, if that is all that what follows depends on.
    pub fn memory(&self) -> Option<Vec<u8>> {
        let whole = self.held.is_empty() && !self.damage.any;
        if whole { self.reader.pack() } else { None }
    }

    /// A file of a chain begins. What was held back of the one before is complete.
    pub fn part(&mut self, own: bool) {
        self.give_up(None);
        self.reader.part(own);
    }

    pub fn take(&mut self, line: Line<'_>, facts: &mut Facts) {
        if line.crlf {
            self.crlf += 1;
            if self.crlf == 1 {
                self.findings.push(
                    Finding::new(Code::Crlf, "lines end with carriage return and newline")
                        .on(line.number()),
                );
            }
        }
        if line.bytes.trim_ascii().is_empty() {
            self.blank.push(u32::try_from(line.index).unwrap_or(u32::MAX));
        }
        if !self.held.is_empty() {
            if !self.reader.is_record(line.bytes) && !line.bytes.trim_ascii().is_empty() {
                self.hold(line, "no record on its own".into());
                return self.join(facts);
            }
            self.give_up(Some(line.bytes));
        }
        self.read(line, facts);
    }

    pub fn finish(mut self, facts: &mut Facts) -> Self {
        self.join(facts);
        self.give_up(None);
        self
    }

    fn read(&mut self, line: Line<'_>, facts: &mut Facts) {
        let why = match self.state(&line, facts) {
            Ok(()) => return,
            Err(why) => why,
        };
        self.damage.any = true;
        match salvage::repair(line.bytes, &|bytes| self.reader.is_record(bytes)) {
            salvage::Repair::Records { text, pieces, findings, lost } => {
                let saved = pieces.len() as u64;
                for piece in pieces {
                    let part = Line { inset: piece.start, bytes: &text[piece], ..line };
                    if let Err(why) = self.state(&part, facts) {
                        self.corrupt(line.number(), line.start, &why, false);
                    }
                }
                self.damage.lost += lost;
                self.damage.saved += saved;
                self.findings.extend(findings.into_iter().map(|finding| shifted(finding, line)));
            }
            salvage::Repair::Lost(findings) => {
                self.damage.lost += 1;
                self.findings.extend(
                    findings
                        .into_iter()
                        .map(|finding| shifted(finding, line).with("lost_records", 1)),
                );
            }
            salvage::Repair::WrongShape => self.corrupt(line.number(), line.start, &why, false),
            salvage::Repair::Broken => self.hold(line, why),
        }
    }

    /// Lets the reader state the facts of a line. An error is what makes it unreadable.
    fn state(&mut self, line: &Line<'_>, facts: &mut Facts) -> Result<(), String> {
        let fault = match self.reader.read(line, facts) {
            Ok(()) => None,
            Err(Fault::Found(finding)) => Some(*finding),
            Err(Fault::Malformed(error)) => return Err(error.to_string()),
        };
        self.damage.after += u64::from(self.damage.any);
        if let Some(finding) = fault {
            // What the client takes for no record is as lost as what nobody can read.
            if finding.code == Code::LineCorrupt {
                self.damage.any = true;
                self.damage.lost += 1;
            }
            let finding = if finding.line.is_none() { finding.on(line.number()) } else { finding };
            self.findings.push(finding);
        }
        if !facts.keeps_path()
            || self.reader.is_plain()
            || memmem::find(line.bytes, b"\\u").is_none()
        {
            return Ok(());
        }
        if let Some(at) = salvage::lone_surrogate(line.bytes) {
            let finding = Finding::new(Code::LoneSurrogate, "an escape names half a character")
                .on(line.number());
            self.findings
                .push(Finding { byte: Some(line.start + (line.inset + at) as u64), ..finding });
        }
        if memmem::find(line.bytes, b"\\u0000").is_some() {
            let index = u32::try_from(line.index).unwrap_or(u32::MAX);
            if facts.of(index).any(|fact| matches!(fact, Fact::Said(..))) {
                self.findings.push(
                    Finding::new(
                        Code::ControlChars,
                        "an escaped U+0000 in text that the model sees",
                    )
                    .on(line.number()),
                );
            }
        }
        Ok(())
    }

    fn hold(&mut self, line: Line<'_>, why: String) {
        self.held.push(Held {
            index: line.index,
            start: line.start,
            bytes: line.bytes.to_vec(),
            why,
        });
    }

    /// Whether the lines held back are one record with raw line breaks in it.
    fn join(&mut self, facts: &mut Facts) {
        if self.held.len() < 2 {
            return;
        }
        // A blank in place of each newline keeps every other byte where it stands in the file.
        let joined =
            self.held.iter().map(|held| held.bytes.as_slice()).collect::<Vec<_>>().join(&b' ');
        if self.reader.is_record(&joined) {
            let (first, last) = (self.held[0].index, self.held[self.held.len() - 1].index);
            let line = Line {
                index: first,
                start: self.held[0].start,
                inset: 0,
                bytes: &joined,
                crlf: false,
            };
            self.held.clear();
            if let Err(why) = self.state(&line, facts) {
                return self.corrupt(line.number(), line.start, &why, false);
            }
            self.damage.saved += 1;
            let message = format!("one record stands on lines {} to {}", first + 1, last + 1);
            let finding = Finding {
                lines: Some([first + 1, last + 1]),
                ..Finding::new(Code::RecordSplit, message)
            };
            self.findings
                .push(finding.on(first + 1).with("saved_records", 1).with("lost_records", 0));
        } else if self.held.len() >= HELD {
            self.give_up(None);
        }
    }

    /// The lines held back are lost, unless what follows says the same again.
    fn give_up(&mut self, next: Option<&[u8]>) {
        let held = std::mem::take(&mut self.held);
        let last = held.len().saturating_sub(1);
        for (nth, held) in held.into_iter().enumerate() {
            let repeated = nth == last
                && next.is_some_and(|next| next.starts_with(held.bytes.trim_ascii_end()));
            self.corrupt(held.index + 1, held.start, &held.why, repeated);
        }
    }

    fn corrupt(&mut self, number: usize, byte: u64, why: &str, repeated: bool) {
        self.damage.any = true;
        self.damage.lost += u64::from(!repeated);
        let message = if repeated {
            "a cut record; the whole one follows".to_owned()
        } else {
            format!("line {number} cannot be read: {why}")
        };
        let finding = Finding { byte: Some(byte), ..Finding::new(Code::LineCorrupt, message) };
        self.findings.push(
            finding
                .on(number)
                .with("repeated", repeated)
                .with("lost_records", u64::from(!repeated)),
        );
    }
}

/// A finding inside a line, told by its place in the file.
fn shifted(mut finding: Finding, line: Line<'_>) -> Finding {
    finding.byte = finding.byte.map(|byte| byte + line.start);
    if let Some(byte) = finding.byte.filter(|_| finding.code == Code::NulBlock) {
        finding = finding.with("byte_start", byte);
    }
    finding.on(line.number())
}

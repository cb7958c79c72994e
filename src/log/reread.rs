//! Lines of a log that are read once more, one after another.

use std::ops::Range;

use super::{BLOCK, Log, Space};
use crate::error::Result;

/// The lines of a log that was read. What stands behind a line is read with it, so that those who go through the log in
/// order ask the system seldom.
#[derive(Debug)]
pub struct Reread<'a> {
    log: &'a Log,
    space: Space,
    /// The addresses of what is in hand.
    held: Range<u64>,
}

impl<'a> Reread<'a> {
    pub(super) fn of(log: &'a Log) -> Self {
        Self { log, space: Space::new(), held: 0..0 }
    }

    /// Line `index` without its line end.
    pub fn line(&mut self, index: usize) -> Result<&[u8]> {
        let Range { start, end } = self.log.range(index..index + 1);
        if start < self.held.start || self.held.end < end {
            self.read(start, end)?;
        }
        let place = |address: u64| usize::try_from(address - self.held.start).unwrap_or(usize::MAX);
        Ok(super::without_end(&self.space[place(start)..place(end)]))
    }

    fn read(&mut self, start: u64, end: u64) -> Result<()> {
        let end = end.max(self.log.end.min(start + BLOCK as u64));
        self.held = start..start;
        let all = usize::try_from(end - start).unwrap_or(usize::MAX);
        let mut len = 0;
        while self.held.end < end {
            // A block at a time: what is cleared is still near when it is read into.
            let more = usize::try_from(end - self.held.end).unwrap_or(BLOCK).min(BLOCK);
            self.space.reach(len + more, all);
            self.log.read_exact(self.held.end, &mut self.space[len..len + more])?;
            len += more;
            self.held.end += more as u64;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_the_same_in_any_order() {
        let lines: Vec<Vec<u8>> =
            (0..60).map(|nth: u8| vec![b'a' + nth % 26; usize::from(nth).pow(3) * 3]).collect();
        let text = [lines.join(&b"\r\n"[..]), b"\n".to_vec()].concat();
        let mut log = Log::spool(std::io::Cursor::new(text)).unwrap();
        log.each(|_| Ok(())).unwrap();
        let mut again = log.reread();
        let order = (0..60).chain([59, 0, 30, 31, 5, 58]);
        for index in order {
            assert!(again.line(index).unwrap() == lines[index], "line {index}");
            assert_eq!(log.line(index).unwrap(), lines[index]);
        }
    }
}

//! Rows as a table that fits the terminal, with bars where the rows follow each other in time.

use std::collections::{HashMap, HashSet};

use comfy_table::{CellAlignment, Table};
use unicode_width::UnicodeWidthStr;

use crate::{
    cli::output::{grouped, printable},
    ops::usage::{By, Row},
    session::ledger::Completion,
    store,
};

/// The shortest key that is still told apart from others.
const SHORT: usize = 12;

/// The rows of sessions with each one below its parent, and as far to the right as it is deep.
pub(super) fn under_parents(rows: Vec<Row>, completions: &[Completion]) -> Vec<Row> {
    let here: HashSet<String> = rows.iter().map(|row| row.keys[0].clone()).collect();
    let parents: HashMap<&str, &str> = completions
        .iter()
        .filter_map(|one| Some((one.session.as_ref(), one.parent.as_deref()?)))
        .filter(|(session, parent)| session != parent && here.contains(*parent))
        .collect();
    // The chain from the oldest one there down to the session itself; a circle ends it.
    let chain = |session: &str| {
        let mut chain = vec![session.to_owned()];
        while let Some(parent) = parents.get(chain[0].as_str())
            && !chain.iter().any(|known| known == parent)
        {
            chain.insert(0, (*parent).to_owned());
        }
        chain
    };
    let mut placed: Vec<(Vec<String>, Row)> =
        rows.into_iter().map(|row| (chain(&row.keys[0]), row)).collect();
    placed.sort_by(|(a, _), (b, _)| a.cmp(b));
    let indented = |(chain, mut row): (Vec<String>, Row)| {
        row.keys[0].insert_str(0, &"  ".repeat(chain.len() - 1));
        row
    };
    placed.into_iter().map(indented).collect()
}

/// How long the longest bar is at most, and at least.
const BAR: (usize, usize) = (40, 8);

/// What is drawn.
pub(super) struct Rows<'a> {
    pub by: &'a [By],
    pub rows: &'a [Row],
    pub sum: &'a Row,
    /// Whether money is shown.
    pub cost: bool,
}

/// A column: its head, and what stands in it.
type Column = (&'static str, fn(&Row) -> String);

const COUNTS: [Column; 6] = [
    ("calls", |row| grouped(row.completions)),
    ("input", |row| grouped(row.tokens.input)),
    ("cache read", |row| grouped(row.tokens.cache_read)),
    ("cache write", |row| {
        grouped(row.tokens.cache_write_5m.saturating_add(row.tokens.cache_write_1h))
    }),
    ("output", |row| grouped(row.tokens.output)),
    ("total", |row| grouped(row.tokens.total())),
];

const MONEY: [Column; 2] = [
    ("recorded", |row| row.money.recorded.map_or_else(String::new, money)),
    ("computed", |row| row.money.computed.map_or_else(String::new, money)),
];

/// How much is shown: all counters, the calls and the sum, or the sum alone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Detail {
    Least,
    Less,
    Full,
}

impl Rows<'_> {
    /// The table as lines. With a width it is cut down until it fits: first the keys, then the columns.
    pub fn draw(&self, compact: bool, width: Option<usize>) -> String {
        let most = if compact { Detail::Less } else { Detail::Full };
        let whole = self.keys();
        let Some(width) = width else { return lines(&self.table(most, &whole)) };
        let longest = whole.iter().flatten().map(|key| key.width()).max().unwrap_or(0);
        for detail in [Detail::Full, Detail::Less, Detail::Least] {
            if detail > most {
                continue;
            }
            let drawn = lines(&self.table(detail, &whole));
            let beside = widest(&drawn).saturating_sub(self.taken(&whole));
            for length in (SHORT.min(longest)..=longest).rev() {
                let keys = self.shortened(&whole, length, true);
                if beside + self.taken(&keys) <= width {
                    return self.bars(lines(&self.table(detail, &keys)), width);
                }
            }
        }
        lines(&self.table(Detail::Least, &self.shortened(&whole, store::PREFIX, false)))
    }

    /// The keys of every row, as they are shown.
    fn keys(&self) -> Vec<Vec<String>> {
        // A working folder may have a name of several lines.
        let shown = |key: &String| printable(key).replace(['\n', '\t'], "\u{FFFD}");
        self.rows.iter().map(|row| row.keys.iter().map(shown).collect()).collect()
    }

    /// The same, each cut down to a length. Of ids as much is left as tells them apart, where `apart`.
    fn shortened(&self, keys: &[Vec<String>], length: usize, apart: bool) -> Vec<Vec<String>> {
        let mut cut = keys.to_vec();
        for (nth, by) in self.by.iter().enumerate() {
            let mut ids: Vec<String> = Vec::new();
            if apart && matches!(by, By::Session | By::Family) {
                ids.extend(keys.iter().map(|row| row[nth].trim_start().to_owned()));
                ids.sort_unstable();
                ids.dedup();
            }
            for row in &mut cut {
                let key = &mut row[nth];
                if !matches!(by, By::Session | By::Family) {
                    *key = shortened(key, Some(length));
                    continue;
                }
                // The start of an id is an id.
                let id = key.trim_start();
                let indent = key.chars().count() - id.chars().count();
                let start = if apart { indent + store::start_of(id, &ids) } else { 0 };
                *key = key.chars().take(start.max(length)).collect();
            }
        }
        cut
    }

    /// How wide the columns of keys are.
    fn taken(&self, keys: &[Vec<String>]) -> usize {
        let widest = |nth: usize| keys.iter().map(|row| row[nth].width()).max().unwrap_or(0);
        let columns = self.by.iter().enumerate();
        columns.map(|(nth, by)| widest(nth).max(by.name().len())).sum()
    }

    fn columns(&self, detail: Detail) -> Vec<Column> {
        let mut columns: Vec<Column> = match detail {
            Detail::Full => COUNTS.to_vec(),
            Detail::Less => vec![COUNTS[0], COUNTS[5]],
            Detail::Least => vec![COUNTS[5]],
        };
        if self.cost {
            columns.extend(if detail == Detail::Least { &MONEY[1..] } else { &MONEY });
        }
        columns
    }

    fn table(&self, detail: Detail, keys: &[Vec<String>]) -> Table {
        let columns = self.columns(detail);
        let mut table = Table::new();
        table.load_style(comfy_table::presets::NOTHING);
        let heads = columns.iter().map(|(head, _)| *head);
        table.set_header(self.by.iter().map(|by| by.name()).chain(heads));
        let cells = |row: &Row| columns.iter().map(|(_, cell)| cell(row)).collect::<Vec<_>>();
        for (row, keys) in self.rows.iter().zip(keys) {
            table.add_row(keys.iter().cloned().chain(cells(row)));
        }
        let blank =
            (0..self.by.len()).map(|nth| if nth == 0 { "sum".to_owned() } else { String::new() });
        table.add_row(blank.chain(cells(self.sum)));
        for column in table.column_iter_mut().skip(self.by.len()) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        table
    }

    /// Adds a bar to each row, if the rows are days, weeks or months and there is room.
    fn bars(&self, drawn: String, width: usize) -> String {
        let in_time = matches!(self.by, [By::Day | By::Week | By::Month]);
        let used = widest(&drawn) + 2;
        let room = width.saturating_sub(used).min(BAR.0);
        let most = self.rows.iter().map(|row| row.tokens.total()).max().unwrap_or(0);
        if !in_time || room < BAR.1 || most == 0 {
            return drawn;
        }
        let mut text = String::new();
        for (nth, line) in drawn.lines().enumerate() {
            // The head stands above the rows, the sum below them.
            let row = nth.checked_sub(1).and_then(|nth| self.rows.get(nth));
            let bar = row.map_or_else(String::new, |row| bar(row.tokens.total(), most, room));
            let used = used - line.width();
            text.push_str(format!("{line}{:used$}{bar}", "").trim_end());
            text.push('\n');
        }
        text
    }
}

/// A bar of at most `room` columns, in eighths of one; whatever is not nothing is seen.
fn bar(part: u64, most: u64, room: usize) -> String {
    const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let eighths = u128::from(part) * (room as u128 * 8) / u128::from(most.max(1));
    let eighths = usize::try_from(eighths).unwrap_or(0).max(usize::from(part > 0));
    let mut bar = "█".repeat(eighths / 8);
    bar.extend(Some(EIGHTHS[eighths % 8]).filter(|eighth| *eighth != ' '));
    bar
}

pub(super) fn lines(table: &Table) -> String {
    table.lines().fold(String::new(), |text, line| text + line.trim_end() + "\n")
}

pub(super) fn widest(text: &str) -> usize {
    text.lines().map(UnicodeWidthStr::width).max().unwrap_or(0)
}

/// A key of at most `most` characters. Of a path the end tells more than the beginning.
pub(super) fn shortened(key: &str, most: Option<usize>) -> String {
    let count = key.chars().count();
    let Some(most) = most.filter(|most| *most > 0 && *most < count) else { return key.into() };
    if key.contains('/') {
        return format!("…{}", key.chars().skip(count - (most - 1)).collect::<String>());
    }
    format!("{}…", key.chars().take(most - 1).collect::<String>())
}

/// Nano-dollars, rounded to cents, or to hundredths of a cent below one dollar.
pub(super) fn money(nano: u64) -> String {
    let (unit, digits) = if nano < 1_000_000_000 { (100_000, 4) } else { (10_000_000, 2) };
    let rounded = nano.saturating_add(unit / 2) / unit;
    let whole = 10_u64.pow(digits);
    format!("${}.{:0digits$}", grouped(rounded / whole), rounded % whole, digits = digits as usize)
}

/// A count in three digits and a letter, such as `1.23M`.
pub(super) fn brief(number: u64) -> String {
    let steps = [(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")];
    let Some((unit, letter)) = steps.into_iter().find(|(unit, _)| number >= *unit) else {
        return number.to_string();
    };
    let hundredths = number / (unit / 100);
    let (whole, rest) = (hundredths / 100, hundredths % 100);
    match whole {
        0..10 => format!("{whole}.{rest:02}{letter}"),
        10..100 => format!("{whole}.{}{letter}", rest / 10),
        _ => format!("{whole}{letter}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fact::Tokens, ops::usage::Money};

    fn row(keys: &[&str], total: u64) -> Row {
        Row {
            keys: keys.iter().map(|key| (*key).to_owned()).collect(),
            completions: 1,
            tokens: Tokens { input: total, ..Tokens::default() },
            money: Money::default(),
        }
    }

    fn drawn(by: &[By], rows: &[Row], width: Option<usize>) -> String {
        Rows { by, rows, sum: &row(&[], 1_500), cost: false }.draw(false, width)
    }

    #[test]
    fn a_table_fits_its_terminal_and_is_whole_without_one() {
        let rows = [row(&["0199-a-very-long-session-id-of-36-chars"], 1_500)];
        let whole = drawn(&[By::Session], &rows, None);
        assert!(
            whole.contains("0199-a-very-long-session-id-of-36-chars") && whole.contains("1,500")
        );
        for width in [100, 80, 70, 60, 40] {
            let cut = drawn(&[By::Session], &rows, Some(width));
            assert!(widest(&cut) <= width, "{width}: {cut}");
            assert!(cut.contains("0199-a") && cut.contains("1,500"), "{cut}");
        }
    }

    #[test]
    fn ids_are_cut_no_further_than_they_can_be_told_apart() {
        let ids = ["22222222-2222-4222-8222-0000000000a1", "22222222-2222-4222-8222-0000000000b1"];
        let rows = ids.map(|id| row(&[id, "a-model-with-a-long-name"], 1_500));
        for width in [110, 100, 90, 80, 70, 60] {
            let cut = drawn(&[By::Session, By::Model], &rows, Some(width));
            assert!(widest(&cut) <= width, "{width}: {cut}");
            for id in ids {
                assert!(cut.contains(&id[..35]), "{width}: {cut}");
            }
        }
        // Keys get all the room that there is.
        let whole = widest(&drawn(&[By::Session, By::Model], &rows, None));
        let cut = drawn(&[By::Session, By::Model], &rows, Some(whole - 3));
        assert_eq!(widest(&cut), whole - 3, "{cut}");
        // Where nothing fits, lines are as short as they get, and of wide letters each takes two columns.
        let narrow = drawn(&[By::Session], &ids.map(|id| row(&[id], 1_500)), Some(24));
        assert!(widest(&narrow) <= 24, "{narrow}");
        let rows = [row(&["/home/ada/日本語のとても長いフォルダの名前です"], 1_500)];
        let cut = drawn(&[By::Project], &rows, Some(60));
        assert!(widest(&cut) <= 60 && cut.contains("名前です"), "{cut}");
        let rows = [row(&["/home/ada/two\nlines"], 1)];
        assert_eq!(drawn(&[By::Project], &rows, None).lines().count(), 3);
    }

    #[test]
    fn days_have_bars_where_there_is_room() {
        let rows =
            [row(&["2026-11-28"], 1_000), row(&["2026-11-29"], 500), row(&["2026-11-30"], 0)];
        let text = drawn(&[By::Day], &rows, Some(140));
        let bars: Vec<usize> = text.lines().map(|line| line.matches('█').count()).collect();
        assert_eq!(bars[1], bars[2] * 2, "{text}");
        assert!(bars[1] > 0 && bars[3] == 0 && bars[4] == 0, "{text}");
        for (by, width) in [(By::Model, Some(100)), (By::Day, None), (By::Day, Some(30))] {
            assert!(!drawn(&[by], &rows, width).contains('█'), "{}", by.name());
        }
    }

    #[test]
    fn numbers_are_short_where_they_must_be() {
        for (number, text) in [
            (999, "999"),
            (1_234, "1.23k"),
            (98_765, "98.7k"),
            (123_456_789, "123M"),
            (4_000_000_000, "4.00G"),
        ] {
            assert_eq!(brief(number), text);
        }
        for (nano, text) in [
            (0, "$0.0000"),
            (5_100_000, "$0.0051"),
            (999_949_999, "$0.9999"),
            (1_234_567_890_123, "$1,234.57"),
        ] {
            assert_eq!(money(nano), text);
        }
    }
}

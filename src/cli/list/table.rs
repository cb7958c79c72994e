//! The list for people: a table as wide as the terminal, or as wide as it gets.

use std::{
    io::{self, IsTerminal, Write},
    path::Path,
};

use comfy_table::{CellAlignment, Table};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{Listed, Row};
use crate::cli::output::{Report, printable};

/// The columns in front of title and folder, which are never cut.
const FIXED: usize = 5;

/// The least that is left of a title, and of a folder.
const LEAST: [usize; 2] = [20, 10];

impl Report for Listed {
    fn json(&self) -> String {
        serde_json::to_string(self).expect("a report always serialises")
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let rows = self.rows.iter().zip(&self.starts);
        let mut rows: Vec<[String; 7]> = rows.map(|(row, start)| cells(row, *start)).collect();
        rows.insert(
            0,
            ["id", "client", "turns", "size", "age", "title", "folder"].map(str::to_owned),
        );
        let width = terminal_size::terminal_size().filter(|_| io::stdout().is_terminal());
        if let Some((width, _)) = width {
            fit(&mut rows, usize::from(width.0), self.home.as_deref());
        }
        let mut table = Table::new();
        table.load_style(comfy_table::presets::NOTHING);
        table.set_header(&rows[0]);
        table.add_rows(&rows[1..]);
        for column in table.column_iter_mut().skip(2).take(3) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        for line in table.lines() {
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

fn cells(row: &Row, start: usize) -> [String; 7] {
    let id: String = row.id.chars().take(start).collect();
    let turns = row.turns.map_or_else(|| "?".to_owned(), |turns| turns.to_string());
    let tree = match row.depth {
        0 => String::new(),
        depth => format!("{}└ ", "  ".repeat(depth - 1)),
    };
    let kind = if row.kind == "main" || row.kind == "fork" && row.depth > 0 {
        String::new()
    } else {
        format!("[{}] ", row.kind)
    };
    let title = printable(row.title.as_deref().unwrap_or_default()).replace('\n', " ");
    let title = format!("{tree}{kind}{}", title.trim());
    let folder = printable(row.cwd.as_deref().unwrap_or_default()).replace('\n', " ");
    [printable(&id), row.client.into(), turns, size(row.size), age(row.age), title, folder]
}

/// Cuts titles at their end and folders at their beginning, so that a row is a line of the terminal.
fn fit(rows: &mut [[String; 7]], width: usize, home: Option<&Path>) {
    for row in rows.iter_mut() {
        let below = home.and_then(|home| Path::new(&row[6]).strip_prefix(home).ok());
        if let Some(below) = below {
            row[6] = Path::new("~").join(below).display().to_string();
        }
    }
    let widest =
        |column: usize| rows.iter().map(|row| row[column].as_str().width()).max().unwrap_or(0);
    // A blank on each side of a cell, but for the last of a line.
    let taken: usize = (0..FIXED).map(|column| widest(column) + 2).sum::<usize>() + 3;
    let room = width.saturating_sub(taken);
    let (title, folder) = (widest(5), widest(6));
    if room < LEAST.iter().sum() {
        // Better a title that can be read than the ends of two columns.
        let title = title.min((room + 2).max(LEAST[1]));
        for row in rows.iter_mut() {
            row[5] = head(&row[5], title);
            row[6].clear();
        }
        return;
    }
    let folder = folder.min((room / 3).max(room.saturating_sub(title)).max(LEAST[1]));
    let title = title.min(room.saturating_sub(folder).max(LEAST[0]));
    for row in rows.iter_mut() {
        row[5] = head(&row[5], title);
        row[6] = tail(&row[6], folder);
    }
}

/// As much of the beginning of `text` as fits.
fn head(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut room = width.saturating_sub(1);
    let fits = |c: &char| {
        let own = c.width().unwrap_or(0);
        let fits = own <= room;
        room = room.saturating_sub(own);
        fits
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

/// As much of the end of `text` as fits.
fn tail(text: &str, width: usize) -> String {
    let turned = |text: &str| text.chars().rev().collect::<String>();
    turned(&head(&turned(text), width))
}

/// A number of bytes for people.
fn size(bytes: u64) -> String {
    let mut unit = bytes;
    for name in ["B", "KiB", "MiB"] {
        if unit < 1024 {
            return format!("{unit} {name}");
        }
        unit /= 1024;
    }
    format!("{unit} GiB")
}

/// A number of seconds for people.
fn age(seconds: i64) -> String {
    match seconds.max(0) {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds @ 60..3600 => format!("{}m", seconds / 60),
        seconds @ 3600..86_400 => format!("{}h", seconds / 3600),
        seconds => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_ages_are_short() {
        assert_eq!([size(999), size(2048), size(5 << 30)], ["999 B", "2 KiB", "5 GiB"]);
        assert_eq!([age(59), age(7200), age(90_000)], ["59s", "2h", "1d"]);
    }

    #[test]
    fn titles_and_folders_share_what_a_terminal_has() {
        let row = |title: &str, folder: &str| {
            ["01a2281b", "pi", "4", "9 KiB", "2m", title, folder].map(str::to_owned)
        };
        let title = "A long title of a session that goes on and on";
        let fitted = |width: usize| {
            let mut rows = vec![row("日本語の長い題名です、とても長い", "/home/ada/work")];
            rows.push(row(title, "/srv/projects/somewhere/deep/down"));
            fit(&mut rows, width, Some(Path::new("/home/ada")));
            rows
        };
        let rows = fitted(200);
        assert_eq!((rows[1][5].as_str(), rows[0][6].as_str()), (title, "~/work"));
        let rows = fitted(60);
        assert!(rows[1][5].ends_with('…') && rows[1][6].is_empty(), "{rows:?}");
        let used = rows[1].iter().map(|it| it.width() + 2).sum::<usize>() - 3;
        assert!(used <= 60, "{used}: {rows:?}");
        for width in [70, 80, 100] {
            let rows = fitted(width);
            let used = |row: &[String; 7]| row.iter().map(|it| it.width() + 2).sum::<usize>() - 1;
            assert!(rows.iter().map(used).max().unwrap() <= width, "{rows:?}");
            assert_eq!(rows[1][5].ends_with('…'), width < 100, "{rows:?}");
            assert!(rows[1][6].starts_with('…') && rows[1][6].ends_with("down"), "{rows:?}");
        }
    }
}

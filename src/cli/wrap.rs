//! Text for a terminal of some width.

use unicode_width::UnicodeWidthChar;

/// `line` in parts of at most `width` columns.
pub fn wrap(line: &str, width: usize) -> Vec<&str> {
    let (mut parts, mut start, mut blank, mut columns) = (Vec::new(), 0, None, 0);
    for (at, c) in line.char_indices() {
        columns += if c == '\t' { 8 } else { c.width().unwrap_or(0) };
        if columns > width && at > start {
            let end = blank.filter(|blank| *blank > start).unwrap_or(at);
            parts.push(line[start..end].trim_end());
            start = if line[end..].starts_with(' ') { end + 1 } else { end };
            columns =
                line[start..at + c.len_utf8()].chars().filter_map(UnicodeWidthChar::width).sum();
            blank = None;
        }
        if c == ' ' {
            blank = Some(at);
        }
    }
    parts.push(&line[start..]);
    parts
}

/// A page in lines of at most `width` columns: paragraphs are filled anew, entries keep their column, what is fenced
/// stays as it is.
pub fn page(text: &str, width: usize) -> String {
    let mut page = String::new();
    let mut paragraph = String::new();
    let mut fenced = false;
    let lines = joined(text);
    for line in lines.iter().map(String::as_str).chain([""]) {
        let fence = line.starts_with("```");
        let prose = !fenced && !fence && line.starts_with(|c: char| !c.is_whitespace() && c != '#');
        if prose {
            paragraph.push_str(if paragraph.is_empty() { "" } else { " " });
            paragraph.push_str(line);
            continue;
        }
        for part in wrap(&std::mem::take(&mut paragraph), width) {
            page += part;
            page += if part.is_empty() { "" } else { "\n" };
        }
        fenced ^= fence;
        let hang = if fenced || fence { width } else { column(line) };
        if hang + 20 > width {
            page += line;
            page.push('\n');
            continue;
        }
        let (head, rest) = line.split_at(hang);
        for (nth, part) in wrap(rest, width - hang).into_iter().enumerate() {
            page += &if nth == 0 { head.to_owned() } else { " ".repeat(hang) };
            page += part;
            page.push('\n');
        }
    }
    page.truncate(page.trim_end().len());
    page + "\n"
}

/// The lines of a page, where what an entry goes on with stands in its own line.
fn joined(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let blanks = line.len() - line.trim_start().len();
        match lines.last_mut() {
            Some(entry) if blanks > 4 && column(entry) == blanks => {
                entry.push(' ');
                entry.push_str(line.trim_start());
            }
            _ => lines.push(line.to_owned()),
        }
    }
    lines
}

/// Where the text of an entry begins: behind its name and a gap, or behind its blanks.
fn column(line: &str) -> usize {
    let start = line.len() - line.trim_start().len();
    let text = |gap: usize| {
        start + gap + line[start + gap..].len() - line[start + gap..].trim_start().len()
    };
    line[start..].find("  ").filter(|_| start > 0).map_or(start, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_at_blanks_and_long_words_where_they_end() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrap("日本語の文", 4), ["日本", "語の", "文"]);
        assert_eq!(wrap("", 4), [""]);
    }

    #[test]
    fn a_page_is_filled_for_its_width_and_entries_keep_their_column() {
        let text = "# Head\n\nA paragraph that goes on\nover its lines.\n\n  one    the first of all\n         entries here\n\n```text\nas it stands, however long it is\n```\n";
        let wide = "# Head\n\nA paragraph that goes on over its lines.\n\n  one    the first of all entries here\n\n```text\nas it stands, however long it is\n```\n";
        assert_eq!(page(text, 80), wide);
        let narrow = "# Head\n\nA paragraph that goes on over\nits lines.\n\n  one    the first of all\n         entries here\n\n```text\nas it stands, however long it is\n```\n";
        assert_eq!(page(text, 30), narrow);
    }
}

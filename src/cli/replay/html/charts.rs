//! What the family used, per session and per day: bars, and the same as a table.

use std::{collections::BTreeMap, fmt::Write as _};

use super::{branch::Branch, text};
use crate::{
    cli::output::grouped,
    fact::Tokens,
    session::ledger::{self, Account},
};

/// Every completion once, by session and by day.
#[derive(Default)]
pub(super) struct Usage {
    sessions: BTreeMap<String, Tokens>,
    days: BTreeMap<String, Tokens>,
    unrecorded: u64,
}

impl Usage {
    /// The sums of what some sessions and all that derives from them were paid.
    pub fn of(accounts: &[Account]) -> Self {
        let mut usage = Self::default();
        let beside = ledger::each(accounts, true, &|_| true, &mut |completion| {
            if !completion.counts {
                return;
            }
            let day = completion.at.map(|at| at.format("%Y-%m-%d").to_string());
            let day = day.unwrap_or_else(|| "no time".into());
            usage
                .sessions
                .entry(completion.session.as_ref().to_owned())
                .or_default()
                .add(&completion.tokens);
            usage.days.entry(day).or_default().add(&completion.tokens);
        });
        usage.unrecorded = beside.unrecorded.len() as u64;
        usage
    }
}

/// The four parts of a sum, in the order of drawing: class, name, tokens.
fn parts(tokens: &Tokens) -> [(&'static str, &'static str, u64); 4] {
    [
        ("u-in", "input", tokens.input),
        ("u-cw", "cache write", tokens.cache_write_5m.saturating_add(tokens.cache_write_1h)),
        ("u-cr", "cache read", tokens.cache_read),
        ("u-out", "output", tokens.output),
    ]
}

/// Draws both charts, or says that there is nothing to draw.
pub(super) fn draw(out: &mut String, branches: &[Branch], usage: &Usage) {
    out.push_str(
        "<section class=\"card\" aria-labelledby=\"h-usage\">\n<h2 id=\"h-usage\">Usage</h2>\n",
    );
    if usage.sessions.is_empty() {
        out.push_str("<p class=\"quiet\">No completion with recorded usage.</p>\n</section>\n");
        return;
    }
    out.push_str("<p class=\"legend\">");
    for (class, name, _) in parts(&Tokens::default()) {
        let _ = write!(out, "<span class=\"swatch {class}\"></span> {name} ");
    }
    out.push_str("<span class=\"quiet\">in tokens; every completion once, whatever was copied</span></p>\n<div class=\"charts\">\n");
    sessions(out, branches, usage);
    days(out, usage);
    out.push_str("</div>\n");
    if usage.unrecorded > 0 {
        let _ = writeln!(
            out,
            "<p class=\"quiet\">{} calls left no usage.</p>",
            grouped(usage.unrecorded)
        );
    }
    out.push_str("</section>\n");
}

/// One bar for each session of the page that used something. Names and sums are no part of the drawing: only so can a long
/// name be cut to the room there is.
fn sessions(out: &mut String, branches: &[Branch], usage: &Usage) {
    const WIDTH: u64 = 1000;
    // A part that is there can be seen, however small.
    const LEAST: u64 = 3;
    let most = usage.sessions.values().map(Tokens::total).max().unwrap_or(0).max(1);
    let rows: Vec<(usize, &str, &Tokens)> = {
        let known = branches.iter().enumerate().filter_map(|(at, branch)| {
            let title = if branch.title.is_empty() { &branch.id } else { &branch.title };
            Some((at, title.as_str(), usage.sessions.get(&branch.id)?))
        });
        known.collect()
    };
    out.push_str("<figure class=\"sessions\"><figcaption>per session</figcaption>\n");
    for (at, title, tokens) in &rows {
        let (title, total) = (text(title), grouped(tokens.total()));
        let _ = write!(
            out,
            "<div class=\"used\"><a href=\"#s{at}\" title=\"{title}\">{title}</a>\
             <svg class=\"bars\" viewBox=\"0 0 {} 20\" preserveAspectRatio=\"none\" role=\"img\" \
             aria-label=\"{total} tokens\">",
            WIDTH + 3 * LEAST,
        );
        let mut x = 0;
        for (class, name, count) in parts(tokens).into_iter().filter(|(.., count)| *count > 0) {
            let width = scaled(count, most, WIDTH).max(LEAST);
            let _ = write!(
                out,
                "<rect class=\"{class}\" x=\"{x}\" y=\"0\" width=\"{width}\" height=\"20\"><title>{name} {}</title></rect>",
                grouped(count),
            );
            x += width;
        }
        let _ = writeln!(out, "</svg><span class=\"count\">{total}</span></div>");
    }
    table(out, "session", rows.iter().map(|(_, title, tokens)| (*title, *tokens)));
    out.push_str("</figure>\n");
}

/// One bar for each day.
fn days(out: &mut String, usage: &Usage) {
    const HEIGHT: u64 = 120;
    let most = usage.days.values().map(Tokens::total).max().unwrap_or(0).max(1);
    let step = match usage.days.len() {
        0..=12 => 48,
        13..=40 => 16,
        _ => 6,
    };
    let width = (usage.days.len() * step + 90).max(240);
    let _ = writeln!(
        out,
        "<figure><figcaption>per day (UTC)</figcaption>\n<div class=\"scroll\"><svg class=\"bars\" viewBox=\"0 0 {width} 160\" width=\"{width}\" height=\"160\" role=\"img\" aria-label=\"tokens per day\">"
    );
    let _ = write!(
        out,
        "<text class=\"count\" x=\"0\" y=\"12\">{}</text><path class=\"axis\" d=\"M0 140.5 H{width}\"/>",
        grouped(most)
    );
    for (nth, (day, tokens)) in usage.days.iter().enumerate() {
        let x = 20 + nth * step;
        let mut bottom = 140;
        for (class, name, count) in parts(tokens) {
            let height = scaled(count, most, HEIGHT);
            if count > 0 {
                let height = height.max(1);
                bottom -= height;
                let _ = write!(
                    out,
                    "<rect class=\"{class}\" x=\"{x}\" y=\"{bottom}\" width=\"{}\" height=\"{height}\"><title>{} {name} {}</title></rect>",
                    step - step / 4,
                    text(day),
                    grouped(count),
                );
            }
        }
        // As many labels as there is room for.
        if step >= 48 || nth == 0 || nth + 1 == usage.days.len() {
            let short = day.get(5..).unwrap_or(day);
            let _ = write!(out, "<text class=\"count\" x=\"{x}\" y=\"156\">{}</text>", text(short));
        }
    }
    out.push_str("</svg></div>\n");
    table(out, "day", usage.days.iter().map(|(day, tokens)| (day.as_str(), tokens)));
    out.push_str("</figure>\n");
}

fn scaled(count: u64, most: u64, length: u64) -> u64 {
    u64::try_from(u128::from(count) * u128::from(length) / u128::from(most)).unwrap_or(length)
}

fn table<'a>(out: &mut String, key: &str, rows: impl Iterator<Item = (&'a str, &'a Tokens)>) {
    let _ = write!(
        out,
        "<details class=\"as-table\"><summary>as a table</summary><div class=\"scroll\"><table><thead><tr><th>{key}</th>"
    );
    for (_, name, _) in parts(&Tokens::default()) {
        let _ = write!(out, "<th>{name}</th>");
    }
    out.push_str("<th>total</th></tr></thead><tbody>");
    for (name, tokens) in rows {
        let _ = write!(out, "<tr><th>{}</th>", text(name));
        for (_, _, count) in parts(tokens) {
            let _ = write!(out, "<td>{}</td>", grouped(count));
        }
        let _ = write!(out, "<td>{}</td></tr>", grouped(tokens.total()));
    }
    out.push_str("</tbody></table></div></details>\n");
}

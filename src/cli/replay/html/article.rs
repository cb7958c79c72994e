//! The sessions themselves: turns, messages, calls; side sessions beside the turn that they were asked after.

use std::fmt::Write as _;

use super::{
    branch::{Branch, Part, Said},
    text,
};
use crate::{
    cli::replay::transcript::{ARGUMENTS, gist},
    fact::Role,
    finding::{Finding, Severity},
    format::Origin,
};

/// The list of sessions at the side.
pub(super) fn contents(out: &mut String, branches: &[Branch], here: usize) {
    out.push_str("<ul class=\"contents\">\n");
    for (at, branch) in branches.iter().enumerate() {
        let depth = branch.depth.min(6);
        let current = if at == here { " class=\"current\"" } else { "" };
        let kind = if branch.parent.is_some() { branch.kind.as_str() } else { branch.client };
        let _ = writeln!(
            out,
            "<li class=\"d{depth}\"><a href=\"#s{at}\"{current}>{}</a> <span class=\"quiet\">{}</span></li>",
            name(branch),
            text(kind),
        );
    }
    out.push_str("</ul>\n");
}

fn name(branch: &Branch) -> String {
    text(if branch.title.trim().is_empty() { &branch.id } else { &branch.title })
}

/// The article of one session, and of the side sessions beside it.
pub(super) fn draw(out: &mut String, branches: &[Branch], at: usize) {
    let branch = &branches[at];
    let _ = writeln!(out, "<article class=\"card session\" id=\"s{at}\" tabindex=\"-1\">");
    head(out, branches, at, 2);
    let beside: Vec<usize> = (0..branches.len())
        .filter(|side| branches[*side].beside && branches[*side].parent == Some(at))
        .collect();
    let mut placed = vec![false; beside.len()];
    for (nth, own) in branch.parts.iter().enumerate() {
        let _ = writeln!(out, "<div class=\"row\">");
        part(out, branches, at, own);
        // A side session stands at the last part of the turn that it was asked after.
        let next = branch.parts.get(nth + 1).map_or(usize::MAX, |next| next.turn.max(own.turn));
        let mut open = false;
        for (which, side) in beside.iter().enumerate() {
            let after = branches[*side].from_turn;
            if !placed[which] && after <= own.turn.max(branch.from_turn) && after < next.max(1) {
                if !open {
                    out.push_str("<div class=\"beside\">\n");
                    open = true;
                }
                placed[which] = true;
                aside(out, branches, *side);
            }
        }
        out.push_str(if open { "</div>\n</div>\n" } else { "</div>\n" });
    }
    for (side, _) in beside.iter().zip(&placed).filter(|(_, placed)| !**placed) {
        aside(out, branches, *side);
    }
    for finding in &branch.findings {
        found(out, finding);
    }
    out.push_str("</article>\n");
}

fn aside(out: &mut String, branches: &[Branch], at: usize) {
    let _ = writeln!(out, "<article class=\"aside\" id=\"s{at}\" tabindex=\"-1\">");
    head(out, branches, at, 3);
    for own in &branches[at].parts {
        part(out, branches, at, own);
    }
    for finding in &branches[at].findings {
        found(out, finding);
    }
    out.push_str("</article>\n");
}

/// What session this is, where it comes from, and where its words went.
fn head(out: &mut String, branches: &[Branch], at: usize, level: usize) {
    let branch = &branches[at];
    let _ = writeln!(
        out,
        "<header>\n<h{level}>{}</h{level}>\n<p class=\"facts\"><span class=\"tag\">{}</span> <span class=\"tag\">{}</span> <code>{}</code></p>",
        name(branch),
        text(branch.client),
        text(&branch.kind),
        text(&branch.id),
    );
    let facts = [("folder", &branch.cwd), ("begun", &branch.created), ("file", &branch.path)];
    let facts: Vec<String> = facts
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("{name} <code>{}</code>", text(value)))
        .collect();
    let _ = writeln!(out, "<p class=\"facts quiet\">{}</p>", facts.join("<br>"));
    if let Some(parent) = branch.parent {
        let turn = branch.from_turn;
        let target = place(branches, parent, turn);
        let cut = if turn > 0 { format!("turn {turn}") } else { "its start".into() };
        let at = if branch.at.is_empty() {
            String::new()
        } else {
            format!(" (<code>--at {}</code>)", text(&branch.at))
        };
        let _ = writeln!(
            out,
            "<p class=\"origin\">begins with {} messages of <a href=\"#{target}\">{} up to {cut}</a>{at}</p>",
            branch.inherited,
            name(&branches[parent]),
        );
    }
    for (into, other) in branches.iter().enumerate() {
        let own = other.merges.iter().enumerate().filter(|(_, merged)| merged.side == Some(at));
        for (nth, merged) in own {
            let _ = writeln!(
                out,
                "<p class=\"origin\">a note went back into <a href=\"#s{into}-n{nth}\">{} after turn {after}</a></p>",
                name(other),
                after = merged.after,
            );
        }
    }
    if let Some(error) = &branch.failure {
        let _ = writeln!(
            out,
            "<p class=\"finding error\"><strong>{}</strong> {}</p>",
            error.code(),
            text(&error.to_string())
        );
    }
    out.push_str("</header>\n");
}

/// Where on the page a turn is shown: an inherited one with the ancestor that it was said in.
fn place(branches: &[Branch], at: usize, turn: usize) -> String {
    let branch = &branches[at];
    match branch.parent {
        Some(parent) if turn <= branch.from_turn => place(branches, parent, turn),
        _ if branch.parts.iter().any(|part| part.turn == turn && turn > 0) => {
            format!("s{at}-t{turn}")
        }
        _ => format!("s{at}"),
    }
}

fn part(out: &mut String, branches: &[Branch], at: usize, part: &Part) {
    let turn = part.turn;
    if turn == 0 {
        out.push_str("<section class=\"between\">\n");
    } else {
        let [first, last] = part.lines;
        let state = text(part.state);
        let _ = writeln!(
            out,
            "<section class=\"turn\" id=\"s{at}-t{turn}\" tabindex=\"-1\">\n<p class=\"turn-head\"><a href=\"#s{at}-t{turn}\">turn {turn}</a> \
             <span class=\"state {state}\">{state}</span> <span class=\"quiet\">lines {first} to {last}</span> <code class=\"quiet\">--at turn:{turn}</code></p>"
        );
    }
    for said in &part.said {
        message(out, branches, at, said);
    }
    out.push_str("</section>\n");
}

fn message(out: &mut String, branches: &[Branch], at: usize, said: &Said) {
    for finding in &said.findings {
        found(out, finding);
    }
    let role = if said.result { "result" } else { said.role.name() };
    let origin = said.origin.name();
    let anchor = said.note.map(|nth| format!(" id=\"s{at}-n{nth}\" tabindex=\"-1\""));
    let anchor = anchor.unwrap_or_default();
    let _ = write!(
        out,
        "<div class=\"said {role} {origin}\"{anchor}><p class=\"who\"><strong>{role}</strong>"
    );
    match (said.origin, said.side) {
        (Origin::Own, _) => {}
        (Origin::Inherited, _) => out.push_str(" <span class=\"tag\">inherited</span>"),
        (Origin::Framing, _) => out.push_str(
            " <span class=\"tag ours\">framing</span> <span class=\"quiet\">source sidechat</span>",
        ),
        (Origin::Compaction, _) => {
            out.push_str(" <span class=\"tag\">summary of what stood before</span>");
        }
        (Origin::Merge, Some(side)) => {
            let _ = write!(
                out,
                " <span class=\"tag ours\">note</span> <span class=\"quiet\">source sidechat, from <a href=\"#s{side}\">{}</a></span>",
                name(&branches[side])
            );
        }
        (Origin::Merge, None) => out.push_str(
            " <span class=\"tag ours\">note</span> <span class=\"quiet\">source sidechat</span>",
        ),
    }
    let _ = writeln!(out, "<span class=\"line quiet\">line {}</span></p>", said.line);
    if said.text.trim().is_empty() && said.output.trim().is_empty() && said.calls.is_empty() {
        out.push_str("<p class=\"quiet\">no words</p>\n");
    }
    let folded = said.result
        || matches!(said.role, Role::System | Role::Developer) && said.origin == Origin::Own;
    for words in [&said.text, &said.output] {
        if words.trim().is_empty() {
            continue;
        }
        let lines = words.trim_end().lines().count();
        if folded && lines <= 3 {
            let _ = writeln!(out, "<pre>{}</pre>", text(words.trim_end()));
        } else if folded || said.role != Role::Assistant && lines > 40 {
            let first: String =
                words.trim_start().lines().next().unwrap_or_default().chars().take(100).collect();
            let count = format!("{lines} lines");
            let _ = writeln!(
                out,
                "<details><summary><span class=\"gist\">{}</span> <span class=\"quiet\">{count}</span></summary><pre>{}</pre></details>",
                text(&first),
                text(words.trim_end()),
            );
        } else {
            let _ = writeln!(out, "<div class=\"words\">{}</div>", text(words.trim_end()));
        }
    }
    for (name, arguments) in &said.calls {
        let _ = writeln!(
            out,
            "<details class=\"call\"><summary><strong>→ {}</strong> <span class=\"gist\">{}</span></summary><pre>{}</pre></details>",
            text(name),
            text(&gist(arguments, ARGUMENTS)),
            text(arguments),
        );
    }
    out.push_str("</div>\n");
}

fn found(out: &mut String, finding: &Finding) {
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let line = finding
        .line
        .map(|line| format!(" <span class=\"quiet\">line {line}</span>"))
        .unwrap_or_default();
    let _ = writeln!(
        out,
        "<p class=\"finding {severity}\"><strong>{}</strong> {}{line}</p>",
        finding.code.name(),
        text(&finding.message),
    );
}

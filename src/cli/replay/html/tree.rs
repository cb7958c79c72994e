//! The lineage as a drawing: a lane for each session, a dot for each turn, a line down where it was forked, a line up
//! where its note came back.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthStr;

use super::{
    branch::{Branch, Merged},
    text,
};

const LANE: usize = 36;
const TOP: usize = 28;
const LEFT: usize = 24;

/// How many characters of a title are drawn.
const TITLE: usize = 44;

/// Draws the family.
pub(super) fn draw(out: &mut String, branches: &[Branch], here: usize) {
    let mut tree = Tree { out, branches, step: 0, names: 0 };
    let columns = branches.iter().map(|branch| tree.last(branch)).max().unwrap_or(0);
    // Long sessions are drawn closer, so that a person can still scroll them.
    tree.step = if columns > 60 { 16 } else { 32 };
    // Names stand in a column of their own, so that no line crosses them.
    tree.names = tree.across(columns + 1) + 8;
    let longest = branches.iter().map(|branch| words(branch).join(" ").width()).max().unwrap_or(0);
    let (width, height) = (tree.names + 20 + longest * 8, down(branches.len()));
    let count = branches.len();
    let _ = writeln!(
        tree.out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"lineage of {count} sessions\">\n\
         <svg class=\"tree\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">"
    );
    for (lane, branch) in branches.iter().enumerate() {
        tree.stem(lane, branch);
        for merged in &branch.merges {
            tree.merge(lane, merged);
        }
    }
    for (lane, branch) in branches.iter().enumerate() {
        tree.turns(lane, branch);
        tree.name(lane, branch, lane == here);
    }
    tree.out.push_str(
        "</svg>\n</div>\n<p class=\"legend\"><span class=\"dot\"></span> turn <span class=\"dot open\"></span> open or cut \
         off <span class=\"gem\"></span> framing or note</p>\n",
    );
}

/// The height of a lane.
fn down(lane: usize) -> usize {
    TOP + lane * LANE
}

/// The name of a session and what it is.
fn words(branch: &Branch) -> [String; 2] {
    let title = if branch.title.is_empty() { &branch.id } else { &branch.title };
    let title = match title.char_indices().nth(TITLE) {
        Some((end, _)) => format!("{}…", title[..end].trim_end()),
        None => title.clone(),
    };
    let at = if branch.at.is_empty() { String::new() } else { format!(" at {}", branch.at) };
    [title, branch.parent.map(|_| format!("{}{at}", branch.kind)).unwrap_or_default()]
}

struct Tree<'a> {
    out: &'a mut String,
    branches: &'a [Branch],
    /// From one turn to the next.
    step: usize,
    /// Where the names begin.
    names: usize,
}

impl Tree<'_> {
    fn across(&self, column: usize) -> usize {
        LEFT + column * self.step
    }

    /// The column of a turn of a branch: inherited turns stand where the parent's do.
    fn column(&self, branch: &Branch, turn: usize) -> usize {
        let Some(parent) = branch.parent.map(|parent| &self.branches[parent]) else { return turn };
        let base = self.column(parent, branch.from_turn.min(parent.turns));
        base + turn.saturating_sub(branch.from_turn)
    }

    /// The last column that a session takes.
    fn last(&self, branch: &Branch) -> usize {
        self.column(branch, branch.turns.max(branch.from_turn))
    }

    /// The lane on which an inherited turn was said.
    fn lane_of(&self, branch: &Branch) -> Option<usize> {
        let mut lane = branch.parent?;
        while let Some(above) = self.branches[lane].parent
            && branch.from_turn <= self.branches[lane].from_turn
        {
            lane = above;
        }
        Some(lane)
    }

    /// The line of a session, from where it was forked.
    fn stem(&mut self, lane: usize, branch: &Branch) {
        let own = down(lane);
        let start = self.across(self.column(branch, branch.from_turn));
        let end = self.across(self.column(branch, branch.turns)).max(start);
        let Some(parent) = self.lane_of(branch) else {
            let _ = writeln!(self.out, "<path class=\"main\" d=\"M{LEFT} {own} H{end}\"/>");
            return;
        };
        let (above, bend) = (down(parent), start + self.step / 2);
        let class = if branch.kind == "side" { "side" } else { "own" };
        let _ = writeln!(
            self.out,
            "<path class=\"{class}\" d=\"M{start} {above} C{bend} {above} {start} {own} {bend} {own} H{}\"/>",
            end.max(bend),
        );
        if branch.kind == "side" {
            self.gem(bend, own, "the framing");
        } else if branch.turns == branch.from_turn {
            let _ = writeln!(
                self.out,
                "<circle class=\"tip\" cx=\"{bend}\" cy=\"{own}\" r=\"3\"><title>no turn of its own yet</title></circle>"
            );
        }
    }

    /// The line of a note from the end of its side session up to its place.
    fn merge(&mut self, lane: usize, merged: &Merged) {
        let own = down(lane);
        let at = self.across(self.column(&self.branches[lane], merged.after)) + self.step / 2;
        if let Some(side) = merged.side.filter(|side| *side > lane) {
            let branch = &self.branches[side];
            let from = self.across(self.column(branch, branch.turns)) + self.step / 2;
            let below = down(side);
            let _ = writeln!(
                self.out,
                "<path class=\"merge\" d=\"M{from} {below} C{at} {below} {at} {below} {at} {own}\"/>"
            );
        }
        self.gem(at, own, &format!("a note came back after turn {}", merged.after));
    }

    fn gem(&mut self, at: usize, own: usize, title: &str) {
        let (left, right, above, below) = (at - 6, at + 6, own - 6, own + 6);
        let _ = writeln!(
            self.out,
            "<path class=\"gem\" d=\"M{at} {above} L{right} {own} L{at} {below} L{left} {own} Z\"><title>{title}</title></path>"
        );
    }

    fn turns(&mut self, lane: usize, branch: &Branch) {
        let own = down(lane);
        for part in branch.parts.iter().filter(|part| part.turn > branch.from_turn) {
            let turn = part.turn;
            let at = self.across(self.column(branch, turn));
            let class = if part.state == "completed" { "dot" } else { "dot open" };
            let first = part.said.iter().find(|said| !said.text.trim().is_empty());
            let first: String =
                first.map(|said| said.text.chars().take(80).collect()).unwrap_or_default();
            let (title, state, first) = (text(&branch.title), text(part.state), text(&first));
            let _ = writeln!(
                self.out,
                "<a href=\"#s{lane}-t{turn}\" aria-label=\"turn {turn} of {title}\"><circle class=\"{class}\" cx=\"{at}\" \
                 cy=\"{own}\" r=\"6\"/><title>turn {turn}, {state}: {first}</title></a>"
            );
        }
    }

    fn name(&mut self, lane: usize, branch: &Branch, current: bool) {
        let (start, base) = (self.names, down(lane) + 4);
        let [title, kind] = words(branch).map(|words| text(&words));
        let class = if current { "name current" } else { "name" };
        let _ = writeln!(
            self.out,
            "<a href=\"#s{lane}\"><text class=\"{class}\" x=\"{start}\" y=\"{base}\">{title}<tspan class=\"quiet\" dx=\"8\">{kind}</tspan></text></a>",
        );
    }
}

//! Which records 2.1.332 goes on from and what it sends of them: the leaf below its mark, parallel tool results put
//! back, what a compaction keeps.

use std::collections::{HashMap, HashSet};

use crate::{
    fact::{Fact, Facts, Header, Id, IdMap, IdSet},
    finding::{Code, Finding, Severity},
    format::{Message, Origin},
};

/// The records by id; of two with one id the later one, as in the client.
pub(super) struct Tree {
    nodes: IdMap<Node>,
    /// In the order of lines.
    order: Vec<Id>,
}

#[derive(Clone, Copy)]
struct Node {
    line: u32,
    parent: Option<Id>,
    hollow: bool,
    spoken: bool,
}

impl Tree {
    pub fn of(facts: &Facts) -> Self {
        let mut tree = Self { nodes: IdMap::default(), order: Vec::new() };
        let mut last = None;
        for stated in facts.all() {
            match stated.fact {
                Fact::Linked { id, parent, .. } => {
                    let node = Node { line: stated.line, parent, hollow: false, spoken: false };
                    if tree.nodes.insert(id, node).is_none() {
                        tree.order.push(id);
                    }
                    last = Some(id);
                }
                Fact::Hollow | Fact::Spoken => {
                    let Some(node) = last.and_then(|id| tree.nodes.get_mut(&id)) else { continue };
                    node.hollow |= stated.fact == Fact::Hollow;
                    node.spoken |= stated.fact == Fact::Spoken;
                }
                _ => {}
            }
        }
        tree
    }

    /// The record itself, or the nearest ancestor with content.
    fn solid(&self, mut id: Id) -> Option<Id> {
        for _ in 0..=self.nodes.len() {
            let node = self.nodes.get(&id)?;
            if !node.hollow {
                return Some(id);
            }
            id = node.parent?;
        }
        None
    }

    /// The last mark of the client, if that record is there.
    fn anchor(&self, facts: &Facts) -> Option<Id> {
        let last = facts.all().iter().rev().find_map(|stated| match stated.fact {
            Fact::Marked(id) => Some(id),
            _ => None,
        });
        self.solid(last?)
    }

    /// The last record in the file that a person or the model made.
    fn last_spoken(&self) -> Option<Id> {
        let spoken = |id: &&Id| self.nodes.get(*id).is_some_and(|node| node.spoken);
        self.order.iter().rev().find(spoken).copied()
    }

    /// The newest leaf below the client's last mark; without one, below the last record of the conversation. Newest is
    /// what stands last in the file, whatever the times say: 2.1.332 was shown both.
    pub fn leaf(&self, facts: &Facts) -> Option<Id> {
        let anchor = self.anchor(facts).or_else(|| self.last_spoken())?;
        let mut inner = IdSet::default();
        for node in self.nodes.values().filter(|node| !node.hollow) {
            inner.extend(node.parent.and_then(|parent| self.solid(parent)));
        }
        let mut elsewhere = IdSet::default();
        for id in self.order.iter().rev() {
            let hollow = self.nodes.get(id).is_none_or(|node| node.hollow);
            if !hollow && !inner.contains(id) && self.below(*id, anchor, &mut elsewhere) {
                return Some(*id);
            }
        }
        Some(anchor)
    }

    /// Whether `id` is `anchor` or hangs below it; `elsewhere` remembers what does not.
    fn below(&self, id: Id, anchor: Id, elsewhere: &mut IdSet) -> bool {
        let mut walked = Vec::new();
        let mut next = Some(id);
        while let Some(id) = next.filter(|id| !elsewhere.contains(id)) {
            if id == anchor {
                return true;
            }
            elsewhere.insert(id);
            walked.push(id);
            next = self.nodes.get(&id).and_then(|node| node.parent);
        }
        false
    }

    /// The records from a leaf to its root.
    fn ancestors(&self, leaf: Id) -> IdSet {
        let mut seen = IdSet::default();
        let mut next = Some(leaf);
        while let Some(id) = next.filter(|id| self.nodes.contains_key(id) && seen.insert(*id)) {
            next = self.nodes.get(&id).and_then(|node| node.parent);
        }
        seen
    }

    fn line(&self, id: Id) -> Option<u32> {
        self.nodes.get(&id).map(|node| node.line)
    }
}

/// The path that the client makes of a chain.
pub(super) fn path(facts: &Facts, mut chain: Vec<u32>) -> Vec<u32> {
    // What stands before a compaction is history, whether or not the mark still points to it.
    if let Some(at) = chain.iter().rposition(|line| is_boundary(facts, *line)) {
        chain.drain(..at);
    }
    let tree = Tree::of(facts);
    let chain = put_back(facts, &tree, chain);
    keep(facts, &tree, chain)
}

/// One answer stands on several lines, and each tool's result hangs off the line of its call: of parallel calls a walk
/// to the root sees one. The client puts the others behind the last line of their answer.
fn put_back(facts: &Facts, tree: &Tree, chain: Vec<u32>) -> Vec<u32> {
    let mut last_of: IdMap<usize> = IdMap::default();
    let mut done: IdSet = IdSet::default();
    for (at, line) in chain.iter().enumerate() {
        for fact in facts.of(*line) {
            match fact {
                Fact::Part(answer) => {
                    last_of.insert(answer, at);
                }
                Fact::Answered { call, .. } => {
                    done.insert(call);
                }
                _ => {}
            }
        }
    }
    if last_of.is_empty() {
        return chain;
    }
    let on_chain: HashSet<u32> = chain.iter().copied().collect();
    // What is missing, by the position that it goes behind.
    let mut missing: HashMap<usize, Vec<u32>> = HashMap::new();
    let mut places: IdMap<usize> = IdMap::default(); // of calls
    let lines: Vec<u32> = tree.order.iter().filter_map(|id| tree.line(*id)).collect();
    for &line in &lines {
        let answer = facts.of(line).find_map(|fact| match fact {
            Fact::Part(answer) => last_of.get(&answer).copied(),
            _ => None,
        });
        let Some(at) = answer else { continue };
        if !on_chain.contains(&line) {
            missing.entry(at).or_default().push(line);
        }
        for fact in facts.of(line) {
            if let Fact::Called(call) = fact {
                places.insert(call, at);
            }
        }
    }
    for &line in lines.iter().filter(|line| !on_chain.contains(line)) {
        let at = facts.of(line).find_map(|fact| match fact {
            Fact::Answered { call, .. } if done.insert(call) => places.get(&call).copied(),
            _ => None,
        });
        if let Some(at) = at {
            missing.entry(at).or_default().push(line);
        }
    }
    if missing.is_empty() {
        return chain;
    }
    let mut path = Vec::with_capacity(chain.len() + missing.len());
    for (at, line) in chain.into_iter().enumerate() {
        path.push(line);
        if let Some(mut lines) = missing.remove(&at) {
            lines.sort_unstable();
            path.append(&mut lines);
        }
    }
    path
}

/// What a compaction keeps goes right behind its summary.
fn keep(facts: &Facts, tree: &Tree, path: Vec<u32>) -> Vec<u32> {
    let Some(&boundary) = path.first().filter(|line| is_boundary(facts, **line)) else {
        return path;
    };
    let mut kept = Vec::new();
    let mut behind = None;
    for fact in facts.of(boundary) {
        match fact {
            Fact::Kept(id) => kept.extend(tree.line(id)),
            Fact::KeptRun { head, tail } => kept.extend(run(tree, head, tail)),
            Fact::KeptBehind(id) => behind = tree.line(id),
            _ => {}
        }
    }
    kept.retain(|line| !path.contains(line));
    let mut seen = HashSet::new();
    kept.retain(|line| seen.insert(*line));
    if kept.is_empty() {
        return path;
    }
    let summary = |line: &u32| {
        facts.of(*line).any(|fact| matches!(fact, Fact::Compacted { .. }))
            && !is_boundary(facts, *line)
    };
    let at = path
        .iter()
        .position(|line| Some(*line) == behind)
        .or_else(|| path.iter().position(summary))
        .unwrap_or(0);
    [&path[..=at], &kept[..], &path[at + 1..]].concat()
}

/// The lines from `head` down to `tail`; none if they do not hang together, as the client has it.
fn run(tree: &Tree, head: Id, tail: Id) -> Vec<u32> {
    let mut lines = Vec::new();
    let mut next = Some(tail);
    while let Some(id) = next {
        let Some(node) = tree.nodes.get(&id).filter(|_| lines.len() <= tree.nodes.len()) else {
            return Vec::new();
        };
        lines.push(node.line);
        if id == head {
            lines.reverse();
            return lines;
        }
        next = node.parent;
    }
    Vec::new()
}

fn is_boundary(facts: &Facts, line: u32) -> bool {
    let mut compacted = false;
    for fact in facts.of(line) {
        match fact {
            Fact::Compacted { .. } => compacted = true,
            Fact::Said(..) => return false,
            _ => {}
        }
    }
    compacted
}

/// The messages of a path, in order.
pub(super) fn of(facts: &Facts, path: &[u32]) -> Vec<Message> {
    let mut messages = Vec::new();
    for &line in path {
        let compacted = facts.of(line).any(|fact| matches!(fact, Fact::Compacted { .. }));
        let origin = if compacted { Origin::Compaction } else { Origin::Own };
        for fact in facts.of(line) {
            if let Fact::Said(role, place) = fact {
                let body = place.on(line);
                messages.push(Message { line, role, body, items: Vec::new(), origin, sent: true });
            }
        }
    }
    messages
}

/// Whose log it is, and what is wrong with it as a whole.
pub(super) fn settle(facts: &mut Facts, name: Option<&str>) {
    let tree = Tree::of(facts);
    let leaf = tree.leaf(facts);
    identify(facts, &tree, leaf, name);
    let Some(leaf) = leaf else { return };
    let ancestors = tree.ancestors(leaf);
    let mut findings = Vec::new();
    foreign(facts, &tree, &ancestors, &mut findings);
    dangling(facts, &tree, leaf, &mut findings);
    if let Some(other) = tree.last_spoken().filter(|last| !ancestors.contains(last))
        && !beside(facts, &tree, &ancestors, other)
        && let Some(line) = tree.line(other)
    {
        let message = format!(
            "the client's mark leads to {}, the last message of the file is on another branch",
            facts.name(leaf)
        );
        findings.push(Finding::new(Code::LeafDisagrees, message).on(line as usize + 1));
    }
    if let Some(header) = &facts.header
        && facts.cwd_first.is_some()
        && facts.cwd_first != header.cwd
    {
        let message = format!(
            "the working folder was {}, and is {}",
            facts.cwd_first.as_deref().unwrap_or_default(),
            header.cwd.as_deref().unwrap_or_default()
        );
        findings.push(Finding::new(Code::CwdChanged, message).on(1));
    }
    facts.findings.append(&mut findings);
}

/// A record that belongs to an answer of the path, though not to its chain.
fn beside(facts: &Facts, tree: &Tree, ancestors: &IdSet, id: Id) -> bool {
    let parent = tree.nodes.get(&id).and_then(|node| node.parent);
    let part = |id: Id| {
        tree.line(id).and_then(|line| {
            facts.of(line).find_map(|fact| match fact {
                Fact::Part(answer) => Some(answer),
                _ => None,
            })
        })
    };
    let result = tree
        .line(id)
        .is_some_and(|line| facts.of(line).any(|fact| matches!(fact, Fact::Answered { .. })));
    let answer = part(id).or_else(|| parent.filter(|_| result).and_then(part));
    answer.is_some_and(|answer| ancestors.iter().any(|ancestor| part(*ancestor) == Some(answer)))
}

/// The session is the one that the file is named after, if any record says so; else the one that made the leaf.
fn identify(facts: &mut Facts, tree: &Tree, leaf: Option<Id>, name: Option<&str>) {
    let owner = |line: u32| {
        facts.of(line).find_map(|fact| match fact {
            Fact::Owner(id) => Some(facts.name(id).to_owned()),
            _ => None,
        })
    };
    let named = name.filter(|name| !name.starts_with("agent-"));
    let own = named
        .and_then(|name| {
            let id = facts.known(name)?;
            facts.all().iter().any(|stated| stated.fact == Fact::Owner(id)).then(|| name.to_owned())
        })
        .or_else(|| leaf.and_then(|leaf| tree.line(leaf)).and_then(owner));
    match &mut facts.header {
        // A helper's log names the session that it works for in every line.
        Some(header) if header.subagent && named.is_none() => {}
        Some(header) => {
            if std::mem::take(&mut header.subagent) {
                (header.parent, header.errand) = (None, None);
            }
            if let Some(own) = own {
                header.id = own;
            }
            if header.parent.as_ref() == Some(&header.id) {
                header.parent = None;
            }
        }
        None if leaf.is_some() => {
            let header =
                named.map(|name| Header { id: name.into(), version: 2, ..Header::default() });
            facts.header = header;
        }
        None => {}
    }
}

/// Records that another session wrote here, unless they are what this one goes on from.
fn foreign(facts: &Facts, tree: &Tree, ancestors: &IdSet, findings: &mut Vec<Finding>) {
    let Some(header) = facts.header.as_ref().filter(|header| !header.subagent) else { return };
    let own = facts.known(&header.id);
    for id in tree.order.iter().filter(|id| !ancestors.contains(*id)) {
        let Some(line) = tree.line(*id) else { continue };
        let other = facts.of(line).find_map(|fact| match fact {
            Fact::Owner(owner) if Some(owner) != own => Some(owner),
            _ => None,
        });
        let Some(other) = other else { continue };
        if beside(facts, tree, ancestors, *id) {
            continue;
        }
        let message = format!("a record of session {}", facts.name(other));
        let finding = Finding::new(Code::ForeignRecord, message).on(line as usize + 1);
        findings.push(finding.with("session_id", facts.name(other)));
    }
}

/// Pointers to records that are not there: the mark of the leaf, and what a compaction keeps.
fn dangling(facts: &Facts, tree: &Tree, leaf: Id, findings: &mut Vec<Finding>) {
    let marked = facts.all().iter().rev().find_map(|stated| match stated.fact {
        Fact::Marked(id) => Some((stated.line, id)),
        _ => None,
    });
    let lost = |id: Id| !tree.nodes.contains_key(&id);
    let mut find = |line: u32, id: Id, what: &str, severity| {
        let message = format!("{what} {}, which is not in the log", facts.name(id));
        let finding = Finding::new(Code::PointerDangling, message).rated(severity);
        findings.push(finding.on(line as usize + 1).with("missing_id", facts.name(id)));
    };
    if let Some((line, id)) = marked.filter(|(_, id)| lost(*id)) {
        // The client falls back to the end of the file.
        find(line, id, "the mark of the leaf names", Severity::Warning);
    }
    let mut at = Some(leaf);
    let mut seen = IdSet::default();
    while let Some(id) = at.filter(|id| seen.insert(*id)) {
        let Some(node) = tree.nodes.get(&id) else { return };
        if is_boundary(facts, node.line) {
            for fact in facts.of(node.line) {
                match fact {
                    Fact::Kept(id) if lost(id) => {
                        find(node.line, id, "the compaction keeps", Severity::Error);
                    }
                    Fact::KeptRun { head, tail } if run(tree, head, tail).is_empty() => {
                        find(node.line, head, "the compaction keeps what follows", Severity::Error);
                    }
                    _ => {}
                }
            }
            return;
        }
        at = node.parent;
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        log::Log,
        session::{Session, history::unfold},
    };

    /// A session of the given lines; each has a session and a time, and `{}` stands for the rest.
    fn session(lines: &[&str]) -> Session {
        let rest = r#","sessionId":"aaaaaaaa-0000-4000-8000-000000000001"}"#;
        let mut text = String::new();
        for line in lines {
            text += &[line.strip_suffix('}').unwrap(), rest, "\n"].concat();
        }
        Session::read(Log::spool(text.as_bytes()).unwrap(), None).unwrap()
    }

    fn texts(session: &Session) -> Vec<String> {
        let thread = session.thread(None).unwrap();
        let messages = thread.history(thread.path().len(), 0);
        messages.iter().map(|message| unfold(session, message).unwrap().text).collect()
    }

    const ROOT: &str =
        r#"{"type":"user","uuid":"u1","parentUuid":null,"message":{"content":"root"}}"#;
    const FIRST: &str = r#"{"type":"user","uuid":"u2","parentUuid":"u1","timestamp":"2026-01-01T00:00:09Z","message":{"content":"first, newer by its time"}}"#;
    const SECOND: &str = r#"{"type":"user","uuid":"u3","parentUuid":"u1","timestamp":"2026-01-01T00:00:01Z","message":{"content":"second"}}"#;

    #[test]
    fn the_newest_leaf_is_the_last_in_the_file_below_the_mark() {
        let mark = r#"{"type":"last-prompt","leafUuid":"u1"}"#;
        assert_eq!(texts(&session(&[ROOT, FIRST, SECOND, mark])), ["root", "second"]);
        let mark = r#"{"type":"last-prompt","leafUuid":"u2"}"#;
        assert_eq!(
            texts(&session(&[ROOT, FIRST, mark, SECOND])),
            ["root", "first, newer by its time"]
        );
        let dangling = r#"{"type":"last-prompt","leafUuid":"u9"}"#;
        assert_eq!(texts(&session(&[ROOT, FIRST, dangling, SECOND])), ["root", "second"]);
    }

    #[test]
    fn a_progress_line_is_never_the_tip_and_never_ends_a_chain() {
        let progress = r#"{"type":"progress","uuid":"p1","parentUuid":"u1"}"#;
        let below =
            r#"{"type":"user","uuid":"u4","parentUuid":"p1","message":{"content":"below"}}"#;
        let tip = r#"{"type":"progress","uuid":"p2","parentUuid":"u4"}"#;
        let session = session(&[ROOT, progress, below, tip]);
        assert_eq!(texts(&session), ["root", "below"]);
        assert_eq!(session.thread(None).unwrap().branch.leaf, session.facts.known("u4"));
    }

    #[test]
    fn results_of_parallel_calls_come_behind_their_answer() {
        let call = |id: &str, parent: &str, call: &str| {
            format!(
                r#"{{"type":"assistant","uuid":"{id}","parentUuid":"{parent}","message":{{"id":"m1","content":[{{"type":"tool_use","id":"{call}"}}],"stop_reason":"tool_use"}}}}"#
            )
        };
        let result = |id: &str, parent: &str, call: &str| {
            format!(
                r#"{{"type":"user","uuid":"{id}","parentUuid":"{parent}","message":{{"content":[{{"type":"tool_result","tool_use_id":"{call}","content":"{call}"}}]}}}}"#
            )
        };
        let lines = [
            ROOT.to_owned(),
            call("a1", "u1", "t1"),
            call("a2", "a1", "t2"),
            result("r2", "a2", "t2"),
            result("r1", "a1", "t1"),
        ];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let session = session(&lines);
        // The leaf is r1, whose chain knows nothing of a2 and r2.
        let thread = session.thread(None).unwrap();
        assert_eq!(thread.path(), [0, 1, 2, 3, 4]);
        assert_eq!((thread.turns.calls, thread.turns.results), (2, 2));
    }

    #[test]
    fn a_run_that_a_compaction_keeps_stands_behind_the_summary() {
        let boundary = r#"{"type":"system","subtype":"compact_boundary","uuid":"b","parentUuid":null,"logicalParentUuid":"u2","compactMetadata":{"preservedSegment":{"headUuid":"u2","anchorUuid":"s","tailUuid":"u2"}}}"#;
        let summary = r#"{"type":"user","uuid":"s","parentUuid":"b","isCompactSummary":true,"message":{"content":"summary"}}"#;
        let next = r#"{"type":"user","uuid":"u5","parentUuid":"s","message":{"content":"next"}}"#;
        let session = session(&[ROOT, FIRST, boundary, summary, next]);
        assert_eq!(texts(&session), ["summary", "first, newer by its time", "next"]);
    }

    #[test]
    fn a_record_of_another_session_is_foreign_unless_this_one_goes_on_from_it() {
        let foreign = r#"{"type":"user","uuid":"f1","parentUuid":"u1","message":{"content":"foreign"},"sessionId":"bbbbbbbb-0000-4000-8000-000000000002"}"#;
        let own = r#"{"type":"user","uuid":"u6","parentUuid":"u1","message":{"content":"own"}}"#;
        let line = |line: &str| format!("{line}\n");
        let own_id = r#","sessionId":"aaaaaaaa-0000-4000-8000-000000000001"}"#;
        let with = |text: &str| line(&format!("{}{own_id}", text.strip_suffix('}').unwrap()));
        let text = [with(ROOT), line(foreign), with(own)].concat();
        let session = Session::read(Log::spool(text.as_bytes()).unwrap(), None).unwrap();
        let found: Vec<_> = session.findings.iter().map(|finding| finding.code.name()).collect();
        assert_eq!(found, ["FOREIGN_RECORD"]);
        assert_eq!(session.id(), "aaaaaaaa-0000-4000-8000-000000000001");
    }
}

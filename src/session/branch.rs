//! The active path through logs that are trees.

use crate::{
    error::{Error, Result},
    fact::{Fact, Id, index},
    finding::{Code, Finding, Severity},
    session::Session,
};

/// The lines from the root to a leaf, in order; all of them where a log is no tree.
#[derive(Debug)]
pub struct Branch {
    /// Lines, counted from zero; the header is none of them.
    pub lines: Vec<u32>,
    /// The record that the path ends with.
    pub leaf: Option<Id>,
    /// What is wrong with the links.
    pub findings: Vec<Finding>,
}

/// One record of the tree.
#[derive(Clone, Copy)]
struct Node {
    line: u32,
    parent: Option<Id>,
}

const NO_NODE: Node = Node { line: u32::MAX, parent: None };

impl Branch {
    /// The path to `leaf`, or to the leaf that the client would choose.
    pub fn of(session: &Session, leaf: Option<&str>) -> Result<Self> {
        let facts = &session.facts;
        let Some(own) = session.format.leaf(facts) else {
            if let Some(leaf) = leaf {
                return Err(Error::BadUsage(format!(
                    "a {} log has no branches to choose `{leaf}` from",
                    session.format.name()
                )));
            }
            let lines = u32::try_from(session.log.lines()).unwrap_or(u32::MAX);
            let header = session.header().line;
            let own = u32::try_from(session.log.own_first()).unwrap_or(0);
            // What a log continues stands before its own header.
            let lines = (0..lines)
                .filter(|line| *line < own || header.is_none_or(|header| *line > header))
                .filter(|line| session.blank.binary_search(line).is_err())
                .collect();
            return Ok(Self { lines, leaf: None, findings: Vec::new() });
        };
        let (nodes, findings) = nodes(session)?;
        let leaf = match leaf {
            None => own,
            Some(name) => {
                let id = facts
                    .known(name)
                    .filter(|id| nodes.get(index(*id)).is_some_and(|node| node.line != u32::MAX));
                Some(id.ok_or_else(|| Error::TurnNotFound {
                    wanted: name.into(),
                    known: Vec::new(),
                })?)
            }
        };
        let mut branch = Self { lines: Vec::new(), leaf, findings };
        branch.walk(session, &nodes);
        branch.lines = session.format.path(facts, std::mem::take(&mut branch.lines));
        Ok(branch)
    }

    fn walk(&mut self, session: &Session, nodes: &[Node]) {
        let node = |id: Id| nodes.get(index(id)).filter(|node| node.line != u32::MAX);
        let mut seen = vec![false; nodes.len()];
        let mut next = self.leaf;
        let mut fault = None;
        while let Some(id) = next {
            let Some(Node { line, parent }) = node(id) else {
                fault = Some((Code::ChainBroken, id));
                break;
            };
            if std::mem::replace(&mut seen[index(id)], true) {
                fault = Some((Code::ChainCycle, id));
                break;
            }
            self.lines.push(*line);
            next = *parent;
        }
        self.lines.reverse();
        self.lines.dedup(); // two records saved from one line
        let Some((code, id)) = fault else { return };
        let name = session.facts.name(id);
        let first = self.lines.first().copied().unwrap_or(0);
        let on_path = self.line_set(session.log.lines());
        let said = |line: u32| session.facts.of(line).any(|fact| matches!(fact, Fact::Said(..)));
        let reachable = self.lines.iter().filter(|line| said(**line)).count();
        let cut_off = (0..first).filter(|line| !on_path[*line as usize] && said(*line)).count();
        let message = match code {
            Code::ChainBroken => {
                format!("the parent {name} is not in the log; what stands before is cut off")
            }
            _ => format!("record {name} is its own ancestor"),
        };
        let finding =
            Finding::new(code, message).on(first as usize + 1).with("missing_parent", name);
        self.findings
            .push(finding.with("reachable_messages", reachable).with("cut_off_messages", cut_off));
    }

    /// For each of `lines` lines whether it is on the path.
    #[must_use]
    pub fn line_set(&self, lines: usize) -> Vec<bool> {
        let mut set = vec![false; lines];
        for line in &self.lines {
            if let Some(slot) = set.get_mut(*line as usize) {
                *slot = true;
            }
        }
        set
    }
}

/// The records by id. Where two have one id, the later one counts, as in the clients.
fn nodes(session: &Session) -> Result<(Vec<Node>, Vec<Finding>)> {
    let facts = &session.facts;
    let mut nodes = vec![NO_NODE; facts.id_count()];
    let mut findings = Vec::new();
    for stated in facts.all() {
        let Fact::Linked { id, parent, .. } = stated.fact else { continue };
        let before = std::mem::replace(&mut nodes[index(id)], Node { line: stated.line, parent });
        if before.line != u32::MAX {
            let (first, second) = (before.line as usize, stated.line as usize);
            let equal = session.log.line(first)? == session.log.line(second)?;
            let finding = Finding::new(
                Code::DuplicateId,
                format!("two records have the id {}", facts.name(id)),
            )
            .on(second + 1);
            let finding = finding.rated(if equal { Severity::Warning } else { Severity::Error });
            findings.push(
                Finding { lines: Some([first + 1, second + 1]), ..finding }
                    .with("id", facts.name(id))
                    .with("equal", equal),
            );
        }
    }
    Ok((nodes, findings))
}

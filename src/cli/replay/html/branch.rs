//! The sessions of a family as the page shows them.

use std::collections::HashMap;

use super::charts::Usage;
use crate::{
    cli::{
        Run,
        lineage::{self as family_of, MergeRow},
        pick::Opened,
    },
    error::{Error, Result},
    fact::{Carrier, Ending, Fact, Role},
    finding::Finding,
    format::{Message, Origin},
    session::{History, Session, Thread, history::unfold, ledger::Account, lineage},
    store,
};

/// One session of the family.
#[derive(Default)]
pub(super) struct Branch {
    pub id: String,
    pub kind: String,
    pub title: String,
    pub client: &'static str,
    pub path: String,
    pub cwd: String,
    pub created: String,
    /// How many of its ancestors are on the page.
    pub depth: usize,
    /// Its parent, by its place on the page.
    pub parent: Option<usize>,
    /// Where the parent was cut, in the words of `--at`.
    pub at: String,
    /// How many turns of the parent it begins with.
    pub from_turn: usize,
    /// How many messages it begins with are the parent's.
    pub inherited: usize,
    /// Whether it is shown beside the turn of its parent that it was asked after.
    pub beside: bool,
    /// What it holds, in order.
    pub parts: Vec<Part>,
    /// How many turns it has, inherited ones included.
    pub turns: usize,
    /// Notes that came back into it.
    pub merges: Vec<Merged>,
    /// What was found and has no line.
    pub findings: Vec<Finding>,
    /// Why it cannot be shown.
    pub failure: Option<Error>,
}

/// A turn, or what stands between two.
#[derive(Default)]
pub(super) struct Part {
    /// The turn, counted from one; 0 is none.
    pub turn: usize,
    /// How it ended.
    pub state: &'static str,
    /// First and last line.
    pub lines: [usize; 2],
    pub said: Vec<Said>,
}

/// One message.
pub(super) struct Said {
    pub role: Role,
    pub origin: Origin,
    /// The line of its file.
    pub line: usize,
    pub text: String,
    pub output: String,
    /// Name and arguments of each call.
    pub calls: Vec<(String, String)>,
    /// Whether it answers a call.
    pub result: bool,
    /// The place on the page of the side session that a note came from.
    pub side: Option<usize>,
    /// Which of the notes that came back it is, counted from zero.
    pub note: Option<usize>,
    /// What was found up to here.
    pub findings: Vec<Finding>,
}

/// A note that came back.
pub(super) struct Merged {
    /// The side session, if it is on the page.
    pub side: Option<usize>,
    /// The last turn before it.
    pub after: usize,
}

/// The family of a session, parents before their children, and what it used.
pub(super) fn family(run: &Run, opened: &Opened, longest: usize) -> Result<(Vec<Branch>, Usage)> {
    let members = family_of::rows(run, opened)?;
    let places: HashMap<String, usize> =
        members.iter().enumerate().map(|(at, member)| (member.id.clone(), at)).collect();
    if members.is_empty() {
        // A log from standard input has no family.
        let mut branch = Branch { kind: "main".into(), ..Branch::default() };
        Reader { session: &opened.session, parent: None, merges: &[], places: &places, longest }
            .read(&mut branch)?;
        return Ok((vec![branch], Usage::default()));
    }
    let read = |path| Session::read_usages(store::open(path, Some(&run.store))?, None);
    let sessions: Vec<Result<Session>> = members.iter().map(|member| read(&member.path)).collect();
    let mut branches = Vec::new();
    for (member, session) in members.iter().zip(&sessions) {
        let parent = member.parent.as_ref().and_then(|parent| places.get(&parent.id)).copied();
        let at = member.boundary.as_ref().map(|boundary| boundary.at.as_str());
        let mut branch = Branch {
            id: member.id.clone(),
            kind: member.kind.clone(),
            title: member.title.clone().unwrap_or_default(),
            client: member.format,
            path: member.path.display().to_string(),
            created: member
                .created
                .map(|at| at.format("%Y-%m-%d %H:%M UTC").to_string())
                .unwrap_or_default(),
            depth: member.depth,
            parent: parent.filter(|parent| *parent < branches.len()),
            at: at.unwrap_or_default().to_owned(),
            ..Branch::default()
        };
        let parent = branch.parent.and_then(|parent| sessions[parent].as_ref().ok());
        match session {
            Ok(session) => {
                let reader =
                    Reader { session, parent, merges: &member.merges, places: &places, longest };
                if let Err(error) = reader.read(&mut branch) {
                    branch.failure = Some(error);
                }
            }
            Err(error) => branch.failure = Some(told(error)),
        }
        branches.push(branch);
    }
    place_beside(&mut branches);
    let accounts: Vec<Account> = sessions.into_iter().flatten().map(Account::of).collect();
    Ok((branches, Usage::of(&accounts)))
}

/// An error once more, for the page.
fn told(error: &Error) -> Error {
    match error {
        Error::Damaged(finding) => Error::Damaged(finding.clone()),
        other => Error::BadUsage(other.to_string()),
    }
}

/// Side sessions of one that has an article of its own stand beside it.
fn place_beside(branches: &mut [Branch]) {
    for at in 0..branches.len() {
        let Some(parent) = branches[at].parent else { continue };
        branches[at].beside = branches[at].kind == "side" && !branches[parent].beside;
    }
}

struct Reader<'a> {
    session: &'a Session,
    parent: Option<&'a Session>,
    merges: &'a [MergeRow],
    places: &'a HashMap<String, usize>,
    longest: usize,
}

impl Reader<'_> {
    fn read(&self, branch: &mut Branch) -> Result<()> {
        let session = self.session;
        let header = session.header();
        if branch.id.is_empty() {
            branch.id.clone_from(&header.id);
            branch.client = session.format.name();
        }
        if branch.title.is_empty() {
            branch.title = session.title().unwrap_or_default();
        }
        branch.cwd = header.cwd.clone().unwrap_or_default();
        let thread = session.thread(None)?;
        let told = session.format.seed(&session.facts, thread.path());
        let seed = match (told, self.parent) {
            (None, Some(parent)) => lineage::seed(&thread, parent).kept,
            _ => thread.seed,
        };
        let keep = thread.path().len();
        let history = History::of(&thread, keep, seed.min(keep))?;
        branch.turns = thread.turns.list.len();
        let own = thread.turns.list.iter().filter(|turn| turn.last >= seed).count();
        branch.from_turn = branch.turns - own;
        let framed = history.count(Origin::Framing) > 0;
        if framed && matches!(branch.kind.as_str(), "fork" | "aside") {
            branch.kind = "side".into();
        }
        let mut findings: Vec<Finding> =
            thread.findings().into_iter().map(|finding| session.placed(finding)).collect();
        findings.sort_by_key(|finding| finding.line.unwrap_or(usize::MAX));
        let mut findings = findings.into_iter().peekable();
        let turn_of = turns_by_line(&thread);
        let mut last = 0;
        for message in &history.messages {
            let inherited = message.origin == Origin::Inherited;
            branch.inherited += usize::from(inherited);
            let turn = turn_of.get(message.line as usize).copied().unwrap_or(0);
            last = if turn > 0 { turn } else { last };
            let mut said = self.said(message)?;
            if message.origin == Origin::Merge {
                said.note = Some(branch.merges.len());
                branch.merges.push(Merged { side: said.side, after: last });
            }
            while let Some(finding) =
                findings.next_if(|next| next.line.is_some_and(|line| line <= said.line))
            {
                said.findings.push(finding);
            }
            // What the parent shows is not shown again.
            if inherited && self.parent.is_some() && said.findings.is_empty() {
                continue;
            }
            match branch.parts.last_mut().filter(|part| part.turn == turn && !part.said.is_empty())
            {
                Some(part) => part.said.push(said),
                None => branch.parts.push(part(&thread, turn, said)),
            }
        }
        branch.findings = findings.collect();
        Ok(())
    }

    fn said(&self, message: &Message) -> Result<Said> {
        let unfolded = unfold(self.session, message)?;
        let cut = |text: String| match text.char_indices().nth(self.longest) {
            Some((at, _)) => {
                let more = text[at..].chars().count();
                format!("{}\n… {more} more characters with --full", &text[..at])
            }
            None => text,
        };
        Ok(Said {
            role: message.role,
            origin: message.origin,
            line: self.session.log.place(message.line as usize).1,
            text: cut(unfolded.text),
            output: cut(unfolded.output),
            calls: unfolded
                .calls
                .into_iter()
                .map(|(_, name, arguments)| (name, cut(arguments)))
                .collect(),
            result: !unfolded.results.is_empty() && message.role != Role::Assistant,
            side: self.side_of(message),
            note: None,
            findings: Vec::new(),
        })
    }

    /// The side session that a note came from, as far as the family tells.
    fn side_of(&self, message: &Message) -> Option<usize> {
        let facts = &self.session.facts;
        let mark = facts.of(message.line).find_map(|fact| match fact {
            Fact::Carried(Carrier::Note, mark) => Some(facts.name(mark)),
            _ => None,
        })?;
        let merge = self.merges.iter().find(|merge| merge.note.as_deref() == Some(mark))?;
        self.places.get(merge.side.as_deref()?).copied()
    }
}

fn part(thread: &Thread<'_>, turn: usize, said: Said) -> Part {
    let Some(own) = turn.checked_sub(1).and_then(|turn| thread.turns.list.get(turn)) else {
        return Part { said: vec![said], ..Part::default() };
    };
    Part {
        turn,
        state: own.how.map_or("open", Ending::name),
        lines: [own.opened, own.last].map(|at| thread.line_number(at)),
        said: vec![said],
    }
}

/// The turn that each line stands in, counted from one; 0 is none.
fn turns_by_line(thread: &Thread<'_>) -> Vec<usize> {
    let mut turns = vec![0; thread.session.log.lines()];
    for (nth, turn) in thread.turns.list.iter().enumerate() {
        for line in &thread.path()[turn.first..=turn.last] {
            turns[*line as usize] = nth + 1;
        }
    }
    turns
}

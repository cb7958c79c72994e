//! What fork, snapshot, side and merge share: what is wrong with the part in use, then the boundary.

use crate::{
    error::{Error, Result},
    finding::{Code, Finding, Severity},
    session::{At, Boundary, Session, Thread},
};

/// Which findings matter.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// Errors of these kinds are no reason to stop; their lines stay as they are.
    pub allow: Vec<Code>,
    /// Lines with errors of these kinds are left out.
    pub drop: Vec<Code>,
    /// Warnings are errors.
    pub strict: bool,
}

/// Where to cut what.
#[derive(Clone, Debug)]
pub struct Intent<'a> {
    /// The place.
    pub at: &'a At,
    /// The branch, if not the client's own choice.
    pub leaf: Option<&'a str>,
    /// Which findings matter.
    pub policy: &'a Policy,
}

/// A session cut at a boundary.
pub struct Cut<'a> {
    /// The session along the path.
    pub thread: Thread<'a>,
    /// Where it is cut.
    pub boundary: Boundary,
    /// The lines of the path before the boundary that are kept, counted from zero.
    pub kept: Vec<u32>,
    /// Lines off the path that are kept as they are: nobody can read them, and they were allowed.
    pub unreadable: Vec<u32>,
    /// What is worth knowing, errors behind the boundary included.
    pub warnings: Vec<Finding>,
}

impl Cut<'_> {
    /// Puts the lines that cannot be read among others where they stand in the file.
    pub fn put_unreadable(&self, order: &mut Vec<u32>) {
        for line in &self.unreadable {
            let at = order.iter().position(|other| other > line).unwrap_or(order.len());
            order.insert(at, *line);
        }
    }
}

impl Policy {
    /// A finding as this policy rates it.
    #[must_use]
    pub fn rate(&self, finding: Finding) -> Finding {
        let raise = self.strict && finding.severity == Severity::Warning;
        if raise { finding.rated(Severity::Error) } else { finding }
    }

    /// Whether a finding stops a verb that writes.
    #[must_use]
    pub fn stops(&self, finding: &Finding) -> bool {
        finding.severity == Severity::Error
            && !self.allow.contains(&finding.code)
            && !self.drop.contains(&finding.code)
    }
}

/// Cuts `session` where `intent` says. The first error in use, in file order, stops it; then the boundary is judged.
pub fn cut<'a>(session: &'a Session, intent: &Intent<'_>) -> Result<Cut<'a>> {
    let thread = session.thread(intent.leaf)?;
    let policy = intent.policy;
    let forgiven = policy.allow.contains(&Code::OrphanToolCall);
    let boundary = thread.boundary(intent.at, forgiven);
    let (used, behind) = match &boundary {
        Ok(boundary) => thread.findings_at(*boundary),
        // What was named is not there, so that nothing is in use yet.
        Err(Error::TurnNotFound { .. } | Error::InvalidBoundary(_)) => (Vec::new(), Vec::new()),
        Err(_) => (thread.findings(), Vec::new()),
    };
    let used: Vec<Finding> = used.into_iter().map(|finding| policy.rate(finding)).collect();
    if let Some(stop) = used.iter().find(|finding| policy.stops(finding)) {
        return Err(session.placed(stop.clone()).into());
    }
    let boundary = boundary?;
    let dropped = |line: u32| {
        let number = line as usize + 1;
        used.iter().any(|finding| {
            let spans = finding.code == Code::RecordSplit
                && finding.lines.is_some_and(|[first, last]| (first..=last).contains(&number));
            policy.drop.contains(&finding.code)
                && finding.severity == Severity::Error
                && (spans || finding.line == Some(number))
        })
    };
    let kept: Vec<u32> =
        thread.path()[..boundary.keep()].iter().copied().filter(|line| !dropped(*line)).collect();
    let unreadable = unreadable(&thread, &used, policy);
    // What was allowed or dropped is told all the same, but it is no error any more.
    let told = |finding: Finding| match finding.severity {
        Severity::Error => finding.rated(Severity::Warning),
        _ => finding,
    };
    let mut warnings: Vec<Finding> = used.into_iter().map(told).collect();
    warnings.extend(behind);
    let clipped = thread.path().len() - boundary.keep();
    if clipped > 0 && *intent.at == At::LastTurn {
        let message = format!("{clipped} lines behind the last boundary are left out");
        warnings.push(Finding::new(Code::Clipped, message).on(thread.line_before(boundary) + 1));
    }
    let queued = thread.queued(boundary);
    if queued > 0 {
        let message = format!("{queued} queued prompts come along; the client keeps them waiting");
        warnings.push(Finding::new(Code::StillQueued, message).on(thread.line_before(boundary)));
    }
    let warnings = warnings.into_iter().map(|finding| session.placed(finding)).collect();
    Ok(Cut { thread, boundary, kept, unreadable, warnings })
}

/// Where records form a tree, a line that cannot be read hangs nowhere; `--allow` keeps it all the same.
fn unreadable(thread: &Thread<'_>, used: &[Finding], policy: &Policy) -> Vec<u32> {
    let kinds = [Code::LineCorrupt, Code::NulBlock, Code::InvalidUtf8];
    let kept = |finding: &&Finding| {
        kinds.contains(&finding.code)
            && policy.allow.contains(&finding.code)
            && !policy.drop.contains(&finding.code)
    };
    let lines = used.iter().filter(kept).filter_map(|finding| finding.line?.checked_sub(1));
    let mut lines: Vec<u32> = lines
        .filter_map(|line| u32::try_from(line).ok())
        .filter(|line| !thread.path().contains(line))
        .filter(|line| thread.session.facts.of(*line).next().is_none())
        .collect();
    lines.dedup();
    lines
}

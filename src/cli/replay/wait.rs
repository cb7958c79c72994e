//! `replay --wait`: until the turn that is open has ended.

use std::{
    fs,
    path::Path,
    thread::sleep,
    time::{Duration, Instant, SystemTime},
};

use super::Args;
use crate::{
    cli::{
        Run,
        pick::{Opened, Pick},
    },
    error::{Error, Result},
};

/// How often the log is looked at; it is read again only when it has changed.
const EVERY: Duration = Duration::from_millis(100);

/// A length of time such as `90s`, `5m`, `1h30m` or `250ms`; a bare number is seconds.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("expected a length of time like 90s, 5m or 1h30m, not `{text}`");
    let mut sum = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let number: u64 = rest[..digits].parse().map_err(|_| wrong())?;
        let unit = &rest[digits..];
        let letters = unit.find(|c: char| c.is_ascii_digit()).unwrap_or(unit.len());
        let millis = match &unit[..letters] {
            "ms" => 1,
            "" | "s" => 1000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return Err(wrong()),
        };
        let millis = number.checked_mul(millis).ok_or_else(wrong)?;
        sum = sum.checked_add(Duration::from_millis(millis)).ok_or_else(wrong)?;
        rest = &unit[letters..];
    }
    if text.is_empty() { Err(wrong()) } else { Ok(sum) }
}

/// Opens the session, where `--wait` says so once it is there and at rest. A turn that is still open when the time is
/// up is [`Error::OpenTurn`].
pub(super) fn open(run: &Run, args: &Args, pick: &Pick) -> Result<Opened> {
    let Some(patience) = args.wait else { return pick.open(run) };
    if pick.words() == "-" {
        return Err(Error::BadUsage(
            "`--wait` takes no standard input, which does not grow".into(),
        ));
    }
    let until = Instant::now() + patience;
    loop {
        let opened = pick.open(run);
        let late = Instant::now() >= until;
        match opened {
            Ok(opened) => match busy(args, &opened)? {
                None => return Ok(opened),
                Some(error) if late => return Err(error),
                Some(_) => settle(opened.path.as_deref(), until),
            },
            Err(error) if !late && error.code() == "SESSION_NOT_FOUND" => sleep(EVERY),
            Err(error) => return Err(error),
        }
    }
}

/// Why the session is not at rest: a turn that is open, or a line that is being written.
fn busy(args: &Args, opened: &Opened) -> Result<Option<Error>> {
    let session = &opened.session;
    let thread = session.thread(args.leaf.as_deref())?;
    let tail = session.log.torn_tail().is_some();
    let Some(turn) = thread.turns.open() else {
        let finding = |code| session.findings.iter().find(|finding| finding.code == code).cloned();
        let torn = tail.then(|| finding(crate::finding::Code::TornTail)).flatten();
        return Ok(torn.map(Into::into));
    };
    Ok(Some(Error::OpenTurn {
        id: session.id().into(),
        line: thread.line_number(turn.opened),
        open_calls: thread.open_calls(),
        last: None,
    }))
}

/// Waits until the log changes, or until the time is up.
fn settle(path: Option<&Path>, until: Instant) {
    let state = || -> Option<(u64, SystemTime)> {
        let meta = fs::metadata(path?).ok()?;
        Some((meta.len(), meta.modified().ok()?))
    };
    let before = state();
    while Instant::now() < until && state() == before {
        sleep(EVERY.min(until.saturating_duration_since(Instant::now())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_have_units() {
        let of = |text: &str| duration(text).map(|time| time.as_millis());
        assert_eq!(of("90s"), Ok(90_000));
        assert_eq!(of("1h30m"), Ok(5_400_000));
        assert_eq!(of("250ms"), Ok(250));
        assert_eq!(of("3"), Ok(3000));
        for wrong in ["", "m", "5x", "-1s", "99999999999999999999s"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}

//! `side --ask TEXT --run`: the question is put to the session at once.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use super::{Args, Sided};
use crate::{
    cli::{
        Run,
        pick::Opened,
        turn::{Answered, Ran, Seat, Table, Taker, log_of, standing},
    },
    error::{Error, Result},
    format,
    session::Session,
    store,
};

/// What running a client came to.
#[derive(Serialize, JsonSchema)]
pub(super) struct Asked {
    /// What ran; none where the answer was there already.
    pub run: Option<Ran>,
    /// The session whose log has the answer.
    pub answered_in: Option<Place>,
}

/// A session and its log.
#[derive(Serialize, JsonSchema)]
pub(super) struct Place {
    /// Its id.
    pub id: String,
    /// Where it lies.
    pub path: PathBuf,
}

/// Refuses before anything is made what could not be run then.
pub(super) fn check(run: &Run, args: &Args, parent: &Opened) -> Result<()> {
    if args.out.as_deref() == Some(Path::new("-")) {
        let message = "a session that goes to standard output cannot be asked";
        return Err(Error::BadUsage(message.into()));
    }
    let own = parent.session.header().cwd.as_deref().map(Path::new);
    let cwd = args.making.cwd.as_deref().or(own);
    Taker::check(run, parent.session.format, cwd, args.run_with.as_deref())
}

/// Puts `question` to the session that was made; what came of it is in `sided`, also where it failed.
pub(super) fn ask(run: &Run, args: &Args, sided: &mut Sided, question: &str) -> Result<()> {
    let format = format::by_name(sided.made.parent.format)
        .ok_or_else(|| Error::internal("a session of no client was made"))?;
    let layout = format.layout();
    let child = sided.made.child.clone();
    let log = child.path.clone().or_else(|| log_of(run, format, &child.id));
    let in_store = log.as_ref().is_none_or(|path| layout.root_of(path).is_some());
    let cwd = child.cwd.as_deref();
    let seat = Seat { format, id: &child.id, path: log.as_deref(), in_store, cwd };
    if args.making.dry_run {
        let client = Taker::of(run, &seat, args.run_with.as_deref(), question)?;
        let cwd = child.cwd.clone();
        sided.asked.run = Some(Ran { argv: client.argv(), cwd, status: None, signal: None });
        return Ok(());
    }
    // Two of one request wait for each other, so that one question is paid for once.
    let _lock = run.journal()?.lock(&format!("turn in {}", child.id))?;
    let made = sided.made.inherited + sided.framing_messages;
    // Who made the session is not always the first to ask it.
    let repeats = args.making.request_id.is_some();
    let known = if repeats { standing(run, &seat, made, question)? } else { None };
    let (answer, failure) = if known.is_some() {
        (known, None)
    } else {
        let client = Taker::of(run, &seat, args.run_with.as_deref(), question)?;
        let taken = Table::new(run)?.take(&seat, &client, question)?;
        sided.asked.run = Some(taken.ran);
        (taken.answer, taken.failure)
    };
    let answered = answer.is_some();
    if let Some(Answered { text, id, path, .. }) = answer {
        (sided.answer, sided.asked.answered_in) = (Some(text), Some(Place { id, path }));
    }
    sided.made.child.path = log.or_else(|| log_of(run, format, &child.id));
    if let Some(path) = sided.made.child.path.clone() {
        let session = Session::read(store::open(&path, Some(&run.store))?, Some(format))?;
        sided.recount(&session.thread(None)?);
        let base = layout.root_of(&path).and_then(|root| root.parent().map(Path::to_path_buf));
        let below = base.and_then(|base| path.strip_prefix(base).ok().map(Path::to_path_buf));
        sided.made.child.store_path = sided.made.child.store_path.take().or(below);
        if answered {
            sided.made.next.argv = layout.opens(&child.id, &path, in_store);
        }
    }
    failure.map_or(Ok(()), Err)
}

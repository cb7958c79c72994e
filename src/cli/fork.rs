//! `sessctl fork`

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Run,
    child::{self, Made, Making, Order},
    output::{Answer, Report, printable},
    pick::{self, Pick},
};
use crate::{error::Result, session::At};

/// Branch a session at a finished turn, leaving the original untouched
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = super::examples::FORK)]
pub struct Args {
    #[command(flatten)]
    pick: Pick,
    /// Where to cut: tip, last-turn, start, turn:N, turn:ID, seq:N or line:N
    #[arg(long, value_name = "BOUNDARY", default_value = "tip", add = clap_complete::ArgValueCompleter::new(super::complete::boundaries))]
    at: At,
    /// Where to write the child instead of the client's own place; - is standard output
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
    /// Make a self-contained child where the client would only refer to its parent
    #[arg(long)]
    flatten: bool,
    /// Carry along what the client keeps beside the log
    #[arg(long)]
    with_sidecars: bool,
    #[command(flatten)]
    making: Making,
}

#[derive(Serialize, JsonSchema)]
pub(in crate::cli) struct Forked {
    #[serde(flatten)]
    made: Made,
    carried: Vec<String>,
    not_carried: Vec<String>,
    #[serde(skip)]
    dry_run: bool,
}

impl Report for Forked {
    fn json(&self) -> String {
        serde_json::to_string(self).expect("a report always serialises")
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        let made = &self.made;
        let verb = match (self.dry_run, made.replayed) {
            (true, _) => "would fork",
            (_, true) => "already forked",
            _ => "forked",
        };
        let title = made
            .child
            .title
            .as_deref()
            .map(|title| format!(" \"{}\"", printable(title)))
            .unwrap_or_default();
        writeln!(
            out,
            "{verb} {}{title} from {} at {} ({} messages, {} turns)",
            made.child.id, made.parent.id, made.boundary.at, made.messages, made.turns
        )?;
        if let Some(path) = made.child.path.as_ref().filter(|path| *path != Path::new("-")) {
            writeln!(out, "  file: {}", printable(&path.display().to_string()))?;
        }
        if made.next.argv.is_empty() {
            return Ok(()); // Where standard output leads is not known.
        }
        writeln!(out, "  open: {}", printable(&made.next.pasted()))
    }
}

pub(super) fn run(run: &Run, args: &Args) -> Result<Answer> {
    let Args { with_sidecars, making, .. } = args;
    let title = ("--title", making.title.as_deref());
    pick::one_stdin(&[("SESSION", Some(args.pick.words())), title])?;
    let order = Order {
        verb: "fork",
        pick: &args.pick,
        at: &args.at,
        making,
        out: args.out.as_deref(),
        framing: None,
        sidecars: Some(*with_sidecars),
        flatten: args.flatten,
        asks: None,
        accepts: &|_| Ok(()),
    };
    let (mut answer, made) = child::make(run, &order)?;
    answer.report = made.map(|made| -> Box<dyn Report> {
        Box::new(Forked {
            carried: made.carried.clone(),
            not_carried: made.not_carried.clone(),
            made,
            dry_run: making.dry_run,
        })
    });
    Ok(answer)
}

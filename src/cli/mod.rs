//! The edge: flags in; words and exit statuses out. Nothing else reads the environment or the clock.

mod again;
mod child;
mod complete;
mod examples;
mod fork;
mod help;
mod hint;
mod lineage;
mod list;
mod merge;
mod output;
mod pager;
mod pick;
mod progress;
mod replay;
mod report;
mod schema;
mod side;
mod snapshot;
mod turn;
mod usage;
mod version;
mod wrap;

use std::{ffi::OsString, path::PathBuf, process::ExitCode};

use chrono::{DateTime, SubsecRound, Utc};
use clap::{CommandFactory, Parser, Subcommand};

use crate::{
    env::Env,
    error::{Error, Result},
    format::{self, Format},
    store::{Journal, Store},
};
use again::Again;
use output::{Answer, Output};
pub use schema::schemas;

/// Fork, side-question, merge, replay and account for coding-agent session logs
///
/// Works on the JSONL logs of the clients directly. A log is only ever read, or appended to by whole lines; a new
/// session is a file of its own that its client opens.
#[derive(Debug, Parser)]
#[command(
    name = "sessctl",
    disable_version_flag = true,
    disable_help_subcommand = true,
    arg_required_else_help = true,
    subcommand_required = false
)]
#[command(
    after_help = "`sessctl help boundaries`, `environment`, `exit-status`, `formats` and `codes` explain; `sessctl help CODE` says what to do.\n\nExit status: 0 done, 1 the answer is no, 2 command line, 3 not there, 4 the session's state says no,\n5 the log is damaged, 6 the system, 70 a bug of ours"
)]
pub struct Cli {
    #[command(flatten)]
    global: Global,
    /// Print the version; with --json also the formats that are read and written
    #[arg(short = 'V', long)]
    version: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

/// Options that may stand anywhere.
#[derive(Clone, Debug, clap::Args)]
pub struct Global {
    /// A client's root or any folder to look for sessions in [default: every client's own root]
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        env = "SESSCTL_STORE",
        hide_env_values = true,
        help_heading = "Global options"
    )]
    store: Vec<PathBuf>,
    /// The client that wrote the log; without it the log itself tells
    #[arg(long, global = true, value_name = "NAME", value_parser = client, help_heading = "Global options")]
    format: Option<Client>,
    /// Print one report as JSON on standard output, on success and on failure alike
    #[arg(long, global = true, help_heading = "Global options")]
    json: bool,
    /// Print nothing but the answer
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = "Global options")]
    quiet: bool,
    /// Also print what is merely worth knowing
    #[arg(short, long, global = true, help_heading = "Global options")]
    verbose: bool,
    /// When to use colour
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        help_heading = "Global options"
    )]
    color: clap::ColorChoice,
    /// Take warnings for errors
    #[arg(long, global = true, help_heading = "Global options")]
    strict: bool,
}

// What a verb is said to do stands with its arguments.
#[derive(Debug, Subcommand)]
enum Command {
    Fork(fork::Args),
    Snapshot(snapshot::Args),
    Side(side::Args),
    Merge(merge::Args),
    Replay(replay::Args),
    Usage(usage::Args),
    List(list::Args),
    Help(help::Args),
}

/// A client named on the command line.
#[derive(Clone, Copy)]
pub struct Client(&'static dyn Format);

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name())
    }
}

fn client(name: &str) -> Result<Client, String> {
    let known = || format::ALL.iter().map(|format| format.name()).collect::<Vec<_>>().join(", ");
    format::by_name(name).map(Client).ok_or_else(|| format!("expected one of {}", known()))
}

/// What every verb is given besides its own flags.
pub struct Run {
    global: Global,
    env: Env,
    again: Again,
    store: Store,
    now: DateTime<Utc>,
}

impl Run {
    /// The journal; an environment without any home has none.
    fn journal(&self) -> Result<Journal> {
        let folder = self.env.state_dir().ok_or_else(|| {
            Error::BadUsage("no state folder: set SESSCTL_STATE_DIR or HOME".into())
        })?;
        Ok(Journal::new(&folder))
    }

    fn wanted(&self) -> Option<&'static dyn Format> {
        self.global.format.map(|client| client.0)
    }
}

/// The client whose log lies at `path`.
fn client_at(path: &std::path::Path) -> Option<&'static str> {
    crate::store::Glance::at(path).map(|glance| glance.format)
}

/// The clap definition, for man pages and completions.
#[must_use]
pub fn definition() -> clap::Command {
    Cli::command()
}

/// Parses the command line, runs it, and says what came of it.
#[must_use]
pub fn main() -> ExitCode {
    // A shell that wants to complete asks the program itself; then nothing else is done.
    complete::answer();
    let args: Vec<OsString> = std::env::args_os().collect();
    let env = Env::of_process();
    let again = Again::of(&args, &env);
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(error) => return ExitCode::from(output::usage_error(error, &args, &again)),
    };
    let output = Output::new(&cli.global, again.clone());
    let store = Store::new(&cli.global.store, &env);
    // Clients count milliseconds; a finer time would not come back from their logs.
    let run = Run { global: cli.global, env, again, store, now: Utc::now().trunc_subsecs(3) };
    if cli.version {
        return ExitCode::from(version::print(&output, run.global.json));
    }
    let (name, answer): (&str, Result<Answer>) = match &cli.command {
        None => return ExitCode::from(output::missing_command(&output, &mut Cli::command())),
        Some(Command::Fork(args)) => ("fork", fork::run(&run, args)),
        Some(Command::Snapshot(args)) => ("snapshot", snapshot::run(&run, args)),
        Some(Command::Side(args)) => ("side", side::run(&run, args)),
        Some(Command::Merge(args)) => ("merge", merge::run(&run, args)),
        Some(Command::Replay(args)) => ("replay", replay::run(&run, args, &output)),
        Some(Command::Usage(args)) => ("usage", usage::run(&run, args, &output)),
        Some(Command::List(args)) => ("list", list::run(&run, args)),
        Some(Command::Help(args)) => ("help", Ok(help::run(&run, args))),
    };
    ExitCode::from(output.finish(name, answer))
}

//! `sessctl usage`

mod budget;
mod cache;
mod explain;
mod keep;
mod reconcile;
mod report;
mod scope;
mod statusline;
mod sums;
mod table;
mod told;

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use chrono::{DateTime, Days, NaiveDate, Utc};
use chrono_tz::Tz;
use clap::builder::{PossibleValuesParser, TypedValueParser};

pub(in crate::cli) use explain::Explanation;
pub(in crate::cli) use reconcile::Reconciled;
pub(in crate::cli) use report::Counted;
pub(in crate::cli) use statusline::Line;

use super::{
    Run,
    output::{Answer, Output},
};
use crate::{
    error::{Error, Result},
    ops::{
        export::Origin,
        price::Prices,
        usage::{self, By},
    },
    session::{
        explain::explain,
        ledger::{self, Completion},
        roll::Scribe,
    },
    store,
};
use budget::Amount;
use cache::Cache;
use explain::Question;
use scope::{Depth, Scope};
use sums::{Beside, Sums};
use told::{Told, answer};

/// Account for every billed completion once
///
/// Whatever was forked, resumed, copied aside or repeated counts once, under the session that made the call. What a log
/// cannot tell is counted beside the totals, never as zero.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = super::examples::USAGE)]
pub struct Args {
    /// Sessions (path, id, =TITLE, or - for standard input) or folders [default: all stores]
    #[arg(
        value_name = "SESSION|DIR",
        add = clap_complete::ArgValueCompleter::new(super::complete::sessions)
    )]
    what: Vec<String>,
    /// The session written last, of those whose working folder is DIR if one is given
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true, conflicts_with = "what")]
    last: Option<Option<PathBuf>>,
    /// Group by; may be given several times [default: session]
    #[arg(long, value_name = "KEY", value_parser = keys())]
    by: Vec<By>,
    /// From this day or time on: 2026-01-31, today, yesterday, 7d (so many days before today), 2026-01-31T12:00:00Z
    #[arg(long, value_name = "D", value_parser = when, allow_hyphen_values = true)]
    since: Option<When>,
    /// Up to this day, which is included, or time, which is not
    #[arg(long, value_name = "D", value_parser = when, allow_hyphen_values = true)]
    until: Option<When>,
    /// The zone of days, as an IANA name, or `local`
    #[arg(long, value_name = "ZONE", default_value = "UTC", value_parser = zone)]
    timezone: Tz,
    /// Only the sessions named, without what derives from them
    #[arg(long, conflicts_with = "include_forks")]
    own: bool,
    /// With a session, also its forks
    #[arg(long)]
    include_forks: bool,
    /// Add what the logs say that it cost, what a table of prices says, and the tokens that have no price
    #[arg(long)]
    cost: bool,
    /// Take prices from a file in the form of the genai-prices data instead of those built in
    #[arg(long, value_name = "FILE", requires = "cost")]
    prices: Option<PathBuf>,
    /// Fewer columns
    #[arg(long, group = "form")]
    compact: bool,
    /// Print comma-separated values
    #[arg(long, group = "form")]
    csv: bool,
    /// Write a row for each completion: .parquet, .ndjson, .ndjson.zst, or a folder of parts
    #[arg(long, value_name = "PATH", group = "form")]
    ledger: Option<PathBuf>,
    /// With --ledger, also write working folders, which may tell more than is meant to leave the machine
    #[arg(long, requires = "ledger")]
    with_paths: bool,
    /// Print one short line for a prompt: today, unless a range or a session is given
    #[arg(long, group = "form", conflicts_with = "by")]
    statusline: bool,
    /// Show every record of a completion, a day or a session, counted or refused, with its place and the rule
    #[arg(long, value_name = "ID|DAY|SESSION", group = "form", conflicts_with_all = ["by", "cost"])]
    explain: Option<String>,
    /// Set the sums beside those that the clients themselves keep
    #[arg(long, group = "form", conflicts_with_all = ["since", "until", "by", "cost"])]
    reconcile: bool,
    /// Read every log, also those that have not changed since an earlier run read them
    #[arg(long)]
    no_cache: bool,
    /// Keep what is read in a ledger of our own, and count what was kept of logs that are gone
    #[arg(long)]
    keep: bool,
    /// Exit with 1 when the sum is more than this, such as 10usd or 5Mtok
    #[arg(long, value_name = "AMOUNT", conflicts_with_all = ["explain", "reconcile"])]
    fail_over: Option<Amount>,
}

/// The zone of that name; `local` is this machine's.
fn zone(name: &str) -> Result<Tz, String> {
    let own = (name == "local").then(iana_time_zone::get_timezone);
    let own =
        own.transpose().map_err(|why| format!("this machine does not say its zone: {why}"))?;
    let known = own.as_deref().unwrap_or(name).parse();
    known.map_err(|_| "no zone has this name; expected one like Europe/Berlin, UTC or local".into())
}

/// The names of the groups, as clap lists them.
fn keys() -> impl TypedValueParser<Value = By> {
    PossibleValuesParser::new(By::ALL.map(By::name))
        .map(|name| By::ALL.into_iter().find(|by| by.name() == name).unwrap_or(By::Session))
}

/// A bound of a range.
#[derive(Clone, Copy, Debug)]
enum When {
    Day(NaiveDate),
    Time(DateTime<Utc>),
    /// So many days before today.
    Back(u64),
}

impl When {
    /// The day, where it is none of the clock.
    fn day(self, run: &Run, zone: Tz) -> Result<NaiveDate, DateTime<Utc>> {
        match self {
            Self::Day(day) => Ok(day),
            Self::Time(time) => Err(time),
            Self::Back(days) => {
                let today = run.now.with_timezone(&zone).date_naive();
                Ok(today.checked_sub_days(Days::new(days)).unwrap_or(NaiveDate::MIN))
            }
        }
    }
}

fn when(text: &str) -> Result<When, String> {
    let back = match text {
        "today" => Some(0),
        "yesterday" => Some(1),
        _ => text.strip_suffix('d').and_then(|days| days.parse().ok()),
    };
    if let Some(days) = back {
        return Ok(When::Back(days));
    }
    let day = NaiveDate::parse_from_str(text, "%Y-%m-%d").map(When::Day);
    let time = || DateTime::parse_from_rfc3339(text).map(|time| When::Time(time.to_utc()));
    day.or_else(|_| time()).map_err(|_| {
        "expected a day like 2026-01-31, today, yesterday, 7d (so many days before today), or a time like 2026-01-31T12:00:00Z".into()
    })
}

pub(super) fn run(run: &Run, args: &Args, output: &Output) -> Result<Answer> {
    check(run, args, output)?;
    let prices = prices(run, args)?;
    let depth = match (&args.explain, args.reconcile) {
        (Some(_), _) => Depth::Refusals,
        (None, true) => Depth::Claims,
        (None, false) => Depth::Sums,
    };
    let mut range = range(run, args)?;
    let mut scope = Scope::of(run, args)?;
    let all = args.what.is_empty() && args.last.is_none();
    let today = args.statusline && all && range == (None, None);
    if today {
        let day = run.now.with_timezone(&args.timezone).date_naive();
        range.0 = Some(start(day, args.timezone)?);
        scope.touched_since(range.0);
    }
    let mut by = if args.by.is_empty() { vec![By::Session] } else { args.by.clone() };
    let mut known = HashSet::new();
    by.retain(|key| known.insert(*key));
    let adopts = scope.adopts;
    // What does not count is not written down, and nobody asks for it often.
    let mut cache = Cache::of(run).filter(|_| !args.no_cache && depth != Depth::Refusals);
    let whole = cache.as_ref().and_then(|cache| scope.whole(args, cache));
    let is_plain = prices.is_none() && args.ledger.is_none();
    if let (Some(cache), Some(whole), true) = (&cache, &whole, is_plain)
        && let Some((sums, beside)) = cache.sums(whole, Sums::new(&by, args.timezone), range)
    {
        return Ok(answer(args, &by, Told { today, ..Told::of(sums, beside, range) }));
    }
    let seen = whole.map(|whole| (whole, scope.listed()));
    let read = scope.accounts(run, args, depth, cache.as_ref(), output.is_quiet())?;
    if let Some(cache) = &mut cache {
        cache.close();
    }
    let forks = args.include_forks;
    let families = move |kind: &str| {
        matches!(kind, "aside" | "subagent" | "compaction") || forks && kind == "fork"
    };
    let inside = |completion: &Completion| usage::inside(completion.at, range);
    if let Some(asked) = &args.explain {
        let question = Question::of(run, asked, args.timezone)?;
        let wanted = |one: &_| question.is_about(one);
        let told = explain(&read.accounts, adopts, &families, &inside, &wanted);
        let explanation = question.answer(asked, &told, &read.accounts)?;
        return Ok(Answer { report: Some(Box::new(explanation)), ..Answer::default() });
    }
    // Of a session people want to see what stands beside it.
    let family = !adopts && by == [By::Session] && !args.csv;
    let summed = is_plain && !args.reconcile && !family;
    let mut scribe = seen.is_some().then(Scribe::default);
    let mut sums = Sums::new(&by, args.timezone);
    let mut completions = Vec::new();
    let beside = ledger::each(&read.accounts, adopts, &families, &mut |completion| {
        if let Some(scribe) = &mut scribe {
            scribe.add(&completion);
        }
        if summed || !completion.counts || !inside(&completion) {
            sums.add_inside(&completion, range);
        } else {
            completions.push(completion);
        }
    });
    if args.reconcile {
        let reconciled = Reconciled::of(&read.accounts, &completions, told::width());
        return Ok(Answer { report: Some(Box::new(reconciled)), ..Answer::default() });
    }
    let beside = Beside::of(beside, &read);
    drop(read.accounts);
    if let (Some(cache), Some((whole, files)), Some(parents), Some(scribe)) =
        (&cache, seen, read.parents, scribe)
    {
        cache.leave(&whole, &files, parents, scribe.roll(), &beside);
    }
    if let Some(prices) = &prices {
        prices.apply(&mut completions);
    }
    for completion in &completions {
        sums.add(completion);
    }
    let price_version = prices.as_ref().map(|prices| prices.version().to_owned());
    let written = write(run, args, price_version.as_ref(), &completions)?;
    let completions = if family { completions } else { Vec::new() };
    let told = Told::of(sums, beside, range);
    Ok(answer(args, &by, Told { today, price_version, written, completions, ..told }))
}

/// Writes the ledger, where one is asked for.
fn write(
    run: &Run,
    args: &Args,
    price_version: Option<&String>,
    completions: &[Completion],
) -> Result<Option<Vec<store::Part>>> {
    let Some(path) = &args.ledger else { return Ok(None) };
    let price_version = price_version.cloned();
    let origin = Origin { host: host(run), price_version, paths: args.with_paths };
    store::ledger::export(&given(run, path), completions, &origin).map(Some)
}

/// Refuses what cannot be done, before anything is read.
fn check(run: &Run, args: &Args, output: &Output) -> Result<()> {
    if args.csv && output.is_json() {
        return Err(Error::BadUsage("`--csv` and `--json` are two forms of one answer".into()));
    }
    let Some(path) = &args.ledger else { return Ok(()) };
    if path.as_os_str() == "-" {
        let message = "a ledger is a file or a folder; standard output has the report";
        return Err(Error::BadUsage(message.into()));
    }
    store::ledger::check(&given(run, path))
}

/// A path as given, with the slash at its end that makes it a folder.
fn given(run: &Run, path: &Path) -> PathBuf {
    run.env.absolute(path)
}

/// The prices, where they are asked for or a limit in money needs them.
fn prices(run: &Run, args: &Args) -> Result<Option<Prices>> {
    let Some(path) = &args.prices else {
        let wanted = args.cost || args.fail_over.as_ref().is_some_and(Amount::is_money);
        return Ok(wanted.then(Prices::bundled));
    };
    let path = run.env.absolute(path);
    let json = std::fs::read(&path).map_err(Error::io("read", &path))?;
    let prices = Prices::of(&json).map_err(|why| {
        Error::BadUsage(format!("{} is no table of prices: {why}", path.display()))
    })?;
    Ok(Some(prices))
}

/// The name of the machine in ledgers.
fn host(run: &Run) -> String {
    let named = run.env.path("SESSCTL_HOST").map(PathBuf::into_os_string);
    named.unwrap_or_else(gethostname::gethostname).to_string_lossy().into_owned()
}

/// The instant at which a day begins.
fn start(day: NaiveDate, zone: Tz) -> Result<DateTime<Utc>> {
    usage::start_of(day, zone)
        .ok_or_else(|| Error::BadUsage(format!("{day} does not begin in {zone}")))
}

/// From when to when.
fn range(run: &Run, args: &Args) -> Result<usage::Range> {
    let zone = args.timezone;
    let bound = |when: Option<When>, next: u64| {
        let Some(when) = when else { return Ok(None) };
        match when.day(run, zone) {
            Ok(day) => start(day.checked_add_days(Days::new(next)).unwrap_or(day), zone).map(Some),
            Err(time) => Ok(Some(time)),
        }
    };
    let (from, to) = (bound(args.since, 0)?, bound(args.until, 1)?);
    if from.zip(to).is_some_and(|(from, to)| from >= to) {
        return Err(Error::BadUsage("--since is not before --until: the range is empty".into()));
    }
    Ok((from, to))
}

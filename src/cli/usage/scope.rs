//! Which logs are counted, and which are only looked at to know who owns what.

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
};

use chrono::{DateTime, Utc};
use rayon::prelude::*;

use super::{
    Args,
    cache::{Cache, Whole, is_foreign},
    keep::Keep,
};
use crate::{
    cli::{
        Run,
        pick::{find_parent_among, parent_file},
        progress::Progress,
    },
    error::{Error, Result},
    fact::Word,
    format,
    log::Log,
    session::{Session, kinship, ledger::Account},
    store::{Mark, Store, live},
};

/// How far up owners are looked for that are named by a path and lie elsewhere.
const HIGHEST: usize = 64;

/// The logs of one run.
pub(super) struct Scope {
    /// A log that is given on standard input.
    piped: Option<Log>,
    /// Files that are named one by one; each must be a session's.
    named: Vec<Marked>,
    /// Files of the folders and stores that are asked for; what is no session does not matter.
    listed: Vec<Marked>,
    /// Files among which derived sessions and owners are looked for.
    around: Vec<Marked>,
    /// Whether completions whose owner's log is gone are counted: in folders and stores.
    pub adopts: bool,
    /// The stores that `listed` and `around` are of.
    stores: [Vec<Store>; 2],
}

/// How much of a log matters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// What was paid.
    Sums,
    /// Also what the client itself summed up.
    Claims,
    /// Also the records of usage that do not count.
    Refusals,
}

impl Depth {
    pub fn read(self, path: &Path, run: &Run) -> Result<Account> {
        self.read_log(Log::open(path)?, run)
    }

    fn read_log(self, log: Log, run: &Run) -> Result<Account> {
        let session = match self {
            Self::Sums | Self::Claims => Session::read_ledger(log, run.wanted()),
            Self::Refusals => Session::read_refusals(log, run.wanted()),
        };
        Ok(Account::of(session?))
    }
}

impl Scope {
    /// Leaves out logs that nobody wrote to since. What they would tell of owners is not missed: nothing in them was
    /// paid later.
    pub fn touched_since(&mut self, since: Option<DateTime<Utc>>) {
        let since = since.and_then(|since| since.timestamp_nanos_opt()).map(i128::from);
        self.listed.retain(|(_, mark)| {
            let touched = mark.map(|mark| mark.written());
            touched.is_none() || touched >= since
        });
        self.adopts = false;
    }

    pub fn of(run: &Run, args: &Args) -> Result<Self> {
        if args.what.is_empty() {
            let listed = marked(live(run.store.logs(), false));
            let stores = [vec![run.store.clone()], Vec::new()];
            return Ok(Self {
                piped: None,
                named: Vec::new(),
                listed,
                around: Vec::new(),
                adopts: true,
                stores,
            });
        }
        let (mut named, mut listed, mut around, mut adopts) =
            (Vec::new(), Vec::new(), Vec::new(), false);
        let (mut piped, mut stores) = (None, [Vec::new(), Vec::new()]);
        for name in &args.what {
            if name == "-" {
                if piped.is_some() {
                    return Err(Error::BadUsage("standard input can be one session only".into()));
                }
                piped = Some(Log::spool(std::io::stdin().lock())?);
                continue;
            }
            let path = Path::new(name);
            if path.is_dir() {
                std::fs::read_dir(path).map_err(Error::io("read", path))?;
                let store = Store::of(run.env.absolute(path));
                listed.extend(marked(live(store.logs(), false)));
                stores[0].push(store);
                adopts = true;
                continue;
            }
            let found = run.env.absolute(&run.store.find(name)?.path);
            // Also of a session alone: what it tells of helpers is theirs if their logs are there.
            let store = Store::around(&found);
            around.extend(marked(live(store.logs(), false)));
            stores[1].push(store);
            named.extend(marked(vec![found]));
        }
        Ok(Self { piped, named, listed, around, adopts, stores })
    }

    /// What tells whether this is all that there was in an earlier run, and nothing of it has changed: where whole stores
    /// are counted, so that all of it lies in the files at hand.
    pub fn whole(&self, args: &Args, cache: &Cache) -> Option<Whole> {
        let plain = args.what.is_empty() && self.adopts && !args.keep && !args.reconcile;
        if !plain {
            return None;
        }
        cache.whole(&self.listed, (args.own, args.include_forks))
    }

    /// The files of the folders and stores that are asked for.
    pub fn listed(&self) -> Vec<Marked> {
        self.listed.clone()
    }

    /// Every log that matters, read; those that are not asked for only tell who owns what.
    pub fn accounts(
        self,
        run: &Run,
        args: &Args,
        depth: Depth,
        cache: Option<&Cache>,
        quiet: bool,
    ) -> Result<Read> {
        let all = self.named.len() + self.listed.len() + self.around.len();
        let progress = Progress::new(all, "logs", quiet);
        let look = |(path, mark): &Marked, named| -> Result<(PathBuf, Account)> {
            let account = depth.account(path, *mark, named, cache, run);
            progress.step();
            Ok((path.clone(), account?))
        };
        let read = |marked: &Marked| look(marked, false);
        let mut seen = HashSet::new();
        let mut new = |files: Vec<Marked>| -> Vec<Marked> {
            files.into_iter().filter(|(path, _)| seen.insert(path.clone())).collect()
        };
        let [named, listed, around] = [self.named, self.listed, self.around].map(&mut new);
        let [listed, around] = [listed, around].map(largest_first);
        let mut accounts: Vec<(PathBuf, Account)> =
            named.par_iter().map(|marked| look(marked, true)).collect::<Result<_>>()?;
        if let Some(log) = self.piped {
            let path = PathBuf::from("-");
            let account = depth.read_log(log, run)?;
            accounts.push((path.clone(), Account { path: Some(path), ..account }));
        }
        let look_at = |marked| (marked, read(marked));
        let listed: Vec<(&Marked, Result<(PathBuf, Account)>)> =
            listed.par_iter().with_max_len(1).map(look_at).collect();
        let (mut unread, mut lasting, mut gone_parents) = (Vec::new(), true, Vec::new());
        for ((path, _), account) in listed {
            match account {
                Ok(account) => accounts.push(account),
                // Folders hold other files too.
                Err(Error::Damaged(finding)) if is_foreign(&finding) => {}
                Err(error) => {
                    lasting &= matches!(error, Error::Damaged(_));
                    unread.push(path.clone());
                }
            }
        }
        let around: Vec<(PathBuf, Account)> =
            around.par_iter().with_max_len(1).filter_map(|path| read(path).ok()).collect();
        let keep = args.keep.then(|| Keep::of(run, &self.stores)).transpose()?;
        let [gone, gone_around] = match &keep {
            Some(keep) => keep.gone(&seen)?,
            None => Default::default(),
        };
        accounts.extend(gone);
        let asked = accounts.len();
        accounts.extend(around);
        accounts.extend(gone_around);
        // Owners that are named by a path lie anywhere.
        let mut next = 0;
        let mut stores = Vec::new();
        let mut sessions: HashSet<Word> =
            accounts.iter().map(|(_, account)| account.session.clone()).collect();
        while next < accounts.len() && accounts.len() < asked + HIGHEST + next {
            let (path, account) = &accounts[next];
            next += 1;
            let Some(parent) = &account.parent else { continue };
            if sessions.contains(parent.as_ref()) {
                continue;
            }
            let found = if args.what.is_empty() && self.adopts {
                // Every session of the stores is at hand; who is not among them has a file elsewhere, or none.
                parent_file(parent, Some(path))
            } else {
                find_parent_among(run, parent, Some(path), &mut stores).ok()
            };
            let known = |found: &PathBuf| accounts.iter().any(|(path, _)| path == found);
            lasting &= found.is_none();
            gone_parents.push((parent.as_ref().into(), path.clone()));
            let owner = found.filter(|found| !known(found));
            let owner = owner.and_then(|found| read(&(found.clone(), Mark::of(&found))).ok());
            sessions.extend(owner.iter().map(|(_, account)| account.session.clone()));
            accounts.extend(owner);
        }
        if let Some(keep) = keep.filter(|_| depth != Depth::Refusals) {
            keep.keep(&accounts)?;
        }
        let derived = derived(&accounts, asked, args);
        // A session may have several files, each with calls of its own.
        let scattered = |client: &str| {
            format::by_name(client).is_some_and(|format| format.layout().scattered())
        };
        let own: HashSet<Word> = accounts[..asked]
            .iter()
            .filter(|(_, account)| scattered(account.client))
            .map(|(_, account)| account.session.clone())
            .collect();
        for (_, account) in &mut accounts[asked..] {
            account.counted = derived.contains(&account.session) || own.contains(&account.session);
        }
        accounts.sort_by(|(a, _), (b, _)| a.as_os_str().cmp(b.as_os_str()));
        let mut accounts: Vec<Account> = accounts.into_iter().map(|(_, account)| account).collect();
        kinship::align(&mut accounts);
        kinship::hear_children(&mut accounts, !args.own);
        Ok(Read { accounts, unread, parents: lasting.then_some(gone_parents) })
    }
}

/// What was read.
pub(super) struct Read {
    pub accounts: Vec<Account>,
    /// Sessions in folders that could not be read.
    pub unread: Vec<PathBuf>,
    /// Parents that no log is known of, with the logs that name them, where nothing else but the files of the stores
    /// was looked at.
    pub parents: Option<Vec<(String, PathBuf)>>,
}

/// A file, and the state that it was seen in.
pub(super) type Marked = (PathBuf, Option<Mark>);

fn marked(paths: Vec<PathBuf>) -> Vec<Marked> {
    let marked = |path: PathBuf| (Mark::of(&path), path);
    paths.into_iter().map(marked).map(|(mark, path)| (path, mark)).collect()
}

/// Files in the order in which they are best shared out: a large one that comes last would be waited for.
fn largest_first(mut files: Vec<Marked>) -> Vec<Marked> {
    files.sort_by(|(a_path, a), (b_path, b)| {
        let size = |mark: &Option<Mark>| mark.map_or(0, |mark| mark.size());
        size(b).cmp(&size(a)).then_with(|| a_path.as_os_str().cmp(b_path.as_os_str()))
    });
    files
}

/// The sessions that derive from the first `asked` ones: side sessions and subagents, forks if asked for.
fn derived(accounts: &[(PathBuf, Account)], asked: usize, args: &Args) -> HashSet<Word> {
    let mut found = HashSet::new();
    if args.own {
        return found;
    }
    let mut children: HashMap<&str, Vec<&Account>> = HashMap::new();
    for (_, account) in &accounts[asked..] {
        if let Some(parent) = &account.parent {
            children.entry(parent).or_default().push(account);
        }
    }
    let named = accounts[..asked].iter().map(|(_, account)| account.session.clone());
    let mut members: HashSet<Word> = named.collect();
    let mut open: Vec<Word> = members.iter().cloned().collect();
    while let Some(parent) = open.pop() {
        for child in children.get(parent.as_ref()).into_iter().flatten() {
            let follows = args.include_forks || child.kind != "fork";
            if follows && members.insert(child.session.clone()) {
                found.insert(child.session.clone());
                open.push(child.session.clone());
            }
        }
    }
    found
}

//! Which logs are counted, and which are only looked at to know who owns what.

use std::{
    cmp::Reverse,
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
        pick::{self, find_parent_among, parent_file},
        progress::Progress,
    },
    error::{Error, Result},
    fact::Word,
    format,
    log::Log,
    session::{Session, kinship, ledger::Account},
    store::{Mark, Seen, Store, live},
};

/// How far up owners are looked for that are named by a path and lie elsewhere.
const HIGHEST: usize = 64;

/// The logs of one run.
#[derive(Default)]
pub(super) struct Scope {
    /// A log that is given on standard input.
    piped: Option<Log>,
    /// Files that are named one by one; each must be a session's.
    named: Vec<Marked>,
    /// Files of the folders and stores that are asked for; what is no session does not matter.
    listed: Vec<Marked>,
    /// Files among which derived sessions and owners are looked for.
    around: Vec<Marked>,
    /// Folders among those asked for that could not be looked into.
    sealed: Vec<PathBuf>,
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
        let mut scope = Self::default();
        if let Some(cwd) = &args.last {
            scope.name(&pick::latest(run, cwd.as_deref())?.path, run);
        } else if args.what.is_empty() {
            scope.search(run.store.clone());
        }
        for name in &args.what {
            let path = Path::new(name);
            if name == "-" {
                if scope.piped.is_some() {
                    return Err(Error::BadUsage("standard input can be one session only".into()));
                }
                scope.piped = Some(Log::spool(std::io::stdin().lock())?);
            } else if path.is_dir() {
                std::fs::read_dir(path).map_err(Error::io("read", path))?;
                scope.search(Store::of(run.env.absolute(path)));
            } else {
                scope.name(&run.store.find(name)?.path, run);
            }
        }
        Ok(scope)
    }

    /// Asks for all that lies in a store.
    fn search(&mut self, store: Store) {
        let Seen { logs, sealed } = store.look();
        self.listed.extend(marked(live(logs, false)));
        self.sealed.extend(sealed);
        self.stores[0].push(store);
        self.adopts = true;
    }

    /// Asks for one session. Also of one alone: what it tells of helpers is theirs if their logs are there.
    fn name(&mut self, path: &Path, run: &Run) {
        let found = run.env.absolute(path);
        let store = Store::around(&found);
        self.around.extend(marked(live(store.logs(), false)));
        self.stores[1].push(store);
        self.named.extend(marked(vec![found]));
    }

    /// What tells whether this is all that there was in an earlier run, and nothing of it has changed: where whole stores
    /// are counted, so that all of it lies in the files at hand.
    pub fn whole(&self, args: &Args, cache: &Cache) -> Option<Whole> {
        let stores = args.what.is_empty() && self.sealed.is_empty();
        let plain = stores && self.adopts && !args.keep && !args.reconcile;
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
            Ok((path.clone(), account.map_err(|error| error.within(path))?))
        };
        let read = |marked: &Marked| look(marked, false);
        let (mut seen, mut places) = (HashSet::new(), HashSet::new());
        let place = real_paths(&self.stores, args);
        let mut new = |files: Vec<Marked>| -> Vec<Marked> {
            let new = |(path, _): &Marked| {
                let new = places.insert(place(path));
                seen.insert(path.clone()) && new
            };
            files.into_iter().filter(new).collect()
        };
        let [named, listed, around] = [self.named, self.listed, self.around].map(&mut new);
        let [listed, around] = [listed, around].map(largest_first);
        let mut accounts: Vec<(PathBuf, Account)> =
            named.par_iter().map(|marked| look(marked, true)).collect::<Result<_>>()?;
        if let Some(log) = self.piped {
            let path = PathBuf::from("-");
            let account = depth.read_log(log, run).map_err(|error| error.within(&path))?;
            accounts.push((path.clone(), Account { path: Some(path), ..account }));
        }
        let look_at = |marked| (marked, read(marked));
        let listed: Vec<(&Marked, Result<(PathBuf, Account)>)> =
            listed.par_iter().with_max_len(1).map(look_at).collect();
        let (mut unread, mut lasting) = (self.sealed, true);
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
        let mut stores = Vec::new();
        let mut parent_of = |parent: &str, child: &Path| {
            if args.what.is_empty() && self.adopts {
                // Every session of the stores is at hand; who is not among them has a file elsewhere, or none.
                return parent_file(parent, Some(child));
            }
            find_parent_among(run, parent, Some(child), &mut stores).ok()
        };
        let gone_parents = find_owners(&mut accounts, asked, &mut parent_of, &read, &mut lasting);
        if let Some(keep) = keep.filter(|_| depth != Depth::Refusals) {
            keep.keep(&accounts)?;
        }
        count_derived(&mut accounts, asked, args);
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
    /// Logs that could not be read, and folders that could not be looked into.
    pub unread: Vec<PathBuf>,
    /// Parents that no log is known of, with the logs that name them, where nothing else but the files of the stores
    /// was looked at.
    pub parents: Option<Vec<(String, PathBuf)>>,
}

/// Where files really lie, if several places are asked for: one may be named in two ways.
fn real_paths(stores: &[Vec<Store>; 2], args: &Args) -> impl Fn(&Path) -> PathBuf {
    let real = |root: &PathBuf| Some((root.clone(), std::fs::canonicalize(root).ok()?));
    let roots = stores.iter().flatten().flat_map(Store::roots);
    let mut roots: Vec<(PathBuf, PathBuf)> =
        if args.what.len() > 1 { roots.filter_map(real).collect() } else { Vec::new() };
    // The nearest one first: the way below it is straight.
    roots.sort_by_key(|(root, _)| Reverse(root.components().count()));
    move |path| {
        let below =
            |(root, real): &(PathBuf, PathBuf)| Some(real.join(path.strip_prefix(root).ok()?));
        roots.iter().find_map(below).unwrap_or_else(|| path.to_owned())
    }
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

/// Reads the logs of parents that are not at hand: those that are named by a path lie anywhere. What was found is told by
/// `lasting`; who names a parent that was looked for, by what comes back.
fn find_owners(
    accounts: &mut Vec<(PathBuf, Account)>,
    asked: usize,
    parent_of: &mut dyn FnMut(&str, &Path) -> Option<PathBuf>,
    read: &dyn Fn(&Marked) -> Result<(PathBuf, Account)>,
    lasting: &mut bool,
) -> Vec<(String, PathBuf)> {
    let mut gone = Vec::new();
    let mut sessions: HashSet<Word> =
        accounts.iter().map(|(_, account)| account.session.clone()).collect();
    let mut next = 0;
    while next < accounts.len() && accounts.len() < asked + HIGHEST + next {
        let at = next;
        next += 1;
        let (path, account) = &accounts[at];
        let Some(parent) = account.parent.as_ref().filter(|one| !sessions.contains(*one)) else {
            continue;
        };
        let found = parent_of(parent, path);
        *lasting &= found.is_none();
        gone.push((parent.as_ref().into(), path.clone()));
        let Some(found) = found else { continue };
        let mut known = accounts.iter().position(|(path, _)| *path == found);
        if known.is_none()
            && let Ok(owner) = read(&(found.clone(), Mark::of(&found)))
        {
            sessions.insert(owner.1.session.clone());
            known = Some(accounts.len());
            accounts.push(owner);
        }
        // A file may be called anything: whose it is, it says itself.
        if let Some(known) = known {
            accounts[at].1.parent = Some(accounts[known].1.session.clone());
        }
    }
    gone
}

/// Of those behind the first `asked` ones, counts what derives from these, and other files of the same sessions, which have
/// calls of their own.
fn count_derived(accounts: &mut [(PathBuf, Account)], asked: usize, args: &Args) {
    let derived = derived(accounts, asked, args);
    let scattered =
        |client: &str| format::by_name(client).is_some_and(|format| format.layout().scattered());
    let own: HashSet<Word> = accounts[..asked]
        .iter()
        .filter(|(_, account)| scattered(account.client))
        .map(|(_, account)| account.session.clone())
        .collect();
    for (_, account) in &mut accounts[asked..] {
        account.counted = derived.contains(&account.session) || own.contains(&account.session);
    }
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

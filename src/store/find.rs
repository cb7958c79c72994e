//! A path, an id, the start of an id, or a title: which file is meant, and whose it is.

use std::{
    collections::HashMap,
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use walkdir::WalkDir;

use super::glance::Glance;
use crate::{
    env::Env,
    error::{Candidate, Error, Result},
    format::{self, ALL, Format, Layout},
};

/// The shortest start of an id that is taken for one.
pub const PREFIX: usize = 8;

/// How deep the neighbours of a file outside any layout are looked for: beside it, and in folders of their own, where
/// a client may keep those of its subagents.
const NEAR: usize = 4;

/// Where sessions are looked for.
#[derive(Clone, Debug)]
pub struct Store {
    roots: Vec<PathBuf>,
    given: bool,
    depth: usize,
    listed: Listed,
}

/// What was in a store when an id was first looked for in it: an account asks for many parents.
#[derive(Clone, Debug, Default)]
struct Listed {
    logs: OnceLock<Vec<PathBuf>>,
    /// The ids in headers.
    ids: OnceLock<Vec<(String, PathBuf)>>,
}

/// What was seen in a store.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Files that may be logs, in the order of paths.
    pub logs: Vec<PathBuf>,
    /// Folders that could not be looked into: what lies there is not known.
    pub sealed: Vec<PathBuf>,
}

/// A session's file.
#[derive(Clone, Debug)]
pub struct Found {
    /// The file.
    pub path: PathBuf,
    /// What led to it.
    pub by: FoundBy,
    /// The folder of the store it was found in, if it was searched for.
    pub root: Option<PathBuf>,
}

/// What led to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundBy {
    /// It was named.
    Path,
    /// Its name or folder has the id.
    Name,
    /// Its header has the id.
    Header,
}

impl FoundBy {
    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Name => "name",
            Self::Header => "header",
        }
    }
}

impl Store {
    /// The folders given, or every client's own.
    #[must_use]
    pub fn new(given: &[PathBuf], env: &Env) -> Self {
        if given.is_empty() {
            let roots = ALL.iter().flat_map(|format| format.layout().roots(env)).collect();
            return Self::at(roots, false, usize::MAX);
        }
        Self::at(given.iter().map(|path| env.absolute(path)).collect(), true, usize::MAX)
    }

    fn at(roots: Vec<PathBuf>, given: bool, depth: usize) -> Self {
        Self { roots, given, depth, listed: Listed::default() }
    }

    /// A store of one folder.
    #[must_use]
    pub fn of(root: PathBuf) -> Self {
        Self::at(vec![root], true, usize::MAX)
    }

    /// The folder of logs `root` and what its client put away beside it.
    #[must_use]
    pub fn home(layout: &dyn Layout, root: PathBuf) -> Self {
        let attic = layout.attic(&root);
        Self::at(std::iter::once(root).chain(attic).collect(), true, usize::MAX)
    }

    /// The sessions in and right below a folder that is no client's.
    #[must_use]
    pub fn near(folder: &Path) -> Self {
        Self::at(vec![folder.into()], false, NEAR)
    }

    /// The store that a log lies in: the client's, or else the neighbourhood of the file, or of its folder where that
    /// is the session's own.
    #[must_use]
    pub fn around(path: &Path) -> Self {
        if let Some((format, root)) = layout_of(path) {
            return Self::home(format.layout(), root);
        }
        let folder = path.parent().unwrap_or(Path::new("."));
        let own = || Glance::at(path).is_some_and(|glance| folder.ends_with(&glance.header.id));
        match folder.parent() {
            Some(above) if own() => Self::near(above),
            _ => Self::near(folder),
        }
    }

    /// The folders that are searched.
    pub fn roots(&self) -> impl Iterator<Item = &PathBuf> {
        self.roots.iter()
    }

    /// Whether a file that lay there would be in it.
    #[must_use]
    pub fn holds(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| path.starts_with(root))
    }

    /// The files whose name or folder gives that id.
    #[must_use]
    pub fn named(&self, layout: &dyn Layout, id: &str) -> Vec<PathBuf> {
        self.logs()
            .into_iter()
            .filter(|path| layout.name_id(path).is_some_and(|found| found == id))
            .collect()
    }

    /// The first folder that was given on the command line.
    #[must_use]
    pub fn given(&self) -> Option<&Path> {
        self.roots.first().filter(|_| self.given).map(PathBuf::as_path)
    }

    /// Every file in the store that may be a log, in the order of paths.
    #[must_use]
    pub fn logs(&self) -> Vec<PathBuf> {
        self.look().logs
    }

    /// The same, and the folders that could not be looked into.
    #[must_use]
    pub fn look(&self) -> Seen {
        let mut seen = Seen::default();
        for found in self.roots.iter().flat_map(|root| logs_below(root, self.depth)) {
            match found {
                Ok(log) => seen.logs.push(log),
                Err(folder) => seen.sealed.push(folder),
            }
        }
        for paths in [&mut seen.logs, &mut seen.sealed] {
            paths.sort();
            paths.dedup();
        }
        seen
    }

    /// The file that `name` means: a path if it exists, else an id or the start of one.
    pub fn find(&self, name: &str) -> Result<Found> {
        let path = Path::new(name);
        if path.is_file() {
            return Ok(Found { path: path.into(), by: FoundBy::Path, root: None });
        }
        match path.try_exists() {
            Ok(true) => return Err(Error::NotAFile(path.into())),
            // Whether something is there cannot be told.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                return Err(Error::io("read", path)(error));
            }
            _ => {}
        }
        let is_log = path.extension().is_some_and(|extension| {
            ["jsonl", "zst", "zstd"].iter().any(|known| extension == *known)
        });
        let is_folder = name.ends_with('/') && !name.trim_end_matches('/').is_empty();
        if is_log || is_folder {
            return Err(Error::SessionNotFound(name.into()));
        }
        let found = if let Some(title) = name.strip_prefix('=') {
            self.by_title(title)
        } else {
            check_id(name)?;
            self.by_id(name)
        };
        found.map_err(|error| self.or_sealed(error))
    }

    /// What was not found may be there all the same where a folder could not be looked into.
    fn or_sealed(&self, error: Error) -> Error {
        let missing = matches!(
            error,
            Error::SessionNotFound(_) | Error::NoSuchTitle { .. } | Error::NothingThere(_)
        );
        let folder = if missing { self.look().sealed.into_iter().next() } else { None };
        folder.map_or(error, |folder| sealed(&folder))
    }

    /// Whether it looks into the same folders as `other`.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        (&self.roots, self.depth) == (&other.roots, other.depth)
    }

    /// The live log of the session with that id, or whose id starts so; what was written since the first search is not
    /// looked at.
    pub fn by_id(&self, id: &str) -> Result<Found> {
        let logs = self.listed.logs.get_or_init(|| self.logs());
        let fits = |found: &str| found == id || id.len() >= PREFIX && found.starts_with(id);
        let named = |path: &Path| {
            ALL.iter().filter_map(|format| format.layout().name_id(path)).find(|found| fits(found))
        };
        let by_name = logs.iter().filter_map(|path| Some((named(path)?, path.clone()))).collect();
        if let Some(found) = self.one(id, by_name, FoundBy::Name)? {
            return Ok(found);
        }
        let header = |path: &PathBuf| Some((Glance::at(path)?.header.id, path.clone()));
        let ids = self.listed.ids.get_or_init(|| logs.iter().filter_map(header).collect());
        let by_header = ids.iter().filter(|(found, _)| fits(found)).cloned().collect();
        self.one(id, by_header, FoundBy::Header)?.ok_or_else(|| Error::SessionNotFound(id.into()))
    }

    fn by_title(&self, title: &str) -> Result<Found> {
        let mut all = self.glances();
        all.retain(|glance| !glance.header.is_helpers());
        let same = |glance: &&Glance| glance.title.as_deref() == Some(title);
        let matching = all.iter().filter(same);
        let matching = matching.map(|glance| (glance.header.id.clone(), glance.path.clone()));
        self.one(title, matching.collect(), FoundBy::Header)?.ok_or_else(|| {
            let wanted = title.to_lowercase();
            let mut near: Vec<String> = all.into_iter().filter_map(|glance| glance.title).collect();
            near.retain(|other| other.to_lowercase().contains(&wanted) && !wanted.is_empty());
            near.sort();
            near.dedup();
            Error::NoSuchTitle { title: title.into(), near }
        })
    }

    /// The one session among `found`; of several generations in one folder the live one.
    fn one(&self, name: &str, found: Vec<(String, PathBuf)>, by: FoundBy) -> Result<Option<Found>> {
        let exact = found.iter().any(|(id, _)| id == name);
        let mut live: Vec<(String, PathBuf)> = Vec::new();
        for (id, path) in found.into_iter().filter(|(id, _)| !exact || id == name) {
            let path = generations(&path).pop().unwrap_or(path);
            if !live.iter().any(|(_, known)| *known == path) {
                live.push((id, path));
            }
        }
        match live.as_slice() {
            [] => Ok(None),
            [(_, path)] => {
                let root = self.roots.iter().find(|root| path.starts_with(root)).cloned();
                Ok(Some(Found { path: path.clone(), by, root }))
            }
            several => {
                let candidate = |(id, path): &(String, PathBuf)| Candidate {
                    id: id.clone(),
                    path: path.clone(),
                };
                let found = several.iter().map(candidate).collect();
                Err(Error::SessionAmbiguous { name: name.into(), found })
            }
        }
    }

    /// The log written last, of those whose session is in `cwd` if that is given.
    pub fn latest(&self, cwd: Option<&Path>, client: Option<&str>) -> Result<Found> {
        let mut all = self.glances();
        all.retain(|glance| !glance.header.is_helpers());
        all.retain(|glance| client.is_none_or(|client| glance.format == client));
        all.retain(|glance| {
            cwd.is_none_or(|cwd| {
                glance.header.cwd.as_deref().is_some_and(|own| Path::new(own) == cwd)
            })
        });
        let newest = all.into_iter().max_by_key(|glance| (glance.mtime, glance.path.clone()));
        let nothing = || {
            let of = client.map(|client| format!(" of {client}")).unwrap_or_default();
            let place = cwd.map(|cwd| format!(" with the working folder {}", cwd.display()));
            Error::NothingThere(format!("no session{of}{} is there", place.unwrap_or_default()))
        };
        let glance = newest.ok_or_else(nothing).map_err(|error| self.or_sealed(error))?;
        Ok(Found {
            path: generations(&glance.path).pop().unwrap_or(glance.path),
            by: FoundBy::Header,
            root: None,
        })
    }
}

/// How many characters of `id` tell it from all the others in `ids`, which are in order.
#[must_use]
pub fn start_of(id: &str, ids: &[String]) -> usize {
    let at = ids.partition_point(|other| other.as_str() < id);
    let around = [at.checked_sub(1), Some(at), Some(at + 1)].into_iter().flatten();
    let shared = around.filter_map(|at| ids.get(at)).filter(|other| *other != id);
    let shared =
        shared.map(|other| other.chars().zip(id.chars()).take_while(|(a, b)| a == b).count());
    let longest = shared.max().unwrap_or(0);
    (longest + 1).max(PREFIX)
}

/// The error of a folder that could not be looked into.
#[must_use]
pub fn sealed(folder: &Path) -> Error {
    Error::io("read", folder)(ErrorKind::PermissionDenied.into())
}

/// Whether a text on the command line can be an id at all. It is never joined to a path.
fn check_id(id: &str) -> Result<()> {
    let bad = |c: char| c.is_control() || matches!(c, '/' | '\\') || c.is_whitespace();
    let dots = id.chars().all(|c| c == '.');
    if id.is_empty() || id.len() > 128 || dots || id.chars().any(bad) {
        return Err(Error::InvalidSessionId(id.into()));
    }
    Ok(())
}

/// The layout of the client that tells generations apart by names like that of `path`.
fn generational(path: &Path) -> Option<&'static dyn Layout> {
    ALL.iter().map(|format| format.layout()).find(|layout| layout.generation(path).is_some())
}

/// The generations of the session that `path` is a log of, the live one last. Only clients that keep several in one
/// folder have more than the path itself.
#[must_use]
pub fn generations(path: &Path) -> Vec<PathBuf> {
    let (Some(layout), Some(folder)) = (generational(path), path.parent()) else {
        return vec![path.into()];
    };
    if layout.scattered() {
        let near = || Store::near(folder);
        let home = layout.root_of(path).map_or_else(near, |root| Store::home(layout, root));
        let id = layout.name_id(path);
        let mut known: Vec<(u128, PathBuf)> = home
            .logs()
            .into_iter()
            .filter(|sibling| layout.name_id(sibling) == id)
            .filter_map(|sibling| Some((layout.generation(&sibling)?, sibling)))
            .collect();
        known.sort();
        return known.into_iter().map(|(_, path)| path).collect();
    }
    let Ok(entries) =
        fs::read_dir(if folder.as_os_str().is_empty() { Path::new(".") } else { folder })
    else {
        return vec![path.into()];
    };
    let siblings = entries.filter_map(|entry| Some(folder.join(entry.ok()?.file_name())));
    let own = layout.generation(path);
    // Two files of one generation are no sequence; the one that was named stands for both.
    let apart = |sibling: &PathBuf| {
        layout.generation(sibling) != own || sibling.file_name() == path.file_name()
    };
    let mut known: Vec<(u128, PathBuf)> =
        siblings.filter(apart).filter_map(|path| Some((layout.generation(&path)?, path))).collect();
    known.sort();
    known.into_iter().map(|(_, path)| path).collect()
}

/// Of several generations of one session the live one. Where each holds what the others do not, older ones are left
/// out only if `whole` sessions are wanted.
#[must_use]
pub fn live(logs: Vec<PathBuf>, whole: bool) -> Vec<PathBuf> {
    let known: Vec<Option<&dyn Layout>> = logs.iter().map(|path| generational(path)).collect();
    let scattered = |layout: Option<&dyn Layout>, path: &Path| {
        let layout = layout.filter(|layout| layout.scattered())?;
        Some((layout.name_id(path)?, layout.generation(path)?))
    };
    let mut newest: HashMap<String, u128> = HashMap::new();
    if whole {
        let all = logs.iter().zip(&known).filter_map(|(path, layout)| scattered(*layout, path));
        for (id, generation) in all {
            let known = newest.entry(id).or_default();
            *known = generation.max(*known);
        }
    }
    let lives = |path: &Path, layout: Option<&dyn Layout>| match layout {
        None => true,
        Some(layout) if layout.scattered() => {
            !whole
                || scattered(Some(layout), path)
                    .is_none_or(|(id, generation)| newest.get(&id) == Some(&generation))
        }
        Some(_) => generations(path).last().is_none_or(|last| last == path),
    };
    logs.into_iter()
        .zip(known)
        .filter(|(path, layout)| lives(path, *layout))
        .map(|(path, _)| path)
        .collect()
}

/// The client whose layout a file lies in, and the folder of logs.
#[must_use]
pub fn layout_of(path: &Path) -> Option<(&'static dyn Format, PathBuf)> {
    format::ALL.iter().find_map(|format| Some((*format, format.layout().root_of(path)?)))
}

/// Every file below a folder, in the order of paths; none where there is no such folder.
#[must_use]
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let files = WalkDir::new(folder).sort_by_file_name().into_iter().filter_map(Result::ok);
    files.filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path).collect()
}

/// The logs that lie right in a folder.
#[must_use]
pub fn files_in(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = logs_below(folder, 1).filter_map(Result::ok).collect();
    files.sort();
    files
}

/// Files below `root` that may be logs, and as an error each folder that could not be looked into. Links are not followed.
fn logs_below(root: &Path, depth: usize) -> impl Iterator<Item = Result<PathBuf, PathBuf>> {
    let entries = WalkDir::new(root)
        .follow_root_links(true)
        .max_depth(depth)
        .sort_by_file_name() // the order of paths: what is in order already is sorted at once
        .into_iter();
    entries.filter_map(|entry| match entry {
        Ok(entry) => {
            let is_log = entry.file_type().is_file() && may_be_log(entry.path());
            is_log.then(|| Ok(entry.into_path()))
        }
        // What is not there, or no more, holds nothing.
        Err(error) => {
            let gone = error.io_error().is_some_and(|error| error.kind() == ErrorKind::NotFound);
            Some(Err(error.path()?.to_owned())).filter(|_| !gone)
        }
    })
}

fn may_be_log(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    !name.starts_with('.')
        && [".jsonl", ".jsonl.zst", ".jsonl.zstd"].iter().any(|suffix| name.ends_with(suffix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_shown_as_far_as_they_differ() {
        let ids = ["01a2281b-b0f9", "01a2281b-b1f9", "99999999-9999"].map(str::to_owned);
        assert_eq!(start_of("01a2281b-b0f9", &ids), 11);
        assert_eq!(start_of("99999999-9999", &ids), PREFIX);
    }
}

//! The sessions of a store, looked at no further than somebody asks.

use std::{collections::HashMap, fs, os::unix::fs::MetadataExt, path::PathBuf};

use rayon::prelude::*;

use super::{Glance, Store, find::Seen, layout_of, live};

/// How many logs are looked at together.
const TOGETHER: usize = 64;

/// The names that clients keep beside their logs, read once for each folder of logs.
#[derive(Default)]
struct Names(HashMap<PathBuf, HashMap<String, String>>);

impl Names {
    /// A glance with the name that its client keeps for it, if there is one.
    fn put(&mut self, mut glance: Glance) -> Glance {
        if let Some((format, root)) = layout_of(&glance.path) {
            let read = |root: &PathBuf| super::names(format.layout(), root);
            let names = self.0.entry(root).or_insert_with_key(read);
            glance.title = names.get(&glance.header.id).cloned().or(glance.title);
        }
        glance
    }
}

/// The live logs of a store, the one written last first, a few glances at a time.
pub struct Recent {
    /// Those that were not looked at yet, the newest last.
    logs: Vec<(i64, PathBuf)>,
    /// Glances that were taken ahead, the newest last.
    ahead: Vec<Option<Glance>>,
    names: Names,
    /// How many files that look like logs are none of a client that is known.
    pub unread: usize,
    /// Folders that could not be looked into.
    pub sealed: Vec<PathBuf>,
}

impl Recent {
    /// How many logs were not looked at yet.
    #[must_use]
    pub fn left(&self) -> usize {
        self.logs.len() + self.ahead.len()
    }
}

impl Iterator for Recent {
    type Item = Glance;

    fn next(&mut self) -> Option<Glance> {
        loop {
            match self.ahead.pop() {
                Some(Some(glance)) => return Some(self.names.put(glance)),
                Some(None) => self.unread += 1,
                None if self.logs.is_empty() => return None,
                None => {
                    let some = self.logs.split_off(self.logs.len().saturating_sub(TOGETHER));
                    self.ahead = some.par_iter().map(|(_, path)| Glance::at(path)).collect();
                }
            }
        }
    }
}

impl Store {
    /// Every session of the store, as far as its ends tell; of several generations the live one.
    #[must_use]
    pub fn glances(&self) -> Vec<Glance> {
        let mut names = Names::default();
        let glances = live(self.logs(), true).iter().filter_map(|path| Glance::at(path)).collect();
        let glances: Vec<Glance> = glances;
        glances.into_iter().map(|glance| names.put(glance)).collect()
    }

    /// The same, the one written last first; only as many are looked at as are taken.
    #[must_use]
    pub fn recent(&self) -> Recent {
        let dated = |path: PathBuf| Some((fs::metadata(&path).ok()?.mtime(), path));
        let Seen { logs, sealed } = self.look();
        let mut logs: Vec<_> = live(logs, true).into_iter().filter_map(dated).collect();
        logs.sort();
        Recent { logs, ahead: Vec::new(), names: Names::default(), unread: 0, sealed }
    }
}

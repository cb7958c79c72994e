//! The environment as a value, so that nothing below `cli` reads it.

use std::{
    collections::HashMap,
    ffi::OsString,
    path::{Path, PathBuf},
};

/// Home folder, working folder and variables of one run.
#[derive(Clone, Debug, Default)]
pub struct Env {
    home: Option<PathBuf>,
    cwd: PathBuf,
    vars: HashMap<String, OsString>,
}

impl Env {
    /// What this process was given.
    #[must_use]
    pub fn of_process() -> Self {
        let vars = std::env::vars_os()
            .filter_map(|(key, value)| Some((key.into_string().ok()?, value)))
            .collect();
        Self { home: std::env::home_dir(), cwd: std::env::current_dir().unwrap_or_default(), vars }
    }

    /// An environment made up for a test.
    #[must_use]
    pub fn new(home: &Path, vars: &[(&str, &str)]) -> Self {
        let vars =
            vars.iter().map(|(key, value)| ((*key).to_owned(), OsString::from(value))).collect();
        Self { home: Some(home.into()), cwd: home.into(), vars }
    }

    /// A variable that is set and not empty, as a path.
    #[must_use]
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.vars.get(name).filter(|value| !value.is_empty()).map(PathBuf::from)
    }

    /// A variable as it was given.
    #[must_use]
    pub fn var(&self, name: &str) -> Option<&OsString> {
        self.vars.get(name)
    }

    /// A folder below the home folder.
    #[must_use]
    pub fn home(&self, below: &str) -> Option<PathBuf> {
        self.home.as_ref().map(|home| home.join(below))
    }

    /// `path` made absolute against the working folder, without touching the disk; `.` in it says nothing.
    #[must_use]
    pub fn absolute(&self, path: &Path) -> PathBuf {
        self.cwd.join(path).components().collect()
    }

    /// Where our own records lie.
    #[must_use]
    pub fn state_dir(&self) -> Option<PathBuf> {
        self.path("SESSCTL_STATE_DIR")
            .or_else(|| self.path("XDG_STATE_HOME").map(|dir| dir.join("sessctl")))
            .or_else(|| self.home(".local/state/sessctl"))
    }
}

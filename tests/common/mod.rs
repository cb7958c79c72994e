//! What the tests over `fixtures/` share: where the files lie, what they are held to, and a place to run the binary in
//! that knows nothing of this machine.
#![allow(dead_code, reason = "each test crate takes the part that it needs")]

use std::{
    collections::BTreeMap,
    fmt::{Debug, Write as _},
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::Value;
use sha2::{Digest, Sha256};
use walkdir::WalkDir;

/// A file or folder of the fixtures.
pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

/// The facts in a folder of the fixtures, by file.
pub fn facts_of(folder: &str) -> serde_json::Map<String, Value> {
    let path = fixture(folder).join("expected.json");
    let text = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Everything that did not hold, told at once at the end.
#[derive(Default)]
pub struct Faults {
    told: Vec<String>,
    held: usize,
}

impl Faults {
    /// Holds `have` to `want`.
    pub fn same<T: PartialEq + Debug>(&mut self, what: &str, want: &T, have: &T) {
        self.hold(want == have, || format!("{what}\n    want {want:?}\n    have {have:?}"));
    }

    /// Holds that something is so.
    pub fn hold(&mut self, so: bool, why: impl FnOnce() -> String) {
        self.held += 1;
        if !so {
            self.told.push(why());
        }
    }

    /// Fails the test unless all held and there were `facts` of them: a loop that saw nothing proves nothing.
    pub fn none_in(self, facts: usize) {
        let told = self.told.iter().fold(String::new(), |mut all, fault| {
            let _ = write!(all, "\n- {fault}"); // a String takes everything
            all
        });
        assert!(self.told.is_empty(), "{} of {} do not hold:{told}", self.told.len(), self.held);
        assert_eq!(self.held, facts, "another number of facts was held than there are");
    }
}

/// Every file below a folder by its path, with digest and length; folders too, so that an empty one is seen.
pub type Tree = BTreeMap<String, (String, Vec<u8>)>;

/// A fresh copy of a folder, with a home and a state folder of its own outside of it.
pub struct Room {
    root: tempfile::TempDir,
}

/// What a command left: its exit status, its report, and what it said.
pub struct Answer {
    /// The exit status; none when a signal or the clock ended it.
    pub exit: Option<i32>,
    /// The report, `Null` without one.
    pub report: Value,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Room {
    /// A room with all files of `folder` except those named in `without`.
    pub fn with(folder: &Path, without: &[&str]) -> Self {
        let room = Self { root: tempfile::tempdir().expect("a temporary folder can be made") };
        for entry in WalkDir::new(folder) {
            let entry = entry.expect("fixtures can be read");
            let name = entry.path().strip_prefix(folder).expect("it was found below the folder");
            let to = room.path().join(name);
            if entry.file_type().is_dir() {
                fs::create_dir_all(&to).expect("a fresh folder can be filled");
            } else if !without.iter().any(|left_out| Path::new(left_out) == name) {
                fs::copy(entry.path(), &to).expect("a fixture can be copied");
            }
        }
        room
    }

    /// The folder that commands run in.
    pub fn path(&self) -> PathBuf {
        self.root.path().join("case")
    }

    /// Runs the binary there, without standard input.
    pub fn run<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Answer {
        let home = self.root.path().join("home");
        fs::create_dir_all(&home).expect("a temporary folder can be filled");
        let mut command = assert_cmd::Command::new(env!("CARGO_BIN_EXE_sessctl"));
        command
            .env_clear()
            .current_dir(self.path())
            .args(arguments)
            .timeout(Duration::from_secs(60));
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.envs([("LANG", "C.UTF-8"), ("TZ", "UTC"), ("NO_COLOR", "1")]);
        command.env("HOME", home).env("XDG_STATE_HOME", self.root.path().join("xdg"));
        command.env("SESSCTL_STATE_DIR", self.root.path().join("state"));
        let output = command.output().expect("the binary was built and can be started");
        let [stdout, stderr] =
            [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        let report = report(&stdout).or_else(|| report(&stderr)).unwrap_or(Value::Null);
        Answer { exit: output.status.code(), report, stdout, stderr }
    }

    /// All that lies there now.
    pub fn tree(&self) -> Tree {
        let root = self.path();
        let found = WalkDir::new(&root).min_depth(1).into_iter().map(|entry| {
            let entry = entry.expect("what was made here can be looked at");
            let name = entry.path().strip_prefix(&root).expect("it was found below the root");
            let name = name.to_string_lossy().into_owned();
            if entry.file_type().is_dir() {
                return (format!("{name}/"), ("folder".into(), Vec::new()));
            }
            let bytes = fs::read(entry.path()).expect("what was made here can be read");
            (name, (format!("{:x?}", Sha256::digest(&bytes)), bytes))
        });
        found.collect()
    }

    /// The rights of a file or folder, as four octal digits.
    pub fn mode(&self, name: &Path) -> String {
        let meta = fs::metadata(self.path().join(name));
        meta.map_or_else(
            |error| error.to_string(),
            |meta| format!("{:04o}", meta.permissions().mode() & 0o7777),
        )
    }
}

/// The report in a stream: the whole of it, or its last line that is one.
fn report(text: &str) -> Option<Value> {
    let pieces = std::iter::once(text).chain(text.lines().rev());
    pieces
        .filter_map(|piece| serde_json::from_str::<Value>(piece).ok())
        .find(|value| value.get("command").is_some())
}

/// A command line as words; quotes keep a word together.
pub fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

//! A hermetic home: fresh state, fresh stores, fixtures copied in, the built binary.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

/// A home folder of its own for each test.
pub struct Home {
    folder: TempDir,
}

/// What a run of the binary came to.
pub struct Ran {
    /// The exit status.
    pub exit: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Ran {
    /// The report, which is one document on standard output and as its schema says.
    pub fn report(&self) -> Value {
        let text = if self.out.trim_start().starts_with("{\"ok\"") { &self.out } else { &self.err };
        let report = serde_json::from_str(text)
            .unwrap_or_else(|error| panic!("{error}: {} {}", self.out, self.err));
        crate::schemas::check(&report);
        report
    }
}

impl Home {
    /// An empty home.
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    /// A path in it.
    pub fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    /// Copies a fixture to a place in the home.
    pub fn copy(&self, fixture: &str, to: &str) -> PathBuf {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(fixture);
        let to = self.path(to);
        fs::create_dir_all(to.parent().expect("a file has a folder")).expect("folders can be made");
        fs::write(&to, fs::read(&from).unwrap_or_else(|_| panic!("{} is there", from.display())))
            .expect("written");
        to
    }

    /// Copies a folder of fixtures to a place in the home.
    pub fn copy_folder(&self, fixtures: &str, to: &str) {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(fixtures);
        for entry in walkdir::WalkDir::new(&from).into_iter().map(|entry| entry.expect("readable"))
        {
            if entry.file_type().is_file() {
                let below = entry.path().strip_prefix(&from).expect("it lies below");
                let below = |root: &str| format!("{root}/{}", below.display());
                self.copy(&below(fixtures), &below(to));
            }
        }
    }

    /// A pi session of three plain turns where pi keeps it.
    pub fn pi(&self) -> PathBuf {
        self.copy("pi/pi-1.6.0-plain-3-turns.jsonl", &format!("{PI_FOLDER}/{PI_NAME}"))
    }

    /// A DSH session where DSH keeps it.
    pub fn dsh(&self, fixture: &str, id: &str, name: &str) -> PathBuf {
        self.copy(
            &format!("dsh/{fixture}"),
            &format!(".dsh/sessions/--home-ada-dsh-demo--/{id}/{name}"),
        )
    }

    /// The binary with that command line, as one that is installed.
    pub fn command(&self, args: &[&str]) -> Command {
        let binary = Path::new(env!("CARGO_BIN_EXE_sessctl"));
        let folder = binary.parent().expect("a file has a folder");
        let mut command = Command::new(binary);
        command
            .args(args)
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", folder.display()))
            .env("HOME", self.folder.path())
            .env("TZ", "UTC")
            .current_dir(self.folder.path());
        command.stdin(Stdio::null());
        command
    }

    /// Runs the binary.
    pub fn run(&self, args: &[&str]) -> Ran {
        ran(&self.command(args).output().expect("the binary runs"))
    }

    /// Runs it for its report, which must have that exit status.
    pub fn report(&self, exit: i32, args: &[&str]) -> Value {
        let ran = self.run(&[args, &["--json"]].concat());
        assert_eq!(ran.exit, exit, "{args:?}: {} {}", ran.out, ran.err);
        ran.report()
    }
}

/// Puts a copy of a program there that can be run at once. Another process writes it: what is open for writing in this
/// one, if only in a child of another test on its way to be a program, cannot be run ("text file busy").
pub fn install(program: &Path, to: &Path) {
    let mut install = Command::new("install");
    let done = install.args(["-m", "755"]).args([program, to]).status();
    assert!(done.expect("there is `install`").success(), "{} is installed", to.display());
}

/// The same for a script.
pub fn install_script(script: &str, to: &Path) {
    let text = to.with_extension("text");
    fs::write(&text, script).expect("written");
    install(&text, to);
    fs::remove_file(text).expect("it was there");
}

/// The output of a process in words.
pub fn ran(output: &Output) -> Ran {
    Ran {
        exit: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Where pi keeps the sessions of the fixtures' folder.
pub const PI_FOLDER: &str = ".pi/agent/sessions/--home-ada-pi-demo--";
/// The name that pi gave the session of three plain turns.
pub const PI_NAME: &str = "2026-11-29T16-20-33-146Z_01a2281b-b0f9-74f9-b07d-d389f5b79d80.jsonl";
/// Its id.
pub const PI_ID: &str = "01a2281b-b0f9-74f9-b07d-d389f5b79d80";

/// A path as a word of a command line.
pub fn word(path: &Path) -> &str {
    path.to_str().expect("test paths are plain")
}

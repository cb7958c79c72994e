//! A home folder that can be put back as it was, the sessions and verbs that are attacked in it, and what has to hold
//! afterwards.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Output, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;
use walkdir::WalkDir;

/// A session that is attacked: the client, the fixture, and where the client keeps it.
pub type Client = (&'static str, &'static str, &'static str);

pub const PI: Client = (
    "pi",
    "pi/pi-1.6.0-plain-3-turns.jsonl",
    ".pi/agent/sessions/--home-ada-pi-demo--/2026-11-29T16-20-33-146Z_01a2281b-b0f9-74f9-b07d-d389f5b79d80.jsonl",
);

/// A session of each client and form.
pub const CLIENTS: [Client; 8] = [
    PI,
    (
        "codex",
        "codex/fork-paginated/sessions/2026/11/29/rollout-2026-11-29T16-25-56-01a22820-a1cd-78f0-a7db-aadcf675cf49.jsonl",
        ".codex/sessions/2026/11/29/rollout-2026-11-29T16-25-56-01a22820-a1cd-78f0-a7db-aadcf675cf49.jsonl",
    ),
    (
        "claude",
        "claude-code/plain-and-fork/projects/-home-ada-webshop/11111111-1111-4111-8111-000000000001.jsonl",
        ".claude/projects/-home-ada-webshop/11111111-1111-4111-8111-000000000001.jsonl",
    ),
    (
        "dsh 4",
        "dsh/v4-main.jsonl",
        ".dsh/sessions/--home-ada-dsh-demo--/demo-main/session.v4.jsonl",
    ),
    (
        "dsh 4, zstd",
        "dsh/v4-plain.jsonl.zstd",
        ".dsh/sessions/--home-ada-dsh-demo--/demo-plain/session.v4.jsonl.zstd",
    ),
    (
        "dsh 0",
        "dsh/v0-parent.jsonl",
        ".dsh/sessions/--home-ada-dsh-demo--/demo-parent/session.jsonl",
    ),
    (
        "codex, legacy",
        "codex/legacy-fork/sessions/2026/11/29/rollout-2026-11-29T16-26-11-01a22820-d992-7883-b853-2f16776d94ba.jsonl",
        ".codex/sessions/2026/11/29/rollout-2026-11-29T16-26-11-01a22820-d992-7883-b853-2f16776d94ba.jsonl",
    ),
    (
        "prime",
        "prime/.prime/agent/sessions/01a2282d-9435-71aa-9554-b510a3eabc16.jsonl",
        ".prime/agent/sessions/01a2282d-9435-71aa-9554-b510a3eabc16.jsonl",
    ),
];

const TURNS: &str = r#"{"question":"What is it called?","answer":"notes.txt","provider":"loop","model":"m","usage":{"input":100,"output":4},"stopReason":"stop","requestId":"r1"}
{"question":"How long?","answer":"Three lines.","provider":"loop","model":"m","usage":{"input":120,"output":6},"stopReason":"stop","requestId":"r2"}
"#;

/// What is done to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Fork,
    Side,
    Record,
    Merge,
    /// A note that may stand there twice, but not twice for one request.
    MergeAgain,
    Snapshot,
    Usage,
    /// The same, kept for the time when the log is gone.
    Keep,
}

impl Verb {
    pub const ALL: [Self; 8] = [
        Self::Fork,
        Self::Side,
        Self::Record,
        Self::Merge,
        Self::MergeAgain,
        Self::Snapshot,
        Self::Usage,
        Self::Keep,
    ];

    /// Whether it only counts.
    fn counts(self) -> bool {
        matches!(self, Self::Usage | Self::Keep)
    }

    /// Whether it adds to the parent.
    fn adds(self) -> bool {
        matches!(self, Self::Record | Self::Merge | Self::MergeAgain)
    }
}

/// Files by their path in the room.
pub type Tree = BTreeMap<PathBuf, Vec<u8>>;

/// How a run ended.
#[derive(Debug)]
pub struct Ran {
    pub status: ExitStatus,
    pub out: String,
    pub err: String,
}

impl Ran {
    pub fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { status: output.status, out: text(&output.stdout), err: text(&output.stderr) }
    }

    pub fn exit(&self) -> Option<i32> {
        self.status.code()
    }

    pub fn report(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or(Value::Null)
    }

    pub fn code(&self) -> String {
        self.report()["code"].as_str().unwrap_or_default().to_owned()
    }

    /// In a few words.
    pub fn told(&self) -> String {
        let message = self.report()["message"].as_str().unwrap_or_default().to_owned();
        let end = self.status.code().map_or_else(
            || format!("signal {:?}", self.status.signal()),
            |code| format!("exit {code}"),
        );
        format!("{end} {} {message} {}", self.code(), self.err.lines().next().unwrap_or_default())
    }
}

/// A home folder with one session in it.
pub struct Room {
    folder: TempDir,
    pub parent: PathBuf,
    saved: Tree,
}

impl Room {
    /// A room for `client`, in memory where that can be had: nobody pulls the plug here, so that a real disk would only
    /// be slower.
    pub fn new((_, fixture, place): Client) -> Self {
        let memory = Path::new("/dev/shm");
        let mut folder = tempfile::Builder::new();
        folder.prefix("torture-");
        let folder = folder.tempdir_in(memory).or_else(|_| folder.tempdir()).expect("a folder");
        let parent = folder.path().join(place);
        fs::create_dir_all(parent.parent().expect("a file has a folder")).expect("made");
        fs::create_dir(folder.path().join("tmp")).expect("made");
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(fixture);
        fs::copy(&fixture, &parent).unwrap_or_else(|_| panic!("{} is there", fixture.display()));
        fs::write(folder.path().join("turns.ndjson"), TURNS).expect("written");
        let mut room = Self { folder, parent, saved: Tree::new() };
        room.save();
        room
    }

    /// The same, with what `verb` needs to be there.
    pub fn for_verb(client: Client, verb: Verb) -> Self {
        let mut room = Self::new(client);
        if matches!(verb, Verb::Merge | Verb::MergeAgain) {
            let parent = room.word();
            let side = room.run(&["side", &parent, "--request-id", "before", "--json"]);
            let path = side.report()["child"]["path"].as_str().map(str::to_owned);
            let path = path.unwrap_or_else(|| panic!("{client:?}: {}", side.told()));
            fs::write(room.path("side"), path).expect("written");
        }
        room.save();
        room
    }

    pub fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    pub fn word(&self) -> String {
        self.parent.to_str().expect("test paths are plain").to_owned()
    }

    /// Remembers everything that lies here.
    pub fn save(&mut self) {
        self.saved = self.tree();
    }

    /// Puts everything back as it was.
    pub fn reset(&self) {
        let root = self.folder.path();
        for entry in fs::read_dir(root).expect("it is there").filter_map(Result::ok) {
            let path = entry.path();
            let removed =
                if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            removed.expect("it is ours");
        }
        fs::create_dir(root.join("tmp")).expect("made");
        for (path, bytes) in &self.saved {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("a file has a folder")).expect("made");
            fs::write(path, bytes).expect("written");
        }
    }

    /// All files that lie here now.
    pub fn tree(&self) -> Tree {
        let root = self.folder.path();
        let files = WalkDir::new(root).into_iter().filter_map(Result::ok);
        files
            .filter(|entry| entry.file_type().is_file())
            .filter_map(|entry| {
                let name = entry.path().strip_prefix(root).ok()?.to_path_buf();
                Some((name, fs::read(entry.path()).ok()?))
            })
            .collect()
    }

    /// The binary with that command line, in this home.
    pub fn command(&self, args: &[impl AsRef<OsStr>]) -> Command {
        self.command_of(Path::new(env!("CARGO_BIN_EXE_sessctl")), args)
    }

    /// Another program in this home.
    pub fn command_of(&self, program: &Path, args: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new(program);
        command.args(args).env_clear().env("HOME", self.folder.path()).env("TZ", "UTC");
        command.env("TMPDIR", self.path("tmp")).current_dir(self.folder.path());
        // Else nothing here would lie still for long enough to come into the index.
        command.env("SESSCTL_CACHE_AFTER", "0");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        ended(&mut self.command(args))
    }

    /// The command line of `verb`.
    pub fn args(&self, verb: Verb) -> Vec<String> {
        let [parent, turns, out] =
            [self.parent.clone(), self.path("turns.ndjson"), self.path("out.snapshot")]
                .map(|path| path.to_str().expect("test paths are plain").to_owned());
        let side = || fs::read_to_string(self.path("side")).expect("it was made before");
        let words: Vec<&str> = match verb {
            Verb::Fork => vec!["fork", &parent, "--request-id", "r"],
            Verb::Side => vec!["side", &parent, "--request-id", "r", "--ask", "Why?"],
            Verb::Record => vec!["side", &parent, "--record", &turns, "--pane", "7f"],
            Verb::Merge => vec!["merge", "SIDE", "--note", "A note.", "--request-id", "r"],
            Verb::MergeAgain => {
                vec!["merge", "SIDE", "--note", "A note.", "--request-id", "r", "--allow-repeat"]
            }
            Verb::Snapshot => vec!["snapshot", &parent, "--out", &out],
            Verb::Usage => vec!["usage", "--by", "session"],
            Verb::Keep => vec!["usage", "--by", "session", "--keep", "--no-cache"],
        };
        let word = |word: &str| if word == "SIDE" { side() } else { word.to_owned() };
        words.into_iter().chain(["--json"]).map(word).collect()
    }

    /// What a run that nothing disturbs leaves, and says. The room is as it was afterwards.
    pub fn reference(&self, verb: Verb) -> (Shape, Value) {
        self.reset();
        std::thread::sleep(std::time::Duration::from_millis(25)); // till it lies still
        let ran = ended(&mut self.command(&self.args(verb)));
        assert_eq!(ran.exit(), Some(0), "{verb:?}: {}", ran.told());
        let index = self.path(".local/state/sessctl/usage.index").exists();
        assert_eq!(index, verb == Verb::Usage, "what is attacked in usage is its index");
        let shape = self.shape().unwrap_or_else(|why| panic!("{verb:?}: {why}"));
        self.reset();
        (shape, ran.report())
    }

    /// What is there now that was not before.
    pub fn shape(&self) -> Result<Shape, String> {
        let mut shape = Shape::default();
        for (path, bytes) in self.tree() {
            let name = path.display().to_string();
            if let Some(before) = self.saved.get(&path) {
                if is_own(&path) {
                    continue;
                }
                let added = bytes.strip_prefix(&before[..]);
                let added = added.ok_or_else(|| format!("{name} is not what it was"))?;
                match pieces(added) {
                    Ok(0) => {}
                    Ok(added) => shape.added.push((path, added)),
                    Err(_) => shape.torn.push(path),
                }
            } else if path.ends_with("session_index.jsonl") {
                shape.named += pieces(&bytes).unwrap_or(0);
            } else if is_temporary(&path) {
                shape.left.push(name);
            } else if !is_own(&path) {
                match pieces(&bytes) {
                    Ok(made) => shape.made.push(made),
                    Err(_) => shape.torn.push(path),
                }
            }
        }
        shape.made.sort_unstable();
        Ok(shape)
    }

    /// Everything that has to hold after a run that was disturbed, and after the next one, which is not.
    pub fn judge(&self, verb: Verb, ran: &Ran, want: &(Shape, Value)) -> Result<(), String> {
        let killed = ran.status.signal() == Some(9);
        let (reference, said) = want;
        match ran.exit() {
            Some(0 | 6) => {}
            Some(4) if ["SOURCE_CHANGED", "SESSION_LOCKED"].contains(&&*ran.code()) => {}
            None if killed => {}
            _ => return Err(format!("ended with {}", ran.told())),
        }
        let shape = self.shape()?;
        if !killed && !shape.left.is_empty() {
            return Err(format!("left {:?} ({})", shape.left, ran.told()));
        }
        // Nobody but the next run can take back what the system had written of a line when it killed the process.
        let may_be_torn = killed && verb.adds();
        if !may_be_torn && !shape.torn.is_empty() {
            return Err(format!("cut inside a line: {:?} ({})", shape.torn, ran.told()));
        }
        let done = Shape { left: Vec::new(), ..shape.clone() } == *reference;
        if ran.exit() == Some(0) && !done {
            return Err(format!("said that it was done: {shape:?}, not {reference:?}"));
        }
        // A log that could not be read is counted as one, and not as nothing.
        let unread = ran.report()["unread"].as_u64() > Some(0);
        let usage = verb.counts() && !unread;
        if ran.exit() == Some(0) && usage && said["totals"] != ran.report()["totals"] {
            return Err(format!("counted {} and not {}", ran.report()["totals"], said["totals"]));
        }
        // A record that came in whole is kept, and so is a note; a child is there altogether or not at all.
        let added = shape.added.iter().all(|added| reference.added.contains(added));
        let kept = if verb.adds() { added } else { shape.added.is_empty() };
        if !kept && ran.exit() != Some(0) {
            return Err(format!("a log has more than before: {:?}; {}", shape.added, ran.told()));
        }
        if !shape.made.is_empty() && ran.exit() == Some(6) && verb != Verb::Record {
            return Err(format!("failed and left a file all the same: {}", ran.told()));
        }
        if killed
            && verb != Verb::Record
            && !shape.made.iter().all(|made| reference.made.contains(made))
        {
            return Err(format!("a cut file under a final name: {shape:?}"));
        }
        if verb == Verb::Snapshot && done {
            return Ok(());
        }
        let again = ended(&mut self.command(&self.args(verb)));
        if again.exit() != Some(0) {
            return Err(format!("the next run fails: {}; it was {}", again.told(), ran.told()));
        }
        let mut now = self.shape()?;
        if killed && matches!(verb, Verb::Snapshot | Verb::Record | Verb::Usage | Verb::Keep) {
            now.left.clear(); // under a name that no client takes for a session
        }
        if now != *reference {
            return Err(format!(
                "after the next run {now:?}, not {reference:?}; it was {}",
                ran.told()
            ));
        }
        if verb.counts() && said["totals"] != again.report()["totals"] {
            return Err(format!("then counted {}", again.report()["totals"]));
        }
        // Once more, from the index that was left.
        if verb == Verb::Usage && ended(&mut self.command(&self.args(verb))).out != again.out {
            return Err("then counted otherwise from the index".into());
        }
        if verb == Verb::Keep {
            fs::remove_file(&self.parent).map_err(|error| error.to_string())?;
            let gone = ended(&mut self.command(&self.args(verb)));
            if gone.report()["totals"] != said["totals"] {
                return Err(format!("and without the log {} {}", gone.told(), gone.out));
            }
        }
        Ok(())
    }
}

/// Runs it to its end.
pub fn ended(command: &mut Command) -> Ran {
    Ran::of(&command.output().expect("it can be started"))
}

/// What is there that was not before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// New files: how many lines or frames each has.
    pub made: Vec<usize>,
    /// Files with more lines or frames than before.
    pub added: Vec<(PathBuf, usize)>,
    /// Files that end inside a line or a frame.
    pub torn: Vec<PathBuf>,
    /// New lines in Codex's own list of names, which is a hint and no log.
    pub named: usize,
    /// Files that were to be something else one day.
    pub left: Vec<String>,
}

/// The state folder, locks, what the test itself needs: nothing of a client's.
fn is_own(path: &Path) -> bool {
    let ours = [".local", ".cache", "turns.ndjson", "side", "fault"];
    ours.iter().any(|name| path.starts_with(name))
        || path.extension().is_some_and(|extension| extension == "lock")
}

fn is_temporary(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    name.starts_with(".sessctl-") || name.starts_with(".tmp") || path.starts_with("tmp")
}

/// How many whole lines there are, or compressed frames.
fn pieces(bytes: &[u8]) -> Result<usize, String> {
    if !bytes.starts_with(&[0x28, 0xB5, 0x2F, 0xFD]) {
        let whole = bytes.is_empty() || bytes.ends_with(b"\n");
        let lines = || memchr::memchr_iter(b'\n', bytes).count();
        return whole.then(lines).ok_or_else(|| "cut inside a line".into());
    }
    let plain = zstd::stream::decode_all(bytes).map_err(|error| format!("a cut frame: {error}"))?;
    pieces(&plain)
}

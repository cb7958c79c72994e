//! Codex: the commands on rollouts that the real client wrote.

use std::{
    fs,
    path::{Path, PathBuf},
};

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

/// A home folder of the client, copied from the fixtures, and a state folder of ours.
struct Home {
    folder: TempDir,
    state: TempDir,
}

impl Home {
    fn of(set: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        copy(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/codex").join(set),
            folder.path(),
        );
        Self { folder, state: tempfile::tempdir().unwrap() }
    }

    /// The rollout whose name ends so.
    fn log(&self, end: &str) -> PathBuf {
        let mut found = logs(self.folder.path());
        found.retain(|path| path.to_str().unwrap().ends_with(&format!("{end}.jsonl")));
        assert_eq!(found.len(), 1, "{end}: {found:?}");
        found.remove(0)
    }

    /// Runs a command line; its exit status and its report.
    fn run(&self, args: &[&str]) -> (i32, Value) {
        let output = Command::cargo_bin("sessctl")
            .unwrap()
            .env_clear()
            .env("HOME", self.state.path())
            .env("SESSCTL_STATE_DIR", self.state.path())
            .env("CODEX_HOME", self.folder.path())
            .env("TZ", "UTC")
            .args(args)
            .arg("--json")
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        (output.status.code().unwrap(), serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    /// The same for a command that must succeed.
    fn done(&self, args: &[&str]) -> Value {
        let (exit, report) = self.run(args);
        assert_eq!(exit, 0, "{args:?}: {report}");
        report
    }

    /// The child that a command makes.
    fn child(&self, args: &[&str]) -> Child {
        let report = self.done(args);
        let path = report["child"]["path"].as_str().unwrap().to_owned();
        Child { lines: lines(Path::new(&path)), path, report }
    }
}

struct Child {
    path: String,
    lines: Vec<String>,
    report: Value,
}

impl Child {
    fn json(&self, line: usize) -> Value {
        serde_json::from_str(&self.lines[line]).unwrap()
    }

    fn id(&self) -> &str {
        self.report["child"]["id"].as_str().unwrap()
    }

    fn ordinals(&self) -> Vec<u64> {
        (0..self.lines.len()).map(|line| self.json(line)["ordinal"].as_u64().unwrap()).collect()
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

fn logs(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.path().is_dir() {
            found.extend(logs(&entry.path()));
        } else if entry.file_name().to_str().unwrap().starts_with("rollout-") {
            found.push(entry.path());
        }
    }
    found
}

fn lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

const PARENT: &str = "01a22820-a1cd-78f0-a7db-aadcf675cf49";
const LEGACY: &str = "01a22820-d992-7883-b853-2f16776d94ba";
const REVERTED: &str = "01a22820-c332-77b1-b22c-084d5069e316";

#[test]
fn every_billed_response_is_counted_once_under_its_thread() {
    // As the provider's own log has it.
    for (set, total, responses) in [
        ("fork-paginated", 16784, 9),
        ("compact-interrupt", 14091, 8),
        ("revert", 9526, 6),
        ("killed-then-resumed", 2952, 2),
        ("legacy-fork", 12961, 7),
        ("subagents-review", 15945, 9),
        ("old-0.150.0", 21886, 13),
        ("old-0.118.0", 24486, 13),
        ("old-0.80.0", 17497, 10),
        ("old-0.47.0", 4540, 3),
        ("old-0.20.0", 0, 0),
    ] {
        let home = Home::of(set);
        let report = home.done(&["usage", text(home.folder.path())]);
        assert_eq!(report["totals"]["total"], total, "{set}");
        assert_eq!(report["completions"], responses, "{set}");
    }
}

#[test]
fn a_fork_of_a_numbered_thread_is_a_reference_with_exact_values() {
    let home = Home::of("fork-paginated");
    let parent = home.log(PARENT);
    let before = fs::read(&parent).unwrap();
    let child = home.child(&["fork", PARENT, "--at", "turn:1"]);

    assert_eq!(child.ordinals(), [13, 14]);
    let meta = &child.json(0)["payload"];
    assert_eq!(meta["forked_from_id"], PARENT);
    assert_eq!(meta["forked_from_ordinal_exclusive"], 13);
    assert_eq!(meta["history_base"]["thread_id"], PARENT);
    assert_eq!(meta["history_base"]["end_ordinal_exclusive"], 13);
    let end: usize = lines(&parent)[..13].iter().map(|line| line.len() + 1).sum();
    assert_eq!(meta["history_base"]["end_byte_offset"], end);
    assert_eq!(meta["session_id"], child.id());
    let settings = &child.json(1)["payload"];
    assert_eq!(settings["type"], "thread_settings_applied");
    assert_eq!(settings["thread_id"], child.id());
    assert_eq!(settings["thread_settings"]["model"], "mock-large");
    assert_eq!(fs::read(&parent).unwrap(), before);
    assert_eq!(child.report["messages"], 3);
    assert_eq!(child.report["turns"], 1);
    assert!(child.report["child"]["title"].as_str().unwrap().starts_with("Parser draft(fork"));
}

#[test]
fn a_reference_names_the_file_that_owns_the_turn() {
    let home = Home::of("fork-paginated");
    // The first two turns of this child are its parent's.
    let early = home.child(&["fork", "01a22820-a378-7d40-b4ad-66962544eb03", "--at", "turn:2"]);
    assert_eq!(early.json(0)["payload"]["history_base"]["thread_id"], PARENT);
    assert_eq!(early.json(0)["payload"]["forked_from_id"], "01a22820-a378-7d40-b4ad-66962544eb03");

    let home = Home::of("revert");
    let child = home.child(&["fork", REVERTED]);
    let base = &child.json(0)["payload"]["history_base"];
    assert_eq!(base["thread_id"], "01a22820-c4c9-7e30-a57d-0375da1e21e2");
    assert_eq!(child.report["turns"], 2);
}

#[test]
fn a_chain_is_flattened_without_gaps() {
    for (set, id) in [
        ("fork-paginated", "01a22820-a50a-7c13-9633-2c8bfcf8d8e3"),
        ("revert", "01a22820-c532-78d2-bb5b-3a2ebabd1552"),
        ("fork-paginated", PARENT),
    ] {
        let home = Home::of(set);
        let child = home.child(&["fork", id, "--flatten"]);
        assert_eq!(child.ordinals(), (0..child.lines.len() as u64).collect::<Vec<_>>());
        assert!(child.json(0)["payload"].get("history_base").is_none());
        let metas = child.lines.iter().filter(|line| line.contains(r#""type":"session_meta""#));
        assert_eq!(metas.count(), 1);
        let against = home.done(&["replay", &child.path, "--against", id, "--check"]);
        assert_eq!(against["prefix"], "identical");
        assert_eq!(against["prefix_messages"], child.report["messages"]);
    }
}

#[test]
fn a_fork_of_a_legacy_thread_is_a_copy() {
    let home = Home::of("legacy-fork");
    let parent = lines(&home.log(LEGACY));
    let child = home.child(&["fork", LEGACY, "--at", "turn:2", "--title", "Second thoughts"]);
    // Its own header, what its parent has up to the end of the turn, its own settings.
    assert_eq!(child.lines[1..27], parent[..26]);
    assert_eq!(child.lines.len(), 28);
    assert_eq!(child.json(0)["payload"]["forked_from_id"], LEGACY);
    assert_eq!(child.json(27)["payload"]["thread_id"], child.id());
    let index = lines(&home.folder.path().join("session_index.jsonl"));
    let named: Value = serde_json::from_str(index.last().unwrap()).unwrap();
    assert_eq!(named["id"], child.id());
    assert_eq!(named["thread_name"], "Second thoughts");
    let again = home.done(&["replay", &child.path, "--against", LEGACY, "--check"]);
    assert_eq!(
        (again["prefix"].as_str(), again["own_messages"].as_u64()),
        (Some("identical"), Some(0))
    );
    let found = home.done(&["replay", "=Second thoughts"]);
    assert_eq!(found["source"]["id"], child.id());
}

#[test]
fn the_clients_own_forks_are_proved_equal_to_their_parents() {
    for (set, parent, child) in [
        ("legacy-fork", LEGACY, "01a22820-db54-7ef0-864d-269f7884603b"),
        (
            "legacy-fork",
            "01a22820-db54-7ef0-864d-269f7884603b",
            "01a22820-dbcb-7332-a603-45b6b00a3350",
        ),
        ("fork-paginated", PARENT, "01a22820-a40d-7382-af1d-ef6587cee77a"),
        (
            "old-0.80.0",
            "01a22821-4f2c-7672-9f3a-d961fb9a41f4",
            "01a22821-505e-70e3-a5d8-a7edad7f1595",
        ),
        ("revert", REVERTED, "01a22820-c532-78d2-bb5b-3a2ebabd1552"),
    ] {
        let home = Home::of(set);
        let report = home.done(&["replay", child, "--against", parent, "--check"]);
        assert_eq!(report["prefix"], "identical", "{child}");
        assert!(report["prefix_messages"].as_u64().unwrap() > 0, "{child}");
        assert!(report["own_messages"].as_u64().unwrap() > 0, "{child}");
    }
}

#[test]
fn a_side_session_keeps_the_cache_key_and_its_note_comes_back_once() {
    for (set, id) in [
        ("fork-paginated", PARENT),
        ("legacy-fork", LEGACY),
        ("old-0.80.0", "01a22821-4f2c-7672-9f3a-d961fb9a41f4"),
    ] {
        let home = Home::of(set);
        let parent = home.log(id);
        let side = home.child(&["side", id]);
        assert_eq!(side.json(0)["payload"]["session_id"], id);
        let framing = side.json(side.lines.len() - 1);
        assert_eq!(framing["payload"]["role"], "developer");
        assert!(framing["payload"]["id"].as_str().unwrap().starts_with("msg_5e55c710-"));
        let rows = home.done(&["replay", &side.path, "--view", "messages"]);
        let origins: Vec<&str> = rows["rows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["origin"].as_str().unwrap())
            .collect();
        assert_eq!(origins.iter().filter(|origin| **origin == "framing").count(), 1, "{set}");
        assert_eq!(*origins.last().unwrap(), "framing", "{set}");

        let before = lines(&parent);
        let merged = home.done(&["merge", &side.path, "--note", "Keep money in cents."]);
        assert_eq!(merged["appended_messages"], 1);
        let after = lines(&parent);
        assert_eq!(after[..before.len()], before[..]);
        assert_eq!(after.len(), before.len() + 1);
        let (last, note): (Value, Value) = (
            serde_json::from_str(&before[before.len() - 1]).unwrap(),
            serde_json::from_str(&after[before.len()]).unwrap(),
        );
        assert_eq!(note["ordinal"].as_u64(), last["ordinal"].as_u64().map(|last| last + 1));
        assert!(
            note["payload"]["content"][0]["text"]
                .as_str()
                .unwrap()
                .starts_with("<sidechat_note>\n")
        );
        let again = home.done(&["merge", &side.path, "--note", "Keep money in cents."]);
        assert_eq!(again["already_merged"], true);
        let report = home.done(&["replay", &side.path, "--against", id, "--check"]);
        assert_eq!(report["prefix"], "identical", "{set}");
    }
}

#[test]
fn a_thread_that_its_client_holds_is_not_written_to() {
    let home = Home::of("fork-paginated");
    let side = home.child(&["side", PARENT]);
    let locks = home.folder.path().join("thread-writer-locks");
    fs::create_dir_all(&locks).unwrap();
    let lock = fs::File::create(locks.join(format!("{PARENT}.lock"))).unwrap();
    lock.lock().unwrap();
    let (exit, report) = home.run(&["merge", &side.path, "--note", "x"]);
    assert_eq!((exit, report["code"].as_str()), (4, Some("SESSION_LOCKED")));
    lock.unlock().unwrap();
    home.done(&["merge", &side.path, "--note", "x"]);
}

#[test]
fn a_missing_link_and_a_cycle_are_named() {
    let home = Home::of("fork-paginated");
    let child = home.log("01a22820-a378-7d40-b4ad-66962544eb03");
    fs::remove_file(home.log(PARENT)).unwrap();
    let (exit, report) = home.run(&["replay", text(&child), "--check"]);
    assert_eq!((exit, report["code"].as_str()), (5, Some("HISTORY_BASE_MISSING")));
    let (exit, _) = home.run(&["replay", text(&child), "--lenient"]);
    assert_eq!(exit, 0);
    let (exit, report) = home.run(&["fork", text(&child)]);
    assert_eq!((exit, report["code"].as_str()), (5, Some("HISTORY_BASE_MISSING")));

    let own = "01a22820-a378-7d40-b4ad-66962544eb03";
    let base = format!(r#""history_base":{{"thread_id":"{PARENT}""#);
    let turned = fs::read_to_string(&child).unwrap().replace(&base, &base.replace(PARENT, own));
    fs::write(&child, turned).unwrap();
    let (exit, report) = home.run(&["replay", text(&child), "--check"]);
    assert_eq!((exit, report["code"].as_str()), (5, Some("HISTORY_BASE_CYCLE")));
}

#[test]
fn an_offset_or_a_number_that_does_not_fit_is_found() {
    for (wrong, right) in [
        (r#""end_byte_offset":8509"#, r#""end_byte_offset":8510"#),
        (r#""end_ordinal_exclusive":12"#, r#""end_ordinal_exclusive":13"#),
    ] {
        let home = Home::of("fork-paginated");
        let child = home.log("01a22820-a40d-7382-af1d-ef6587cee77a");
        let text_of = fs::read_to_string(&child).unwrap();
        assert!(text_of.contains(right));
        fs::write(&child, text_of.replace(right, wrong)).unwrap();
        let (exit, report) = home.run(&["replay", text(&child), "--check"]);
        assert_eq!((exit, report["code"].as_str()), (5, Some("HISTORY_BASE_MISSING")), "{wrong}");
    }
}

#[test]
fn an_older_rollout_of_a_reverted_thread_is_read_but_not_built_upon() {
    let home = Home::of("revert");
    let old = home.log(&format!("05-{REVERTED}"));
    let report = home.done(&["replay", text(&old), "--check"]);
    assert_eq!(report["turns"], 3);
    let (exit, report) = home.run(&["fork", text(&old)]);
    assert_eq!((exit, report["code"].as_str()), (4, Some("SESSION_NOT_LIVE")));
    assert_eq!(home.done(&["replay", REVERTED, "--check"])["turns"], 2);
    // What was spent on turns that were reverted was spent all the same.
    assert_eq!(home.done(&["usage", REVERTED])["totals"]["total"], 7805);
}

#[test]
fn a_review_ends_the_turn_that_is_open_and_names_it() {
    let home = Home::of("subagents-review");
    let id = "01a22820-c90e-7870-8a6f-8354bd24f2a1";
    let turns = home.done(&["replay", id, "--check", "--view", "turns"]);
    let names: Vec<&str> =
        turns["rows"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 5);
    assert!(names[3].ends_with("757638"));
    let child = home.child(&["fork", id, "--at", &format!("turn:{}", names[3])]);
    assert_eq!(child.report["boundary"]["at"], "turn:4");
    assert_eq!(child.json(0)["ordinal"], 53);
}

#[test]
fn turns_that_were_taken_back_are_not_there() {
    let home = Home::of("old-0.118.0");
    let id = "01a22821-560d-7ee2-9b9a-414c9587e646";
    let turns = home.done(&["replay", id, "--check", "--view", "turns"]);
    let names: Vec<String> = turns["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names.len(), 4);
    let log = fs::read_to_string(home.log(id)).unwrap();
    let gone = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|line| line["payload"]["type"] == "task_started")
        .map(|line| line["payload"]["turn_id"].as_str().unwrap().to_owned())
        .find(|turn| !names.contains(turn))
        .unwrap();
    let (exit, report) = home.run(&["fork", id, "--at", &format!("turn:{gone}")]);
    assert_eq!((exit, report["code"].as_str()), (3, Some("TURN_NOT_FOUND")));
    let rows = home.done(&["replay", id, "--view", "messages"]);
    assert!(!rows["rows"].to_string().contains("Three [[say:three]]"));
}

#[test]
fn turns_that_are_not_written_down_have_the_clients_names() {
    for (set, id, names) in [
        (
            "old-0.80.0",
            "01a22821-4f2c-7672-9f3a-d961fb9a41f4",
            vec!["rollout-4", "rollout-11", "rollout-32"],
        ),
        ("old-0.47.0", "01a22821-4974-7201-ba95-111a1570f635", vec!["rollout-3", "rollout-15"]),
    ] {
        let home = Home::of(set);
        let turns = home.done(&["replay", id, "--check", "--view", "turns"]);
        let found: Vec<&str> = turns["rows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["id"].as_str().unwrap())
            .collect();
        assert_eq!(found, names);
        let child = home.child(&["fork", id, "--at", "turn:1"]);
        assert_eq!(child.report["turns"], 1);
        assert_eq!(home.child(&["fork", id]).report["turns"], names.len());
    }
}

#[test]
fn a_killed_turn_is_interrupted_by_the_next_one() {
    let home = Home::of("killed-then-resumed");
    let id = "01a22820-b3e1-7600-9cab-d3bd765bb542";
    let turns = home.done(&["replay", id, "--view", "turns"]);
    assert_eq!(turns["rows"][0]["state"], "interrupted");
    assert_eq!(turns["rows"][1]["state"], "completed");
    assert_eq!(home.child(&["fork", id]).report["turns"], 2);
}

#[test]
fn a_compaction_decides_what_the_model_sees() {
    let home = Home::of("compact-interrupt");
    let id = "01a22820-a8d3-72d3-9f42-086a5db29e74";
    let rows = home.done(&["replay", id, "--view", "messages"]);
    assert_eq!(rows["rows"][0]["origin"], "compaction");
    let child = home.child(&["fork", id]);
    assert_eq!(child.report["compacted_source"], true);
    let usage = home.done(&["usage", text(&home.log(id)), "--own", "--by", "kind"]);
    let kinds: Vec<&str> =
        usage["rows"].as_array().unwrap().iter().map(|row| row["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["compaction", "main"]);
}

#[test]
fn a_snapshot_of_a_chain_makes_a_child_when_the_source_is_gone() {
    for (set, id) in
        [("fork-paginated", "01a22820-a378-7d40-b4ad-66962544eb03"), ("legacy-fork", LEGACY)]
    {
        let home = Home::of(set);
        let snapshot = home.folder.path().join("seed.snapshot");
        let kept = home.done(&["snapshot", id, "--at", "turn:2", "--out", text(&snapshot)]);
        let same = home.done(&["snapshot", id, "--check", text(&snapshot)]);
        assert_eq!(same["prefix"], "identical");
        for log in logs(home.folder.path()) {
            fs::remove_file(log).unwrap();
        }
        let child = home.child(&["fork", text(&snapshot)]);
        assert_eq!(child.report["messages"], kept["messages"]);
        assert_eq!(child.report["seed_hash"], kept["hash"]);
        home.done(&["replay", &child.path, "--check"]);
    }
}

#[test]
fn the_same_request_gives_the_same_child() {
    let home = Home::of("fork-paginated");
    let args = ["fork", PARENT, "--at", "turn:2", "--request-id", "r1"];
    let first = home.child(&args);
    let second = home.done(&args);
    assert_eq!(second["replayed"], true);
    assert_eq!(second["child"]["id"], first.id());
    assert_eq!(second["boundary"]["turn"], 2);
    let (exit, report) = home.run(&["fork", PARENT, "--at", "turn:1", "--request-id", "r1"]);
    assert_eq!((exit, report["code"].as_str()), (4, Some("REQUEST_CONFLICT")));
}

#[test]
fn a_header_may_be_longer_than_what_is_looked_at_first() {
    let home = Home::of("fork-paginated");
    let child = "01a22820-a378-7d40-b4ad-66962544eb03";
    let path = home.log(child);
    let long = format!("{} (placeholder base instructions)", "x".repeat(600_000));
    let text = fs::read_to_string(&path).unwrap().replacen(
        "You are a demo agent. (placeholder base instructions)",
        &long,
        1,
    );
    fs::write(&path, text).unwrap();
    let report = home.done(&["replay", child, "--check"]);
    assert_eq!(report["files_read"], 2);
    assert_eq!(home.child(&["fork", child]).report["turns"], 4);
}

#[test]
fn bare_logs_are_read_and_not_written() {
    let home = Home::of("old-0.20.0");
    let id = "094d6f2a-b588-4ddc-a020-7174db8bce43";
    let report = home.done(&["replay", id, "--check"]);
    assert_eq!((report["messages"].as_u64(), report["tool_calls"].as_u64()), (Some(2), Some(1)));
    let (exit, report) = home.run(&["fork", id]);
    assert_eq!((exit, report["code"].as_str()), (4, Some("READ_ONLY_FORMAT")));
    assert_eq!(home.done(&["usage", text(home.folder.path())])["unrecorded"], 2);
}

#[test]
fn put_away_and_packed_logs_are_read_like_others() {
    let home = Home::of("legacy-fork");
    let put_away = "01a22820-daf3-7b91-b982-4f82af344951";
    home.done(&["replay", put_away, "--check"]);
    let home = Home::of("fork-paginated");
    let parent = home.log(PARENT);
    let packed = zstd::encode_all(fs::File::open(&parent).unwrap(), 3).unwrap();
    fs::write(parent.with_extension("jsonl.zst"), packed).unwrap();
    fs::remove_file(&parent).unwrap();
    let report = home.done(&["replay", "01a22820-a378-7d40-b4ad-66962544eb03", "--check"]);
    assert_eq!(report["files_read"], 2);
    assert_eq!(home.done(&["usage", text(home.folder.path())])["totals"]["total"], 16784);
    let child = home.child(&["fork", PARENT]);
    assert_eq!(Path::new(&child.path).extension(), Some("jsonl".as_ref()));
}

#[test]
fn a_child_with_settings_alone_inherits_no_message() {
    let home = Home::of("old-0.47.0");
    let parent = home.log("111a1570f635");
    let parent = parent.to_str().unwrap();
    let child = home.child(&["fork", parent, "--context", "none"]);
    let report = home.done(&["replay", &child.path, "--against", parent]);
    assert_eq!((&report["prefix"], &report["prefix_messages"]), (&"identical".into(), &0.into()));
}

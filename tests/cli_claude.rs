//! Claude Code, held to what the real client wrote, sent and was billed for: see `fixtures/claude-code/README.md`.

use std::{
    collections::{BTreeMap, HashSet},
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use serde_json::Value;
use walkdir::WalkDir;

const PLAIN: &str = "11111111-1111-4111-8111-000000000001";
const PROJECT: &str = "projects/-home-ada-webshop";

/// A fresh copy of one fixture, a client's root, with a home and a state folder of its own.
struct Root {
    folder: tempfile::TempDir,
}

impl Root {
    fn of(case: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let from = fixtures().join(case);
        for entry in WalkDir::new(&from).into_iter().map(Result::unwrap) {
            let to = folder.path().join("root").join(entry.path().strip_prefix(&from).unwrap());
            if entry.file_type().is_dir() {
                fs::create_dir_all(to).unwrap();
            } else {
                fs::copy(entry.path(), to).unwrap();
            }
        }
        Self { folder }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join("root").join(below)
    }

    fn session(&self, id: &str) -> PathBuf {
        self.path(&format!("{PROJECT}/{id}.jsonl"))
    }

    fn output(&self, args: &[&str]) -> std::process::Output {
        assert_cmd::Command::new(env!("CARGO_BIN_EXE_sessctl"))
            .env_clear()
            .env("HOME", self.folder.path().join("home"))
            .env("SESSCTL_STATE_DIR", self.folder.path().join("state"))
            .current_dir(self.folder.path())
            .args(args)
            .output()
            .unwrap()
    }

    /// The report of a run that must end with that exit status.
    fn run(&self, exit: i32, args: &[&str]) -> Value {
        let output = self.output(&[args, &["--json"]].concat());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(exit), "{args:?}: {text}");
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{args:?}: {error}: {text}"))
    }

    fn rows(&self, session: &Path, view: &str) -> Vec<Value> {
        let output = self.output(&["replay", word(session), "--lenient", "--view", view]);
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn texts(&self, session: &Path) -> Vec<String> {
        let text = |row: &Value| row["text"].as_str().unwrap().to_owned();
        self.rows(session, "messages").iter().map(text).collect()
    }
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/claude-code")
}

fn word(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn child(report: &Value) -> PathBuf {
    report["child"]["path"].as_str().unwrap().into()
}

fn records(path: &Path) -> Vec<Value> {
    let text = fs::read(path).unwrap();
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
}

/// The bytes of the value of `message` on each line that has a uuid, in order.
fn message_bytes(path: &Path) -> Vec<String> {
    #[derive(serde::Deserialize)]
    struct Line<'a> {
        #[serde(borrow)]
        message: Option<&'a serde_json::value::RawValue>,
        uuid: Option<String>,
    }
    let text = fs::read_to_string(path).unwrap();
    let lines =
        text.split_terminator('\n').map(|line| serde_json::from_str::<Line<'_>>(line).unwrap());
    lines
        .filter(|line| line.uuid.is_some())
        .filter_map(|line| Some(line.message?.get().to_owned()))
        .collect()
}

fn codes(report: &Value, list: &str) -> Vec<String> {
    let found = report[list].as_array().unwrap().iter();
    found.map(|finding| finding["code"].as_str().unwrap().to_owned()).collect()
}

/// Every folder with facts, by its name.
fn cases() -> Vec<(String, Value)> {
    let mut cases = Vec::new();
    for entry in WalkDir::new(fixtures()).sort_by_file_name().into_iter().map(Result::unwrap) {
        if entry.file_name() == "expected.json" {
            let case = entry.path().parent().unwrap().strip_prefix(fixtures()).unwrap();
            let facts = serde_json::from_slice(&fs::read(entry.path()).unwrap()).unwrap();
            cases.push((case.to_str().unwrap().to_owned(), facts));
        }
    }
    cases
}

#[test]
fn the_history_is_what_the_client_sent_and_nothing_else() {
    let mut held = 0;
    for (case, facts) in cases() {
        let root = Root::of(&case);
        for (file, facts) in facts["files"].as_object().unwrap() {
            let name = Path::new(file).file_name().unwrap().to_str().unwrap();
            let Some(sent) = facts["history_sent_on_resume"].as_array() else { continue };
            if name.starts_with("agent-") || sent.is_empty() {
                continue;
            }
            let words = |block: &Value| block[2].as_str().unwrap().trim().to_owned();
            let spoken: Vec<String> = sent
                .iter()
                .filter(|block| block[1] == "text")
                .map(words)
                .filter(|text| *text != "No response requested." && !text.is_empty())
                .collect();
            let ours = root.texts(&root.path(file));
            let mut rest = ours.iter();
            for text in &spoken {
                assert!(
                    rest.any(|ours| ours.contains(text.as_str())),
                    "{case}/{name}: {text:?} is not at its place in {ours:?}"
                );
            }
            for text in ours.iter().map(|text| text.trim()).filter(|text| !text.is_empty()) {
                let start: String = text.chars().take(40).collect();
                let known = sent.iter().map(words).any(|sent| {
                    sent.contains(&start)
                        || !sent.is_empty()
                            && text.contains(&sent.chars().take(40).collect::<String>())
                });
                let told = text.starts_with('<') || text.starts_with("[client text left out]");
                assert!(known || told, "{case}/{name}: nobody sent {text:?}");
            }
            held += 1;
        }
    }
    assert_eq!(held, 22, "another number of transcripts was held than there are");
}

#[test]
fn every_call_is_counted_once_over_a_whole_tree() {
    let mut held = 0;
    for (case, facts) in cases() {
        let root = Root::of(&case);
        let report = root.run(0, &["usage", word(&root.path("")), "--by", "model"]);
        let mut have: BTreeMap<String, [u64; 4]> = BTreeMap::new();
        for row in report["rows"].as_array().unwrap() {
            let number = |key: &str| row[key].as_u64().unwrap();
            let written = number("cache_write_5m") + number("cache_write_1h");
            let model = row["model"].as_str().unwrap().to_owned();
            have.insert(model, [number("input"), number("cache_read"), written, number("output")]);
        }
        let keys = [
            "input_tokens",
            "cache_read_input_tokens",
            "cache_creation_input_tokens",
            "output_tokens",
        ];
        let mut want: BTreeMap<String, [u64; 4]> = BTreeMap::new();
        let advisors = facts.get("advisor_usage_not_in_top_level").and_then(Value::as_object);
        let models = facts["usage_per_model_each_call_once"].as_object().unwrap();
        for (model, usage) in models.iter().chain(advisors.into_iter().flatten()) {
            if usage.get("output_tokens").is_none() {
                continue;
            }
            let sum = want.entry(model.clone()).or_default();
            for (sum, key) in sum.iter_mut().zip(keys) {
                *sum += usage[key].as_u64().unwrap_or(0);
            }
        }
        assert_eq!(have, want, "{case}");
        held += 1;
    }
    assert_eq!(held, 19, "another number of trees was held than there are");
}

#[test]
fn a_fork_has_new_ids_the_old_messages_and_says_where_it_comes_from() {
    let root = Root::of("plain-and-fork");
    let parent = root.session(PLAIN);
    let before = fs::read(&parent).unwrap();
    let report = root.run(0, &["fork", word(&parent)]);
    let file = child(&report);
    let id = report["child"]["id"].as_str().unwrap();
    assert_eq!(fs::read(&parent).unwrap(), before);
    assert_eq!(file, root.session(id));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(message_bytes(&file), message_bytes(&parent));

    let (old, new) = (records(&parent), records(&file));
    let ids = |records: &[Value]| -> HashSet<String> {
        records.iter().filter_map(|one| Some(one["uuid"].as_str()?.to_owned())).collect()
    };
    assert!(ids(&old).is_disjoint(&ids(&new)));
    assert_eq!(ids(&old).len(), ids(&new).len());
    let mut kinds: HashSet<&str> = HashSet::new();
    for record in &new {
        kinds.insert(record["type"].as_str().unwrap());
        assert_eq!(record["sessionId"], id);
        if record.get("uuid").is_some() {
            assert_eq!(record["forkedFrom"]["sessionId"], PLAIN);
            assert!(ids(&old).contains(record["forkedFrom"]["messageUuid"].as_str().unwrap()));
            let parent = record["parentUuid"].as_str();
            assert!(parent.is_none_or(|parent| ids(&new).contains(parent)));
        }
        if record["type"] == "assistant" {
            assert_eq!(record["requestSessionId"], PLAIN);
        }
    }
    let expected = ["user", "assistant", "attachment", "custom-title", "last-prompt"];
    assert_eq!(kinds, HashSet::from(expected));
    let (last, chain) = (new.last().unwrap(), new.iter().filter(|one| one.get("uuid").is_some()));
    let leaf = chain.clone().next_back().unwrap();
    assert_eq!(last["type"], "last-prompt");
    assert_eq!(last["leafUuid"], leaf["uuid"]);
    let times: Vec<&str> = chain.map(|one| one["timestamp"].as_str().unwrap()).collect();
    let newest = times.iter().filter(|time| **time == leaf["timestamp"]).count();
    assert!(times.iter().all(|time| *time <= leaf["timestamp"].as_str().unwrap()) && newest == 1);

    let against = root.run(0, &["replay", word(&file), "--against", word(&parent), "--check"]);
    assert_eq!(against["prefix"], "identical");
    assert_eq!(against["own_messages"], 0);
}

#[test]
fn the_first_owner_of_a_call_stays_through_forks_of_forks() {
    let root = Root::of("plain-and-fork");
    let fork = root.session("cac9e9bc-4315-4fab-a139-590c15a05549");
    let report = root.run(0, &["fork", word(&fork)]);
    let again = root.run(0, &["fork", word(&child(&report))]);
    let owners: Vec<Value> = records(&child(&again))
        .into_iter()
        .filter(|record| record["type"] == "assistant")
        .map(|record| record["requestSessionId"].clone())
        .collect();
    assert_eq!(owners.iter().filter(|owner| **owner == PLAIN).count(), 4);
    assert_eq!(owners.last().unwrap(), "cac9e9bc-4315-4fab-a139-590c15a05549");
    // Two forks more, and not one token.
    let usage = root.run(0, &["usage", word(&root.path(""))]);
    assert_eq!(usage["completions"], 4);
    assert_eq!(usage["totals"]["output"], 129);
}

#[test]
fn a_repeated_request_gives_the_same_child() {
    let root = Root::of("plain-and-fork");
    let args =
        ["fork", PLAIN, "--store", word(&root.path("")), "--request-id", "r1"].map(str::to_owned);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let first = root.run(0, &args);
    let second = root.run(0, &args);
    assert_eq!((&first["replayed"], &second["replayed"]), (&false.into(), &true.into()));
    assert_eq!(first["child"]["path"], second["child"]["path"]);
}

#[test]
fn what_a_compaction_keeps_is_kept_by_a_fork_too() {
    let root = Root::of("compaction");
    let parent = root.session("22222222-2222-4222-8222-000000000007");
    let report = root.run(0, &["fork", word(&parent)]);
    assert_eq!(report["compacted_source"], true);
    let file = child(&report);
    let texts = root.texts(&file);
    assert_eq!(texts, root.texts(&parent));
    assert!(texts[1].starts_with("Yes. An empty cart gives 0.00"));
    let ids: HashSet<String> = records(&file)
        .iter()
        .filter_map(|record| Some(record["uuid"].as_str()?.to_owned()))
        .collect();
    let all = records(&file);
    let boundary = all.iter().find(|record| record["subtype"] == "compact_boundary").unwrap();
    let kept = &boundary["compactMetadata"];
    for id in [
        &kept["preservedMessages"]["uuids"][0],
        &kept["preservedMessages"]["allUuids"][0],
        &kept["preservedMessages"]["anchorUuid"],
        &kept["preservedSegment"]["headUuid"],
        &kept["preservedSegment"]["tailUuid"],
    ] {
        assert!(ids.contains(id.as_str().unwrap()), "{id} points out of the child");
    }
    let place = |id: &Value| all.iter().position(|record| record["uuid"] == *id).unwrap();
    assert!(place(&kept["preservedMessages"]["uuids"][0]) < place(&boundary["uuid"]));
    // The turns of the active path are those behind the summary.
    assert_eq!(root.rows(&parent, "turns").len(), 1);
}

#[test]
fn raw_line_separators_are_no_line_ends() {
    let root = Root::of("line-separators");
    let parent = root.session("55555555-5555-4555-8555-000000000006");
    let report = root.run(0, &["fork", word(&parent)]);
    assert_eq!(message_bytes(&child(&report)), message_bytes(&parent));
    assert!(fs::read_to_string(child(&report)).unwrap().contains('\u{2028}'));
}

#[test]
fn parallel_results_are_put_back_and_copied() {
    let root = Root::of("parallel-tools");
    for id in ["22222222-2222-4222-8222-000000000002", "55555555-5555-4555-8555-000000000005"] {
        let parent = root.session(id);
        let report = root.run(0, &["fork", word(&parent)]);
        assert_eq!(report["tool_calls"], report["tool_results"]);
        let sent = root.rows(&child(&report), "provider");
        assert_eq!(sent, root.rows(&parent, "provider"));
        let calls: usize = sent.iter().map(|row| row["calls"].as_array().unwrap().len()).sum();
        assert!(calls >= 3, "{sent:?}");
        // One answer of several lines is one message of the request.
        assert_eq!(sent[1]["calls"].as_array().unwrap().len(), 3);
        assert_eq!(sent[2]["results"].as_array().unwrap().len(), 3);
    }
}

#[test]
fn an_abandoned_branch_stays_behind() {
    let root = Root::of("branch-and-models");
    let parent = root.session("55555555-5555-4555-8555-000000000003");
    let replay = root.run(0, &["replay", word(&parent), "--check"]);
    assert_eq!(replay["messages"], 4);
    assert_eq!(replay["off_path_messages"], 2);
    let report = root.run(0, &["fork", word(&parent)]);
    let file = child(&report);
    assert_eq!(message_bytes(&file).len(), 4);
    assert_eq!(root.run(0, &["replay", word(&file), "--check"])["off_path_messages"], 0);
}

#[test]
fn the_branch_by_the_client_itself_is_known_as_one() {
    let root = Root::of("branch-command");
    let parent = root.session("44444444-4444-4444-8444-000000000005");
    let branch = root.session("b0be1dd4-6b5f-4a7d-a1d3-7bb24b517d83");
    let against = root.run(0, &["replay", word(&branch), "--against", word(&parent), "--check"]);
    assert_eq!((&against["prefix"], &against["prefix_messages"]), (&"identical".into(), &4.into()));
    assert_eq!(against["parent"]["id"], "44444444-4444-4444-8444-000000000005");
    let usage = root.run(0, &["usage", word(&branch)]);
    assert_eq!(usage["completions"], 1);
    assert_eq!(usage["copied"]["records"], 2);
}

#[test]
fn a_side_session_and_its_note_go_through() {
    let root = Root::of("plain-and-fork");
    let parent = root.session(PLAIN);
    let before = fs::read(&parent).unwrap();
    let side = root.run(0, &["side", word(&parent), "--ask", "Is it safe?"]);
    assert_eq!((&side["framing_messages"], &side["messages"]), (&1.into(), &8.into()));
    assert_eq!(side["next"]["argv"].as_array().unwrap().last().unwrap(), "Is it safe?");
    let file = child(&side);
    let all = records(&file);
    let [framing, title, last] = &all[all.len() - 3..] else { panic!("{all:?}") };
    assert_eq!(framing["subtype"], "local_command");
    assert_eq!(framing["sessctl"]["kind"], "framing");
    assert!(framing["uuid"].as_str().unwrap().starts_with("5e55c710-"));
    assert_eq!((&title["type"], &last["leafUuid"]), (&"custom-title".into(), &framing["uuid"]));
    assert_eq!(root.rows(&file, "messages").last().unwrap()["origin"], "framing");

    let merge = ["merge", word(&file), "--note", "Use integer cents."];
    let merged = root.run(0, &merge);
    assert_eq!((&merged["appended_messages"], &merged["appended_lines"]), (&1.into(), &2.into()));
    let after = fs::read(&parent).unwrap();
    assert!(after.starts_with(&before));
    let all = records(&parent);
    let [note, last] = &all[all.len() - 2..] else { panic!("{all:?}") };
    assert_eq!(note["content"], "<local-command-stdout>Use integer cents.</local-command-stdout>");
    assert_eq!(note["sessionId"], PLAIN);
    assert_eq!((&last["type"], &last["leafUuid"]), (&"last-prompt".into(), &note["uuid"]));
    let asked = all[..all.len() - 2].iter().rev().find(|record| record["type"] == "last-prompt");
    assert_eq!(last["lastPrompt"], asked.unwrap()["lastPrompt"]);
    let row = root.rows(&parent, "messages").pop().unwrap();
    assert_eq!((&row["origin"], &row["role"]), (&"merge".into(), &"user".into()));
    // A note opens no turn, and the same one is written once.
    assert_eq!(root.run(0, &["replay", word(&parent), "--check"])["turns"], 3);
    assert_eq!(root.run(0, &merge)["already_merged"], true);
    assert_eq!(fs::read(&parent).unwrap(), after);
    let against = root.run(0, &["replay", word(&file), "--against", word(&parent), "--check"]);
    assert_eq!(against["prefix"], "identical");
}

#[test]
fn a_session_that_its_client_has_open_gets_no_note() {
    let root = Root::of("plain-and-fork");
    let side = root.run(0, &["side", word(&root.session(PLAIN))]);
    fs::create_dir_all(root.path("sessions")).unwrap();
    let pid = std::process::id();
    let presence = format!("{{\"pid\":{pid},\"sessionId\":\"{PLAIN}\",\"cwd\":\"/home/ada\"}}");
    fs::write(root.path(&format!("sessions/{pid}.json")), presence).unwrap();
    let refused = root.run(4, &["merge", word(&child(&side)), "--note", "x"]);
    assert_eq!(refused["code"], "SESSION_LOCKED");
}

#[test]
fn a_torn_tail_is_refused_and_left_out() {
    let root = Root::of("torn-tail");
    let parent = root.session("11111111-1111-4111-8111-000000000009");
    assert_eq!(root.run(4, &["fork", word(&parent), "--allow", "TORN_TAIL"])["code"], "OPEN_TURN");
    assert_eq!(root.run(5, &["fork", word(&parent)])["code"], "TORN_TAIL");
    let report = root.run(0, &["fork", word(&parent), "--at", "last-turn"]);
    assert_eq!(report["turns"], 2);
}

#[test]
fn a_torn_tail_behind_a_finished_turn_gets_a_line_of_its_own() {
    let root = Root::of("plain-and-fork");
    let parent = root.session(PLAIN);
    let side = child(&root.run(0, &["side", word(&parent)]));
    let mut torn = fs::read(&parent).unwrap();
    torn.extend_from_slice(b"{\"type\":\"mode\",\"mo");
    fs::write(&parent, &torn).unwrap();
    let merge = ["merge", word(&side), "--note", "x"];
    assert_eq!(root.run(5, &merge)["code"], "TORN_TAIL");
    assert_eq!(fs::read(&parent).unwrap(), torn);
    root.run(0, &[&merge[..], &["--allow", "TORN_TAIL"]].concat());
    let after = fs::read(&parent).unwrap();
    assert!(after.starts_with(&torn) && after[torn.len()] == b'\n' && after.ends_with(b"}\n"));
}

#[test]
fn sidecars_are_named_or_carried() {
    let root = Root::of("subagent-foreground");
    let parent = root.session("22222222-2222-4222-8222-000000000003");
    let plain = root.run(0, &["fork", word(&parent)]);
    assert_eq!(plain["not_carried"], serde_json::json!(["subagents:1"]));
    assert_eq!(codes(&plain, "warnings"), ["SIDECARS_NOT_CARRIED"]);
    let with = root.run(0, &["fork", word(&parent), "--with-sidecars"]);
    assert_eq!(with["carried"], serde_json::json!(["subagents:1"]));
    let id = with["child"]["id"].as_str().unwrap();
    let folder = root.path(&format!("{PROJECT}/{id}/subagents"));
    let agent = folder.join("agent-afb6d8924f8925562.jsonl");
    assert!(folder.join("agent-afb6d8924f8925562.meta.json").is_file());
    for record in records(&agent) {
        assert_eq!(record["sessionId"], id);
    }
    // Copies, however many, are billed once.
    assert_eq!(root.run(0, &["usage", word(&root.path(""))])["completions"], 4);
    let of_parent = root.run(0, &["usage", word(&parent), "--by", "kind"]);
    let kinds: Vec<&Value> =
        of_parent["rows"].as_array().unwrap().iter().map(|row| &row["kind"]).collect();
    assert_eq!(kinds, ["main", "subagent"]);
}

#[test]
fn sidecars_of_a_child_that_a_crash_cut_off_are_made_again_with_it() {
    let root = Root::of("subagent-foreground");
    let parent = root.session("22222222-2222-4222-8222-000000000003");
    let fork = ["fork", word(&parent), "--with-sidecars", "--request-id", "r1"];
    let first = root.run(0, &fork);
    let journal = root.folder.path().join("state/lineage.jsonl");
    let steps = fs::read_to_string(&journal).unwrap();
    let log = PathBuf::from(first["child"]["path"].as_str().unwrap());
    let folder = log.with_extension("").join("subagents");
    let meta = folder.join("agent-afb6d8924f8925562.meta.json");
    let bytes = fs::read(&meta).unwrap();
    // Killed between the first sidecar and the second, which comes before the log.
    fs::write(&journal, steps.lines().next().unwrap().to_owned() + "\n").unwrap();
    fs::remove_file(&log).unwrap();
    fs::remove_file(&meta).unwrap();
    let again = root.run(0, &fork);
    assert_eq!((&again["child"], &again["carried"]), (&first["child"], &first["carried"]));
    assert_eq!(fs::read(&meta).unwrap(), bytes);
    assert!(log.is_file() && fs::read_dir(&folder).unwrap().count() == 2);
}

#[test]
fn a_child_without_messages_is_started_by_the_client() {
    let root = Root::of("plain-and-fork");
    let parent = root.session(PLAIN);
    let files = || WalkDir::new(root.path("projects")).into_iter().count();
    let before = files();
    for args in [
        &["fork", word(&parent), "--at", "start"][..],
        &["fork", word(&parent), "--context", "none"][..],
    ] {
        let report = root.run(0, args);
        assert_eq!(report["child"]["path"], Value::Null);
        let argv = report["next"]["argv"].as_array().unwrap();
        assert_eq!(argv[..2], ["claude", "--session-id"]);
        assert_eq!(argv[2], report["child"]["id"]);
    }
    let side = root.run(0, &["side", word(&parent), "--context", "none", "--ask", "Why?"]);
    assert_eq!(side["framing_messages"], 0);
    let words = side["next"]["argv"].as_array().unwrap().last().unwrap().as_str().unwrap();
    assert!(words.starts_with("Side conversation") && words.ends_with("Why?"));
    assert_eq!(files(), before);
}

#[test]
fn the_working_folder_of_a_child_decides_its_place() {
    let root = Root::of("plain-and-fork");
    let report = root.run(0, &["fork", word(&root.session(PLAIN)), "--cwd", "/srv/new.shop"]);
    let place = report["child"]["store_path"].as_str().unwrap();
    assert!(place.starts_with("projects/-srv-new-shop/"), "{place}");
    assert_eq!(report["next"]["cwd"], "/srv/new.shop");
}

#[test]
fn a_turn_that_was_broken_off_is_closed_and_one_that_was_killed_is_open() {
    let broken = Root::of("interrupted-in-tool-loop/before");
    let session = broken.session("22222222-2222-4222-8222-000000000052");
    let turns = broken.rows(&session, "turns");
    assert_eq!((turns.len(), &turns[0]["state"]), (1, &"interrupted".into()));
    broken.run(0, &["fork", word(&session)]);
    // The client answers for the model before it goes on.
    let sent = broken.rows(&session, "provider");
    assert_eq!(sent.last().unwrap()["text"], "No response requested.");

    let killed = Root::of("killed-in-tool-loop/before");
    let session = killed.session("22222222-2222-4222-8222-000000000051");
    let refused = killed.run(4, &["fork", word(&session)]);
    assert_eq!(refused["code"], "OPEN_TURN");
    assert_eq!(refused["open_calls"], serde_json::json!(["toolu_01Mock00000000001501"]));
    let sent = killed.rows(&session, "provider");
    assert_eq!(sent[sent.len() - 2]["results"].as_array().unwrap().len(), 2);
}

#[test]
fn a_failed_turn_is_closed_and_its_error_is_no_message() {
    let root = Root::of("api-error-final");
    let session = root.session("55555555-5555-4555-8555-000000000001");
    let turns = root.rows(&session, "turns");
    assert_eq!(turns[0]["state"], "failed");
    assert_eq!(root.rows(&session, "messages").len(), 1);
}

#[test]
fn a_continuation_after_a_cut_stream_belongs_to_its_turn() {
    let root = Root::of("cut-stream");
    let session = root.session("55555555-5555-4555-8555-000000000002");
    let turns = root.rows(&session, "turns");
    assert_eq!((turns.len(), &turns[0]["state"]), (1, &"completed".into()));
    assert_eq!(root.run(0, &["fork", word(&session), "--at", "turn:1"])["messages"], 4);
    // What the cut call put out is not in the file.
    assert_eq!(root.run(0, &["usage", word(&session)])["lower_bound"], 1);
}

#[test]
fn old_clients_are_told_of() {
    let root = Root::of("old-2.1.30");
    let session = root.session("33333333-3333-4333-8333-000000002130");
    let side = root.run(0, &["side", word(&session)]);
    assert_eq!(codes(&side, "warnings"), ["NOTE_NOT_SENT"]);
    let usage = root.run(0, &["usage", word(&session)]);
    assert_eq!((&usage["completions"], &usage["lower_bound"]), (&3.into(), &3.into()));
}

#[test]
fn a_side_question_of_the_client_is_an_aside_and_its_copies_are_none() {
    let root = Root::of("aside-question-2.1.100");
    let usage = root.run(0, &["usage", word(&root.path("")), "--by", "kind"]);
    let kinds: Vec<(&str, u64)> = usage["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["kind"].as_str().unwrap(), row["completions"].as_u64().unwrap()))
        .collect();
    assert_eq!(kinds, [("aside", 1), ("main", 3)]);
    assert_eq!(usage["unrecorded"], 1);
}

#[test]
fn a_snapshot_is_the_same_twice_and_forks_without_its_source() {
    let root = Root::of("compaction");
    let parent = root.session("22222222-2222-4222-8222-000000000007");
    let (one, two) = (root.path("one.json"), root.path("two.json"));
    for out in [&one, &two] {
        root.run(0, &["snapshot", word(&parent), "--out", word(out)]);
    }
    assert_eq!(fs::read(&one).unwrap(), fs::read(&two).unwrap());
    let header: Value =
        serde_json::from_str(fs::read_to_string(&one).unwrap().lines().next().unwrap()).unwrap();
    assert_eq!(header["header"], Value::Null);
    let texts = root.texts(&parent);
    fs::remove_file(&parent).unwrap();
    let report = root.run(0, &["fork", word(&one), "--out", word(&root.path("child.jsonl"))]);
    assert_eq!(root.texts(&child(&report)), texts);
}

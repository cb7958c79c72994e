//! The reports of people whose sessions broke, as commands and what must come of them: every `expected.md` below
//! `fixtures/cases/`, run with the binary on a fresh copy of its folder.
//!
//! A command holds `cmd`, `exit`, often `code`, and facts. Most facts are fields of the report; the others are looked
//! up by [`judge`]. A fact that nobody knows how to look up is a fault.

mod common;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use common::{Answer, Faults, Room, Tree, fixture, words};
use serde_json::{Map, Value};

const VERBS: [&str; 6] = ["fork", "snapshot", "side", "merge", "replay", "usage"];

/// Facts that are fields of the report under their own name.
const FIELDS: &[&str] = &[
    "already_merged",
    "appended_lines",
    "code",
    "completions",
    "compacted_source",
    "copied_parent_messages",
    "cwd_first",
    "cwd_last",
    "dangling_ids",
    "files_read",
    "found_by",
    "found_under",
    "framing_messages",
    "inherited_lines",
    "known_turns",
    "leaf",
    "left_out.lines",
    "left_out.messages",
    "lines",
    "merges",
    "messages",
    "off_path_messages",
    "open_turns",
    "own_messages",
    "prefix",
    "prefix_messages",
    "replayed",
    "seed_length",
    "side_messages",
    "tool_calls",
    "tool_results",
    "turns",
];

/// Facts that are fields of the report under another name.
const ALIASES: &[(&str, &str)] = &[
    ("title", "child.title"),
    ("child_cwd", "child.cwd"),
    ("clipped_to", "boundary.at"),
    ("boundary_turn", "boundary.turn_id"),
    ("parent_id", "parent.id"),
    ("requests", "completions"),
    ("appended_records", "appended_messages"),
    ("appended_messages", "own_messages"),
    ("dropped_entries", "left_out.lines"),
    ("left_out_messages", "left_out.messages"),
    ("inherited_entries", "inherited_lines"),
];

/// Facts about the files that a command left, or left alone.
const FILES: &[&str] = &[
    "writes_nothing",
    "file_mode",
    "dir_mode",
    "file_exists",
    "first_bytes",
    "absent",
    "present",
    "shared_record_ids",
    "provenance",
];

/// Facts that stand in the report or in one of its findings.
const COUNTED: &[&str] = &[
    "lost_records",
    "saved_records",
    "records_after_damage",
    "reachable_messages",
    "cut_off_messages",
    "stories",
    "open_calls",
];

#[test]
fn every_report_of_a_broken_session_is_answered() {
    let mut faults = Faults::default();
    let mut folders: Vec<PathBuf> =
        fs::read_dir(fixture("cases")).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    let mut commands = 0;
    for folder in &folders {
        let room = Room::with(folder, &["expected.md"]);
        for command in commands_of(folder) {
            commands += 1;
            run(&mut faults, folder, &room, &command);
        }
    }
    assert_eq!((folders.len(), commands), (40, 116));
    faults.none_in(420);
}

#[test]
fn no_text_that_is_no_id_becomes_a_file() {
    let folder = fixture("cases/33-ids-are-not-paths");
    let room = Room::with(&folder, &["expected.md"]);
    let session = "2026-01-01T10-00-00-000Z_019b78ff-f900-781b-86be-7f7cb3a1022e.jsonl";
    let ids = fs::read_to_string(folder.join("bad-ids.txt")).unwrap();
    let before = room.tree();
    let mut faults = Faults::default();
    for id in ids.split_terminator('\n') {
        let given = format!("--id={id}");
        let answer = room.run(["fork", session, "--store", "store", "--json", &given]);
        faults.same(&format!("{given:?}: exit"), &Some(2), &answer.exit);
        let code = answer.report["code"].as_str().unwrap_or_default();
        faults.same(&format!("{given:?}: code"), &"INVALID_SESSION_ID", &code);
        faults.hold(room.tree() == before, || format!("{given:?} was written"));
    }
    faults.none_in(15 * 3);
}

/// The commands of a case: every block of JSON in its page, in order.
fn commands_of(folder: &Path) -> Vec<Map<String, Value>> {
    let page = folder.join("expected.md");
    let text =
        fs::read_to_string(&page).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
    let blocks = text.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let commands = blocks.flat_map(|block| {
        serde_json::from_str::<Vec<Map<String, Value>>>(block)
            .unwrap_or_else(|error| panic!("{}: {error}", page.display()))
    });
    let commands: Vec<_> = commands.collect();
    assert!(!commands.is_empty(), "{} holds no command", page.display());
    commands
}

/// One command as it was run.
struct Run<'a> {
    room: &'a Room,
    words: Vec<String>,
    answer: Answer,
    before: Tree,
    after: Tree,
}

/// Runs a command and holds it to its facts.
fn run(faults: &mut Faults, folder: &Path, room: &Room, command: &Map<String, Value>) {
    let line = command["cmd"].as_str().expect("a command is a string");
    let is = |what: &str| {
        let case = folder.file_name().unwrap().to_string_lossy();
        format!("{case}: {line}\n    {what}")
    };
    let words: Vec<_> = words(line).into_iter().skip(1).collect(); // the name of the program
    let report_too = (!words.iter().any(|word| word == "--json")).then_some("--json");
    let before = room.tree();
    let answer = room.run(words.iter().map(String::as_str).chain(report_too));
    let run = Run { room, words, answer, before, after: room.tree() };

    let (said, exit) = (&run.answer.stderr, run.answer.exit.map(i64::from));
    faults.hold(exit == command["exit"].as_i64(), || {
        is(&format!("exit: want {}, have {exit:?}: {said}", command["exit"]))
    });
    let touched = run.touched();
    faults.hold(touched.is_empty(), || is(&format!("changed or removed: {touched:?}")));
    for (fact, want) in command.iter().filter(|(fact, _)| !["cmd", "exit"].contains(&fact.as_str()))
    {
        let verdict = judge(&run, fact, want);
        faults.hold(verdict.is_ok(), || {
            is(&format!("{fact}: want {want}, {}", verdict.unwrap_err()))
        });
    }
}

impl Run<'_> {
    /// What stood there before and is no longer the same; who merges or records may let the parent grow.
    fn touched(&self) -> Vec<&String> {
        let named = |word| self.words.iter().any(|have| have == word);
        let verb = self.words.iter().find(|word| VERBS.contains(&word.as_str()));
        let may_grow = self.answer.exit == Some(0)
            && match verb.map(String::as_str) {
                Some("merge") => true,
                Some("side") => named("--record"),
                _ => false,
            };
        let same = |name: &String, (digest, old): &(String, Vec<u8>)| {
            self.after.get(name).is_some_and(|(now, new)| {
                now == digest || may_grow && !old.is_empty() && new.starts_with(old)
            })
        };
        self.before.iter().filter(|(name, file)| !same(name, file)).map(|(name, _)| name).collect()
    }

    /// The value of an option, if it was given.
    fn option(&self, name: &str) -> Option<&str> {
        let at = self.words.iter().position(|word| word == name)?;
        self.words.get(at + 1).map(String::as_str)
    }

    fn out(&self) -> Result<PathBuf, String> {
        Ok(self.room.path().join(self.option("--out").ok_or("the command has no --out")?))
    }

    fn bytes(&self, path: &Path) -> Result<Vec<u8>, String> {
        let path = self.room.path().join(path);
        fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// A field of the report, by a path with dots.
    fn field(&self, path: &str) -> &Value {
        path.split('.').fold(&self.answer.report, |value, part| &value[part])
    }

    fn findings(&self) -> &[Value] {
        self.answer.report["findings"].as_array().map_or(&[], Vec::as_slice)
    }

    /// The rows that a replay of the same session prints in a view.
    fn view(&self, view: &str) -> Vec<Value> {
        let mut words = vec!["replay", &self.words[1], "--view", view];
        for name in ["--leaf", "--store", "--at", "--allow", "--format"] {
            words.extend(self.option(name).into_iter().flat_map(|value| [name, value]));
        }
        words.extend(self.words.iter().map(String::as_str).find(|word| *word == "--lenient"));
        let rows = self.room.run(words).stdout;
        rows.lines()
            .filter_map(|row| serde_json::from_str::<Value>(row).ok())
            .filter(|row| row.get("role").is_some())
            .collect()
    }
}

/// Whether a fact is so, or what is there in its place.
fn judge(run: &Run<'_>, fact: &str, want: &Value) -> Result<(), String> {
    let report = &run.answer.report;
    let names = || names_in(want);
    match fact {
        "warnings" | "notes" => {
            let kinds = ["findings", "warnings", "notes"].map(|kind| &report[kind]);
            let all = kinds.iter().filter_map(|list| list.as_array()).flatten();
            let codes: Vec<_> = all.filter_map(|finding| finding["code"].as_str()).collect();
            so(names().all(|code| codes.contains(&code)), &codes)
        }
        "findings" => {
            let wanted = want.as_array().ok_or("a list is wanted")?;
            let errors = || run.findings().iter().filter(|found| found["severity"] == "error");
            let found = |want| run.findings().iter().any(|have| is_part(want, have));
            let none = wanted.is_empty() && errors().next().is_some();
            so(!none && wanted.iter().all(found), run.findings())
        }
        "findings_count" => equal(want, &run.findings().len().into()),
        "texts" => {
            let rows = run.view("messages");
            let texts: Vec<_> = rows.iter().map(|row| row["text"].as_str().unwrap_or("")).collect();
            let same = |(want, have): (&str, &&str)| want == *have || want == "<summary>";
            so(names().count() == texts.len() && names().zip(&texts).all(same), &texts)
        }
        "roles" | "provider_messages" => {
            let rows = run.view(if fact == "roles" { "messages" } else { "provider" });
            let roles: Vec<_> = rows.iter().filter_map(|row| row["role"].as_str()).collect();
            let want: Vec<_> = names().map(|role| role.split('(').next().unwrap()).collect();
            so(want == roles, &roles)
        }
        "turns" if want.is_array() => {
            let report = report.to_string();
            so(names().all(|turn| report.contains(turn)), &report)
        }
        "boundary" => {
            let want = want.as_str().ok_or("a name is wanted")?;
            let names = ["boundary.at", "boundary.turn_id", "boundary.kind"];
            let names = names.map(|name| run.field(name).as_str().unwrap_or_default());
            so(names.contains(&want) || names.contains(&format!("turn:{want}").as_str()), &names)
        }
        "new_session_id" | "child_id_is_new" => {
            let [child, source] = ["child.id", "source.id"].map(|name| run.field(name));
            so(want == true && child.is_string() && child != source, child)
        }
        "child_id_in_name" => {
            let (id, path) = (run.field("child.id").as_str(), run.field("child.path").as_str());
            let name = path.and_then(|path| Path::new(path).file_name()?.to_str());
            let held = id.zip(name).is_some_and(|(id, name)| name.contains(id));
            so(want == true && held, &(id, path))
        }
        "would_write_under" => {
            let have = run.field("child.store_path").as_str().unwrap_or_default();
            so(want.as_str().is_some_and(|want| have.starts_with(want)), have)
        }
        "has_fields" => {
            let missing: Vec<_> = names().filter(|name| run.field(name).is_null()).collect();
            so(missing.is_empty(), &missing)
        }
        "carried" | "not_carried" => {
            let have = &report[fact];
            let have = have.as_array().map_or(&[][..], Vec::as_slice);
            so(names().all(|name| have.iter().any(|have| have == name)), have)
        }
        "lineage" => {
            let above = |(name, want): (&String, &Value)| {
                [&report["lineage"][name], &report[name]].iter().any(|have| is_part(want, have))
            };
            so(want.as_object().is_some_and(|want| want.iter().all(above)), report)
        }
        _ if FILES.contains(&fact) => judge_files(run, fact, want),
        _ if COUNTED.contains(&fact) => {
            let below = || run.findings().iter().map(|found| &found[fact]).find(|v| !v.is_null());
            let have = Some(&report[fact]).filter(|have| !have.is_null()).or_else(below);
            equal(want, have.unwrap_or(&Value::Null))
        }
        _ => {
            let alias = ALIASES.iter().find(|(name, _)| *name == fact).map(|(_, field)| *field);
            let field = alias.or_else(|| FIELDS.iter().copied().find(|name| *name == fact));
            equal(want, run.field(field.ok_or("a fact that nobody knows how to look up")?))
        }
    }
}

/// The same for facts about what was written.
fn judge_files(run: &Run<'_>, fact: &str, want: &Value) -> Result<(), String> {
    match fact {
        "writes_nothing" => {
            let [before, after] =
                [&run.before, &run.after].map(|tree| tree.iter().collect::<BTreeSet<_>>());
            let changed = before.symmetric_difference(&after).map(|(name, _)| name);
            let changed: Vec<_> = changed.collect();
            so(want == true && changed.is_empty(), &changed)
        }
        "file_mode" | "dir_mode" => {
            let out = run.out()?;
            let looked_at = if fact == "file_mode" { Some(&*out) } else { out.parent() };
            equal(want, &run.room.mode(looked_at.ok_or("no folder")?).into())
        }
        "file_exists" => {
            let bytes = run.bytes(Path::new(want.as_str().ok_or("a path is wanted")?))?;
            so(!bytes.is_empty(), "an empty file")
        }
        "first_bytes" => {
            let want = want.as_str().ok_or("a text is wanted")?;
            so(run.bytes(&run.out()?)?.starts_with(want.as_bytes()), "others")
        }
        "absent" | "present" => {
            let path = run.out().unwrap_or_else(|_| run.words[1].clone().into());
            let bytes = run.bytes(&path)?;
            let holds = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
            let wrong: Vec<_> =
                names_in(want).filter(|text| holds(text) != (fact == "present")).collect();
            so(wrong.is_empty(), &wrong)
        }
        "shared_record_ids" => {
            let [parent, child] = [Path::new(&run.words[1]), &run.out()?]
                .map(|path| run.bytes(path).map(|bytes| record_ids(&bytes)));
            equal(want, &parent?.intersection(&child?).count().into())
        }
        "provenance" => {
            let rows = rows(&run.bytes(&run.out()?)?);
            let said = rows.iter().filter(|row| {
                row["uuid"].is_string() && (row["type"] == "user" || row["type"] == "assistant")
            });
            let bare = said.filter(|row| !row["forkedFrom"]["messageUuid"].is_string());
            let bare: Vec<_> = bare.map(|row| &row["uuid"]).collect();
            so(!want.is_null() && bare.is_empty(), &bare)
        }
        _ => Err("a fact that nobody knows how to look up".into()),
    }
}

/// The texts in a list.
fn names_in(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn so(holds: bool, have: &(impl std::fmt::Debug + ?Sized)) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("have {have:?}").chars().take(400).collect()) }
}

fn equal(want: &Value, have: &Value) -> Result<(), String> {
    so(want == have, have)
}

/// Whether all that is wanted is there; what else is there does not matter.
fn is_part(want: &Value, have: &Value) -> bool {
    match (want, have) {
        (Value::Object(want), Value::Object(have)) => {
            want.iter().all(|(name, want)| have.get(name).is_some_and(|have| is_part(want, have)))
        }
        (Value::Array(want), Value::Array(have)) => {
            want.len() == have.len()
                && want.iter().zip(have).all(|(want, have)| is_part(want, have))
        }
        _ => want == have,
    }
}

fn rows(bytes: &[u8]) -> Vec<Value> {
    bytes.split(|byte| *byte == b'\n').filter_map(|row| serde_json::from_slice(row).ok()).collect()
}

/// The ids of the records of a log; a header's is that of the session.
fn record_ids(bytes: &[u8]) -> BTreeSet<String> {
    let id = |row: &Value| {
        let own = Some(&row["id"]).filter(|_| row["type"] != "session");
        [Some(&row["uuid"]), own].into_iter().flatten().find_map(|id| id.as_str().map(Into::into))
    };
    rows(bytes).iter().filter_map(id).collect()
}

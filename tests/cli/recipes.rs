//! The recipes of docs/scripting.md, run as they stand there.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use crate::home::{Home, PI_ID, Ran, install_script, ran, word};

/// The recipes by the names in their first lines.
fn recipes() -> Vec<(String, String)> {
    let page = include_str!("../../docs/scripting.md");
    let blocks = page.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let named = |block: &str| {
        let first = block.lines().next().unwrap().strip_prefix("# ").expect("a recipe has a name");
        let name = first.split([' ', ':']).next().unwrap();
        assert!(Path::new(name).extension().is_some_and(|end| end == "sh"), "{first}");
        (name.to_owned(), block.to_owned())
    };
    blocks.map(named).collect()
}

/// A home with the recipes in it; those that want jq cannot run where there is none.
struct Shell {
    home: Home,
    jq: bool,
}

impl Shell {
    fn new() -> Self {
        let home = Home::new();
        fs::create_dir_all(home.path("bin")).unwrap();
        for (name, block) in recipes() {
            fs::write(home.path("bin").join(name), block).unwrap();
        }
        let jq = Command::new("jq").arg("--version").output().is_ok_and(|ran| ran.status.success());
        if !jq {
            eprintln!("SKIPPED: recipes that read reports want jq, which is not installed");
        }
        Self { home, jq }
    }

    fn run(&self, name: &str, args: &[&str]) -> Ran {
        self.run_fed(name, args, Stdio::null())
    }

    fn run_fed(&self, name: &str, args: &[&str], input: Stdio) -> Ran {
        let tool = Path::new(env!("CARGO_BIN_EXE_sessctl")).parent().unwrap();
        let system = std::env::var("PATH").unwrap();
        let path = format!("{}:{}:{system}", tool.display(), self.home.path("bin").display());
        let mut shell = Command::new("sh");
        shell.arg(self.home.path("bin").join(name)).args(args).env_clear();
        shell.env("PATH", path).env("HOME", self.home.path("")).env("TZ", "UTC");
        ran(&shell.current_dir(self.home.path("")).stdin(input).output().unwrap())
    }
}

#[test]
fn every_recipe_is_tried_here() {
    let tests = include_str!("recipes.rs");
    for (name, block) in recipes() {
        assert!(tests.contains(&format!("\"{name}\"")), "{name} is run by no test");
        assert!(block.lines().all(|line| line.len() <= 120), "{name} is too wide for a page");
    }
}

#[test]
fn golden_files_tell_a_history_that_changed() {
    let shell = Shell::new();
    let log = shell.home.copy("pi/pi-1.6.0-plain-3-turns.jsonl", "logs/a.jsonl");
    shell.home.copy("pi/pi-1.6.0-tool-calls.jsonl", "logs/b.jsonl");
    assert_eq!(shell.run("golden-make.sh", &["logs"]).exit, 0);
    let same = shell.run("golden-check.sh", &["logs"]);
    assert_eq!((same.exit, same.err.as_str()), (0, ""));
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, text.replacen("Hello there.", "Hello here.", 1)).unwrap();
    let changed = shell.run("golden-check.sh", &["logs"]);
    assert_eq!(changed.exit, 1);
    assert!(
        changed.err.contains("REPLAY_MISMATCH")
            && changed.err.contains("logs/a.jsonl: not what it was, or damaged")
    );
    assert!(!changed.err.contains("logs/b.jsonl"));
    fs::remove_file(shell.home.path("logs/b.golden")).unwrap();
    assert!(shell.run("golden-check.sh", &["logs"]).err.contains("logs/b.jsonl: no golden file"));
}

#[test]
fn damaged_logs_are_listed() {
    let shell = Shell::new();
    shell.home.copy("pi/pi-1.6.0-plain-3-turns.jsonl", "a.jsonl");
    shell.home.copy("pi/damaged/38-fused-lines.jsonl", "b.jsonl");
    if shell.jq {
        let listed = shell.run("damaged.sh", &["a.jsonl", "b.jsonl"]);
        let b = shell.home.path("b.jsonl");
        assert!(
            listed.out.starts_with(word(&b)) && listed.out.lines().count() == 1,
            "{}",
            listed.out
        );
        assert!(listed.out.contains("\tRECORDS_FUSED\t"), "{}", listed.out);
    }
}

#[test]
fn a_status_line_is_of_the_session_at_hand() {
    let shell = Shell::new();
    shell.home.pi();
    if shell.jq {
        let told = shell.home.path("told.json");
        fs::write(&told, format!("{{\"session_id\":\"{PI_ID}\",\"cwd\":\"/\"}}")).unwrap();
        let line = shell.run_fed("statusline.sh", &[], fs::File::open(&told).unwrap().into());
        assert_eq!(
            (line.exit, line.out.as_str()),
            (0, "533 tok · 3 calls · $0.0005\n"),
            "{}",
            line.err
        );
    }
}

#[test]
fn an_audit_fails_over_its_budget() {
    let shell = Shell::new();
    shell.home.pi();
    let within = shell.run("audit.sh", &["5Mtok", "2026-01-01"]);
    assert_eq!(within.exit, 0, "{}{}", within.out, within.err);
    assert!(within.out.contains("main"), "{}", within.out);
    let over = shell.run("audit.sh", &["1tok", "2026-01-01"]);
    assert_eq!(over.exit, 1, "{}{}", over.out, over.err);
    assert!(
        over.out.contains("main") && over.err.contains("OVER_BUDGET"),
        "{}{}",
        over.out,
        over.err
    );
    if shell.jq {
        let share = shell.run("aside-share.sh", &[]).out;
        let numbers: Vec<u64> =
            share.split_whitespace().map(|word| word.parse().unwrap()).collect();
        assert!(numbers.len() == 2 && numbers[0] == 0 && numbers[1] > 0, "{share}");
    }
}

#[test]
fn a_question_is_asked_aside_and_its_answer_merged() {
    let shell = Shell::new();
    if !shell.jq {
        return;
    }
    let parent = shell.home.pi();
    fs::create_dir_all(shell.home.path("work")).unwrap();
    // The client, as far as a script sees it: it answers the last word in the session that is named.
    let client = shell.home.path("bin/pi");
    let line = |id: &str, parent: &str, message: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":"{parent}","timestamp":"2126-12-01T00:00:00.000Z","message":{message}}}"#
        )
    };
    let ask = line(
        "aaaaaaaa",
        "$last",
        r#"{"role":"user","content":[{"type":"text","text":"$3"}],"timestamp":4951756800000}"#,
    );
    let answer = line(
        "bbbbbbbb",
        "aaaaaaaa",
        r#"{"role":"assistant","content":[{"type":"text","text":"Because."}],"api":"x","provider":"x","model":"x","usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2},"stopReason":"stop","timestamp":4951756801000}"#,
    );
    let quoted = |line: &str| line.replace('"', "\\\"");
    let script = format!(
        "#!/bin/sh\nset -eu\nlog=$(find \"$HOME/.pi\" -name \"*_$2.jsonl\")\nlast=$(tail -n 1 \"$log\" | jq -r .id)\necho \"{}\" >> \"$log\"\necho \"{}\" >> \"$log\"\n",
        quoted(&ask),
        quoted(&answer)
    );
    install_script(&script, &client);
    // The session's own folder is on another machine.
    let text = fs::read_to_string(&parent).unwrap();
    fs::write(&parent, text.replace("/home/ada/pi-demo", word(&shell.home.path("work")))).unwrap();
    let before = fs::read(&parent).unwrap().len();
    let asked = shell.run("ask.sh", &[PI_ID, "Why hello?"]);
    assert_eq!(asked.exit, 0, "{}{}", asked.out, asked.err);
    assert_eq!(asked.out, format!("merged 8 characters into {PI_ID}\nBecause.\n"));
    let after = fs::read_to_string(&parent).unwrap();
    assert!(after.len() > before && after.ends_with('\n') && after.contains("Because."));
}

#[test]
fn forks_by_request_are_made_once() {
    let shell = Shell::new();
    if !shell.jq {
        return;
    }
    shell.home.pi();
    let first = shell.run("three-ways.sh", &[PI_ID]);
    assert_eq!((first.exit, first.out.lines().count()), (0, 3), "{}", first.err);
    assert_eq!(shell.run("three-ways.sh", &[PI_ID]).out, first.out);
    let family = shell.run("family.sh", &[PI_ID]).out;
    assert!(family.starts_with(&format!("main {PI_ID} notes:0\n")), "{family}");
    assert_eq!(family.matches("\n  fork ").count(), 3, "{family}");
    let recent = shell.run("recent.sh", &[]).out;
    assert!(recent.lines().count() == 4 && recent.contains("\tpi\t3\tThe second way"), "{recent}");
    assert_eq!(shell.run("turns-open.sh", &[PI_ID]).out, "");
    let child = shell.run("fork-when-done.sh", &[PI_ID]).out;
    assert!(Path::new(child.trim()).is_file(), "{child}");
}

/// What the workflow for GitHub Actions runs, by the names of its steps.
fn steps() -> Vec<(&'static str, String)> {
    let page = include_str!("../../docs/examples/sessions.yml");
    let step = |step: &'static str| {
        let name = step.lines().next()?.strip_prefix("name: ")?;
        let run = step.split("\n        run: ").nth(1)?;
        let script = match run.strip_prefix("|\n") {
            Some(block) => block.replace("\n          ", "\n").trim_start().to_owned(),
            None => run.lines().next()?.to_owned(),
        };
        Some((name, script))
    };
    page.split("\n      - ").skip(1).filter_map(step).collect()
}

#[test]
fn the_workflow_for_github_checks_histories_draws_pages_and_keeps_a_budget() {
    let shell = Shell::new();
    let today = chrono::Utc::now().format("%Y-%m-%d").to_string();
    for (log, fixture) in [("a", "pi-1.6.0-plain-3-turns"), ("b", "pi-1.6.0-tool-calls")] {
        let path =
            shell.home.copy(&format!("pi/{fixture}.jsonl"), &format!("sessions/{log}.jsonl"));
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("2026-11-29T", &format!("{today}T"))).unwrap();
    }
    assert_eq!(shell.run("golden-make.sh", &["sessions"]).exit, 0);
    let steps = steps();
    let names: Vec<&str> = steps.iter().map(|(name, _)| *name).collect();
    assert!(names.len() == 4 && names[0] == "Build sessctl", "{names:?}");
    let run = |nth: usize, budget: &str| {
        // As the runner does it.
        let tool = Path::new(env!("CARGO_BIN_EXE_sessctl")).parent().unwrap();
        let path = format!("{}:{}", tool.display(), std::env::var("PATH").unwrap());
        let mut bash = Command::new("bash");
        bash.args(["-e", "-c", &steps[nth].1]).env_clear().env("BUDGET", budget);
        bash.env("PATH", path).env("HOME", shell.home.path(""));
        ran(&bash.current_dir(shell.home.path("")).output().unwrap())
    };
    let checked = run(1, "");
    assert_eq!(checked.exit, 0, "{}{}", checked.out, checked.err);
    let drawn = run(2, "");
    assert_eq!(drawn.exit, 0, "{}", drawn.err);
    for log in ["a", "b"] {
        let page = fs::read_to_string(shell.home.path(&format!("pages/{log}.html"))).unwrap();
        assert!(page.starts_with("<!doctype html>"));
    }
    assert_eq!(run(3, "5Mtok").exit, 0);
    let over = run(3, "1tok");
    assert!(over.exit == 1 && over.err.contains("OVER_BUDGET"), "{}{}", over.out, over.err);
    let log = shell.home.path("sessions/a.jsonl");
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, text.replacen("Hello there.", "Hello here.", 1)).unwrap();
    let changed = run(1, "");
    assert_eq!(changed.exit, 1);
    assert!(
        changed.out.contains("::error file=sessions/a.jsonl::") && !changed.out.contains("b.jsonl"),
        "{}",
        changed.out
    );
}

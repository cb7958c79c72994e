//! `side --run` and `merge --condense`, with programs in the place of the clients that write what pi would.

use std::{
    fs,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::home::{Home, PI_FOLDER, PI_ID, PI_NAME, Ran, install_script, ran, word};

/// One turn as pi writes it: the lines of the fixtures with another question and another answer, which `$SAY` or the
/// file `say` gives. Each run leaves a line in `runs`.
const PI: &str = r#"
cd "$HOME" || exit 9
echo "$SESSCTL_QUESTION" | head -n 1 >> runs
file=${WRITES_TO:-$SESSCTL_SESSION_PATH}
said=${SAY:-$(cat say 2>/dev/null || echo "the answer is 42")}
question=$(printf '%s' "$SESSCTL_QUESTION" | sed 's/\\/\\\\/g; s/"/\\"/g' | awk 'NR > 1 { printf "\\n" } { printf "%s", $0 }')
now=$(date -u +%Y-%m-%dT%H:%M:%S.999Z)
last=$(tail -n 1 "$file" | sed 's/.*"id":"\([^"]*\)".*/\1/')
lines=$(wc -l < "$file")
asks=$(printf 'aaaa%04d' "$lines"); says=$(printf 'bbbb%04d' "$lines")
printf '{"type":"message","id":"%s","parentId":"%s","timestamp":"%s","message":{"role":"user","content":[{"type":"text","text":"%s"}],"timestamp":1796000000000}}\n' \
    "$asks" "$last" "$now" "$question" >> "$file"
sleep "${SLOW:-0}"
printf '{"type":"message","id":"%s","parentId":"%s","timestamp":"%s","message":{"role":"assistant","content":[{"type":"text","text":"%s"}],"api":"openai-completions","provider":"loop","model":"demo-small","usage":{"input":100,"output":10,"cacheRead":5,"cacheWrite":0,"reasoning":0,"totalTokens":115},"stopReason":"%s","timestamp":1796000001000}}\n' \
    "$says" "$asks" "$now" "$said" "${ENDS:-stop}" >> "$file"
echo "the screen says something else"
"#;

/// The same for the client of a fixture: the lines of its last turn with other ids, another question and another answer,
/// the tip of the log being what `$TIP` finds.
const CLAUDE: &str = r#"
file=${SESSCTL_SESSION_PATH:-$HOME/.claude/projects/-home-ada-webshop/$SESSCTL_SESSION.jsonl}
tip=$(tail -n 1 "$file" 2>/dev/null | sed 's/.*"leafUuid":\("[^"]*"\).*/\1/')
SESSCTL_QUESTION=$(printf '%s' "$SESSCTL_QUESTION" | awk 'NR > 1 { printf "\\n" } { printf "%s", $0 }')
cat >> "$file" <<LINES
{"parentUuid":${tip:-null},"isSidechain":false,"promptId":"0296b136-a258-43da-afaf-e7eea194bee9","type":"user","message":{"role":"user","content":"$SESSCTL_QUESTION"},"uuid":"14d793c3-0000-4006-baee-292b38e7a0a1","timestamp":"2099-11-29T16:18:28.882Z","permissionMode":"default","userType":"external","entrypoint":"sdk-cli","cwd":"/home/ada/webshop","sessionId":"$SESSCTL_SESSION","version":"2.1.332","gitBranch":"main"}
{"parentUuid":"14d793c3-0000-4006-baee-292b38e7a0a1","isSidechain":false,"message":{"id":"msg_01Mock0000000000000099","type":"message","role":"assistant","model":"claude-opus-5-5","content":[{"type":"text","text":"Two parts:"}],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":0,"cache_read_input_tokens":90,"output_tokens":15}},"requestId":"req_99","type":"assistant","uuid":"b35c6c9f-0001-4368-ac9f-b83eec6b5ba4","timestamp":"2099-11-29T16:18:28.993Z","userType":"external","entrypoint":"sdk-cli","cwd":"/home/ada/webshop","sessionId":"$SESSCTL_SESSION","version":"2.1.332","gitBranch":"main"}
{"parentUuid":"b35c6c9f-0001-4368-ac9f-b83eec6b5ba4","isSidechain":false,"message":{"id":"msg_01Mock0000000000000099","type":"message","role":"assistant","model":"claude-opus-5-5","content":[{"type":"text","text":"one answer."}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":0,"cache_read_input_tokens":90,"output_tokens":15}},"requestId":"req_99","type":"assistant","uuid":"b35c6c9f-0002-4368-ac9f-b83eec6b5ba4","timestamp":"2099-11-29T16:18:29.993Z","userType":"external","entrypoint":"sdk-cli","cwd":"/home/ada/webshop","sessionId":"$SESSCTL_SESSION","version":"2.1.332","gitBranch":"main"}
{"type":"last-prompt","lastPrompt":"$SESSCTL_QUESTION","leafUuid":"b35c6c9f-0002-4368-ac9f-b83eec6b5ba4","sessionId":"$SESSCTL_SESSION"}
LINES
"#;

/// Codex before its events were numbered.
const CODEX: &str = r#"
cat >> "$SESSCTL_SESSION_PATH" <<LINES
{"timestamp":"2099-11-29T16:27:01.562Z","type":"event_msg","payload":{"type":"task_started","turn_id":"03ba8659-a008-7672-806d-7e03dac6ce99","started_at":1795969621,"model_context_window":258400,"collaboration_mode_kind":"default"}}
{"timestamp":"2099-11-29T16:27:01.778Z","type":"response_item","payload":{"type":"message","id":"msg_01a22821-9f12-7011-9144-bf256a9e8499","role":"user","content":[{"type":"input_text","text":"$SESSCTL_QUESTION"}]}}
{"timestamp":"2099-11-29T16:27:01.779Z","type":"event_msg","payload":{"type":"user_message","message":"$SESSCTL_QUESTION","images":[],"local_images":[],"text_elements":[]}}
{"timestamp":"2099-11-29T16:27:01.886Z","type":"event_msg","payload":{"type":"agent_message","message":"Two parts:\n\none answer.","phase":null,"memory_citation":null}}
{"timestamp":"2099-11-29T16:27:01.886Z","type":"response_item","payload":{"type":"message","id":"msg_ecb42e5ece3b8c99","role":"assistant","content":[{"type":"output_text","text":"Two parts:\n\none answer."}]}}
{"timestamp":"2099-11-29T16:27:01.890Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":2700,"cached_input_tokens":90,"output_tokens":58,"reasoning_output_tokens":0,"total_tokens":2758},"last_token_usage":{"input_tokens":100,"cached_input_tokens":90,"output_tokens":15,"reasoning_output_tokens":0,"total_tokens":115},"model_context_window":258400},"rate_limits":null}}
{"timestamp":"2099-11-29T16:27:02.075Z","type":"event_msg","payload":{"type":"task_complete","turn_id":"03ba8659-a008-7672-806d-7e03dac6ce99","last_agent_message":"Two parts:\n\none answer.","started_at":1795969621,"completed_at":1795969622,"duration_ms":531,"time_to_first_token_ms":342}}
LINES
"#;

/// What one run of that costs.
const COST: u64 = 115;

/// A home with a pi session of three turns, and a program in the place of the client.
struct Desk {
    home: Home,
    parent: PathBuf,
    client: String,
}

impl Desk {
    fn new() -> Self {
        let home = Home::new();
        let parent = home.pi();
        let client = program(&home, "fake-pi", PI);
        Self { home, parent, client }
    }

    /// A run with variables; pi's own command is the program.
    fn run_with(&self, variables: &[(&str, &str)], args: &[&str]) -> Ran {
        let mut command = self.home.command(args);
        command.env("PATH", path()).env("SESSCTL_PI_CMD", &self.client);
        command.envs(variables.iter().copied());
        ran(&command.output().expect("the binary runs"))
    }

    fn report_with(&self, exit: i32, variables: &[(&str, &str)], args: &[&str]) -> Value {
        let ran = self.run_with(variables, &[args, &["--json"]].concat());
        assert_eq!(ran.exit, exit, "{args:?}: {} {}", ran.out, ran.err);
        assert_eq!(ran.out.lines().count(), 1, "one report and nothing else: {}", ran.out);
        ran.report()
    }

    fn report(&self, exit: i32, args: &[&str]) -> Value {
        self.report_with(exit, &[], args)
    }

    /// A side session that was asked something.
    fn side(&self) -> (String, PathBuf) {
        let report = self.report(0, &["side", PI_ID, "--ask", "why cents?", "--run"]);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        (text(&report["child"]["id"]), PathBuf::from(text(&report["child"]["path"])))
    }

    /// How often the client ran.
    fn runs(&self) -> usize {
        fs::read_to_string(self.home.path("runs")).unwrap_or_default().lines().count()
    }

    fn says(&self, text: &str) {
        fs::write(self.home.path("say"), text).unwrap();
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(&self.parent).unwrap()
    }
}

/// An executable in the home; its path.
fn program(home: &Home, name: &str, body: &str) -> String {
    let path = home.path(name);
    install_script(&format!("#!/bin/sh\n{body}"), &path);
    word(&path).to_owned()
}

fn path() -> String {
    std::env::var("PATH").expect("tests run with a path")
}

#[test]
fn the_answer_is_what_the_log_says_and_the_parent_is_left_alone() {
    let desk = Desk::new();
    let before = desk.bytes();
    let report = desk.report(0, &["side", PI_ID, "--ask", "why \"cents\"?", "--run"]);
    assert_eq!(report["answer"], "the answer is 42");
    assert_eq!(report["run"]["status"], 0);
    assert_eq!(report["answered_in"]["id"], report["child"]["id"]);
    assert_eq!((&report["framing_messages"], &report["side_messages"]), (&1.into(), &3.into()));
    assert_eq!((&report["copied_parent_messages"], &report["messages"]), (&7.into(), &10.into()));
    assert_eq!(desk.bytes(), before);
    let child = report["child"]["id"].as_str().unwrap();
    let rows = desk.home.run(&["replay", child, "--view", "messages"]).out;
    let origins: Vec<Value> = rows.lines().map(|row| serde_json::from_str(row).unwrap()).collect();
    let own: Vec<&str> = origins
        .iter()
        .filter(|row| row["origin"] == "own")
        .map(|row| row["text"].as_str().unwrap())
        .collect();
    assert_eq!(own, ["why \"cents\"?", "the answer is 42"]);
    let usage = desk.report(0, &["usage", PI_ID, "--by", "kind"]);
    let aside =
        usage["rows"].as_array().unwrap().iter().find(|row| row["kind"] == "aside").unwrap();
    assert_eq!((&aside["completions"], &aside["total"]), (&1.into(), &COST.into()));
}

#[test]
fn people_get_the_answer_on_standard_output_and_the_clients_words_beside_it() {
    let desk = Desk::new();
    let ran = desk.run_with(&[], &["side", PI_ID, "--ask", "why?", "--run"]);
    assert_eq!(ran.exit, 0, "{}", ran.err);
    assert!(ran.out.ends_with("\n\nthe answer is 42\n"), "{}", ran.out);
    assert!(ran.err.contains("the screen says something else") && !ran.out.contains("screen"));
    let ran = desk.run_with(&[], &["-q", "side", PI_ID, "--ask", "why?", "--run"]);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("the answer is 42\n", ""));
}

/// Runs with fakes of all clients first on the path, which write down what they were given; what that was.
fn own_command(
    home: &Home,
    session: &str,
    question: &str,
    store: &[(&str, &str)],
) -> (Vec<String>, Value) {
    let bin = home.path("bin");
    fs::create_dir_all(&bin).unwrap();
    let seen = home.path("seen");
    for name in ["claude", "codex", "pi"] {
        let body = format!(
            "pwd > {0}.cwd; env > {0}.env; printf '%s\\n' {name} \"$@\" > {0}\n",
            word(&seen)
        );
        program(home, &format!("bin/{name}"), &body);
    }
    fs::create_dir_all(home.path("work")).unwrap();
    let work = home.path("work");
    let args =
        ["side", session, "--cwd", word(&work), "--run", "--json", &format!("--ask={question}")];
    let mut command = home.command(&args);
    command.env("PATH", format!("{}:{}", word(&bin), path())).envs(store.iter().copied());
    let ran = ran(&command.output().unwrap());
    assert_eq!(ran.exit, 6, "{} {}", ran.out, ran.err);
    let text = |end: &str| fs::read_to_string(format!("{}{end}", word(&seen))).unwrap();
    assert_eq!(Path::new(text(".cwd").trim()), fs::canonicalize(&work).unwrap());
    let known =
        ["HOME", "TZ", "PATH", "PWD", "OLDPWD", "SHLVL", "_", "CODEX_HOME", "CLAUDE_CONFIG_DIR"];
    for line in text(".env").lines() {
        let name = line.split('=').next().unwrap();
        assert!(known.contains(&name), "the environment is as it was: {line}");
    }
    (text("").lines().map(str::to_owned).collect(), ran.report())
}

#[test]
fn each_client_is_run_by_its_own_command_line() {
    let home = Home::new();
    home.pi();
    let (argv, report) = own_command(&home, PI_ID, "why?", &[]);
    let file = report["child"]["path"].as_str().unwrap();
    assert_eq!(argv, ["pi", "-p", "--session", file, "why?"]);
    assert_eq!(report["code"], "COMMAND_FAILED");
    assert!(report["message"].as_str().unwrap().contains("no answer in the log"));
    assert!(report["hint"].as_str().unwrap().contains("pi --session"));
    assert_eq!(own_command(&home, PI_ID, "--why?", &[]).0[4..], ["--", "--why?"]);
    assert_eq!(own_command(&home, PI_ID, "@@file?", &[]).0[4..], [" @file?"]);

    let name = "rollout-2026-11-29T16-27-01-01a22821-9c99-73b3-af5b-fe2e7c4f696d.jsonl";
    let place = format!("sessions/2026/11/29/{name}");
    home.copy(&format!("codex/old-0.150.0/{place}"), &format!(".codex/{place}"));
    let (argv, report) = own_command(&home, "01a22821-9c99", "why?", &[]);
    let child = report["child"]["id"].as_str().unwrap();
    assert_eq!(argv, ["codex", "exec", "resume", child, "why?"]);

    let place = "projects/-home-ada-webshop/11111111-1111-4111-8111-000000000001.jsonl";
    home.copy(&format!("claude-code/plain-and-fork/{place}"), &format!(".claude/{place}"));
    let (argv, report) = own_command(&home, "11111111-1111", "why?", &[]);
    let child = report["child"]["id"].as_str().unwrap();
    assert_eq!(argv, ["claude", "--resume", child, "-p", "why?"]);
}

#[test]
fn the_answer_is_found_in_the_lines_of_each_client() {
    let codex = "sessions/2026/11/29/rollout-2026-11-29T16-27-01-01a22821-9c99-73b3-af5b-fe2e7c4f696d.jsonl";
    let claude = "projects/-home-ada-webshop/11111111-1111-4111-8111-000000000001.jsonl";
    for (set, place, own, id, body) in [
        ("codex/old-0.150.0", codex, ".codex", "01a22821-9c99", CODEX),
        ("claude-code/plain-and-fork", claude, ".claude", "11111111-1111", CLAUDE),
    ] {
        let desk = Desk::new();
        let parent = desk.home.copy(&format!("{set}/{place}"), &format!("{own}/{place}"));
        let before = fs::read(&parent).unwrap();
        let client = program(&desk.home, "fake", body);
        let report = desk.report(0, &["side", id, "--ask", "why?", "--run-with", &client]);
        assert_eq!(report["answer"], "Two parts:\n\none answer.", "{set}");
        assert_eq!((&report["framing_messages"], fs::read(&parent).unwrap()), (&1.into(), before));
        let side = report["child"]["id"].as_str().unwrap();
        let merged = desk.report(0, &["merge", side, "--last-answer"]);
        assert_eq!((&merged["side_tokens"], &merged["note"]["chars"]), (&COST.into(), &23.into()));
        let usage = desk.report(0, &["usage", id, "--by", "kind"]);
        let rows = usage["rows"].as_array().unwrap();
        assert_eq!(rows.iter().find(|row| row["kind"] == "aside").unwrap()["total"], COST, "{set}");
        assert_eq!(desk.report(0, &["replay", id, "--check"])["merges"], 1, "{set}");
    }
}

#[test]
fn a_packed_log_that_its_client_unpacks_is_followed() {
    let desk = Desk::new();
    let place = "sessions/2026/11/29/rollout-2026-11-29T16-27-01-01a22821-9c99-73b3-af5b-fe2e7c4f696d.jsonl";
    desk.home.copy(&format!("codex/old-0.150.0/{place}"), &format!(".codex/{place}"));
    let client = program(&desk.home, "fake", CODEX);
    let side = desk.report(0, &["side", "01a22821-9c99", "--ask", "why?", "--run-with", &client]);
    let path = PathBuf::from(side["child"]["path"].as_str().unwrap());
    let plain = fs::read(&path).unwrap();
    fs::write(path.with_extension("jsonl.zst"), zstd::encode_all(&plain[..], 3).unwrap()).unwrap();
    fs::rename(&path, desk.home.path("plain")).unwrap();
    let body = format!(
        r#"mv "$HOME/plain" "${{SESSCTL_SESSION_PATH%.zst}}"; rm "$SESSCTL_SESSION_PATH"
SESSCTL_SESSION_PATH=${{SESSCTL_SESSION_PATH%.zst}} {client}"#
    );
    let unpacks = program(&desk.home, "unpacking", &body);
    let merge = ["merge", side["child"]["id"].as_str().unwrap(), "--condense"];
    let report = desk.report_with(0, &[("SESSCTL_CODEX_CMD", &unpacks)], &merge);
    assert_eq!(report["condense"]["answered_in"], word(&path));
    let context = &report["parent_context"];
    let grown =
        context["after"]["chars"].as_u64().unwrap() - context["before"]["chars"].as_u64().unwrap();
    assert_eq!(grown, 23 + "<sidechat_note>\n\n</sidechat_note>".len() as u64, "with its wrapping");
    let again = desk.report_with(0, &[("SESSCTL_CODEX_CMD", "exit 1;")], &merge);
    assert_eq!(
        (&again["already_merged"], &again["parent_context"]["before"]),
        (&true.into(), &context["after"])
    );
}

#[test]
fn a_session_that_its_client_starts_is_asked_and_merged_like_any_other() {
    let desk = Desk::new();
    let claude = "projects/-home-ada-webshop/11111111-1111-4111-8111-000000000001.jsonl";
    desk.home.copy(&format!("claude-code/plain-and-fork/{claude}"), &format!(".claude/{claude}"));
    let client = program(&desk.home, "fake", CLAUDE);
    let args = ["side", "11111111-1111", "--context", "none", "--request-id", "r", "--ask", "why?"];
    let ask = || desk.report(0, &[&args[..], &["--run-with", &client]].concat());
    let report = ask();
    let side = report["child"]["path"].as_str().unwrap();
    assert_eq!(
        (&report["answer"], &report["messages"]),
        (&"Two parts:\n\none answer.".into(), &3.into())
    );
    assert_eq!(report["next"]["argv"][1], "--resume");
    let rows = desk.home.run(&["replay", side, "--view", "messages"]).out;
    assert!(rows.contains("read-only advisor") && rows.lines().next().unwrap().contains("why?"));
    let again = ask();
    assert_eq!((&again["answer"], &again["run"]), (&report["answer"], &Value::Null));
    let merged = desk.report(0, &["merge", side, "--last-answer"]);
    assert_eq!((&merged["appended_messages"], &merged["side_tokens"]), (&1.into(), &COST.into()));
    assert_eq!(merged["parent"]["id"], "11111111-1111-4111-8111-000000000001");
}

#[test]
fn a_variable_puts_another_program_in_its_place_and_a_flag_another_command() {
    let desk = Desk::new();
    let seen = desk.home.path("seen");
    let show = program(&desk.home, "show", &format!("printf '%s\\n' \"$@\" > {}\n", word(&seen)));
    let given = || fs::read_to_string(&seen).unwrap();
    let program = format!("{show} --model small");
    let report = desk.report_with(
        6,
        &[("SESSCTL_PI_CMD", &program)],
        &["side", PI_ID, "--ask", "a b", "--run"],
    );
    let file = report["child"]["path"].as_str().unwrap();
    assert_eq!(given(), format!("--model\nsmall\n-p\n--session\n{file}\na b\n"));
    let command =
        format!("{show} \"$SESSCTL_QUESTION\" \"$SESSCTL_SESSION\" \"$SESSCTL_CLIENT\" \"$2\"");
    let report = desk.report(6, &["side", PI_ID, "--ask", "a b", "--run-with", &command]);
    let child = report["child"]["id"].as_str().unwrap();
    assert_eq!(given(), format!("a b\n{child}\npi\n--session\n"));
    // With both, the flag wins; the shorter name of a client with two words is known too.
    let place = "projects/-home-ada-webshop/11111111-1111-4111-8111-000000000001.jsonl";
    desk.home.copy(&format!("claude-code/plain-and-fork/{place}"), &format!(".claude/{place}"));
    for name in ["SESSCTL_CLAUDE_CODE_CMD", "SESSCTL_CLAUDE_CMD"] {
        desk.report_with(6, &[(name, &show)], &["side", "11111111-1111", "--ask", "x", "--run"]);
        assert!(given().starts_with("--resume\n") && given().ends_with("\n-p\nx\n"), "{name}");
    }
}

#[test]
fn what_a_client_did_wrong_is_said_and_its_session_stays() {
    let desk = Desk::new();
    let before = desk.bytes();
    let fails = |command: &str, variables: &[(&str, &str)]| {
        let args = ["side", PI_ID, "--ask", "why?", "--run-with", command];
        let report = desk.report_with(6, variables, &args);
        assert_eq!(report["code"], "COMMAND_FAILED", "{command}");
        let child = report["child"]["path"].as_str().unwrap().to_owned();
        assert_eq!(desk.home.run(&["replay", &child, "--check"]).exit, 0, "{command}");
        assert_eq!(desk.bytes(), before);
        report
    };
    assert_eq!(fails("exit 3", &[])["run"]["status"], 3);
    assert_eq!(fails("kill -9 $$", &[])["run"]["signal"], 9);
    let words = |report: &Value| report["message"].as_str().unwrap().to_owned();
    assert!(words(&fails("true", &[])).contains("it wrote nothing"));
    let client = desk.client.clone();
    assert!(words(&fails(&client, &[("ENDS", "error")])).contains("ended as failed"));
    assert!(words(&fails(&client, &[("ENDS", "toolUse")])).contains("has not ended"));
    assert!(words(&fails(&client, &[("SAY", " ")])).contains("says nothing"));
    // An answer is told also where the command then fails.
    let report = fails(&format!("{client}; exit 4"), &[]);
    assert_eq!(
        (&report["answer"], &report["run"]["status"]),
        (&"the answer is 42".into(), &4.into())
    );
    let none = [("SESSCTL_PI_CMD", ""), ("PATH", "/nowhere")];
    let work = desk.home.path("work");
    fs::create_dir(&work).unwrap();
    let report =
        desk.report_with(6, &none, &["side", PI_ID, "--ask", "x", "--run", "--cwd", word(&work)]);
    assert!(words(&report).contains("SESSCTL_PI_CMD"), "{report}");
}

#[test]
fn what_could_not_be_run_is_refused_before_anything_is_made() {
    let desk = Desk::new();
    desk.home.dsh("v4-main.jsonl", "demo-main", "session.v4.jsonl");
    let refused = |args: &[&str]| {
        let report = desk.report_with(2, &[("SESSCTL_PI_CMD", "")], args);
        assert_eq!(report["code"], "BAD_USAGE");
        report["message"].as_str().unwrap().to_owned()
    };
    assert!(refused(&["side", "demo-main", "--ask", "why?", "--run"]).contains("SESSCTL_DSH_CMD"));
    assert!(refused(&["side", PI_ID, "--ask", "why?", "--run"]).contains("/home/ada/pi-demo"));
    assert!(refused(&["side", PI_ID, "--ask", " ", "--run-with", "true"]).contains("empty"));
    let out = ["side", PI_ID, "--ask", "why?", "--run-with", "true", "--out", "-", "--json"];
    assert_eq!(desk.run_with(&[], &out).report()["code"], "BAD_USAGE");
    assert_eq!(desk.report(2, &["side", PI_ID, "--run"])["code"], "BAD_USAGE");
    let planned = desk.report(0, &["side", PI_ID, "--ask", "why?", "--run", "--dry-run"]);
    assert_eq!((&planned["run"]["status"], &planned["answer"]), (&Value::Null, &Value::Null));
    assert_eq!(desk.runs(), 0);
    assert_eq!(fs::read_dir(desk.home.path(PI_FOLDER)).unwrap().count(), 1, "nothing was made");
    assert!(!desk.home.path(".local").exists(), "not even in the journal");
    let made = desk.report(6, &["side", "demo-main", "--ask", "why?", "--run-with", "exit 5"]);
    assert_eq!(made["run"]["status"], 5);
}

#[test]
fn one_request_is_answered_once() {
    let desk = Desk::new();
    let ask = |exit, question: &str| {
        desk.report(exit, &["side", PI_ID, "--ask", question, "--run", "--request-id", "r"])
    };
    let (first, second) = (ask(0, "why?"), ask(0, "why?"));
    assert_eq!(first["child"]["id"], second["child"]["id"]);
    assert_eq!((&second["replayed"], &second["answer"]), (&true.into(), &first["answer"]));
    assert_eq!((&second["framing_messages"], &second["run"]), (&1.into(), &Value::Null));
    assert_eq!(desk.runs(), 1);
    assert_eq!(ask(4, "and why not?")["code"], "REQUEST_CONFLICT");
    let at_once = ["side", PI_ID, "--ask", "x", "--run", "--request-id", "t"];
    let calls: Vec<Child> = (0..3).map(|_| start(&desk, &at_once, "0.1")).collect();
    for call in calls {
        let ran = ran(&call.wait_with_output().unwrap());
        assert!(
            ran.exit == 0 && ran.out.ends_with("the answer is 42\n"),
            "{} {}",
            ran.out,
            ran.err
        );
    }
    assert_eq!(desk.runs(), 2);
    // What was cut off is asked again in the same session.
    let args = ["side", PI_ID, "--ask", "x", "--request-id", "s", "--run-with"];
    let failed = desk.report(6, &[&args[..], &["exit 1"]].concat());
    let answered = desk.report(0, &[&args[..6], &["--run"]].concat());
    assert_eq!(failed["child"]["id"], answered["child"]["id"]);
    assert_eq!(desk.runs(), 3);
}

#[test]
fn an_answer_in_a_file_of_its_own_is_found_and_named() {
    let desk = Desk::new();
    // Others that begin alike, and one that somebody writes meanwhile, are not it.
    desk.side();
    let other = "01a2281b-ffff-74f9-b07d-d389f5b79d80";
    let moved = format!("2026-11-30T09-00-00-000Z_{other}.jsonl");
    let body = format!(
        r#"folder=$(dirname "$SESSCTL_SESSION_PATH")
cp {parent} "$folder/2026-11-30T09-00-00-000Z_01a2281b-eeee-74f9-b07d-d389f5b79d80.jsonl"
sed "1s/$SESSCTL_SESSION/{other}/" "$SESSCTL_SESSION_PATH" > "$folder/{moved}"
WRITES_TO="$folder/{moved}" {client}"#,
        parent = word(&desk.parent),
        client = desk.client
    );
    let fork = program(&desk.home, "forking-pi", &body);
    for framing in ["--framing=Only look.", "--no-framing"] {
        let report = desk.report_with(
            0,
            &[("SAY", "from elsewhere")],
            &["side", PI_ID, "--ask", "why?", framing, "--run-with", &fork],
        );
        assert_eq!(report["answer"], "from elsewhere");
        assert_eq!(report["answered_in"]["id"], other);
        assert_eq!(
            report["answered_in"]["path"],
            word(&desk.home.path(&format!("{PI_FOLDER}/{moved}")))
        );
        fs::remove_file(desk.home.path(&format!("{PI_FOLDER}/{moved}"))).unwrap();
    }
}

#[test]
fn a_note_that_its_client_gave_in_a_file_of_its_own_is_asked_for_there_once_more() {
    let desk = Desk::new();
    let (side, path) = desk.side();
    let before = fs::read(&path).unwrap();
    let other = "01a2281b-ffff-74f9-b07d-d389f5b79d80";
    let moved = format!("2026-11-30T09-00-00-000Z_{other}.jsonl");
    let body = format!(
        r#"case $SESSCTL_QUESTION in *'has 8 characters'*) export SAY=short;; *) export SAY='too long';; esac
file=$(dirname "$SESSCTL_SESSION_PATH")/{moved}
[ -e "$file" ] || sed "1s/$SESSCTL_SESSION/{other}/" "$SESSCTL_SESSION_PATH" > "$file"
WRITES_TO=$file {}"#,
        desk.client
    );
    let fork = program(&desk.home, "forking-pi", &body);
    let with = [("SESSCTL_PI_CMD", fork.as_str())];
    let args = ["merge", &side, "--condense", "--max-chars", "5"];
    let report = desk.report_with(0, &with, &args);
    assert_eq!((&report["note"]["chars"], &report["condense"]["turns"]), (&5.into(), &2.into()));
    let file = desk.home.path(&format!("{PI_FOLDER}/{moved}"));
    assert_eq!(report["condense"]["answered_in"], word(&file));
    assert_eq!(report["side_tokens"], 3 * COST);
    assert_eq!(fs::read(&path).unwrap(), before, "the side session is as it was");
    assert_eq!(desk.report_with(0, &with, &args)["already_merged"], true);
    assert_eq!(desk.runs(), 3);
    assert_eq!(desk.report(0, &["replay", PI_ID, "--check"])["merges"], 1);
}

#[test]
fn a_condensed_note_costs_one_turn_however_often_it_is_asked_for() {
    let desk = Desk::new();
    let (side, path) = desk.side();
    let before = desk.bytes();
    desk.says("Cents are exact.");
    let planned = desk.report(0, &["merge", &side, "--condense", "--dry-run"]);
    assert_eq!((&planned["note"], desk.runs()), (&Value::Null, 1));
    let report = desk.report(0, &["merge", &side, "--condense"]);
    assert_eq!(
        (&report["appended_messages"], &report["already_merged"]),
        (&1.into(), &false.into())
    );
    assert_eq!((&report["note"]["chars"], &report["condense"]["turns"]), (&16.into(), &1.into()));
    let context = &report["parent_context"];
    let chars = |when: &str| context[when]["chars"].as_u64().unwrap();
    assert_eq!(chars("after"), chars("before") + 16);
    assert_eq!(context["after"]["tokens"].as_u64().unwrap(), chars("after").div_ceil(4));
    assert_eq!(context["estimate"], "4 characters a token");
    assert_eq!(report["side_tokens"], 2 * COST);
    assert_eq!(desk.report(0, &["usage", &side])["totals"]["total"], report["side_tokens"]);
    let asked = fs::read_to_string(desk.home.path("runs")).unwrap();
    assert!(asked.lines().last().unwrap().contains("at most 2000 characters"), "{asked}");
    let after = desk.bytes();
    assert!(after.starts_with(&before) && after.len() > before.len());
    let rows = desk.home.run(&["replay", PI_ID, "--view", "messages"]).out;
    let last: Value = serde_json::from_str(rows.lines().last().unwrap()).unwrap();
    assert_eq!((&last["text"], &last["origin"]), (&"Cents are exact.".into(), &"merge".into()));

    for args in
        [&["merge", &side, "--condense"][..], &["merge", &side, "--condense", "--max-chars", "16"]]
    {
        let again = desk.report(0, args);
        assert_eq!((&again["already_merged"], &again["note"]), (&true.into(), &report["note"]));
        assert_eq!(again["side_tokens"], 2 * COST);
    }
    assert_eq!((desk.runs(), desk.bytes()), (2, after));
    // With the journal lost, the side session itself tells.
    fs::remove_dir_all(desk.home.path(".local")).unwrap();
    assert_eq!(desk.report(0, &["merge", &side, "--condense"])["already_merged"], true);
    assert_eq!(desk.runs(), 2);
    // Other words are another question, and so is a conversation that went on.
    desk.says("Cents.");
    let other =
        ["merge", &side, "--condense", "--condense-prompt", "Very briefly, {max_chars} at most"];
    assert_eq!(desk.report(0, &other)["appended_messages"], 1);
    assert_eq!(desk.runs(), 3);
    assert_eq!(
        desk.report(0, &["replay", word(&path), "--check", "--against", PI_ID])["prefix"],
        "identical"
    );
}

#[test]
fn a_note_over_the_cap_is_asked_for_once_more_and_then_refused() {
    let desk = Desk::new();
    let (side, _) = desk.side();
    let before = desk.bytes();
    desk.says("far too long a note");
    let short = ["merge", &side, "--condense", "--max-chars", "9"];
    let refused = desk.report(4, &short);
    assert_eq!((&refused["code"], &refused["chars"]), (&"NOTE_TOO_LONG".into(), &19.into()));
    assert_eq!((desk.runs(), desk.bytes()), (3, before.clone()));
    let asked = fs::read_to_string(desk.home.path("runs")).unwrap();
    assert!(asked.lines().last().unwrap().contains("has 19 characters"), "{asked}");
    // It was refused, so that asking once more would only cost more.
    assert_eq!(desk.report(4, &short)["code"], "NOTE_TOO_LONG");
    assert_eq!((desk.runs(), desk.bytes()), (3, before));
    // Under another cap it is another request.
    assert_eq!(desk.report(4, &[&short[..3], &["--max-chars", "8"]].concat())["chars"], 19);
    assert_eq!(desk.runs(), 4);
    // What is there is taken once the cap allows it.
    assert_eq!(desk.report(0, &["merge", &side, "--condense"])["appended_messages"], 1);
    assert_eq!(desk.runs(), 4);

    let (side, _) = desk.side();
    let body = format!(
        "case $SESSCTL_QUESTION in *'has 8 characters'*) export SAY=short;; *) export SAY='too long';; esac\n{}",
        desk.client
    );
    let learns = program(&desk.home, "learning-pi", &body);
    let args = ["merge", &side, "--condense", "--max-chars", "5", "--condense-prompt", "A note."];
    let report = desk.report_with(0, &[("SESSCTL_PI_CMD", &learns)], &args);
    assert_eq!((&report["note"]["chars"], &report["condense"]["turns"]), (&5.into(), &2.into()));
    assert_eq!(report["side_tokens"], 3 * COST);
}

#[test]
fn nothing_is_spent_where_the_parent_could_not_take_the_note() {
    let desk = Desk::new();
    let (side, path) = desk.side();
    let before = desk.bytes();
    let code = |exit, args: &[&str]| desk.report(exit, args)["code"].as_str().unwrap().to_owned();
    let merge = ["merge", &side, "--condense"];
    let into = |what: &str, bytes: &[u8]| {
        fs::write(&desk.parent, bytes).unwrap();
        assert_eq!(code(if what == "OPEN_TURN" { 4 } else { 5 }, &merge), what);
    };
    let ask = br#"{"type":"message","id":"cccc0001","parentId":"31be0408","timestamp":"2026-11-29T17:00:00.000Z","message":{"role":"user","content":"more"}}"#;
    into("OPEN_TURN", &[&before[..], ask, b"\n"].concat());
    into("TORN_TAIL", &before[..before.len() - 9]);
    fs::remove_file(&desk.parent).unwrap();
    assert_eq!(code(3, &merge), "PARENT_NOT_FOUND");
    fs::write(&desk.parent, &before).unwrap();
    desk.home.copy("pi/pi-1.6.0-tool-calls.jsonl", "other.jsonl");
    assert_eq!(code(4, &["merge", &side, "--condense", "--into", "other.jsonl"]), "NOT_A_CHILD");
    let fresh = desk.home.report(0, &["side", PI_ID]);
    let silent = fresh["child"]["id"].as_str().unwrap();
    assert_eq!(code(2, &["merge", silent, "--condense"]), "NOTE_EMPTY");
    fs::copy(&path, desk.home.path("copy.jsonl")).unwrap();
    assert_eq!(
        code(4, &["merge", "copy.jsonl", "--into", PI_ID, "--condense"]),
        "SESSION_NOT_LIVE"
    );
    for wrong in
        [&["--note", "x"][..], &["--last-answer"], &["--condense-with", "true", "--note", "x"]]
    {
        assert_eq!(code(2, &[&merge[..], wrong].concat()), "BAD_USAGE");
    }
    assert_eq!((desk.runs(), desk.bytes()), (1, before.clone()));
    // A client that fails leaves the parent as it was, and what it did is not done again.
    let report = desk.report_with(6, &[("ENDS", "error")], &merge);
    assert_eq!((&report["code"], &report["status"]), (&"COMMAND_FAILED".into(), &0.into()));
    assert_eq!(desk.report_with(6, &[("SESSCTL_PI_CMD", "exit 7;")], &merge)["status"], 7);
    assert_eq!(desk.bytes(), before);
    assert_eq!(desk.report(0, &merge)["appended_messages"], 1);
}

#[test]
fn a_command_makes_a_note_of_the_side_conversation_alone() {
    let desk = Desk::new();
    let (side, path) = desk.side();
    let seen = desk.home.path("transcript");
    let command = format!(
        "cat > {}; echo run >> $HOME/notes; echo \"  $SESSCTL_CLIENT: cents, $SESSCTL_MAX_CHARS at most \"",
        word(&seen)
    );
    let merge = |more: &[&str]| {
        let args = ["merge", &side, "--condense-with", &command];
        desk.report(0, &[&args[..], more].concat())
    };
    let notes = || fs::read_to_string(desk.home.path("notes")).unwrap_or_default().lines().count();
    assert_eq!(merge(&["--dry-run"])["note"], Value::Null);
    assert_eq!(notes(), 0);
    let lines = fs::read(&path).unwrap();
    let report = merge(&["--request-id", "n"]);
    assert_eq!((&report["appended_messages"], &report["side_tokens"]), (&1.into(), &COST.into()));
    let transcript = fs::read_to_string(&seen).unwrap();
    assert_eq!(transcript, "## user\n\nwhy cents?\n\n## assistant\n\nthe answer is 42\n\n");
    let rows = desk.home.run(&["replay", PI_ID, "--view", "messages"]).out;
    assert!(rows.lines().last().unwrap().contains("pi: cents, 2000 at most\""), "{rows}");
    assert_eq!(fs::read(&path).unwrap(), lines, "the side session is as it was");
    for more in [&[][..], &["--request-id", "n"]] {
        let again = merge(more);
        assert_eq!((&again["already_merged"], &again["note"]), (&true.into(), &report["note"]));
    }
    assert_eq!(notes(), 1);
    let conflict = ["merge", &side, "--condense-with", "echo x", "--request-id", "n"];
    assert_eq!(desk.report(4, &conflict)["code"], "REQUEST_CONFLICT");
    let code = |exit, command: &str| {
        desk.report(exit, &["merge", &side, "--max-chars", "9", "--condense-with", command])["code"]
            .clone()
    };
    assert_eq!(code(6, "exit 3"), "COMMAND_FAILED");
    assert_eq!(code(6, "printf '\\377'"), "COMMAND_FAILED");
    assert_eq!(code(2, "cat > /dev/null"), "NOTE_EMPTY");
    assert_eq!(code(2, "printf 'a\\033[1mb'"), "BAD_USAGE");
    assert_eq!(code(4, "echo run >> $HOME/notes; echo 0123456789"), "NOTE_TOO_LONG");
    assert_eq!(notes(), 3, "a note that is too long is asked for twice");
    assert_eq!(code(6, "yes"), "COMMAND_FAILED");
}

#[test]
fn one_note_comes_of_two_calls_at_once() {
    let desk = Desk::new();
    let (side, _) = desk.side();
    desk.says("Cents.");
    let calls: Vec<Child> =
        (0..3).map(|_| start(&desk, &["merge", &side, "--condense"], "0.2")).collect();
    for call in calls {
        let ran = ran(&call.wait_with_output().unwrap());
        assert_eq!(ran.exit, 0, "{} {}", ran.out, ran.err);
    }
    assert_eq!(desk.runs(), 2);
    assert_eq!(desk.report(0, &["replay", PI_ID, "--check"])["merges"], 1);
    // Another command leaves no turn, so that only the parent tells.
    let (side, _) = desk.side();
    let command = "cat > /dev/null; echo run >> $HOME/notes; sleep 0.1; echo $$ $(date +%N)";
    let calls: Vec<Child> =
        (0..3).map(|_| start(&desk, &["merge", &side, "--condense-with", command], "0")).collect();
    for call in calls {
        assert_eq!(ran(&call.wait_with_output().unwrap()).exit, 0);
    }
    assert_eq!(fs::read_to_string(desk.home.path("notes")).unwrap().lines().count(), 1);
    assert_eq!(desk.report(0, &["replay", PI_ID, "--check"])["merges"], 2);
}

fn start(desk: &Desk, args: &[&str], slow: &str) -> Child {
    let mut command = desk.home.command(args);
    command.env("PATH", path()).env("SESSCTL_PI_CMD", &desk.client).env("SLOW", slow);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Whether a signal is ignored by whoever started the tests: no shell can trap it then.
fn ignored(number: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (number - 1) & 1 == 1
}

/// Sends a signal by name.
fn signal(name: &str, process: u32) {
    let _ = std::process::Command::new("kill").args(["-s", name, &process.to_string()]).status();
}

#[test]
fn a_signal_ends_the_client_first_and_leaves_a_session_that_can_be_asked_again() {
    for (name, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
        if ignored(number) {
            eprintln!("SIG{name} is ignored here, as in a job in the background: not tried");
            continue;
        }
        let desk = Desk::new();
        let before = desk.bytes();
        let told = desk.home.path("told");
        let body = format!(
            "trap 'echo {name} > {}; exit 1' {name}\necho > $HOME/started\nn=0; while [ $n -lt 3000 ]; do sleep 0.02; n=$((n+1)); done\n",
            word(&told)
        );
        let waits = program(&desk.home, "waiting-pi", &body);
        let args = ["side", PI_ID, "--ask", "why?", "--request-id", "r", "--run-with", &waits];
        let mut command = desk.home.command(&args);
        let process = command
            .env("PATH", path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        while !desk.home.path("started").exists() && begun.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(5));
        }
        signal(name, process.id());
        let output = process.wait_with_output().unwrap();
        assert_eq!(output.status.signal(), Some(number), "{output:?}");
        assert_eq!(fs::read_to_string(&told).unwrap().trim(), name);
        assert!(String::from_utf8_lossy(&output.stderr).contains("to be opened with"));
        assert_eq!(desk.bytes(), before);
        let again = desk.report(0, &["side", PI_ID, "--ask", "why?", "--request-id", "r", "--run"]);
        assert_eq!(
            (&again["answer"], &again["replayed"]),
            (&"the answer is 42".into(), &true.into())
        );
    }
}

#[test]
fn fifty_interruptions_lose_nothing_and_make_nothing_up() {
    let desk = Desk::new();
    let (side, _) = desk.side();
    desk.says("Cents.");
    let before = desk.bytes();
    let mut seed = 0x5e55_c711_u64;
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    for nth in 0..50 {
        let condense = ["merge", &side, "--condense", "--request-id", "note"];
        let ask = ["side", PI_ID, "--ask", "why?", "--run"];
        let args = if nth % 2 == 0 { &condense[..] } else { &ask[..] };
        let mut process = start(&desk, args, "0.03");
        std::thread::sleep(Duration::from_micros(random(160_000)));
        signal(["KILL", "TERM", "INT"][nth % 3], process.id());
        process.wait().unwrap();
        let now = desk.bytes();
        assert!(now.starts_with(&before), "{nth}: the parent only grew");
        let new = String::from_utf8(now[before.len()..].to_vec()).unwrap();
        assert!(new.is_empty() || new.ends_with('\n') && new.lines().count() == 1, "{nth}: {new}");
        for entry in fs::read_dir(desk.home.path(PI_FOLDER)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|end| end == "jsonl") {
                let text = fs::read_to_string(&path).unwrap();
                assert!(
                    text.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()),
                    "{nth}: {path:?}"
                );
                assert!(text.ends_with('\n'), "{nth}: {path:?}");
            }
        }
    }
    // A client that outlived its caller comes to its end by itself.
    std::thread::sleep(Duration::from_millis(300));
    let report = desk.report(0, &["merge", &side, "--condense", "--request-id", "note"]);
    assert_eq!(report["note"]["chars"], 6);
    let replay = desk.report(0, &["replay", word(&desk.parent), "--check"]);
    assert_eq!(replay["merges"], 1);
    assert!(desk.parent.ends_with(PI_NAME));
}

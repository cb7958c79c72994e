//! The laws that hold over every client and every session: see the list in `docs/decisions/0002-laws.md`.

use std::io::Cursor;

use chrono::{DateTime, Utc};
use proptest::prelude::*;
use serde_json::json;
use sessctl::{
    error::Error,
    finding::Severity,
    format::{self, Birth, Head, Origin},
    log::{Encoding, Log},
    ops::{self, Child, Intent, Policy, Source},
    session::{
        At, History, Outline, Session, kinship,
        ledger::{self, Account},
    },
};

/// One thing that happens in a made-up session.
#[derive(Clone, Debug)]
enum Step {
    /// A prompt, `calls` tool calls with results, and an answer of that many words.
    Turn { calls: usize, words: usize },
    /// The same, ended by the user before the answer.
    Aborted,
    /// A note of another program.
    Note,
    /// A title.
    Title,
    /// The older part is summed up.
    Compact,
    /// A name for the last entry (a tree has it, a line of events has not).
    Label,
    /// The next turn hangs off an earlier one.
    Branch,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..3usize, 1..40usize).prop_map(|(calls, words)| Step::Turn { calls, words }),
        1 => Just(Step::Aborted),
        1 => Just(Step::Note),
        1 => Just(Step::Title),
        1 => Just(Step::Compact),
        1 => Just(Step::Label),
        1 => Just(Step::Branch),
    ];
    proptest::collection::vec(step, 0..12)
}

const START: i64 = 1_780_000_000_000;

fn iso(nth: usize) -> String {
    let at = DateTime::from_timestamp_millis(START + i64::try_from(nth).unwrap() * 1000).unwrap();
    at.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}

fn words(count: usize) -> String {
    // Quotes, escapes, a line separator and an astral character: what a splice or a splitter would trip over.
    ["plain ", "\"quoted\" ", "tab\t ", "\u{2028} ", "\u{1F980} "]
        .iter()
        .cycle()
        .take(count)
        .copied()
        .collect()
}

/// A pi session that the client could have written.
fn pi(steps: &[Step]) -> Vec<u8> {
    let mut lines = vec![
        json!({"type":"session","version":3,"id":"01a2281b-0000-7000-8000-000000000001","timestamp":iso(0),"cwd":"/home/ada/demo"}),
    ];
    let mut entries: Vec<String> = Vec::new();
    let mut leaf: Option<String> = None;
    let mut rests: Vec<String> = Vec::new();
    let mut add = |kind: &str,
                   mut more: serde_json::Value,
                   leaf: &mut Option<String>,
                   entries: &mut Vec<String>| {
        let id = format!("{:08x}", entries.len() + 0x1000);
        more["type"] = kind.into();
        more["id"] = id.clone().into();
        more["parentId"] = leaf.clone().into();
        more["timestamp"] = iso(entries.len() + 1).into();
        lines.push(more);
        entries.push(id.clone());
        *leaf = Some(id);
    };
    add("model_change", json!({"provider":"p","modelId":"m"}), &mut leaf, &mut entries);
    let usage = json!({"input":10,"output":5,"cacheRead":3,"cacheWrite":2,"totalTokens":20,"cost":{"total":0.001}});
    for step in steps {
        match step {
            Step::Turn { calls, words: count } => {
                add(
                    "message",
                    json!({"message":{"role":"user","content":[{"type":"text","text":words(*count)}],"timestamp":1}}),
                    &mut leaf,
                    &mut entries,
                );
                let ids: Vec<String> =
                    (0..*calls).map(|nth| format!("call_{}_{nth}", entries.len())).collect();
                if !ids.is_empty() {
                    let blocks: Vec<_> = ids.iter().map(|id| json!({"type":"toolCall","id":id,"name":"bash","arguments":{"command":"ls"}})).collect();
                    add(
                        "message",
                        json!({"message":{"role":"assistant","content":blocks,"provider":"p","model":"m","usage":usage,"stopReason":"toolUse","timestamp":entries.len()}}),
                        &mut leaf,
                        &mut entries,
                    );
                    for id in &ids {
                        add(
                            "message",
                            json!({"message":{"role":"toolResult","toolCallId":id,"toolName":"bash","content":[{"type":"text","text":"ok"}],"isError":false,"timestamp":1}}),
                            &mut leaf,
                            &mut entries,
                        );
                    }
                }
                add(
                    "message",
                    json!({"message":{"role":"assistant","content":[{"type":"text","text":words(*count)}],"provider":"p","model":"m","usage":usage,"stopReason":"stop","timestamp":entries.len()}}),
                    &mut leaf,
                    &mut entries,
                );
            }
            Step::Aborted => {
                add(
                    "message",
                    json!({"message":{"role":"user","content":"stop me","timestamp":1}}),
                    &mut leaf,
                    &mut entries,
                );
                add(
                    "message",
                    json!({"message":{"role":"assistant","content":[],"provider":"p","model":"m","usage":usage,"stopReason":"aborted","timestamp":entries.len()}}),
                    &mut leaf,
                    &mut entries,
                );
            }
            Step::Note => add(
                "custom_message",
                json!({"customType":"other","content":"noted","display":true}),
                &mut leaf,
                &mut entries,
            ),
            Step::Title => add("session_info", json!({"name":"A title"}), &mut leaf, &mut entries),
            Step::Compact => {
                let kept = leaf.clone();
                add(
                    "compaction",
                    json!({"summary":"so far","firstKeptEntryId":kept,"tokensBefore":100}),
                    &mut leaf,
                    &mut entries,
                );
            }
            Step::Label => {
                let target = leaf.clone();
                add("label", json!({"targetId":target,"label":"here"}), &mut leaf, &mut entries);
            }
            // Where the client would put the leaf: on an entry that no turn is open behind.
            Step::Branch => leaf = rests.get(rests.len() / 2).cloned(),
        }
        rests.extend(leaf.clone());
    }
    lines.iter().flat_map(|line| [line.to_string().into_bytes(), b"\n".to_vec()].concat()).collect()
}

/// A prime session: pi's entries under a header of its own.
fn prime(steps: &[Step]) -> Vec<u8> {
    let lines = pi(steps);
    let rest = lines.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let header = json!({"type":"session","version":3,"id":"01a2281b-0000-7000-8000-000000000001","timestamp":iso(0),"cwd":"/home/ada/demo","rlmDepth":0});
    [format!("{header}\n").as_bytes(), &lines[rest..]].concat()
}

/// A Claude Code session that the client could have written.
fn claude(steps: &[Step]) -> Vec<u8> {
    let own = "11111111-1111-4111-8111-000000000001";
    let mut lines: Vec<serde_json::Value> = Vec::new();
    let mut leaf: Option<String> = None;
    let mut rests: Vec<String> = Vec::new();
    let mut add = |mut record: serde_json::Value, leaf: &mut Option<String>| {
        let id = format!("22222222-2222-4222-8222-{:012x}", lines.len());
        let more = json!({"parentUuid":leaf,"isSidechain":false,"uuid":id,"timestamp":iso(lines.len()),"userType":"external","entrypoint":"cli","cwd":"/home/ada/demo","sessionId":own,"version":"2.1.332"});
        for (key, value) in more.as_object().unwrap() {
            record[key] = value.clone();
        }
        lines.push(record);
        *leaf = Some(id);
        lines.len()
    };
    let user = |content: serde_json::Value| json!({"type":"user","message":{"role":"user","content":content}});
    let answer = |nth: usize, block: serde_json::Value, stop: &str| json!({"type":"assistant","requestId":format!("req_{nth}"),"message":{"id":format!("msg_{nth}"),"type":"message","role":"assistant","model":"m","content":[block],"stop_reason":stop,"usage":{"input_tokens":10,"cache_creation_input_tokens":2,"cache_read_input_tokens":3,"output_tokens":5}}});
    // The client keeps no session that nobody has spoken in.
    let first = [Step::Turn { calls: 0, words: 1 }];
    for step in first.iter().chain(steps) {
        match step {
            Step::Turn { calls, words: count } => {
                let nth = add(user(words(*count).into()), &mut leaf);
                // The blocks of one answer are a line each.
                for call in 0..*calls {
                    let block = json!({"type":"tool_use","id":format!("toolu_{nth}_{call}"),"name":"Bash","input":{"command":"ls"}});
                    add(answer(nth, block, "tool_use"), &mut leaf);
                }
                for call in 0..*calls {
                    let result = json!([{"tool_use_id":format!("toolu_{nth}_{call}"),"type":"tool_result","content":"ok"}]);
                    add(user(result), &mut leaf);
                }
                let block = json!({"type":"text","text":words(*count)});
                add(answer(nth + 1_000_000, block, "end_turn"), &mut leaf);
            }
            Step::Aborted => {
                add(user("stop me".into()), &mut leaf);
                let text = json!([{"type":"text","text":"[Request interrupted by user]"}]);
                add(user(text), &mut leaf);
            }
            Step::Note => {
                let text = "<local-command-stdout>noted</local-command-stdout>";
                add(
                    json!({"type":"system","subtype":"local_command","content":text,"level":"info"}),
                    &mut leaf,
                );
            }
            Step::Compact => {
                let before = leaf.take();
                add(
                    json!({"type":"system","subtype":"compact_boundary","content":"Conversation compacted","logicalParentUuid":before,"level":"info","compactMetadata":{"trigger":"manual","preTokens":100}}),
                    &mut leaf,
                );
                let mut summary = user("So far.".into());
                summary["isCompactSummary"] = true.into();
                summary["isVisibleInTranscriptOnly"] = true.into();
                add(summary, &mut leaf);
            }
            // Records without an id are no part of the tree.
            Step::Title | Step::Label => {}
            Step::Branch => leaf = rests.get(rests.len() / 2).cloned(),
        }
        rests.extend(leaf.clone());
    }
    if steps.iter().any(|step| matches!(step, Step::Title)) {
        lines.push(json!({"type":"custom-title","customTitle":"A title","sessionId":own}));
    }
    lines.iter().flat_map(|line| [line.to_string().into_bytes(), b"\n".to_vec()].concat()).collect()
}

/// A DSH session of format 0 or 4 that the harness could have written.
fn dsh(version: u32, steps: &[Step]) -> Vec<u8> {
    let mut header = json!({"type":"session","version":version,"id":"session-1","createdAt":START,"cwd":"/home/ada/demo","delegationDepth":0});
    if version >= 2 {
        header["isSeeded"] = false.into();
    }
    let mut lines = vec![header];
    let mut turn = 0;
    let user = |text: String, id: usize| json!({"content":[{"type":"text","text":text}],"source":{"kind":"user"},"role":"user","id":format!("u{id}")});
    let mut add = |kind: &str, data: serde_json::Value, surface: bool| {
        let seq = lines.len() - 1;
        let mut event =
            json!({"type":kind,"seq":seq,"time":START + i64::try_from(seq).unwrap(),"data":data});
        if surface {
            event["surfaceOp"] = "append".into();
        }
        lines.push(event);
        seq
    };
    for step in steps {
        match step {
            Step::Turn { .. } | Step::Aborted => {
                let (calls, count, reason) = match step {
                    Step::Turn { calls, words } => (*calls, *words, "completed"),
                    _ => (0, 1, "aborted"),
                };
                turn += 1;
                add("turn/start", json!({"turn":turn}), false);
                add("step/start", json!({"turn":turn,"step":1}), false);
                let seq = add("user/message", user(words(count), turn), true);
                let mut blocks: Vec<_> = (0..calls).map(|nth| json!({"type":"tool-call","id":format!("c{seq}_{nth}"),"name":"bash","arguments":"{}"})).collect();
                blocks.push(json!({"type":"text","text":words(count)}));
                let answer = json!({"turn":turn,"step":1,"stream":[],"message":{"role":"assistant","content":blocks,"source":{"kind":"model","provider":"p","model":"m"},"id":format!("a{seq}")},"usage":{"inputTokens":10,"outputTokens":5}});
                add("assistant/message", answer, true);
                for nth in 0..calls {
                    let call = format!("c{seq}_{nth}");
                    add(
                        "tool/call",
                        json!({"turn":turn,"step":1,"callId":call,"name":"bash","arguments":"{}"}),
                        false,
                    );
                    let message = if version < 4 {
                        json!({"id":format!("r{call}"),"role":"user","source":{"kind":"tool","callId":call},"content":[{"type":"tool-result","toolCallId":call,"content":[{"type":"text","text":"ok"}]}]})
                    } else {
                        json!({"id":format!("r{call}"),"role":"tool","toolCallId":call,"source":{"kind":"tool"},"content":[{"type":"text","text":"ok"}]})
                    };
                    add("tool/result", json!({"turn":turn,"step":1,"message":message}), true);
                }
                add("step/end", json!({"turn":turn,"step":1}), false);
                add("turn/end", json!({"turn":turn,"reason":{"kind":reason}}), false);
            }
            Step::Note => {
                add("user/message", user("noted".into(), 1000 + turn), true);
            }
            Step::Title => {
                add(
                    "session/title",
                    json!({"title":"A title","messageSeqs":[],"source":{"kind":"user"}}),
                    false,
                );
            }
            Step::Compact | Step::Label | Step::Branch => {
                add("sandbox/mode", json!({"mode":"read-only"}), false);
            }
        }
    }
    lines.iter().flat_map(|line| [line.to_string().into_bytes(), b"\n".to_vec()].concat()).collect()
}

/// An id as Codex makes it, of that many milliseconds after the start.
fn uuid(after: i64, tail: u8) -> String {
    let millis = START + after;
    format!("{:08x}-{:04x}-7000-8000-0000000000{tail:02x}", millis >> 16, millis & 0xffff)
}

/// A Codex rollout of version 2 (turns that are not written down), 3 (legacy) or 4 (paginated).
fn codex(version: u32, steps: &[Step]) -> Vec<u8> {
    let own = uuid(0, 0);
    let mut meta = json!({"session_id":own,"id":own,"timestamp":iso(0),"cwd":"/home/ada/demo","originator":"codex_exec","cli_version":"0.171.0","source":"exec","base_instructions":{"text":"Be brief."}});
    if version > 2 {
        meta["history_mode"] = if version == 4 { "paginated" } else { "legacy" }.into();
    }
    let mut lines: Vec<serde_json::Value> = Vec::new();
    let mut add = |kind: &str, payload: serde_json::Value| {
        let nth = lines.len();
        let mut line = json!({"timestamp":iso(nth),"type":kind,"payload":payload});
        if version == 4 {
            line["ordinal"] = nth.into();
        }
        lines.push(line);
        i64::try_from(nth).unwrap()
    };
    add("session_meta", meta);
    let mut total = 0;
    let message = |role: &str, text: &str| json!({"type":"message","role":role,"content":[{"type":"input_text","text":text}]});
    for step in steps {
        match step {
            Step::Turn { .. } | Step::Aborted => {
                let (calls, count) = match step {
                    Step::Turn { calls, words } => (*calls, *words),
                    _ => (0, 1),
                };
                let prompt = format!("go on: {}", words(count));
                let nth = add("world_state", json!({"full":false,"state":{}}));
                let turn = uuid(nth * 1000 + 1, 1);
                let named = |kind: &str| match version {
                    2 => json!({"type":kind}),
                    _ => json!({"type":kind,"turn_id":turn}),
                };
                if version > 2 {
                    add("event_msg", named("task_started"));
                }
                add("response_item", message("user", &prompt));
                if version < 4 {
                    add("event_msg", json!({"type":"user_message","message":prompt}));
                }
                add("turn_context", json!({"turn_id":turn,"model":"m","cwd":"/home/ada/demo"}));
                for call in 0..calls {
                    let call = format!("c{nth}_{call}");
                    add(
                        "response_item",
                        json!({"type":"function_call","name":"run","arguments":"{}","call_id":call}),
                    );
                    add(
                        "response_item",
                        json!({"type":"function_call_output","call_id":call,"output":"ok"}),
                    );
                }
                if matches!(step, Step::Aborted) {
                    add("response_item", message("user", "<turn_aborted>"));
                    add("event_msg", named("turn_aborted"));
                    continue;
                }
                total += 10;
                let counts = |total: u32| json!({"input_tokens":total,"output_tokens":0,"total_tokens":total});
                add("response_item", message("assistant", &words(count)));
                if version == 4 {
                    add(
                        "token_usage_record",
                        json!({"thread_id":own,"turn_id":turn,"response_id":format!("r{nth}"),"usage":counts(10)}),
                    );
                }
                add(
                    "event_msg",
                    json!({"type":"token_count","info":{"total_token_usage":counts(total),"last_token_usage":counts(10)}}),
                );
                if version > 2 {
                    add("event_msg", named("task_complete"));
                }
            }
            Step::Note => {
                add("response_item", message("developer", "noted"));
            }
            Step::Compact => {
                let list = [message("user", "before"), message("user", "so far")];
                add("compacted", json!({"message":"so far","replacement_history":list}));
            }
            Step::Title | Step::Label | Step::Branch => {
                add("event_msg", json!({"type":"token_count","info":null}));
            }
        }
    }
    lines.iter().flat_map(|line| [line.to_string().into_bytes(), b"\n".to_vec()].concat()).collect()
}

fn read(bytes: &[u8]) -> Session {
    let log = Log::spool(Cursor::new(bytes.to_vec())).expect("memory can be read");
    Session::read_usages(log, None).expect("a made-up session is one")
}

fn birth(session: &Session, id: &str, seed_length: u64) -> Birth {
    let taken = session.format.layout().valid_id(id);
    let id = if taken { id.into() } else { uuid(86_400_000, id.as_bytes()[6]) };
    Birth {
        id,
        at: DateTime::<Utc>::from_timestamp_millis(START + 86_400_000).unwrap(),
        cwd: session.header().cwd.clone(),
        title: Some("A child".into()),
        parent: session.id().into(),
        parent_path: "/home/ada/parent.jsonl".into(),
        seed_length,
        version: session.format.written_version(session.header().version),
        base: None,
        aside: false,
    }
}

/// The child of `session` at `at`, as bytes, and how many messages it inherits.
fn fork(session: &Session, at: &At, id: &str, encoding: Encoding) -> Option<(Vec<u8>, usize)> {
    let policy = Policy::default();
    let cut = ops::cut(session, &Intent { at, leaf: None, policy: &policy }).ok()?;
    let length = session.format.seed_length(&session.facts, &cut.kept);
    let birth = birth(session, id, length);
    let child =
        ops::child(&Child { cut: &cut, birth: &birth, inherit: true, framing: None, folder: None });
    if let Err(Error::ReadOnlyFormat(_)) = child {
        return None; // What damage has made of a log may look like one of a client too old to be written for.
    }
    let draft = child.expect("a cut can be forked");
    let mut bytes = Vec::new();
    draft
        .write_as(encoding, &mut bytes)
        .expect("the source can be read")
        .expect("memory takes everything");
    let messages = cut.thread.history(cut.boundary.keep(), cut.thread.seed).len();
    Some((bytes, messages))
}

fn digests(session: &Session) -> Vec<[u8; 32]> {
    let thread = session.thread(None).unwrap();
    History::of(&thread, thread.path().len(), thread.seed).unwrap().digests
}

/// A session of one of the generators, shown as its steps and not as its bytes.
#[derive(Clone)]
struct Made(Vec<u8>, &'static str, Vec<Step>);

impl std::fmt::Debug for Made {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {:?}", self.1, self.2)
    }
}

fn sessions() -> impl Strategy<Value = Made> {
    (steps(), 0..8usize).prop_map(|(steps, client)| match client {
        0 => Made(pi(&steps), "pi", steps),
        1 => Made(dsh(0, &steps), "dsh 0", steps),
        2 => Made(dsh(4, &steps), "dsh 4", steps),
        3 => Made(codex(2, &steps), "codex 2", steps),
        4 => Made(codex(3, &steps), "codex 3", steps),
        5 => Made(claude(&steps), "claude", steps),
        6 => Made(prime(&steps), "prime", steps),
        _ => Made(codex(4, &steps), "codex 4", steps),
    })
}

/// How many sessions each law is held to: with `SESSCTL_TORTURE=long` those of `docs/reliability.md`.
fn cases() -> u32 {
    let long = std::env::var_os("SESSCTL_TORTURE").is_some_and(|form| form == "long");
    if long { 20_000 } else { 200 }
}

/// The snapshot of a session at its last turn, as bytes.
fn snapshot(session: &Session) -> Vec<u8> {
    let policy = Policy::default();
    let cut = ops::cut(session, &Intent { at: &At::LastTurn, leaf: None, policy: &policy });
    let cut = cut.expect("the last boundary is one");
    let outline = Outline::of(&cut.thread, cut.boundary.keep(), 0).unwrap();
    let manifest = ops::manifest(&cut, &outline, std::path::Path::new("/home/ada/s")).unwrap();
    let mut bytes = Vec::new();
    ops::seed_lines(&cut, &manifest).write_to(&mut bytes).unwrap().unwrap();
    bytes
}

/// What sessions spent that are counted together.
fn spent(logs: &[&[u8]]) -> u64 {
    let account = |bytes: &&[u8]| {
        let log = Log::spool(Cursor::new(bytes.to_vec())).unwrap();
        Account::of(Session::read_ledger(log, None).unwrap())
    };
    let mut accounts: Vec<Account> = logs.iter().map(account).collect();
    kinship::align(&mut accounts);
    let completions = ledger::completions(&accounts, false, &|_| true);
    completions.iter().map(|completion| completion.tokens.total()).sum()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn a_snapshot_taken_twice_is_the_same(Made(bytes, ..) in sessions()) {
        prop_assert_eq!(snapshot(&read(&bytes)), snapshot(&read(&bytes)));
    }

    #[test]
    fn a_clip_is_never_longer_than_what_is_not_refused(Made(bytes, ..) in sessions(), cut in any::<prop::sample::Index>()) {
        let ends: Vec<usize> = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
        let session = read(&bytes[..*cut.get(&ends)]);
        let policy = Policy::default();
        let keep = |at: &At| ops::cut(&session, &Intent { at, leaf: None, policy: &policy }).map(|cut| cut.boundary.keep());
        let clipped = keep(&At::LastTurn).expect("the last boundary is one");
        if let Ok(whole) = keep(&At::Tip) {
            prop_assert_eq!(clipped, whole);
        }
        let turns = session.thread(None).unwrap().turns.closed();
        if let Ok(named) = keep(&At::Turn(turns.to_string())) {
            prop_assert!(named <= clipped, "a named turn keeps more than the last boundary");
        }
    }

    #[test]
    fn a_family_spends_what_its_members_spend(Made(bytes, ..) in sessions()) {
        let parent = read(&bytes);
        let child = fork(&parent, &At::Tip, "child-1", Encoding::Plain).unwrap().0;
        let other = fork(&parent, &At::LastTurn, "child-2", Encoding::Plain).unwrap().0;
        let grandchild = fork(&read(&child), &At::Tip, "child-3", Encoding::Plain).unwrap().0;
        let family = [&bytes[..], &child, &other, &grandchild];
        // Children that nobody has spoken in yet add nothing, in whatever order they are read.
        prop_assert_eq!(spent(&family), spent(&family[..1]));
        let turned: Vec<&[u8]> = family.iter().rev().copied().collect();
        prop_assert_eq!(spent(&turned), spent(&family[..1]));
    }

    #[test]
    fn lines_joined_again_are_the_file(Made(bytes, ..) in sessions()) {
        let mut log = Log::spool(Cursor::new(bytes.clone())).unwrap();
        let mut joined = Vec::new();
        log.each(|line| { joined.extend_from_slice(line.bytes); joined.push(b'\n'); Ok(()) }).unwrap();
        prop_assert_eq!(&joined, &bytes);
        prop_assert_eq!(log.range(0..log.lines()), 0..bytes.len() as u64);
    }

    #[test]
    fn reading_twice_gives_the_same_facts(Made(bytes, ..) in sessions()) {
        let (one, two) = (read(&bytes), read(&bytes));
        prop_assert_eq!(one.facts.all(), two.facts.all());
        prop_assert_eq!(&one.facts.usages, &two.facts.usages);
    }

    #[test]
    fn a_made_up_session_has_no_errors(Made(bytes, ..) in sessions()) {
        let session = read(&bytes);
        let errors: Vec<_> = session.thread(None).unwrap().findings().into_iter().filter(|finding| finding.severity == Severity::Error).collect();
        prop_assert!(errors.is_empty(), "{:?}", errors);
    }

    #[test]
    fn a_fork_begins_with_its_parents_history(Made(bytes, ..) in sessions(), zstd in any::<bool>()) {
        let parent = read(&bytes);
        let whole = digests(&parent);
        let turns = parent.thread(None).unwrap().turns.list.len();
        let places = (1..=turns).map(|turn| At::Turn(turn.to_string())).chain([At::Tip, At::LastTurn, At::Start]);
        let encoding = if zstd { Encoding::Zstd } else { Encoding::Plain };
        for at in places {
            let (child, inherited) = fork(&parent, &at, "child-1", encoding).expect("every turn has ended");
            let child = read(&child);
            let have = digests(&child);
            prop_assert_eq!(have.len(), inherited);
            if inherited == 0 && parent.format.name() == "claude-code" {
                continue; // No file is made of it, since the client opens none.
            }
            let thread = child.thread(None).unwrap();
            let errors = thread.findings().into_iter().find(|finding| finding.severity == Severity::Error);
            prop_assert!(errors.is_none(), "{:?}", errors);
            let against = ops::against(&child, None, &parent).unwrap();
            prop_assert_eq!(against.first_difference, None);
            prop_assert_eq!(against.prefix.messages.len(), inherited);
            if at == At::Tip {
                prop_assert_eq!(&have, &whole);
            }
            let origins = thread.history(thread.path().len(), against.inherited);
            let foreign = |origin| !matches!(origin, Origin::Inherited | Origin::Compaction);
            prop_assert!(!origins.iter().any(|message| foreign(message.origin)));
        }
    }

    #[test]
    fn a_seed_is_copied_byte_for_byte_in_a_line_of_events(steps in steps(), version in prop_oneof![Just(0u32), Just(4)]) {
        let bytes = dsh(version, &steps);
        let parent = read(&bytes);
        let (child, _) = fork(&parent, &At::Tip, "child-1", Encoding::Plain).unwrap();
        let seed = |bytes: &[u8]| bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        let (theirs, ours) = (&bytes[seed(&bytes)..], &child[seed(&child)..]);
        prop_assert!(ours.starts_with(theirs));
    }

    #[test]
    fn a_fork_of_a_fork_spends_nothing_and_keeps_the_history(Made(bytes, ..) in sessions()) {
        let parent = read(&bytes);
        let (child, _) = fork(&parent, &At::Tip, "child-1", Encoding::Plain).unwrap();
        let child = read(&child);
        let (grandchild, _) = fork(&child, &At::Tip, "child-2", Encoding::Plain).unwrap();
        let grandchild = read(&grandchild);
        prop_assert_eq!(digests(&grandchild), digests(&parent));
        prop_assert!(grandchild.facts.usages.iter().all(|usage| usage.inherited == Some(true)));
    }

    #[test]
    fn a_request_made_twice_writes_the_same_bytes(Made(bytes, ..) in sessions()) {
        let parent = read(&bytes);
        let one = fork(&parent, &At::LastTurn, "child-1", Encoding::Plain);
        prop_assert_eq!(one, fork(&parent, &At::LastTurn, "child-1", Encoding::Plain));
    }

    #[test]
    fn a_note_is_read_back_as_it_was_said_and_said_once(Made(bytes, ..) in sessions(), text in "[ -~]{1,80}") {
        let text = format!("n{text}n");
        let parent = read(&bytes);
        let policy = Policy::default();
        let intent = Intent { at: &At::Tip, leaf: None, policy: &policy };
        let source = Source { side: "side-1".into(), range: [String::new(), String::new()], text: text.clone() };
        let now = DateTime::<Utc>::from_timestamp_millis(START + 86_400_000).unwrap();
        let cut = ops::cut(&parent, &intent).unwrap();
        // A format 0 log takes no message before its first step.
        let merge = ops::merge(&cut, &source, false, None, now);
        if parent.header().version == 0 && cut.thread.turns.list.is_empty() {
            prop_assert!(merge.is_err());
            return Ok(());
        }
        let merge = merge.unwrap();
        // Claude finds its tip by a line of its own.
        let lines = if parent.format.name() == "claude-code" { 2 } else { 1 };
        prop_assert_eq!(merge.lines.len(), lines);
        let added: Vec<u8> = merge.lines.iter().flat_map(|line| [&line[..], b"\n"].concat()).collect();
        let after = read(&[&bytes[..], &added].concat());
        let thread = after.thread(None).unwrap();
        let messages = thread.history(thread.path().len(), 0);
        let last = messages.last().unwrap();
        prop_assert_eq!(last.origin, Origin::Merge);
        // Codex and Claude are told in a tag what they read.
        let said = sessctl::session::history::unfold(&after, last).unwrap().text;
        let tagged = format!("<sidechat_note>\n{text}\n</sidechat_note>");
        let put_out = format!("<local-command-stdout>{text}</local-command-stdout>");
        prop_assert!([&text, &tagged, &put_out].contains(&&said), "{}", said);
        prop_assert_eq!(messages.len(), digests(&parent).len() + 1);
        prop_assert_eq!(thread.turns.list.len(), parent.thread(None).unwrap().turns.list.len());
        let cut = ops::cut(&after, &intent).unwrap();
        prop_assert!(ops::merge(&cut, &source, false, None, now).unwrap().lines.is_empty());
        prop_assert_eq!(ops::merge(&cut, &source, true, None, now).unwrap().lines.len(), lines);
    }

    #[test]
    fn no_boundary_lies_in_an_open_turn(Made(bytes, ..) in sessions(), cut in any::<prop::sample::Index>()) {
        // Cut off anywhere at a line end, a session is whole or inside a turn; a cut at the last turn always works.
        let ends: Vec<usize> = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
        let session = read(&bytes[..*cut.get(&ends)]);
        let open = session.thread(None).unwrap().turns.open().is_some();
        prop_assert_eq!(fork(&session, &At::Tip, "child-1", Encoding::Plain).is_none(), open);
        let (child, _) = fork(&session, &At::LastTurn, "child-1", Encoding::Plain).expect("the last boundary is one");
        prop_assert!(read(&child).thread(None).unwrap().turns.open().is_none());
    }

    #[test]
    fn no_reader_panics_whatever_the_bytes(Made(bytes, ..) in sessions(), hits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..5u8), 1..8)) {
        let mut bytes = bytes;
        for (at, byte, kind) in hits {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            match kind {
                0 => bytes[at] = byte,
                1 => bytes.truncate(at),
                2 => { bytes.remove(at); }
                3 => { let tail = bytes.split_off(at); bytes.extend_from_slice(&tail[..tail.len().min(50)]); bytes.extend(tail); }
                _ => bytes[at..].iter_mut().take(20).for_each(|byte| *byte = 0),
            }
        }
        let log = Log::spool(Cursor::new(bytes)).unwrap();
        if let Ok(session) = Session::read_usages(log, None) {
            let thread = session.thread(None).unwrap();
            let history = History::of(&thread, thread.path().len(), thread.seed).unwrap();
            for message in &history.messages {
                let _ = sessctl::session::history::unfold(&session, message).unwrap();
            }
            let _ = fork(&session, &At::LastTurn, "child-1", Encoding::Plain);
        }
    }
}

#[test]
fn every_fixture_is_claimed_by_exactly_one_client() {
    let mut logs = 0;
    for client in format::ALL {
        let folder =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(client.name());
        let files = walkdir::WalkDir::new(&folder)
            .into_iter()
            .map(|entry| entry.expect("an entry").into_path());
        for path in
            files.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        {
            // A client's own list of names is no log.
            let index = path.ends_with("session_index.jsonl");
            if index || path.components().any(|part| part.as_os_str() == "damaged") {
                continue;
            }
            let head = Log::open(&path)
                .and_then(|log| log.head(64 * 1024))
                .expect("a fixture can be read");
            let claims: Vec<&str> = format::ALL
                .iter()
                .filter(|format| format.claims(&Head(&head)))
                .map(|format| format.name())
                .collect();
            assert_eq!(claims, [client.name()], "{}", path.display());
            logs += 1;
        }
    }
    assert!(logs > 110, "only {logs} fixtures were looked at");
}

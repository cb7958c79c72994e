use std::path::Path;

use crate::home::{Home, PI_ID, ran};

/// What a shell is offered for the last of these words.
fn offered(home: &Home, words: &[&str]) -> Vec<String> {
    let words = [&["--", "sessctl"], words].concat();
    let mut command = home.command(&words);
    command.env("COMPLETE", "fish");
    let ran = ran(&command.output().unwrap());
    assert_eq!(ran.exit, 0, "{}", ran.err);
    ran.out.lines().map(str::to_owned).collect()
}

#[test]
fn sessions_are_completed_by_id_and_title() {
    let home = Home::new();
    home.pi();
    home.report(0, &["fork", PI_ID, "--title", "Another way"]);
    for verb in ["fork", "side", "merge", "snapshot", "replay", "usage"] {
        let ids = offered(&home, &[verb, "01a2281b"]);
        assert_eq!(ids, [format!("{PI_ID}\tpi Hello there.")], "{verb}");
    }
    assert_eq!(offered(&home, &["replay", "=Hello"]), [format!("=Hello there.\tpi {PI_ID}")]);
    assert_eq!(offered(&home, &["merge", "x", "--into", "01a2281b"]).len(), 1);
    assert!(offered(&home, &["fork", "99999999"]).is_empty());
    let home = Home::new();
    home.copy("pi/pi-1.6.0-tool-calls.jsonl", "work.jsonl");
    assert_eq!(offered(&home, &["replay", "wor"]), ["work.jsonl"]);
}

#[test]
fn codes_and_topics_are_completed() {
    let home = Home::new();
    assert_eq!(offered(&home, &["help", "TORN"]), ["TORN_TAIL"]);
    assert_eq!(offered(&home, &["help", "bound"]), ["boundaries"]);
    assert_eq!(offered(&home, &["fork", "x", "--allow", "line"]), ["LINE_CORRUPT"]);
    let verbs = offered(&home, &["f"]);
    assert!(verbs.len() == 1 && verbs[0].starts_with("fork\t"), "{verbs:?}");
}

/// What bash is left with behind `line`, whose words are given as bash splits them; the last one is being completed.
fn in_bash(home: &Home, line: &str, words: &[&str], piece: &str, kind: u8) -> Vec<String> {
    let loader = Path::new(env!("CARGO_MANIFEST_DIR")).join("completions/live/sessctl.bash");
    let script = r#"
        source "$1"; COMP_LINE=$2 COMP_POINT=${#2} COMP_TYPE=$3 piece=$4; shift 4
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COLUMNS=200
        $(complete -p sessctl | sed 's/.*-F \([^ ]*\) .*/\1/') sessctl "$piece" ''
        ((${#COMPREPLY[@]})) && printf '%s\n' "${COMPREPLY[@]}"
        true"#;
    let tool = Path::new(env!("CARGO_BIN_EXE_sessctl")).parent().unwrap();
    let path = format!("{}:/usr/bin:/bin", tool.display());
    let mut command = std::process::Command::new("bash");
    command.args(["--norc", "-c", script, "bash"]).arg(loader).args([line, &kind.to_string()]);
    command.arg(piece).args(words).env_clear().env("PATH", path).env("HOME", home.path(""));
    let ran = ran(&command.current_dir(home.path("")).output().expect("bash runs"));
    assert_eq!((ran.exit, ran.err.as_str()), (0, ""), "{line}");
    ran.out.lines().map(str::to_owned).collect()
}

#[test]
fn bash_shows_titles_beside_ids_and_quotes_what_it_inserts() {
    const TAB: u8 = 9;
    const LIST: u8 = 63;
    let home = Home::new();
    home.pi();
    let fork = home.report(0, &["fork", PI_ID, "--title", "What's *this*?"]);
    let fork = fork["child"]["id"].as_str().unwrap();
    let bash = |line: &str, words: &[&str], piece: &str, kind: u8| {
        in_bash(&home, line, words, piece, kind)
    };
    let id = "sessctl replay 01a2";
    let words = ["sessctl", "replay", "01a2"];
    let mut ids = bash(id, &words, "01a2", TAB);
    ids.sort();
    assert_eq!(ids, [PI_ID, fork]);
    let listed = bash(id, &words, "01a2", LIST);
    assert!(listed.contains(&format!("{PI_ID}  (pi Hello there.)")), "{listed:?}");
    // Bash hands over `=` as a word of its own.
    let split = ["sessctl", "replay", "=", "He"];
    assert_eq!(bash("sessctl replay =He", &split, "He", TAB), [r"Hello\ there."]);
    let both = bash("sessctl replay =", &split[..3], "", TAB);
    assert_eq!(both.len(), 2, "{both:?}");
    assert!(both.contains(&r"What\'s\ \*this\*\?".to_owned()), "{both:?}");
    let quoted = ["sessctl", "replay", "'=He"];
    assert_eq!(bash("sessctl replay '=He", &quoted, "=He", TAB), ["=Hello there."]);
    let begun = ["sessctl", "replay", "=", r"Hello\ th"];
    assert_eq!(bash(r"sessctl replay =Hello\ th", &begun, r"Hello\ th", TAB), [r"Hello\ there."]);
    let at = ["sessctl", "fork", "x", "--at", "=", "la"];
    assert_eq!(bash("sessctl fork x --at=la", &at, "la", TAB), ["last-turn"]);
    let at = ["sessctl", "fork", "x", "--at", "=", "turn", ":"];
    assert!(bash("sessctl fork x --at=turn:", &at, "", TAB).is_empty());
    assert_eq!(bash("sessctl ", &["sessctl", ""], "", TAB)[..2], ["fork", "snapshot"]);
}

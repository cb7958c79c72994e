//! The page of a family, as far as it can be judged without a browser; `just browser` opens it in one.

use std::{fs, os::unix::fs::PermissionsExt};

use crate::home::{Home, word};

fn family(home: &Home) -> String {
    let path = home.copy("pi/pi-1.6.0-tool-calls.jsonl", "work.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("Running both.", "</div><script>alert(1)</script>\\u202e"))
        .unwrap();
    home.report(
        0,
        &["fork", "work.jsonl", "--at", "turn:2", "--out", "try.jsonl", "--title", "<b>Try</b>"],
    );
    home.report(0, &["side", "work.jsonl", "--at", "turn:3", "--out", "aside.jsonl"]);
    home.report(0, &["merge", "aside.jsonl", "--into", "work.jsonl", "--note", "Only reads."]);
    home.report(0, &["replay", "work.jsonl", "--view", "html", "--out", "page.html"]);
    fs::read_to_string(home.path("page.html")).unwrap()
}

#[test]
fn a_page_holds_the_family_and_needs_nothing_else() {
    let home = Home::new();
    let page = family(&home);
    assert!(page.starts_with("<!doctype html>\n<html lang=\"en\">"));
    for needed in
        ["id=\"s0\"", "id=\"s1\"", "id=\"s2\"", "id=\"s0-t4\"", "id=\"s0-n0\"", "class=\"aside\""]
    {
        assert!(page.contains(needed), "{needed}");
    }
    assert!(page.contains("begins with 5 messages") || page.contains("begins with 11 messages"));
    assert!(page.contains("a note went back into <a href=\"#s0-n0\">"));
    assert_eq!(page.matches("<svg").count(), 3, "the tree and two charts");
    for foreign in ["http://", "https://", "src=", "@import", "url("] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    let mode = fs::metadata(home.path("page.html")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "a page holds what the sessions hold");
    assert_eq!(
        home.run(&["replay", "try.jsonl", "--view", "html"]).out.matches("<article").count(),
        3
    );
    let report = home.report(4, &["replay", "work.jsonl", "--view", "html", "--out", "page.html"]);
    assert_eq!(report["code"], "SESSION_ALREADY_EXISTS");
}

#[test]
fn words_of_a_log_are_only_words_on_a_page() {
    let page = family(&Home::new());
    assert_eq!(page.matches("<script").count(), 1);
    assert!(
        page.contains("&lt;script&gt;alert(1)&lt;/script&gt;")
            && page.contains("&lt;b&gt;Try&lt;/b&gt;")
    );
    assert!(!page.contains('\u{202e}') && !page.contains("<b>Try"));
    let policy = page.split("script-src 'nonce-").nth(1).unwrap();
    let nonce = &policy[..policy.find('\'').unwrap()];
    assert!(nonce.len() == 32 && page.contains(&format!("<script nonce=\"{nonce}\">")));
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn a_page_names_what_it_cannot_show() {
    let home = Home::new();
    home.copy("pi/damaged/03-torn-middle.jsonl", "torn.jsonl");
    let ran = home.run(&["replay", "torn.jsonl", "--view", "html"]);
    assert_eq!(ran.exit, 5);
    assert!(
        ran.out.contains("class=\"finding error\"><strong>LINE_CORRUPT</strong>"),
        "{}",
        ran.out
    );
    assert_eq!(
        home.report(2, &["replay", "torn.jsonl", "--view", "html", "--turns", "1"])["code"],
        "BAD_USAGE"
    );
    let path = home.copy("pi/pi-1.6.0-plain-3-turns.jsonl", "s.jsonl");
    let mut command = home.command(&["replay", "-", "--view", "html"]);
    command.stdin(fs::File::open(word(&path)).unwrap());
    let page = crate::home::ran(&command.output().unwrap());
    assert!(
        page.exit == 0 && page.out.contains("Hello there.") && page.out.contains("id=\"s0-t3\"")
    );
}

#[test]
fn every_client_has_its_page() {
    let home = Home::new();
    for (folder, to) in [
        ("claude-code/plain-and-fork/projects", ".claude/projects"),
        ("claude-code/compaction/projects", ".claude/projects"),
        ("codex/legacy-fork", ".codex"),
        ("codex/fork-paginated", ".codex"),
    ] {
        home.copy_folder(folder, to);
    }
    home.dsh("v4-main.jsonl", "0198c0de-0000-7000-8000-000000000001", "session.v4.jsonl");
    let list = home.report(0, &["list", "--limit", "50"]);
    let rows = list["rows"].as_array().unwrap();
    assert!(rows.len() > 5);
    for row in rows {
        let path = row["path"].as_str().unwrap();
        let ran = home.run(&["replay", path, "--view", "html", "--lenient"]);
        assert_eq!(ran.exit, 0, "{path}: {}", ran.err);
        assert!(ran.out.contains("class=\"turn\"") && ran.out.ends_with("</html>\n"), "{path}");
    }
}

#[test]
fn where_a_view_was_written_is_said() {
    let home = Home::new();
    home.copy("pi/pi-1.6.0-tool-calls.jsonl", "work.jsonl");
    let id = "01a2281b-b8fc-73b4-86fd-6b65558447af";
    let folder = fs::canonicalize(home.path("")).unwrap();
    for (view, what) in [("html", "the page"), ("messages", "the messages")] {
        let out = format!("new/folder/{view}");
        let ran = home.run(&["replay", "work.jsonl", "--view", view, "--out", &out]);
        assert_eq!(ran.exit, 0, "{}", ran.err);
        assert_eq!(ran.out, format!("wrote {what} of {id} to {}\n", folder.join(&out).display()));
        assert!(fs::metadata(home.path(&out)).unwrap().len() > 1000);
        let out = format!("{out}-quiet");
        let ran = home.run(&["-q", "replay", "work.jsonl", "--view", view, "--out", &out]);
        assert_eq!((ran.exit, ran.out.as_str(), ran.err.as_str()), (0, "", ""));
        assert!(home.path(&out).is_file());
        let out = format!("{out}-json");
        let report = home.report(0, &["replay", "work.jsonl", "--view", view, "--out", &out]);
        assert_eq!((&report["ok"], &report["rows"]), (&true.into(), &serde_json::Value::Null));
        assert!(home.path(&out).is_file());
    }
}

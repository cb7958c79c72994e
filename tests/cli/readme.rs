//! The tour of the README, run as it stands there.

use std::{path::Path, process::Command};

use crate::home::{Home, ran};

#[test]
fn the_tour_works_and_prints_what_it_says() {
    let page = include_str!("../../README.md");
    let tour = page.split("### Five minutes").nth(1).unwrap().split("\n## ").next().unwrap();
    let blocks: Vec<&str> =
        tour.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(blocks.len() >= 7 && blocks[0].contains("cp fixtures/pi/pi-1.6.0-tool-calls.jsonl"));
    let home = Home::new();
    home.copy("pi/pi-1.6.0-tool-calls.jsonl", "work.jsonl");
    let tool = Path::new(env!("CARGO_BIN_EXE_sessctl")).parent().unwrap();
    let path = format!("{}:{}", tool.display(), std::env::var("PATH").unwrap());
    let mut shown = String::new();
    for block in &blocks[1..] {
        let mut shell = Command::new("sh");
        shell
            .args(["-eu", "-c", block])
            .env_clear()
            .env("PATH", &path)
            .env("HOME", home.path("home"));
        let ran = ran(&shell.current_dir(home.path("")).output().unwrap());
        assert_eq!(ran.exit, 0, "{block}{}", ran.err);
        shown += &ran.out;
    }
    // What is shown between the commands is what they print.
    let printed: Vec<&str> =
        tour.split("```text\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    let printed: Vec<&&str> = printed.iter().filter(|text| !text.contains("sessctl ")).collect();
    assert_eq!(printed.len(), 2);
    for text in printed {
        assert!(shown.contains(*text), "{text}\n{shown}");
    }
    for said in [
        "identical: 11 messages of the parent, 0 own",
        "merged a note of 41 characters",
        "the note is in 01a2281b-b8fc-73b4-86fd-6b65558447af already; nothing was written",
        "14 copied records not counted again",
    ] {
        assert!(shown.contains(said), "{said}\n{shown}");
    }
    assert!(home.path("family.html").is_file());
}

#[test]
fn every_page_that_is_named_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (page, folder) in
        [("README.md", ""), ("docs/scripting.md", "docs"), ("docs/codes.md", "docs")]
    {
        let text = std::fs::read_to_string(root.join(page)).unwrap();
        for link in text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()) {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            if file.starts_with("http") {
                continue;
            }
            let target = root.join(folder).join(file);
            assert!(target.exists(), "{page} names {link}");
            if !heading.is_empty() {
                let slug = |line: &str| {
                    line.trim_start_matches(['#', ' ']).to_lowercase().replace(' ', "-")
                };
                let text = std::fs::read_to_string(target).unwrap();
                let found = text.lines().any(|line| line.starts_with('#') && slug(line) == heading);
                assert!(found, "{page} names {link}");
            }
        }
    }
}

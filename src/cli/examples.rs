//! What a verb is used for, as lines to try: behind its long help, and in its page of the manual.

/// `sessctl fork`
pub const FORK: &str = "\
Examples:
  sessctl fork --last                          # the session written last, at its end
  sessctl fork 01a2281b --at turn:2            # behind its second turn
  sessctl fork 01a2281b --at last-turn --dry-run  # what a fork of a session at work would leave out";

/// `sessctl snapshot`
pub const SNAPSHOT: &str = "\
Examples:
  sessctl snapshot 01a2281b --out seed.jsonl   # becomes a session later: sessctl fork seed.jsonl
  sessctl snapshot 01a2281b --check seed.jsonl # whether the session still begins so";

/// `sessctl side`
pub const SIDE: &str = "\
Examples:
  sessctl side --last --ask 'why cents?'       # prints the command that opens it in its client
  sessctl side --last --ask 'why cents?' --run # asks at once, prints the answer
  sessctl side 01a2281b --record pane.ndjson   # keeps what another program asked aside";

/// `sessctl merge`
pub const MERGE: &str = "\
Examples:
  sessctl merge 01a22aaf --last-answer         # the side session's last answer, as it stands
  sessctl merge 01a22aaf --condense            # a note that its client makes of it
  sessctl merge 01a22aaf --note @note.txt --dry-run  # what would be written, and where";

/// `sessctl replay`
pub const REPLAY: &str = "\
Examples:
  sessctl replay --last                        # to read, paged in a terminal
  sessctl replay 01a2281b --turns 3.. --full   # from the third turn on, nothing folded
  sessctl replay 01a2281b --view html --out family.html  # the whole family, for a browser
  sessctl replay --check a.jsonl b.jsonl       # one verdict a line
  sessctl replay child.jsonl --against parent.jsonl  # does it begin with the same history?";

/// `sessctl usage`
pub const USAGE: &str = "\
Examples:
  sessctl usage --by day --cost                # all stores
  sessctl usage 01a2281b                       # a session with what was asked aside
  sessctl usage --by kind --since 2026-11-01 --fail-over 5Mtok  # a budget: exit status 1 when it is passed";

/// `sessctl list`
pub const LIST: &str = "\
Examples:
  sessctl list --cwd .                         # the sessions of this project
  sessctl list --store ~/backup --limit 50     # those below another folder";

#[cfg(test)]
mod tests {
    use crate::cli::definition;

    #[test]
    fn examples_are_command_lines_of_their_verb() {
        let mut tried = 0;
        for verb in definition().get_subcommands().filter(|verb| verb.get_name() != "help") {
            let examples = verb.get_after_long_help().map(ToString::to_string).unwrap_or_default();
            for line in examples.lines().filter_map(|line| line.strip_prefix("  ")) {
                let command = line.split('#').next().unwrap().replace("'why cents?'", "why");
                let words: Vec<&str> = command.split_whitespace().collect();
                assert_eq!(words[1], verb.get_name(), "{line}");
                definition()
                    .try_get_matches_from(&words)
                    .unwrap_or_else(|no| panic!("{line}: {no}"));
                tried += 1;
            }
        }
        assert!(tried > 18, "{tried}");
    }
}

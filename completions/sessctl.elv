
use builtin;
use str;

set edit:completion:arg-completer[sessctl] = {|@words|
    fn spaces {|n|
        builtin:repeat $n ' ' | str:join ''
    }
    fn cand {|text desc|
        edit:complex-candidate $text &display=$text' '(spaces (- 14 (wcswidth $text)))$desc
    }
    var command = 'sessctl'
    for word $words[1..-1] {
        if (str:has-prefix $word '-') {
            break
        }
        set command = $command';'$word
    }
    var completions = [
        &'sessctl'= {
            cand --store 'A client''s root or any folder to look for sessions in [default: every client''s own root]'
            cand --format 'The client that wrote the log; without it the log itself tells'
            cand --color 'When to use colour'
            cand --json 'Print one report as JSON on standard output, on success and on failure alike'
            cand -q 'Print nothing but the answer'
            cand --quiet 'Print nothing but the answer'
            cand -v 'Also print what is merely worth knowing'
            cand --verbose 'Also print what is merely worth knowing'
            cand --strict 'Take warnings for errors'
            cand -V 'Print the version; with --json also the formats that are read and written'
            cand --version 'Print the version; with --json also the formats that are read and written'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand fork 'Branch a session at a finished turn, leaving the original untouched'
            cand snapshot 'Keep the seed of a fork as a file: boundary rule and bytes, but no child'
            cand side 'Make a read-only advisor session, forked at the last finished turn'
            cand merge 'Bring one note of a side session back into its parent'
            cand replay 'Rebuild what the model sees, and verify it'
            cand usage 'Account for every billed completion once'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'sessctl;fork'= {
            cand --last 'The session written last, of those whose working folder is DIR if one is given'
            cand --at 'Where to cut: tip, last-turn, start, turn:N, turn:ID, seq:N or line:N'
            cand --out 'Where to write the child instead of the client''s own place; - is standard output'
            cand --title 'The child''s title; @FILE reads it from a file, - from standard input'
            cand --id 'The child''s id, if not one by the client''s own policy'
            cand --request-id 'Makes the request repeatable: the same id and request give the same child again'
            cand --cwd 'The child''s working folder, which decides its place'
            cand --context 'Whether the parent''s context is inherited'
            cand --leaf 'The branch to go from, by any record on it'
            cand --drop 'Leave out lines with this kind of damage'
            cand --allow 'Keep lines with this kind of damage as they are, and go on'
            cand --store 'A client''s root or any folder to look for sessions in [default: every client''s own root]'
            cand --format 'The client that wrote the log; without it the log itself tells'
            cand --color 'When to use colour'
            cand --flatten 'Make a self-contained child where the client would only refer to its parent'
            cand --with-sidecars 'Carry along what the client keeps beside the log'
            cand --dry-run 'Read and check everything, print the plan, write nothing'
            cand --json 'Print one report as JSON on standard output, on success and on failure alike'
            cand -q 'Print nothing but the answer'
            cand --quiet 'Print nothing but the answer'
            cand -v 'Also print what is merely worth knowing'
            cand --verbose 'Also print what is merely worth knowing'
            cand --strict 'Take warnings for errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'sessctl;snapshot'= {
            cand --last 'The session written last, of those whose working folder is DIR if one is given'
            cand --at 'Where to cut: tip, last-turn, start, turn:N, turn:ID, seq:N or line:N'
            cand --out 'Where to write the snapshot; - is standard output'
            cand --leaf 'The branch to go from, by any record on it'
            cand --check 'Say whether the session still begins with the seed of this snapshot'
            cand --drop 'Leave out lines with this kind of damage'
            cand --allow 'Keep lines with this kind of damage as they are, and go on'
            cand --store 'A client''s root or any folder to look for sessions in [default: every client''s own root]'
            cand --format 'The client that wrote the log; without it the log itself tells'
            cand --color 'When to use colour'
            cand --dry-run 'Read and check everything, print the plan, write nothing'
            cand --json 'Print one report as JSON on standard output, on success and on failure alike'
            cand -q 'Print nothing but the answer'
            cand --quiet 'Print nothing but the answer'
            cand -v 'Also print what is merely worth knowing'
            cand --verbose 'Also print what is merely worth knowing'
            cand --strict 'Take warnings for errors'
            cand -h 'Print help'
            cand --help 'Print help'
        }
        &'sessctl;side'= {
            cand --last 'The session written last, of those whose working folder is DIR if one is given'
            cand --ask 'The question; @FILE reads it from a file, - from standard input'
            cand --framing 'Other words for the framing; @FILE reads them from a file, - from standard input'
            cand --at 'Where to cut: tip, last-turn, start, turn:N, turn:ID, seq:N or line:N'
            cand --out 'Where to write the child instead of the client''s own place'
            cand --title 'The child''s title; @FILE reads it from a file, - from standard input'
            cand --id 'The child''s id, if not one by the client''s own policy'
            cand --request-id 'Makes the request repeatable: the same id and request give the same child again'
            cand --cwd 'The child''s working folder, which decides its place'
            cand --context 'Whether the parent''s context is inherited'
            cand --leaf 'The branch to go from, by any record on it'
            cand --drop 'Leave out lines with this kind of damage'
            cand --allow 'Keep lines with this kind of damage as they are, and go on'
            cand --store 'A client''s root or any folder to look for sessions in [default: every client''s own root]'
            cand --format 'The client that wrote the log; without it the log itself tells'
            cand --color 'When to use colour'
            cand --no-framing 'Write no framing message'
            cand --dry-run 'Read and check everything, print the plan, write nothing'
            cand --json 'Print one report as JSON on standard output, on success and on failure alike'
            cand -q 'Print nothing but the answer'
            cand --quiet 'Print nothing but the answer'
            cand -v 'Also print what is merely worth knowing'
            cand --verbose 'Also print what is merely worth knowing'
            cand --strict 'Take warnings for errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'sessctl;merge'= {
            cand --last 'The session written last, of those whose working folder is DIR if one is given'
            cand --into 'The parent; it must be the one that the side session''s lineage names'
            cand --note 'The note; @FILE reads it from a file, - from standard input'
            cand --max-chars 'The longest note, in characters; a longer one is refused, never cut'
            cand --request-id 'Makes the request repeatable: the same id with another request is refused'
            cand --allow 'Keep lines with this kind of damage as they are, and go on'
            cand --store 'A client''s root or any folder to look for sessions in [default: every client''s own root]'
            cand --format 'The client that wrote the log; without it the log itself tells'
            cand --color 'When to use colour'
            cand --last-answer 'Take the last answer of the side session for the note'
            cand --allow-repeat 'Write the note again although it stands there already'
            cand --dry-run 'Read and check everything, print the plan, write nothing'
            cand --json 'Print one report as JSON on standard output, on success and on failure alike'
            cand -q 'Print nothing but the answer'
            cand --quiet 'Print nothing but the answer'
            cand -v 'Also print what is merely worth knowing'
            cand --verbose 'Also print what is merely worth knowing'
            cand --strict 'Take warnings for errors'
            cand -h 'Print help'
            cand --help 'Print help'
        }
        &'sessctl;replay'= {
            cand --last 'The session written last, of those whose working folder is DIR if one is given'
            cand --at 'How far to go: tip, last-turn, start, turn:N, turn:ID, seq:N or line:N'
            cand --against 'Prove that the session begins with the history of this parent or snapshot'
            cand --expect 'Compare with a file made by --view messages, or with a hash'
            cand --turns 'Only these turns, counted from one'
            cand --view 'What to print'
            cand --leaf 'The branch to look at, by any record on it'
            cand --allow 'Keep lines with this kind of damage as they are, and go on'
            cand --out 'Write the view to a file; - is standard output'
            cand --store 'A client''s root or any folder to look for sessions in [default: every client''s own root]'
            cand --format 'The client that wrote the log; without it the log itself tells'
            cand --color 'When to use colour'
            cand --check 'Exit 5 on any error in the log'
            cand --hash 'Print the hash of the history and nothing else'
            cand --full 'Fold nothing in the transcript'
            cand --lenient 'Never fail on damage; mark the gaps'
            cand --json 'Print one report as JSON on standard output, on success and on failure alike'
            cand -q 'Print nothing but the answer'
            cand --quiet 'Print nothing but the answer'
            cand -v 'Also print what is merely worth knowing'
            cand --verbose 'Also print what is merely worth knowing'
            cand --strict 'Take warnings for errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'sessctl;usage'= {
            cand --by 'Group by; may be given several times [default: session]'
            cand --since 'From this day or time on'
            cand --until 'Up to this day, which is included, or time, which is not'
            cand --timezone 'The zone of days, as an IANA name'
            cand --store 'A client''s root or any folder to look for sessions in [default: every client''s own root]'
            cand --format 'The client that wrote the log; without it the log itself tells'
            cand --color 'When to use colour'
            cand --own 'Only the sessions named, without what derives from them'
            cand --include-forks 'With a session, also its forks'
            cand --compact 'Fewer columns'
            cand --csv 'Print comma-separated values'
            cand --json 'Print one report as JSON on standard output, on success and on failure alike'
            cand -q 'Print nothing but the answer'
            cand --quiet 'Print nothing but the answer'
            cand -v 'Also print what is merely worth knowing'
            cand --verbose 'Also print what is merely worth knowing'
            cand --strict 'Take warnings for errors'
            cand -h 'Print help'
            cand --help 'Print help'
        }
        &'sessctl;help'= {
            cand fork 'Branch a session at a finished turn, leaving the original untouched'
            cand snapshot 'Keep the seed of a fork as a file: boundary rule and bytes, but no child'
            cand side 'Make a read-only advisor session, forked at the last finished turn'
            cand merge 'Bring one note of a side session back into its parent'
            cand replay 'Rebuild what the model sees, and verify it'
            cand usage 'Account for every billed completion once'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'sessctl;help;fork'= {
        }
        &'sessctl;help;snapshot'= {
        }
        &'sessctl;help;side'= {
        }
        &'sessctl;help;merge'= {
        }
        &'sessctl;help;replay'= {
        }
        &'sessctl;help;usage'= {
        }
        &'sessctl;help;help'= {
        }
    ]
    $completions[$command]
}

# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_sessctl_global_optspecs
    string join \n store= format= json q/quiet v/verbose color= strict V/version h/help
end

function __fish_sessctl_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_sessctl_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_sessctl_using_subcommand
    set -l cmd (__fish_sessctl_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c sessctl -n "__fish_sessctl_needs_command" -l store -d 'A client\'s root or any folder to look for sessions in [default: every client\'s own root]' -r -F
complete -c sessctl -n "__fish_sessctl_needs_command" -l format -d 'The client that wrote the log; without it the log itself tells' -r
complete -c sessctl -n "__fish_sessctl_needs_command" -l color -d 'When to use colour' -r -f -a "auto\t''
always\t''
never\t''"
complete -c sessctl -n "__fish_sessctl_needs_command" -l json -d 'Print one report as JSON on standard output, on success and on failure alike'
complete -c sessctl -n "__fish_sessctl_needs_command" -s q -l quiet -d 'Print nothing but the answer'
complete -c sessctl -n "__fish_sessctl_needs_command" -s v -l verbose -d 'Also print what is merely worth knowing'
complete -c sessctl -n "__fish_sessctl_needs_command" -l strict -d 'Take warnings for errors'
complete -c sessctl -n "__fish_sessctl_needs_command" -s V -l version -d 'Print the version; with --json also the formats that are read and written'
complete -c sessctl -n "__fish_sessctl_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sessctl -n "__fish_sessctl_needs_command" -f -a "fork" -d 'Branch a session at a finished turn, leaving the original untouched'
complete -c sessctl -n "__fish_sessctl_needs_command" -f -a "snapshot" -d 'Keep the seed of a fork as a file: boundary rule and bytes, but no child'
complete -c sessctl -n "__fish_sessctl_needs_command" -f -a "side" -d 'Make a read-only advisor session, forked at the last finished turn'
complete -c sessctl -n "__fish_sessctl_needs_command" -f -a "merge" -d 'Bring one note of a side session back into its parent'
complete -c sessctl -n "__fish_sessctl_needs_command" -f -a "replay" -d 'Rebuild what the model sees, and verify it'
complete -c sessctl -n "__fish_sessctl_needs_command" -f -a "usage" -d 'Account for every billed completion once'
complete -c sessctl -n "__fish_sessctl_needs_command" -f -a "list" -d 'List the sessions written last, children under their parents'
complete -c sessctl -n "__fish_sessctl_needs_command" -f -a "help" -d 'Explain a command, a code or a topic'
complete -c sessctl -n "__fish_sessctl_using_subcommand fork" -l last -d 'The session written last, of those whose working folder is DIR if one is given' -r -F
complete -c sessctl -n "__fish_sessctl_using_subcommand fork" -l at -d 'Where to cut: tip, last-turn, start, turn:N, turn:ID, seq:N or line:N' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand fork" -l out -d 'Where to write the child instead of the client\'s own place; - is standard output' -r -F
complete -c sessctl -n "__fish_sessctl_using_subcommand fork" -l title -d 'The child\'s title; @FILE reads it from a file, - from standard input' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand fork" -l id -d 'The child\'s id, if not one by the client\'s own policy' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand fork" -l request-id -d 'Makes the request repeatable: the same id and request give the same child again' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand fork" -l cwd -d 'The child\'s working folder, which decides its place' -r -F
complete -c sessctl -n "__fish_sessctl_using_subcommand fork" -l context -d 'Whether the parent\'s context is inherited' -r -f -a "inherit\t'Everything up to the boundary'
none\t'Nothing but lineage, working folder and settings'"
complete -c sessctl -n "__fish_sessctl_using_subcommand fork" -l leaf -d 'The branch to go from, by any record on it' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand fork" -l drop -d 'Leave out lines with this kind of damage' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand fork" -l allow -d 'Keep lines with this kind of damage as they are, and go on' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand fork" -l store -d 'A client\'s root or any folder to look for sessions in [default: every client\'s own root]' -r -F
complete -c sessctl -n "__fish_sessctl_using_subcommand fork" -l format -d 'The client that wrote the log; without it the log itself tells' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand fork" -l color -d 'When to use colour' -r -f -a "auto\t''
always\t''
never\t''"
complete -c sessctl -n "__fish_sessctl_using_subcommand fork" -l flatten -d 'Make a self-contained child where the client would only refer to its parent'
complete -c sessctl -n "__fish_sessctl_using_subcommand fork" -l with-sidecars -d 'Carry along what the client keeps beside the log'
complete -c sessctl -n "__fish_sessctl_using_subcommand fork" -l dry-run -d 'Read and check everything, print the plan, write nothing'
complete -c sessctl -n "__fish_sessctl_using_subcommand fork" -l json -d 'Print one report as JSON on standard output, on success and on failure alike'
complete -c sessctl -n "__fish_sessctl_using_subcommand fork" -s q -l quiet -d 'Print nothing but the answer'
complete -c sessctl -n "__fish_sessctl_using_subcommand fork" -s v -l verbose -d 'Also print what is merely worth knowing'
complete -c sessctl -n "__fish_sessctl_using_subcommand fork" -l strict -d 'Take warnings for errors'
complete -c sessctl -n "__fish_sessctl_using_subcommand fork" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sessctl -n "__fish_sessctl_using_subcommand snapshot" -l last -d 'The session written last, of those whose working folder is DIR if one is given' -r -F
complete -c sessctl -n "__fish_sessctl_using_subcommand snapshot" -l at -d 'Where to cut: tip, last-turn, start, turn:N, turn:ID, seq:N or line:N' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand snapshot" -l out -d 'Where to write the snapshot; - is standard output' -r -F
complete -c sessctl -n "__fish_sessctl_using_subcommand snapshot" -l leaf -d 'The branch to go from, by any record on it' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand snapshot" -l check -d 'Say whether the session still begins with the seed of this snapshot' -r -F
complete -c sessctl -n "__fish_sessctl_using_subcommand snapshot" -l drop -d 'Leave out lines with this kind of damage' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand snapshot" -l allow -d 'Keep lines with this kind of damage as they are, and go on' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand snapshot" -l store -d 'A client\'s root or any folder to look for sessions in [default: every client\'s own root]' -r -F
complete -c sessctl -n "__fish_sessctl_using_subcommand snapshot" -l format -d 'The client that wrote the log; without it the log itself tells' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand snapshot" -l color -d 'When to use colour' -r -f -a "auto\t''
always\t''
never\t''"
complete -c sessctl -n "__fish_sessctl_using_subcommand snapshot" -l dry-run -d 'Read and check everything, print the plan, write nothing'
complete -c sessctl -n "__fish_sessctl_using_subcommand snapshot" -l json -d 'Print one report as JSON on standard output, on success and on failure alike'
complete -c sessctl -n "__fish_sessctl_using_subcommand snapshot" -s q -l quiet -d 'Print nothing but the answer'
complete -c sessctl -n "__fish_sessctl_using_subcommand snapshot" -s v -l verbose -d 'Also print what is merely worth knowing'
complete -c sessctl -n "__fish_sessctl_using_subcommand snapshot" -l strict -d 'Take warnings for errors'
complete -c sessctl -n "__fish_sessctl_using_subcommand snapshot" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sessctl -n "__fish_sessctl_using_subcommand side" -l last -d 'The session written last, of those whose working folder is DIR if one is given' -r -F
complete -c sessctl -n "__fish_sessctl_using_subcommand side" -l ask -d 'The question; @FILE reads it from a file, - from standard input' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand side" -l run-with -d 'The same by another command, which the shell runs in the session\'s folder' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand side" -l framing -d 'Other words for the framing; @FILE reads them from a file, - from standard input' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand side" -l at -d 'Where to cut: tip, last-turn, start, turn:N, turn:ID, seq:N or line:N' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand side" -l out -d 'Where to write the child instead of the client\'s own place' -r -F
complete -c sessctl -n "__fish_sessctl_using_subcommand side" -l title -d 'The child\'s title; @FILE reads it from a file, - from standard input' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand side" -l id -d 'The child\'s id, if not one by the client\'s own policy' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand side" -l request-id -d 'Makes the request repeatable: the same id and request give the same child again' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand side" -l cwd -d 'The child\'s working folder, which decides its place' -r -F
complete -c sessctl -n "__fish_sessctl_using_subcommand side" -l context -d 'Whether the parent\'s context is inherited' -r -f -a "inherit\t'Everything up to the boundary'
none\t'Nothing but lineage, working folder and settings'"
complete -c sessctl -n "__fish_sessctl_using_subcommand side" -l leaf -d 'The branch to go from, by any record on it' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand side" -l drop -d 'Leave out lines with this kind of damage' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand side" -l allow -d 'Keep lines with this kind of damage as they are, and go on' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand side" -l record -d 'Write down a side conversation that another program held: one JSON record a line, from a file or -' -r -F
complete -c sessctl -n "__fish_sessctl_using_subcommand side" -l pane -d 'The pane that the conversation was held in; one pane is one transcript [default: a new one]' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand side" -l status -d 'How the pane was left' -r -f -a "complete\t'In good order'
cancelled\t'By a person, before an answer was there'
error\t'By an error'"
complete -c sessctl -n "__fish_sessctl_using_subcommand side" -l store -d 'A client\'s root or any folder to look for sessions in [default: every client\'s own root]' -r -F
complete -c sessctl -n "__fish_sessctl_using_subcommand side" -l format -d 'The client that wrote the log; without it the log itself tells' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand side" -l color -d 'When to use colour' -r -f -a "auto\t''
always\t''
never\t''"
complete -c sessctl -n "__fish_sessctl_using_subcommand side" -l run -d 'Put the question to the session at once, by the client\'s own command line, and print the answer in its log'
complete -c sessctl -n "__fish_sessctl_using_subcommand side" -l no-framing -d 'Write no framing message'
complete -c sessctl -n "__fish_sessctl_using_subcommand side" -l dry-run -d 'Read and check everything, print the plan, write nothing'
complete -c sessctl -n "__fish_sessctl_using_subcommand side" -l no-pointer -d 'Write no pointer into the parent'
complete -c sessctl -n "__fish_sessctl_using_subcommand side" -l json -d 'Print one report as JSON on standard output, on success and on failure alike'
complete -c sessctl -n "__fish_sessctl_using_subcommand side" -s q -l quiet -d 'Print nothing but the answer'
complete -c sessctl -n "__fish_sessctl_using_subcommand side" -s v -l verbose -d 'Also print what is merely worth knowing'
complete -c sessctl -n "__fish_sessctl_using_subcommand side" -l strict -d 'Take warnings for errors'
complete -c sessctl -n "__fish_sessctl_using_subcommand side" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sessctl -n "__fish_sessctl_using_subcommand merge" -l last -d 'The session written last, of those whose working folder is DIR if one is given' -r -F
complete -c sessctl -n "__fish_sessctl_using_subcommand merge" -l into -d 'The parent; it must be the one that the side session\'s lineage names' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand merge" -l note -d 'The note; @FILE reads it from a file, - from standard input' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand merge" -l condense-with -d 'Have another command make the note: it gets the side conversation on standard input, the note is its output' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand merge" -l condense-prompt -d 'Other words for the prompt, `{max_chars}` being the cap; @FILE reads them from a file, - from standard input' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand merge" -l max-chars -d 'The longest note, in characters; a longer one is refused, never cut' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand merge" -l request-id -d 'Makes the request repeatable: the same id with another request is refused' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand merge" -l allow -d 'Keep lines with this kind of damage as they are, and go on' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand merge" -l store -d 'A client\'s root or any folder to look for sessions in [default: every client\'s own root]' -r -F
complete -c sessctl -n "__fish_sessctl_using_subcommand merge" -l format -d 'The client that wrote the log; without it the log itself tells' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand merge" -l color -d 'When to use colour' -r -f -a "auto\t''
always\t''
never\t''"
complete -c sessctl -n "__fish_sessctl_using_subcommand merge" -l last-answer -d 'Take the last answer of the side session for the note'
complete -c sessctl -n "__fish_sessctl_using_subcommand merge" -l condense -d 'Have the client make the note, by one turn in the side session'
complete -c sessctl -n "__fish_sessctl_using_subcommand merge" -l allow-repeat -d 'Write the note again although it stands there already'
complete -c sessctl -n "__fish_sessctl_using_subcommand merge" -l dry-run -d 'Read and check everything, print the plan, write nothing'
complete -c sessctl -n "__fish_sessctl_using_subcommand merge" -l json -d 'Print one report as JSON on standard output, on success and on failure alike'
complete -c sessctl -n "__fish_sessctl_using_subcommand merge" -s q -l quiet -d 'Print nothing but the answer'
complete -c sessctl -n "__fish_sessctl_using_subcommand merge" -s v -l verbose -d 'Also print what is merely worth knowing'
complete -c sessctl -n "__fish_sessctl_using_subcommand merge" -l strict -d 'Take warnings for errors'
complete -c sessctl -n "__fish_sessctl_using_subcommand merge" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sessctl -n "__fish_sessctl_using_subcommand replay" -l last -d 'The session written last, of those whose working folder is DIR if one is given' -r -F
complete -c sessctl -n "__fish_sessctl_using_subcommand replay" -l at -d 'How far to go: tip, last-turn, start, turn:N, turn:ID, seq:N or line:N' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand replay" -l against -d 'Prove that the session begins with the history of this parent or snapshot' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand replay" -l expect -d 'Compare with a file made by --view messages, or with a hash' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand replay" -l turns -d 'Only these turns, counted from one' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand replay" -l view -d 'What to print' -r -f -a "transcript\t'For people: turns, roles, calls'
messages\t'What the model sees, one message a line'
provider\t'The messages as the next request would carry them'
turns\t'The turns, one a line'
lineage\t'Parent, forks, side sessions and merges'
html\t'One page of the whole family, for a browser'"
complete -c sessctl -n "__fish_sessctl_using_subcommand replay" -l leaf -d 'The branch to look at, by any record on it' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand replay" -l allow -d 'Keep lines with this kind of damage as they are, and go on' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand replay" -l out -d 'Write the view to a new file; - is standard output' -r -F
complete -c sessctl -n "__fish_sessctl_using_subcommand replay" -l wait -d 'Wait up to this long for the open turn to end, such as 90s, 5m or 1h30m' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand replay" -l limit -d 'With --view lineage and no session: how many sessions at most' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand replay" -l store -d 'A client\'s root or any folder to look for sessions in [default: every client\'s own root]' -r -F
complete -c sessctl -n "__fish_sessctl_using_subcommand replay" -l format -d 'The client that wrote the log; without it the log itself tells' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand replay" -l color -d 'When to use colour' -r -f -a "auto\t''
always\t''
never\t''"
complete -c sessctl -n "__fish_sessctl_using_subcommand replay" -l check -d 'Exit 5 on any error in the log'
complete -c sessctl -n "__fish_sessctl_using_subcommand replay" -l hash -d 'Print the hash of the history and nothing else'
complete -c sessctl -n "__fish_sessctl_using_subcommand replay" -l full -d 'Fold nothing in the transcript'
complete -c sessctl -n "__fish_sessctl_using_subcommand replay" -l lenient -d 'Never fail on damage; mark the gaps'
complete -c sessctl -n "__fish_sessctl_using_subcommand replay" -l json -d 'Print one report as JSON on standard output, on success and on failure alike'
complete -c sessctl -n "__fish_sessctl_using_subcommand replay" -s q -l quiet -d 'Print nothing but the answer'
complete -c sessctl -n "__fish_sessctl_using_subcommand replay" -s v -l verbose -d 'Also print what is merely worth knowing'
complete -c sessctl -n "__fish_sessctl_using_subcommand replay" -l strict -d 'Take warnings for errors'
complete -c sessctl -n "__fish_sessctl_using_subcommand replay" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sessctl -n "__fish_sessctl_using_subcommand usage" -l last -d 'The session written last, of those whose working folder is DIR if one is given' -r -F
complete -c sessctl -n "__fish_sessctl_using_subcommand usage" -l by -d 'Group by; may be given several times [default: session]' -r -f -a "session\t''
family\t''
day\t''
week\t''
month\t''
model\t''
client\t''
project\t''
kind\t''"
complete -c sessctl -n "__fish_sessctl_using_subcommand usage" -l since -d 'From this day or time on: 2026-01-31, today, yesterday, 7d (so many days before today), 2026-01-31T12:00:00Z' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand usage" -l until -d 'Up to this day, which is included, or time, which is not' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand usage" -l timezone -d 'The zone of days, as an IANA name, or `local`' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand usage" -l prices -d 'Take prices from a file in the form of the genai-prices data instead of those built in' -r -F
complete -c sessctl -n "__fish_sessctl_using_subcommand usage" -l ledger -d 'Write a row for each completion: .parquet, .ndjson, .ndjson.zst, or a folder of parts' -r -F
complete -c sessctl -n "__fish_sessctl_using_subcommand usage" -l explain -d 'Show every record of a completion, a day or a session, counted or refused, with its place and the rule' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand usage" -l fail-over -d 'Exit with 1 when the sum is more than this, such as 10usd or 5Mtok' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand usage" -l store -d 'A client\'s root or any folder to look for sessions in [default: every client\'s own root]' -r -F
complete -c sessctl -n "__fish_sessctl_using_subcommand usage" -l format -d 'The client that wrote the log; without it the log itself tells' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand usage" -l color -d 'When to use colour' -r -f -a "auto\t''
always\t''
never\t''"
complete -c sessctl -n "__fish_sessctl_using_subcommand usage" -l own -d 'Only the sessions named, without what derives from them'
complete -c sessctl -n "__fish_sessctl_using_subcommand usage" -l include-forks -d 'With a session, also its forks'
complete -c sessctl -n "__fish_sessctl_using_subcommand usage" -l cost -d 'Add what the logs say that it cost, what a table of prices says, and the tokens that have no price'
complete -c sessctl -n "__fish_sessctl_using_subcommand usage" -l compact -d 'Fewer columns'
complete -c sessctl -n "__fish_sessctl_using_subcommand usage" -l csv -d 'Print comma-separated values'
complete -c sessctl -n "__fish_sessctl_using_subcommand usage" -l with-paths -d 'With --ledger, also write working folders, which may tell more than is meant to leave the machine'
complete -c sessctl -n "__fish_sessctl_using_subcommand usage" -l statusline -d 'Print one short line for a prompt: today, unless a range or a session is given'
complete -c sessctl -n "__fish_sessctl_using_subcommand usage" -l reconcile -d 'Set the sums beside those that the clients themselves keep'
complete -c sessctl -n "__fish_sessctl_using_subcommand usage" -l no-cache -d 'Read every log, also those that have not changed since an earlier run read them'
complete -c sessctl -n "__fish_sessctl_using_subcommand usage" -l keep -d 'Keep what is read in a ledger of our own, and count what was kept of logs that are gone'
complete -c sessctl -n "__fish_sessctl_using_subcommand usage" -l json -d 'Print one report as JSON on standard output, on success and on failure alike'
complete -c sessctl -n "__fish_sessctl_using_subcommand usage" -s q -l quiet -d 'Print nothing but the answer'
complete -c sessctl -n "__fish_sessctl_using_subcommand usage" -s v -l verbose -d 'Also print what is merely worth knowing'
complete -c sessctl -n "__fish_sessctl_using_subcommand usage" -l strict -d 'Take warnings for errors'
complete -c sessctl -n "__fish_sessctl_using_subcommand usage" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sessctl -n "__fish_sessctl_using_subcommand list" -l cwd -d 'Only sessions whose working folder is DIR or lies below it' -r -F
complete -c sessctl -n "__fish_sessctl_using_subcommand list" -l limit -d 'How many sessions at most' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand list" -l store -d 'A client\'s root or any folder to look for sessions in [default: every client\'s own root]' -r -F
complete -c sessctl -n "__fish_sessctl_using_subcommand list" -l format -d 'The client that wrote the log; without it the log itself tells' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand list" -l color -d 'When to use colour' -r -f -a "auto\t''
always\t''
never\t''"
complete -c sessctl -n "__fish_sessctl_using_subcommand list" -l subagents -d 'Also the sessions of a client\'s own subagents'
complete -c sessctl -n "__fish_sessctl_using_subcommand list" -l json -d 'Print one report as JSON on standard output, on success and on failure alike'
complete -c sessctl -n "__fish_sessctl_using_subcommand list" -s q -l quiet -d 'Print nothing but the answer'
complete -c sessctl -n "__fish_sessctl_using_subcommand list" -s v -l verbose -d 'Also print what is merely worth knowing'
complete -c sessctl -n "__fish_sessctl_using_subcommand list" -l strict -d 'Take warnings for errors'
complete -c sessctl -n "__fish_sessctl_using_subcommand list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sessctl -n "__fish_sessctl_using_subcommand help" -l store -d 'A client\'s root or any folder to look for sessions in [default: every client\'s own root]' -r -F
complete -c sessctl -n "__fish_sessctl_using_subcommand help" -l format -d 'The client that wrote the log; without it the log itself tells' -r
complete -c sessctl -n "__fish_sessctl_using_subcommand help" -l color -d 'When to use colour' -r -f -a "auto\t''
always\t''
never\t''"
complete -c sessctl -n "__fish_sessctl_using_subcommand help" -l json -d 'Print one report as JSON on standard output, on success and on failure alike'
complete -c sessctl -n "__fish_sessctl_using_subcommand help" -s q -l quiet -d 'Print nothing but the answer'
complete -c sessctl -n "__fish_sessctl_using_subcommand help" -s v -l verbose -d 'Also print what is merely worth knowing'
complete -c sessctl -n "__fish_sessctl_using_subcommand help" -l strict -d 'Take warnings for errors'
complete -c sessctl -n "__fish_sessctl_using_subcommand help" -s h -l help -d 'Print help'

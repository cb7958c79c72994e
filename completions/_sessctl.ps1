
using namespace System.Management.Automation
using namespace System.Management.Automation.Language

Register-ArgumentCompleter -Native -CommandName 'sessctl' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $commandElements = $commandAst.CommandElements
    $command = @(
        'sessctl'
        for ($i = 1; $i -lt $commandElements.Count; $i++) {
            $element = $commandElements[$i]
            if ($element -isnot [StringConstantExpressionAst] -or
                $element.StringConstantType -ne [StringConstantType]::BareWord -or
                $element.Value.StartsWith('-') -or
                $element.Value -eq $wordToComplete) {
                break
        }
        $element.Value
    }) -join ';'

    $completions = @(switch ($command) {
        'sessctl' {
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'A client''s root or any folder to look for sessions in [default: every client''s own root]')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'The client that wrote the log; without it the log itself tells')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one report as JSON on standard output, on success and on failure alike')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing but the answer')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing but the answer')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Also print what is merely worth knowing')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Also print what is merely worth knowing')
            [CompletionResult]::new('--strict', '--strict', [CompletionResultType]::ParameterName, 'Take warnings for errors')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print the version; with --json also the formats that are read and written')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print the version; with --json also the formats that are read and written')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('fork', 'fork', [CompletionResultType]::ParameterValue, 'Branch a session at a finished turn, leaving the original untouched')
            [CompletionResult]::new('snapshot', 'snapshot', [CompletionResultType]::ParameterValue, 'Keep the seed of a fork as a file: boundary rule and bytes, but no child')
            [CompletionResult]::new('side', 'side', [CompletionResultType]::ParameterValue, 'Make a read-only advisor session, forked at the last finished turn')
            [CompletionResult]::new('merge', 'merge', [CompletionResultType]::ParameterValue, 'Bring one note of a side session back into its parent')
            [CompletionResult]::new('replay', 'replay', [CompletionResultType]::ParameterValue, 'Rebuild what the model sees, and verify it')
            [CompletionResult]::new('usage', 'usage', [CompletionResultType]::ParameterValue, 'Account for every billed completion once')
            [CompletionResult]::new('list', 'list', [CompletionResultType]::ParameterValue, 'List the sessions written last, children under their parents')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Explain a command, a code or a topic')
            break
        }
        'sessctl;fork' {
            [CompletionResult]::new('--last', '--last', [CompletionResultType]::ParameterName, 'The session written last, of those whose working folder is DIR if one is given')
            [CompletionResult]::new('--at', '--at', [CompletionResultType]::ParameterName, 'Where to cut: tip, last-turn, start, turn:N, turn:ID, seq:N or line:N')
            [CompletionResult]::new('--out', '--out', [CompletionResultType]::ParameterName, 'Where to write the child instead of the client''s own place; - is standard output')
            [CompletionResult]::new('--title', '--title', [CompletionResultType]::ParameterName, 'The child''s title; @FILE reads it from a file, - from standard input')
            [CompletionResult]::new('--id', '--id', [CompletionResultType]::ParameterName, 'The child''s id, if not one by the client''s own policy')
            [CompletionResult]::new('--request-id', '--request-id', [CompletionResultType]::ParameterName, 'Makes the request repeatable: the same id and request give the same child again')
            [CompletionResult]::new('--cwd', '--cwd', [CompletionResultType]::ParameterName, 'The child''s working folder, which decides its place')
            [CompletionResult]::new('--context', '--context', [CompletionResultType]::ParameterName, 'Whether the parent''s context is inherited')
            [CompletionResult]::new('--leaf', '--leaf', [CompletionResultType]::ParameterName, 'The branch to go from, by any record on it')
            [CompletionResult]::new('--drop', '--drop', [CompletionResultType]::ParameterName, 'Leave out lines with this kind of damage')
            [CompletionResult]::new('--allow', '--allow', [CompletionResultType]::ParameterName, 'Keep lines with this kind of damage as they are, and go on')
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'A client''s root or any folder to look for sessions in [default: every client''s own root]')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'The client that wrote the log; without it the log itself tells')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--flatten', '--flatten', [CompletionResultType]::ParameterName, 'Make a self-contained child where the client would only refer to its parent')
            [CompletionResult]::new('--with-sidecars', '--with-sidecars', [CompletionResultType]::ParameterName, 'Carry along what the client keeps beside the log')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Read and check everything, print the plan, write nothing')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one report as JSON on standard output, on success and on failure alike')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing but the answer')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing but the answer')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Also print what is merely worth knowing')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Also print what is merely worth knowing')
            [CompletionResult]::new('--strict', '--strict', [CompletionResultType]::ParameterName, 'Take warnings for errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'sessctl;snapshot' {
            [CompletionResult]::new('--last', '--last', [CompletionResultType]::ParameterName, 'The session written last, of those whose working folder is DIR if one is given')
            [CompletionResult]::new('--at', '--at', [CompletionResultType]::ParameterName, 'Where to cut: tip, last-turn, start, turn:N, turn:ID, seq:N or line:N')
            [CompletionResult]::new('--out', '--out', [CompletionResultType]::ParameterName, 'Where to write the snapshot; - is standard output')
            [CompletionResult]::new('--leaf', '--leaf', [CompletionResultType]::ParameterName, 'The branch to go from, by any record on it')
            [CompletionResult]::new('--check', '--check', [CompletionResultType]::ParameterName, 'Say whether the session still begins with the seed of this snapshot')
            [CompletionResult]::new('--drop', '--drop', [CompletionResultType]::ParameterName, 'Leave out lines with this kind of damage')
            [CompletionResult]::new('--allow', '--allow', [CompletionResultType]::ParameterName, 'Keep lines with this kind of damage as they are, and go on')
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'A client''s root or any folder to look for sessions in [default: every client''s own root]')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'The client that wrote the log; without it the log itself tells')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Read and check everything, print the plan, write nothing')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one report as JSON on standard output, on success and on failure alike')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing but the answer')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing but the answer')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Also print what is merely worth knowing')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Also print what is merely worth knowing')
            [CompletionResult]::new('--strict', '--strict', [CompletionResultType]::ParameterName, 'Take warnings for errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'sessctl;side' {
            [CompletionResult]::new('--last', '--last', [CompletionResultType]::ParameterName, 'The session written last, of those whose working folder is DIR if one is given')
            [CompletionResult]::new('--ask', '--ask', [CompletionResultType]::ParameterName, 'The question; @FILE reads it from a file, - from standard input')
            [CompletionResult]::new('--run-with', '--run-with', [CompletionResultType]::ParameterName, 'The same by another command, which the shell runs in the session''s folder')
            [CompletionResult]::new('--framing', '--framing', [CompletionResultType]::ParameterName, 'Other words for the framing; @FILE reads them from a file, - from standard input')
            [CompletionResult]::new('--at', '--at', [CompletionResultType]::ParameterName, 'Where to cut: tip, last-turn, start, turn:N, turn:ID, seq:N or line:N')
            [CompletionResult]::new('--out', '--out', [CompletionResultType]::ParameterName, 'Where to write the child instead of the client''s own place')
            [CompletionResult]::new('--title', '--title', [CompletionResultType]::ParameterName, 'The child''s title; @FILE reads it from a file, - from standard input')
            [CompletionResult]::new('--id', '--id', [CompletionResultType]::ParameterName, 'The child''s id, if not one by the client''s own policy')
            [CompletionResult]::new('--request-id', '--request-id', [CompletionResultType]::ParameterName, 'Makes the request repeatable: the same id and request give the same child again')
            [CompletionResult]::new('--cwd', '--cwd', [CompletionResultType]::ParameterName, 'The child''s working folder, which decides its place')
            [CompletionResult]::new('--context', '--context', [CompletionResultType]::ParameterName, 'Whether the parent''s context is inherited')
            [CompletionResult]::new('--leaf', '--leaf', [CompletionResultType]::ParameterName, 'The branch to go from, by any record on it')
            [CompletionResult]::new('--drop', '--drop', [CompletionResultType]::ParameterName, 'Leave out lines with this kind of damage')
            [CompletionResult]::new('--allow', '--allow', [CompletionResultType]::ParameterName, 'Keep lines with this kind of damage as they are, and go on')
            [CompletionResult]::new('--record', '--record', [CompletionResultType]::ParameterName, 'Write down a side conversation that another program held: one JSON record a line, from a file or -')
            [CompletionResult]::new('--pane', '--pane', [CompletionResultType]::ParameterName, 'The pane that the conversation was held in; one pane is one transcript [default: a new one]')
            [CompletionResult]::new('--status', '--status', [CompletionResultType]::ParameterName, 'How the pane was left')
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'A client''s root or any folder to look for sessions in [default: every client''s own root]')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'The client that wrote the log; without it the log itself tells')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--run', '--run', [CompletionResultType]::ParameterName, 'Put the question to the session at once, by the client''s own command line, and print the answer in its log')
            [CompletionResult]::new('--no-framing', '--no-framing', [CompletionResultType]::ParameterName, 'Write no framing message')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Read and check everything, print the plan, write nothing')
            [CompletionResult]::new('--no-pointer', '--no-pointer', [CompletionResultType]::ParameterName, 'Write no pointer into the parent')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one report as JSON on standard output, on success and on failure alike')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing but the answer')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing but the answer')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Also print what is merely worth knowing')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Also print what is merely worth knowing')
            [CompletionResult]::new('--strict', '--strict', [CompletionResultType]::ParameterName, 'Take warnings for errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'sessctl;merge' {
            [CompletionResult]::new('--last', '--last', [CompletionResultType]::ParameterName, 'The session written last, of those whose working folder is DIR if one is given')
            [CompletionResult]::new('--into', '--into', [CompletionResultType]::ParameterName, 'The parent; it must be the one that the side session''s lineage names')
            [CompletionResult]::new('--note', '--note', [CompletionResultType]::ParameterName, 'The note; @FILE reads it from a file, - from standard input')
            [CompletionResult]::new('--condense-with', '--condense-with', [CompletionResultType]::ParameterName, 'Have another command make the note: it gets the side conversation on standard input, the note is its output')
            [CompletionResult]::new('--condense-prompt', '--condense-prompt', [CompletionResultType]::ParameterName, 'Other words for the prompt, `{max_chars}` being the cap; @FILE reads them from a file, - from standard input')
            [CompletionResult]::new('--max-chars', '--max-chars', [CompletionResultType]::ParameterName, 'The longest note, in characters; a longer one is refused, never cut')
            [CompletionResult]::new('--request-id', '--request-id', [CompletionResultType]::ParameterName, 'Makes the request repeatable: the same id with another request is refused')
            [CompletionResult]::new('--allow', '--allow', [CompletionResultType]::ParameterName, 'Keep lines with this kind of damage as they are, and go on')
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'A client''s root or any folder to look for sessions in [default: every client''s own root]')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'The client that wrote the log; without it the log itself tells')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--last-answer', '--last-answer', [CompletionResultType]::ParameterName, 'Take the last answer of the side session for the note')
            [CompletionResult]::new('--condense', '--condense', [CompletionResultType]::ParameterName, 'Have the client make the note, by one turn in the side session')
            [CompletionResult]::new('--allow-repeat', '--allow-repeat', [CompletionResultType]::ParameterName, 'Write the note again although it stands there already')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Read and check everything, print the plan, write nothing')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one report as JSON on standard output, on success and on failure alike')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing but the answer')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing but the answer')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Also print what is merely worth knowing')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Also print what is merely worth knowing')
            [CompletionResult]::new('--strict', '--strict', [CompletionResultType]::ParameterName, 'Take warnings for errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'sessctl;replay' {
            [CompletionResult]::new('--last', '--last', [CompletionResultType]::ParameterName, 'The session written last, of those whose working folder is DIR if one is given')
            [CompletionResult]::new('--at', '--at', [CompletionResultType]::ParameterName, 'How far to go: tip, last-turn, start, turn:N, turn:ID, seq:N or line:N')
            [CompletionResult]::new('--against', '--against', [CompletionResultType]::ParameterName, 'Prove that the session begins with the history of this parent or snapshot')
            [CompletionResult]::new('--expect', '--expect', [CompletionResultType]::ParameterName, 'Compare with a file made by --view messages, or with a hash')
            [CompletionResult]::new('--turns', '--turns', [CompletionResultType]::ParameterName, 'Only these turns, counted from one')
            [CompletionResult]::new('--view', '--view', [CompletionResultType]::ParameterName, 'What to print')
            [CompletionResult]::new('--leaf', '--leaf', [CompletionResultType]::ParameterName, 'The branch to look at, by any record on it')
            [CompletionResult]::new('--allow', '--allow', [CompletionResultType]::ParameterName, 'Keep lines with this kind of damage as they are, and go on')
            [CompletionResult]::new('--out', '--out', [CompletionResultType]::ParameterName, 'Write the view to a new file; - is standard output')
            [CompletionResult]::new('--wait', '--wait', [CompletionResultType]::ParameterName, 'Wait up to this long for the open turn to end, such as 90s, 5m or 1h30m')
            [CompletionResult]::new('--limit', '--limit', [CompletionResultType]::ParameterName, 'With --view lineage and no session: how many sessions at most')
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'A client''s root or any folder to look for sessions in [default: every client''s own root]')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'The client that wrote the log; without it the log itself tells')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--check', '--check', [CompletionResultType]::ParameterName, 'Exit 5 on any error in the log')
            [CompletionResult]::new('--hash', '--hash', [CompletionResultType]::ParameterName, 'Print the hash of the history and nothing else')
            [CompletionResult]::new('--full', '--full', [CompletionResultType]::ParameterName, 'Fold nothing in the transcript')
            [CompletionResult]::new('--lenient', '--lenient', [CompletionResultType]::ParameterName, 'Never fail on damage; mark the gaps')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one report as JSON on standard output, on success and on failure alike')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing but the answer')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing but the answer')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Also print what is merely worth knowing')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Also print what is merely worth knowing')
            [CompletionResult]::new('--strict', '--strict', [CompletionResultType]::ParameterName, 'Take warnings for errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'sessctl;usage' {
            [CompletionResult]::new('--last', '--last', [CompletionResultType]::ParameterName, 'The session written last, of those whose working folder is DIR if one is given')
            [CompletionResult]::new('--by', '--by', [CompletionResultType]::ParameterName, 'Group by; may be given several times [default: session]')
            [CompletionResult]::new('--since', '--since', [CompletionResultType]::ParameterName, 'From this day or time on: 2026-01-31, today, yesterday, 7d (so many days before today), 2026-01-31T12:00:00Z')
            [CompletionResult]::new('--until', '--until', [CompletionResultType]::ParameterName, 'Up to this day, which is included, or time, which is not')
            [CompletionResult]::new('--timezone', '--timezone', [CompletionResultType]::ParameterName, 'The zone of days, as an IANA name, or `local`')
            [CompletionResult]::new('--prices', '--prices', [CompletionResultType]::ParameterName, 'Take prices from a file in the form of the genai-prices data instead of those built in')
            [CompletionResult]::new('--ledger', '--ledger', [CompletionResultType]::ParameterName, 'Write a row for each completion: .parquet, .ndjson, .ndjson.zst, or a folder of parts')
            [CompletionResult]::new('--explain', '--explain', [CompletionResultType]::ParameterName, 'Show every record of a completion, a day or a session, counted or refused, with its place and the rule')
            [CompletionResult]::new('--fail-over', '--fail-over', [CompletionResultType]::ParameterName, 'Exit with 1 when the sum is more than this, such as 10usd or 5Mtok')
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'A client''s root or any folder to look for sessions in [default: every client''s own root]')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'The client that wrote the log; without it the log itself tells')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--own', '--own', [CompletionResultType]::ParameterName, 'Only the sessions named, without what derives from them')
            [CompletionResult]::new('--include-forks', '--include-forks', [CompletionResultType]::ParameterName, 'With a session, also its forks')
            [CompletionResult]::new('--cost', '--cost', [CompletionResultType]::ParameterName, 'Add what the logs say that it cost, what a table of prices says, and the tokens that have no price')
            [CompletionResult]::new('--compact', '--compact', [CompletionResultType]::ParameterName, 'Fewer columns')
            [CompletionResult]::new('--csv', '--csv', [CompletionResultType]::ParameterName, 'Print comma-separated values')
            [CompletionResult]::new('--with-paths', '--with-paths', [CompletionResultType]::ParameterName, 'With --ledger, also write working folders, which may tell more than is meant to leave the machine')
            [CompletionResult]::new('--statusline', '--statusline', [CompletionResultType]::ParameterName, 'Print one short line for a prompt: today, unless a range or a session is given')
            [CompletionResult]::new('--reconcile', '--reconcile', [CompletionResultType]::ParameterName, 'Set the sums beside those that the clients themselves keep')
            [CompletionResult]::new('--no-cache', '--no-cache', [CompletionResultType]::ParameterName, 'Read every log, also those that have not changed since an earlier run read them')
            [CompletionResult]::new('--keep', '--keep', [CompletionResultType]::ParameterName, 'Keep what is read in a ledger of our own, and count what was kept of logs that are gone')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one report as JSON on standard output, on success and on failure alike')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing but the answer')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing but the answer')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Also print what is merely worth knowing')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Also print what is merely worth knowing')
            [CompletionResult]::new('--strict', '--strict', [CompletionResultType]::ParameterName, 'Take warnings for errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'sessctl;list' {
            [CompletionResult]::new('--cwd', '--cwd', [CompletionResultType]::ParameterName, 'Only sessions whose working folder is DIR or lies below it')
            [CompletionResult]::new('--limit', '--limit', [CompletionResultType]::ParameterName, 'How many sessions at most')
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'A client''s root or any folder to look for sessions in [default: every client''s own root]')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'The client that wrote the log; without it the log itself tells')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--subagents', '--subagents', [CompletionResultType]::ParameterName, 'Also the sessions of a client''s own subagents')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one report as JSON on standard output, on success and on failure alike')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing but the answer')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing but the answer')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Also print what is merely worth knowing')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Also print what is merely worth knowing')
            [CompletionResult]::new('--strict', '--strict', [CompletionResultType]::ParameterName, 'Take warnings for errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'sessctl;help' {
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'A client''s root or any folder to look for sessions in [default: every client''s own root]')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'The client that wrote the log; without it the log itself tells')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one report as JSON on standard output, on success and on failure alike')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing but the answer')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing but the answer')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Also print what is merely worth knowing')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Also print what is merely worth knowing')
            [CompletionResult]::new('--strict', '--strict', [CompletionResultType]::ParameterName, 'Take warnings for errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
    })

    $completions.Where{ $_.CompletionText -like "$wordToComplete*" } |
        Sort-Object -Property ListItemText
}

#!/usr/bin/env bash
# What a start costs: CPU (user and system) of one run of each verb on a log of 10 KB, beside `cat` on the same log.
# Each line says how much of the bound, twice that of `cat` and 5 ms, was used; above 1.00 it is over, and so is the exit
# status 1. Nothing is a wall time, so that a busy machine does not matter much.
#
# Usage: benches/start.sh SESSCTL [RUNS]
set -eu
sessctl=$(realpath "$1")
runs=${2:-100}
log=$(realpath "$(dirname "$0")/../fixtures/pi/pi-1.6.0-tool-calls.jsonl")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export HOME=$folder/home SESSCTL_STATE_DIR=$folder/state
mkdir "$HOME" "$folder/store"
unset SESSCTL_STORE
cp "$log" "$folder/store/work.jsonl"
cd "$folder/store"
"$sessctl" side work.jsonl --out ../aside.jsonl >/dev/null

# Milliseconds of CPU that a run takes; `%` in the words stands for its number.
cpu() {
    local TIMEFORMAT='%U %S' nth spent
    spent=$({ time for ((nth = 0; nth < runs; nth++)); do "${@//%/$nth}" >/dev/null 2>&1 </dev/null || :; done; } 2>&1)
    awk -v runs="$runs" '{ printf "%.2f", ($1 + $2) * 1000 / runs }' <<<"$spent"
}

cat=$(cpu cat work.jsonl)
echo "cat: $cat ms of CPU; the bound is twice that and 5 ms"
worst=0
tell() {
    local name=$1 spent
    shift
    "${@//%/tried}" >/dev/null 2>&1 </dev/null || { echo "$name: does not work" >&2; exit 1; }
    spent=$(cpu "$@")
    awk -v name="$name" -v spent="$spent" -v cat="$cat" 'BEGIN {
        used = spent / (2 * cat + 5)
        printf "%-22s %6.2f ms  %.2f of the bound\n", name, spent, used
        exit used > 1
    }' || worst=1
}
tell --help "$sessctl" --help
tell --version "$sessctl" --version
tell snapshot "$sessctl" snapshot work.jsonl
tell "merge (already there)" "$sessctl" merge ../aside.jsonl --into work.jsonl --note "Nothing to undo."
tell "merge --dry-run" "$sessctl" merge ../aside.jsonl --into work.jsonl --note "Another one." --dry-run
tell replay "$sessctl" replay work.jsonl
tell "replay --check" "$sessctl" replay work.jsonl --check
tell "replay --view html" "$sessctl" replay work.jsonl --view html
tell usage "$sessctl" usage work.jsonl
tell "usage --statusline" "$sessctl" usage work.jsonl --statusline
tell list "$sessctl" list --store .
# Not held to the bound: the table of prices, 0.8 MB, is decoded first.
printf "%-22s %6.2f ms  (decodes the table of prices)\n" "usage --cost" "$(cpu "$sessctl" usage work.jsonl --cost)"
# Last, since each run makes the family larger that the others look at.
tell fork "$sessctl" fork work.jsonl --at turn:2 --out ../fork-%.jsonl
tell side "$sessctl" side work.jsonl --out ../side-%.jsonl
exit $worst

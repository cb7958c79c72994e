#!/usr/bin/env bash
# CPU of fork, merge, replay and usage beside that of `cp` on the same log, and their peak memory beside what is allowed:
# 32 MiB, three times the longest line, 160 bytes a line. Ratios of one run, since machines are shared and noisy.
#   benches/ratios.sh BINARY [MEGABYTES [LONGEST]]
# LONGEST is one line of so many megabytes in the logs of pi, DSH and Claude Code.
set -eu
bin=$(readlink -f "$1"); size=${2:-256}; longest=${3:-0}; here=$(readlink -f "$(dirname "$0")")
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
export HOME=$work SESSCTL_STATE_DIR=$work/state

python3 - "$bin" "$work" "$here" "$size" "$longest" <<'PY'
import os, subprocess, sys
bin, work, here, size, longest = sys.argv[1:]
def run(*argv):
    pid = os.fork()
    if pid == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1); os.dup2(null, 2)
        os.execvp(argv[0], argv)
    _, status, used = os.wait4(pid, 0)
    assert status == 0, (argv, status)
    return used.ru_utime + used.ru_stime, used.ru_maxrss
def best(out, *argv):
    """The least CPU of several runs, each of which makes its file anew."""
    def once():
        used = run(*argv)
        if out:
            os.remove(out)
        return used
    return min(once() for _ in range(5))
long, rollout = [sys.executable, here + "/long.py"], [sys.executable, here + "/rollout.py"]
log, out, side = work + "/log.jsonl", work + "/out.jsonl", work + "/side.jsonl"
flatten = ("--flatten",)
for what, made, flags in [
        ("pi", [*long, "pi", log, size, longest], ()),
        ("DSH", [*long, "dsh", log, size, longest], ()),
        ("Claude Code", [*long, "claude", log, size, longest], ()),
        ("Codex, paginated", [*rollout, log, size], flatten),
        ("Codex, paginated, many escapes", [*rollout, log, size, "escapes"], flatten)]:
    subprocess.check_call(made)
    lines = most = 0
    with open(log, "rb") as text:
        for line in text:
            lines, most = lines + 1, max(most, len(line))
    allowed = 32 * 1024 + (3 * most + 160 * lines) // 1024
    base, _ = best(out, "cp", "--reflink=never", log, out)
    print("%s: %d MiB, %d lines; allowed memory %d KiB; cp %.3f CPU s" % (what, os.path.getsize(log) >> 20, lines, allowed, base))
    def tell(name, used):
        cpu, memory = used
        over = "" if memory <= allowed else "OVER"
        print("  %-16s %6.3f CPU s  %5.1f x cp  %8d KiB %s" % (name, cpu, cpu / base, memory, over), flush=True)
    tell(" ".join(("fork",) + flags), best(out, bin, "fork", log, *flags, "--out", out))
    tell("replay --hash", best(None, bin, "replay", log, "--hash"))
    tell("replay --check", best(None, bin, "replay", log, "--check"))
    tell("usage --own", best(None, bin, "usage", log, "--own", "--no-cache"))
    # It changes the log, so that it comes last.
    run(bin, "side", log, "--out", side)
    tell("merge", run(bin, "merge", side, "--into", log, "--note", "A note."))
    os.remove(side)
PY

#!/usr/bin/env bash
# CPU of fork, replay and usage beside that of `cp` on the same log, and their peak memory: ratios of one run, since
# machines are shared and noisy.
#   benches/ratios.sh BINARY [MEGABYTES]
set -eu
bin=$(readlink -f "$1"); size=${2:-256}
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
export HOME=$work SESSCTL_STATE_DIR=$work/state

python3 - "$work/big.jsonl" "$size" <<'PY'
import json, sys
path, size = sys.argv[1], int(sys.argv[2]) << 20
text = "The quick brown fox jumps over the lazy dog. " * 20
usage = {"input": 10, "output": 5, "cacheRead": 3, "cacheWrite": 2, "totalTokens": 20, "cost": {"total": 0.001}}
with open(path, "w") as out:
    out.write('{"type":"session","version":3,"id":"01a2281b-0000-7000-8000-000000000001","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/tmp"}\n')
    parent, nth = None, 0
    def add(message):
        global parent, nth
        nth += 1
        entry = {"type": "message", "id": "%08x" % nth, "parentId": parent, "timestamp": "2026-01-01T00:00:01.000Z", "message": message}
        parent = entry["id"]
        out.write(json.dumps(entry, separators=(",", ":")) + "\n")
    while out.tell() < size:
        add({"role": "user", "content": [{"type": "text", "text": text}], "timestamp": 1})
        add({"role": "assistant", "content": [{"type": "text", "text": text}, {"type": "toolCall", "id": "c%d" % nth, "name": "bash", "arguments": {"command": text}}], "provider": "p", "model": "m", "usage": usage, "stopReason": "toolUse", "timestamp": nth})
        add({"role": "toolResult", "toolCallId": "c%d" % (nth - 1), "toolName": "bash", "content": [{"type": "text", "text": text * 3}], "isError": False, "timestamp": 1})
        add({"role": "assistant", "content": [{"type": "text", "text": text}], "provider": "p", "model": "m", "usage": usage, "stopReason": "stop", "timestamp": nth})
PY
python3 "$(dirname "$0")/rollout.py" "$work/rollout.jsonl" "$size"
python3 "$(dirname "$0")/rollout.py" "$work/escapes.jsonl" "$size" escapes

python3 - "$bin" "$work" <<'PY'
import os, sys
bin, work = sys.argv[1], sys.argv[2]
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
out = work + "/out.jsonl"
verbs = [("fork", out, ("fork", "--out", out)),
         ("replay --hash", None, ("replay", "--hash")),
         ("replay --check", None, ("replay", "--check")),
         ("usage --own", None, ("usage", "--own"))]
flatten = [("fork --flatten", out, ("fork", "--flatten", "--out", out))] + verbs[1:]
for log, what, rows in [("big", "pi", verbs), ("rollout", "Codex, paginated", flatten), ("escapes", "Codex, paginated, many escapes", flatten)]:
    log = "%s/%s.jsonl" % (work, log)
    lines = longest = 0
    with open(log, "rb") as text:
        for line in text:
            lines, longest = lines + 1, max(longest, len(line))
    allowed = 32 * 1024 + (3 * longest + 160 * lines) // 1024
    base, _ = best(out, "cp", "--reflink=never", log, out)
    print("%s: %d MiB, %d lines; allowed memory %d KiB; cp %.3f CPU s" % (what, os.path.getsize(log) >> 20, lines, allowed, base))
    for name, made, argv in rows:
        cpu, memory = best(made, bin, argv[0], log, *argv[1:])
        print("%-16s %6.3f CPU s  %5.1f x cp  %8d KiB %s" % (name, cpu, cpu / base, memory, "" if memory <= allowed else "OVER"))
PY

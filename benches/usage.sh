#!/usr/bin/env bash
# CPU of `usage` beside that of a byte filter over the same files, and its peak memory: ratios of one run, since machines
# are shared and noisy. Without ripgrep, `grep -c` is the filter. First a home of three clients, then one session of 700 MB
# of Claude Code and one of Codex. Then, from its index, beside `find` that looks at each file's size: nothing has changed,
# one log has grown, the largest has grown, all come from the index. The sums are held to what was made, and those from the index to be the same
# bytes. With the path of ccusage (`npm install ccusage`, `node_modules/.bin/ccusage`) also beside its CPU over the logs of
# Claude Code.
#   benches/usage.sh BINARY [MEGABYTES [CCUSAGE]]
set -eu
bin=$(readlink -f "$1"); size=${2:-1024}; ccusage=${3:+$(readlink -f "$3")}
here=$(dirname "$0"); work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
python3 "$here/home.py" "$work/home" "$size" > "$work/home.sums"
for client in claude codex; do python3 "$here/home.py" "$work/$client" 700 "$client" > "$work/$client.sums"; done

python3 - "$bin" "$work" "$ccusage" <<'PY'
import json, os, shutil, sys, time
bin, work, ccusage = sys.argv[1:]
home = work + "/home"
env = {**os.environ, "HOME": home, "SESSCTL_STATE_DIR": work + "/state"}
for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "PI_CODING_AGENT_DIR", "XDG_STATE_HOME"):
    env.pop(name, None)
def run(*argv):
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open(os.devnull, os.O_RDWR), 2)
        os.dup2(os.open(work + "/out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
        os.execvpe(argv[0], argv, env)
    _, status, used = os.wait4(pid, 0)
    assert status == 0, (argv, status)
    return used.ru_utime + used.ru_stime, used.ru_maxrss
def best(*argv, times=3):
    """The least CPU of several runs, and the most memory."""
    cpu, memory = zip(*(run(*argv) for _ in range(times)))
    return min(cpu), max(memory)
name = "rg" if shutil.which("rg") else "grep"
flags = ("-j1", "-c", "--no-ignore", "--hidden") if name == "rg" else ("-rc",)
usage = (bin, "usage", "--json", "--by", "client")
wrong = {}
for what in ("claude", "codex", "home"):
    home = env["HOME"] = work + "/" + what
    files = [os.path.join(at, file) for at, _, all in os.walk(home) for file in all]
    base, _ = best(name, *flags, '"usage"', home)
    print("%s: %d MiB in %d files; %s %.3f CPU s" % (what, sum(map(os.path.getsize, files)) >> 20, len(files), name, base))
    cpu, memory = best(*usage, "--no-cache", times=5)
    print("%-16s %6.3f CPU s  %5.2f x %s  %8d KiB" % ("usage", cpu, cpu / base, name, memory))
    report = json.load(open(work + "/out"))
    have = {"completions": report["completions"], **report["totals"]}
    want = json.load(open(work + "/%s.sums" % what))
    off = {field: (have[field], count) for field, count in want.items() if have[field] != count}
    print("sums: %s" % (off or "as made"))
    wrong.update(off)

plain = open(work + "/out").read()
walk, _ = best("find", home, "-type", "f", "-printf", "%s\n", times=20)
print("find: %.4f CPU s" % walk)
def rerun(what, times, before=lambda: None):
    global wrong
    best_cpu, best_wall, most = 1e9, 1e9, 0
    for nth in range(times):
        before()
        began = time.monotonic()
        cpu, memory = run(*usage)
        best_wall = min(best_wall, time.monotonic() - began)
        best_cpu, most = min(best_cpu, cpu), max(most, memory)
        if nth:
            wrong = wrong or open(work + "/out").read() != plain
    print("%-16s %6.4f CPU s  %5.1f x find  %8d KiB  %6.1f ms" % (what, best_cpu, best_cpu / walk, most, best_wall * 1e3))
time.sleep(5) # until all of it lies still
rerun("first", 1)
rerun("nothing changed", 20)
rerun("all from index", 5, lambda: os.remove(work + "/state/usage.roll"))
log = next(os.path.join(at, name) for at, _, names in sorted(os.walk(home + "/.pi")) for name in names)
def grow():
    with open(log, "ab") as out:
        out.write(b"\n")
rerun("one grew", 5, grow)
logs = [os.path.join(at, name) for at, _, names in os.walk(home) for name in names]
log = max(logs, key=os.path.getsize)
rerun("the largest grew", 5, grow)
print("from the index: %s" % ("other sums" if wrong else "the same"))
if ccusage:
    ours, _ = best(bin, "usage", "--json", "--by", "day", "--no-cache", home + "/.claude", times=5)
    theirs, memory = best(ccusage, "claude", "daily", "--json", "--offline")
    print("ccusage over the logs of Claude Code: %.3f CPU s  %8d KiB; usage %.3f CPU s, %.2f of it" % (theirs, memory, ours, ours / theirs))
sys.exit(bool(wrong))
PY

#!/usr/bin/env bash
# CPU of `usage` beside that of a byte filter over the same files, and its peak memory: ratios of one run, since machines
# are shared and noisy. Without ripgrep, `grep -c` is the filter. The sums are held to what the home was made of.
#   benches/usage.sh BINARY [MEGABYTES]
set -eu
bin=$(readlink -f "$1"); size=${2:-1024}
here=$(dirname "$0"); work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
python3 "$here/home.py" "$work/home" "$size" > "$work/sums.json"

python3 - "$bin" "$work" <<'PY'
import json, os, shutil, sys
bin, work = sys.argv[1], sys.argv[2]
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
def best(*argv):
    return min(run(*argv) for _ in range(3))
files = sum(len(names) for _, _, names in os.walk(home))
size = sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(home) for name in names)
name = "rg" if shutil.which("rg") else "grep"
filter = ("rg", "-j1", "-c", "--no-ignore", "--hidden", '"usage"', home) if name == "rg" else ("grep", "-rc", '"usage"', home)
base, _ = best(*filter)
print("%d MiB in %d files; %s %.3f CPU s" % (size >> 20, files, name, base))
cpu, memory = best(bin, "usage", "--json", "--by", "client")
print("%-16s %6.3f CPU s  %5.1f x %s  %8d KiB" % ("usage", cpu, cpu / base, name, memory))
report = json.load(open(work + "/out"))
have = {"completions": report["completions"], **report["totals"]}
want = json.load(open(work + "/sums.json"))
wrong = {field: (have[field], count) for field, count in want.items() if have[field] != count}
print("sums: %s" % (wrong or "as made"))
sys.exit(bool(wrong))
PY

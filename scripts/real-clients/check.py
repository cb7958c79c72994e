#!/usr/bin/env python3
"""The whole loop with real clients, against model APIs on loopback: ask aside, condense, merge, go on.

usage: check.py [--bin SESSCTL] [--keep] [CLIENT]...

CLIENT is claude, codex or pi; without one, every client whose command a variable names is taken:

  CLAUDE_BIN   such as /usr/local/bin/claude, or "node /opt/claude/cli.js"
  CODEX_BIN    such as /usr/local/bin/codex
  PI_BIN       such as "node /opt/pi/dist/cli.js"

Nothing leaves this machine: each client gets a home of its own, a key that is none, and an endpoint on 127.0.0.1. Exit
status 0: all that was tried held; 1: something did not; 2: there is nothing to try.
"""
import argparse
import fcntl
import json
import os
import pty
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

from mock import Mock

ASKED = "Why is the total kept in cents?"
ANSWER = "Because cents are whole numbers, and sums of them stay exact."
NOTE = "Side note: totals stay in whole cents."
LONG = "Side note that is too long: " + "cents " * 20
WAIT = "Take your time."


def answers(slow):
    """What the model says to which prompt."""
    def answer(prompt):
        if "Condense this side conversation" in prompt:
            return LONG if "at most 60 characters" in prompt else NOTE
        if prompt.startswith("That note has"):
            return "Short: cents." if slow.get("shorter") else LONG
        if WAIT in prompt:
            time.sleep(slow["wait"])
        return ANSWER if ASKED in prompt else f"Noted: {prompt.strip()[:40]}"
    return answer


class Client:
    """A real client in a home of its own."""

    def __init__(self, name, command, sessctl):
        self.name, self.sessctl = name, sessctl
        self.root = Path(tempfile.mkdtemp(prefix=f"real-{name}-"))
        self.work = self.root / "work"
        self.slow = {"wait": 20}
        self.mock = Mock(answers(self.slow))
        for folder in ("home", "work", "bin"):
            (self.root / folder).mkdir()
        subprocess.run(["git", "init", "-q", str(self.work)], check=False)
        # Under the client's own name, so that its own command line is what runs.
        shim = self.root / "bin" / name
        shim.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
        shim.chmod(0o755)
        self.env = {
            "PATH": f"{shim.parent}:{os.environ['PATH']}", "HOME": str(self.root / "home"), "LANG": "C.UTF-8",
            "TERM": "dumb", "TZ": "UTC", **self.configure(),
        }

    def configure(self):
        """Settings in its home; the variables that it needs."""
        url, home = self.mock.url, self.root / "home"
        if self.name == "claude":
            quiet = ["DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING", "DISABLE_AUTOUPDATER",
                     "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"]
            return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none", **dict.fromkeys(quiet, "1")}
        if self.name == "codex":
            folder = home / ".codex"
            folder.mkdir()
            (folder / "config.toml").write_text(f'''model = "mock"
model_provider = "mock"
approval_policy = "never"
sandbox_mode = "read-only"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.mock]
name = "mock"
base_url = "{url}/v1"
env_key = "MOCK_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
''')
            return {"MOCK_KEY": "none"}
        folder = home / ".pi" / "agent"
        folder.mkdir(parents=True)
        provider = {"baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": "none", "models": [{"id": "mock"}]}
        (folder / "models.json").write_text(json.dumps({"providers": {"mock": provider}}))
        (folder / "settings.json").write_text(json.dumps({"defaultProvider": "mock", "defaultModel": "mock"}))
        return {"PI_OFFLINE": "1"}

    def turn(self, prompt, session=None):
        """One turn by the client itself; the call that it made."""
        words = {
            "claude": (["claude", "-p"], ["claude", "--resume", session, "-p"]),
            "codex": (["codex", "exec"], ["codex", "exec", "resume", session]),
            "pi": (["pi", "-p"], ["pi", "-p", "--session", session]),
        }[self.name][session is not None]
        before = len(self.mock.calls)
        ran = subprocess.run([*words, prompt], env=self.env, cwd=self.work, stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, timeout=120)
        expect(ran.returncode == 0, f"{self.name} takes a turn: {ran.stdout[-300:]} {ran.stderr[-500:]}")
        return self.mock.calls[before:][-1]

    def command(self, *words):
        return [str(self.sessctl), "--json", *words]

    def ask(self, *words, exit_status=0):
        """A report of sessctl, and the calls that were made meanwhile."""
        before = len(self.mock.calls)
        ran = subprocess.run(self.command(*words), env=self.env, cwd=self.work, stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, timeout=180)
        expect(ran.returncode == exit_status, f"{' '.join(words)}: {ran.returncode} {ran.stdout} {ran.stderr[-500:]}")
        return json.loads(ran.stdout), self.mock.calls[before:]

    def close(self, keep):
        self.mock.close()
        if not keep:
            shutil.rmtree(self.root, ignore_errors=True)


class Failed(Exception):
    pass


def expect(holds, what):
    if not holds:
        raise Failed(what)


def same(got, wanted, what):
    expect(got == wanted, f"{what}: {got!r} and not {wanted!r}")


def total(calls):
    return sum(call.total for call in calls)


def loop(client):
    """Two turns, a question aside, its note, and the parent goes on."""
    client.turn("Add the prices in cart.py.")
    first = client.ask("replay", "--last")[0]["source"]
    parent, log = first["id"], Path(first["path"])
    last = client.turn("Round them.", parent)
    history = [*last.told, ("assistant", last.said)]
    bytes_before = log.read_bytes()

    side, asked = client.ask("side", parent, "--ask", ASKED, "--run")
    same(side["answer"], ANSWER, "the answer from the log")
    same(len(asked), 1, "calls for one question")
    same(log.read_bytes(), bytes_before, "the parent's bytes")
    same(side["framing_messages"], 1, "framings")
    same(asked[0].told[:len(history)], history, "the beginning of the side session's request")
    aside = [text for _, text in asked[0].told[len(history):]]
    same([sum(words in text for text in aside) for words in ("read-only advisor", ASKED)], [1, 1], "framing and question")
    name = side["child"]["id"]
    verdict = client.ask("replay", name, "--check", "--against", parent)[0]
    same(verdict["prefix"], "identical", "the side session's prefix")
    if side["answered_in"]["id"] != name:
        print(f"  {client.name} went on in {side['answered_in']['path']}")

    refused, tried = client.ask("merge", name, "--condense", "--max-chars", "60", exit_status=4)
    same(refused["code"], "NOTE_TOO_LONG", "a note over the cap")
    same(len(tried), 2, "calls for a note over the cap")
    same(log.read_bytes(), bytes_before, "the parent's bytes")
    client.slow["shorter"] = True

    merged, condensed = client.ask("merge", name, "--condense", "--condense-prompt",
                                   "Condense this side conversation for me.")
    same(len(condensed), 1, "calls for one note")
    same(merged["note"]["chars"], len(NOTE), "the note's length")
    same(merged["appended_messages"], 1, "messages in the parent")
    aside = [*asked, *tried, *condensed]
    same(merged["side_tokens"], total(aside), "what the side session burnt")
    again, more = client.ask("merge", name, "--condense", "--condense-prompt",
                             "Condense this side conversation for me.")
    same((again["already_merged"], len(more)), (True, 0), "a second call")

    call = client.turn("Go on.", parent)
    same(call.told[:len(history)], history, "the beginning of the parent's next request")
    same(call.text.count(NOTE), 1, "notes in the parent's next request")
    expect(any(NOTE in text for _, text in call.told[len(history):]), "the note stands behind the history")
    expect(ASKED not in call.text and ANSWER not in call.text, "nothing else of the side session is in it")
    same(client.ask("replay", parent, "--check")[0]["merges"], 1, "notes in the parent")

    usage = client.ask("usage", parent, "--by", "kind")[0]
    kinds = {row["kind"]: row["total"] for row in usage["rows"]}
    same(kinds.get("aside"), total(aside), "the side session's spend in the parent's family")
    same(usage["totals"]["total"], total(client.mock.calls), "all that was spent, once")
    everything = client.ask("usage")[0]
    same(everything["totals"]["total"], total(client.mock.calls), "all that was spent in all stores, once")
    return parent


def interrupt(client, parent, how):
    """What ends sessctl ends the client too: a signal to it alone, or a key on its terminal. The session goes on."""
    before = Path(client.ask("replay", parent)[0]["source"]["path"]).read_bytes()
    words, arrived = client.command("side", parent, "--ask", WAIT, "--run"), client.mock.arrived
    terminal, inside = pty.openpty()
    process = subprocess.Popen(words, env=client.env, cwd=client.work, stdin=inside, stdout=inside, stderr=inside,
                               preexec_fn=lambda: (os.setsid(), fcntl.ioctl(0, termios.TIOCSCTTY, 0)))
    os.close(inside)
    deadline = time.time() + 60
    while client.mock.arrived == arrived and time.time() < deadline:
        time.sleep(0.05)
    time.sleep(0.3)
    if how == "key":
        os.write(terminal, b"\x03")
    else:
        process.send_signal(how)
    said = drain(terminal)
    process.wait(timeout=60)
    same(process.returncode, -(signal.SIGINT if how == "key" else how), f"the end by {how} ({said[-300:]})")
    expect(b"interrupted; the side session is there" in said, "a word about what is left")
    latest = client.ask("replay", "--last")[0]["source"]
    expect(latest["id"] != parent, "the side session is the latest one")
    same(Path(client.ask("replay", parent)[0]["source"]["path"]).read_bytes(), before, "the parent's bytes")
    client.slow["wait"] = 0
    call = client.turn("Are you there?", latest["id"])
    expect("Round them." in call.text, "the interrupted session still has its history")
    client.slow["wait"] = 20


def drain(terminal):
    """All that is written to a terminal until everybody has left it."""
    said = b""
    try:
        while chunk := os.read(terminal, 4096):
            said += chunk
    except OSError:
        pass
    os.close(terminal)
    return said


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, default=Path(__file__).parents[2] / "target/release/sessctl")
    parser.add_argument("--keep", action="store_true", help="leave the homes for a look")
    parser.add_argument("clients", nargs="*", metavar="CLIENT")
    args = parser.parse_args()
    places = {name: os.environ.get(f"{name.upper()}_BIN") for name in ("claude", "codex", "pi")}
    wanted = args.clients or [name for name, place in places.items() if place]
    missing = [name for name in wanted if not places.get(name)]
    if missing or not wanted:
        print(f"no client: set {', '.join(f'{name.upper()}_BIN' for name in missing or places)}", file=sys.stderr)
        return 2
    if not args.bin.is_file():
        print(f"no sessctl at {args.bin}: build it, or name it with --bin", file=sys.stderr)
        return 2
    failed = 0
    for name in wanted:
        client = Client(name, shlex.split(places[name]), args.bin.resolve())
        try:
            parent = loop(client)
            print(f"ok    {name}: asked, condensed, merged, gone on ({len(client.mock.calls)} calls)")
            for how in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, "key"):
                interrupt(client, parent, how)
            print(f"ok    {name}: interrupted and opened again")
        except (Failed, subprocess.TimeoutExpired) as failure:
            failed += 1
            print(f"FAIL  {name}: {failure}")
        finally:
            client.close(args.keep)
            if args.keep:
                print(f"      {client.root}")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())

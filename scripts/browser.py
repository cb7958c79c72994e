#!/usr/bin/env python3
"""Opens the page of a family in a real browser: it renders, search finds, links jump, nothing is reported on the console.

Usage: scripts/browser.py SESSCTL [FOLDER FOR SCREENSHOTS]

Wants chromium and chromedriver on the PATH (Debian: chromium, chromium-driver) and nothing else.
"""

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LONG = "A title of thirty characters and of many more than that"
FLAGS = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
--disable-component-update --disable-sync --hide-scrollbars""".split()


# Whether the name and the sum of each bar stand clear of it.
BESIDE = """return document.querySelectorAll('.used').length === 2 && [...document.querySelectorAll('.used')].every(row => {
    const [name, bar, sum] = [...row.children].map(part => part.getBoundingClientRect());
    return (name.right <= bar.left || name.bottom <= bar.top) && bar.right <= sum.left && bar.width > 50;
})"""


def sessctl(binary, home, *words, fails=False):
    env = {"HOME": str(home), "PATH": os.environ["PATH"], "TZ": "UTC"}
    ran = subprocess.run([binary, *map(str, words)], cwd=home, env=env, capture_output=True, text=True)
    assert fails or ran.returncode == 0, (words, ran.stderr)
    return ran


def family(binary, home):
    """A family with a fork that was paid for, a fork of that, two side sessions, a merged note, an open turn, a long title,
    and words that a browser would obey."""
    work = home / "work.jsonl"
    shutil.copy(ROOT / "fixtures/pi/pi-1.6.0-tool-calls.jsonl", work)
    evil = "<img src=x onerror=document.title='evil'></pre><script>document.title='evil'</script>&amp; \\u202e \\\"quoted\\\""
    text = work.read_text().replace("Run two things at once.", "Run two things at once. " + evil)
    work.write_text(text)
    sessctl(binary, home, "fork", work, "--at", "turn:2", "--out", "try.jsonl", "--title", LONG)
    sessctl(binary, home, "fork", "try.jsonl", "--at", "turn:1", "--out", "again.jsonl", "--title", "<b>Yet</b> another")
    sessctl(binary, home, "side", work, "--at", "turn:2", "--out", "aside.jsonl")
    sessctl(binary, home, "side", work, "--at", "turn:3", "--out", "later.jsonl")
    sessctl(binary, home, "merge", "aside.jsonl", "--into", work, "--note", "Both commands only read; nothing to undo.")
    # The fork goes on with a turn of its own that is still open.
    child = home / "try.jsonl"
    own = child.read_text().splitlines()
    last = json.loads(own[-1])
    paid = json.loads(next(line for line in own if '"usage"' in line))
    asked = {"type": "message", "id": "feedf00d", "parentId": last["id"], "timestamp": "2026-11-30T08:00:00.000Z",
             "message": {"role": "user", "content": [{"type": "text", "text": "And what about zebras?"}], "timestamp": 1796025600000}}
    with child.open("a") as log:
        log.write(json.dumps(asked, separators=(",", ":")) + "\n")
        # What is older than the fork would be its parent's.
        now = time.time() + 60
        at = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(now))
        paid.update(id="feedf00e", parentId="feedf00d", timestamp=at)
        paid["message"].update(timestamp=int(now) * 1000, responseId="chatcmpl-of-the-fork")
        log.write(json.dumps(paid, separators=(",", ":")) + "\n")
    page = home / "family.html"
    sessctl(binary, home, "replay", work, "--view", "html", "--out", page)
    return page


class Browser:
    """A session of chromedriver, spoken to directly."""

    def __init__(self, profile):
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        port = None
        for line in self.driver.stdout:
            if "successfully on port" in line:
                port = int("".join(c for c in line.split("on port")[1] if c.isdigit()))
                break
        self.base = f"http://127.0.0.1:{port}"
        options = {"args": [*FLAGS, f"--user-data-dir={profile}"]}
        wanted = {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}
        self.session = self.call("POST", "/session", {"capabilities": wanted})["sessionId"]
        self.base += f"/session/{self.session}"

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def open(self, url):
        self.call("POST", "/url", {"url": url})

    def run(self, script):
        return self.call("POST", "/execute/sync", {"script": script, "args": []})

    def keys(self, text):
        keys = [{"type": kind, "value": c} for c in text for kind in ("keyDown", "keyUp")]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": keys}]})

    def size(self, width, height):
        self.call("POST", "/window/rect", {"width": width, "height": height})

    def shot(self, path):
        path.write_bytes(base64.b64decode(self.call("GET", "/screenshot")))

    def console(self):
        return self.call("POST", "/se/log", {"type": "browser"})

    def close(self):
        try:
            self.call("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()


def check(browser, page, shots):
    browser.open(page.as_uri())
    title = browser.run("return document.title")
    assert title.startswith("List the files here."), title

    # Rendered: five sessions, their turns, the tree, both charts.
    counts = browser.run("""return {
        sessions: document.querySelectorAll('article').length,
        beside: document.querySelectorAll('.beside article').length,
        turns: document.querySelectorAll('.turn').length,
        dots: document.querySelectorAll('.tree circle.dot').length,
        merges: document.querySelectorAll('.tree path.merge').length,
        bars: document.querySelectorAll('.bars rect').length,
        foreign: document.querySelectorAll('img, iframe, link, script[src]').length,
        scripts: document.scripts.length}""")
    assert counts["sessions"] == 5 and counts["beside"] == 2, counts
    assert counts["turns"] == counts["dots"] == 5, counts
    assert counts["merges"] == 1 and counts["bars"] > 4, counts
    assert counts["foreign"] == 0 and counts["scripts"] == 1, counts

    # Words of a log are words: nothing of them runs or renders.
    assert browser.run("return document.body.innerText.includes(\"<img src=x onerror=\")")
    assert browser.run("return document.body.innerText.includes('<b>Yet</b> another')")

    # No name of the drawing is cut off by its edge.
    assert browser.run("""const edge = document.querySelector('.tree').getBoundingClientRect().right;
        return [...document.querySelectorAll('.tree .name')].every(name => name.getBoundingClientRect().right <= edge)""")

    # Search finds, counts, steps, unfolds; the keyboard is enough.
    browser.keys("/")
    assert browser.run("return document.activeElement.id") == "q"
    browser.keys("zebras")
    wait(lambda: browser.run("return document.getElementById('hits').value") == "1 of 1")
    assert browser.run("return document.querySelectorAll('.hit.now').length") == 1
    browser.keys("\ue00c")
    browser.keys("/")
    browser.keys("wc -l")
    wait(lambda: browser.run("return document.getElementById('hits').value").startswith("1 of "))
    assert browser.run("return !!document.querySelector('.hit.now details[open]')"), "a hit in what is folded is unfolded"
    browser.keys("\ue007")
    browser.keys("\ue00c")
    browser.keys("/")
    browser.keys("no such words")
    wait(lambda: browser.run("return document.getElementById('hits').value") == "nothing")
    browser.keys("\ue00c")

    # Every link on the page leads somewhere, and a click goes there.
    dead = browser.run("""return [...document.querySelectorAll('a[href]')].map(a => a.getAttribute('href'))
        .filter(to => !to.startsWith('#') || !document.getElementById(to.slice(1)))""")
    assert dead == [], dead
    browser.run("document.querySelector('.tree a[href=\"#s0-t4\"]').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    wait(lambda: browser.run("return location.hash") == "#s0-t4")
    wait(lambda: browser.run("return document.activeElement.id") == "s0-t4")
    assert browser.run("const top = document.getElementById('s0-t4').getBoundingClientRect().top; return top >= 0 && top < innerHeight")
    browser.run("scrollTo(0, 0)")
    browser.keys("j")
    assert browser.run("return document.activeElement.classList.contains('turn')")

    # Light and dark, wide and narrow; nothing sticks out.
    for width, height in ((1280, 1000), (420, 900)):
        browser.size(width, height)
        browser.run("document.activeElement.blur(); history.replaceState(null, '', '#'); scrollTo(0, 0)")
        assert browser.run(BESIDE), f"a name or a sum touches its bar at {width}"
        out = browser.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert out <= 0, f"{out} pixels stick out at {width}"
        for theme in ("light", "dark"):
            browser.run(f"document.documentElement.dataset.theme = '{theme}'")
            if shots:
                browser.shot(shots / f"{width}-{theme}.png")
        if shots:
            browser.run("document.querySelector('.beside').scrollIntoView()")
            browser.shot(shots / f"{width}-beside.png")

    said = [entry for entry in browser.console() if entry["level"] != "DEBUG"]
    assert said == [], said


def wait(holds, seconds=5):
    until = time.time() + seconds
    while not holds():
        assert time.time() < until, "it did not come about"
        time.sleep(0.05)


def main():
    binary = str(Path(sys.argv[1]).resolve())
    shots = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    if shots:
        shots.mkdir(parents=True, exist_ok=True)
    missing = [name for name in ("chromium", "chromedriver") if not shutil.which(name)]
    if missing:
        sys.exit(f"not tested: {' and '.join(missing)} not found")
    with tempfile.TemporaryDirectory() as home:
        page = family(binary, Path(home))
        size = page.stat().st_size
        assert oct(page.stat().st_mode & 0o777) == "0o600"
        browser = Browser(Path(home) / "profile")
        try:
            check(browser, page, shots)
        finally:
            browser.close()
    print(f"the page works ({size} bytes)")


main()

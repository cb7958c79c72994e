#!/usr/bin/env python3
"""A home with logs of three clients, of a given size, and what was paid in it.

    benches/home.py FOLDER [MEGABYTES [CLIENT]]

Claude Code 60 %, Codex 30 %, pi 10 % of the bytes; a few sessions hold most of them. Answers of Claude Code stand on
several lines, early ones with a placeholder for the output; forks hold their parent's records again. With CLIENT
(claude, codex, pi) all bytes are one session of that client. Prints the sums of all completions as JSON. The same
arguments give the same bytes.
"""
import json
import math
import os
import random
import sys

FIELDS = ["completions", "input", "cache_read", "cache_write_5m", "output", "total"]


class Home:
    def __init__(self, folder):
        self.folder, self.random, self.sums, self.made = folder, random.Random(11), dict.fromkeys(FIELDS, 0), 0
        words = ["parser", "value", "\"quoted\"", "fn main() {", "}\n", "\t// see above\n", "C:\\src", "0123456789abcdef", "test result: ok\n"]
        # Anything beyond ASCII stands in few places of most logs.
        self.text = " ".join("naïve" if n % 199 == 0 else self.random.choice(words) for n in range(40000))

    def id(self):
        self.made += 1
        return "%08x-0000-4000-8000-%012x" % (0x5a000000 + self.made, self.made)

    def said(self, median):
        size = min(int(self.random.lognormvariate(math.log(median), 1.3)), 50000)
        at = self.random.randrange(len(self.text) - size)
        return self.text[at:at + size]

    def paid(self):
        paid = {"input": self.random.randint(1, 4000), "cache_read": self.random.randint(0, 90000),
                "cache_write_5m": self.random.randint(0, 3000), "output": self.random.randint(9, 2500)}
        paid["total"] = sum(paid.values())
        for field, count in {"completions": 1, **paid}.items():
            self.sums[field] += count
        return paid

    def write(self, path, lines):
        path = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as out:
            for line in lines:
                out.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
        return os.path.getsize(path)

    def claude(self, size, alone=False):
        session, project = self.id(), "-home-ada-p%d" % (self.made % 20)
        lines, written, parent, nth = [], 0, None, 0

        def add(kind, message, **more):
            nonlocal parent, nth, written
            nth += 1
            record = {"parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": "/home/ada", "sessionId": session,
                      "version": "2.1.260", "type": kind, "message": message, "uuid": self.id(),
                      "timestamp": "2026-11-%02dT%02d:%02d:%02d.000Z" % (1 + nth // 5000 % 28, nth // 3600 % 24, nth // 60 % 60, nth % 60), **more}
            parent, written = record["uuid"], written + 700 + len(json.dumps(message))
            lines.append(record)

        while written < size:
            add("user", {"role": "user", "content": self.said(300)})
            for _ in range(self.random.randint(1, 6)):
                paid, answer = self.paid(), "msg_" + self.id()
                usage = {"input_tokens": paid["input"], "cache_creation_input_tokens": paid["cache_write_5m"],
                         "cache_read_input_tokens": paid["cache_read"], "output_tokens": paid["output"]}
                blocks = [{"type": "text", "text": self.said(300)}, {"type": "tool_use", "id": "toolu_" + self.id(), "name": "Bash", "input": {"command": self.said(200)}}]
                for block in blocks[self.random.randint(0, 1):]:
                    last = block is blocks[-1]
                    add("assistant", {"id": answer, "role": "assistant", "model": "claude-x", "content": [block], "stop_reason": "tool_use" if last else None,
                                      "usage": usage if last else {**usage, "output_tokens": 2}}, requestId="req_" + answer)
                add("user", {"role": "user", "content": [{"type": "tool_result", "tool_use_id": blocks[1]["id"], "content": self.said(1500)}]},
                    toolUseResult={"stdout": self.said(1500), "stderr": "", "interrupted": False})
        done = self.write(".claude/projects/%s/%s.jsonl" % (project, session), lines)
        if not alone and self.random.random() < 0.2:
            child = self.id()
            copies = [{**line, "sessionId": child, "forkedFrom": {"sessionId": session, "messageUuid": line["uuid"]}} for line in lines[:len(lines) // 2]]
            done += self.write(".claude/projects/%s/%s.jsonl" % (project, child), copies)
        return done

    def codex(self, size, alone=False):
        thread, nth, written = "01a22820-0000-7000-8000-%012x" % self.made, 0, 0
        self.made += 1
        lines = []

        def add(kind, payload):
            nonlocal nth, written
            lines.append({"timestamp": "2026-11-29T%02d:%02d:%02d.%03dZ" % (nth // 60000 % 24, nth // 1000 % 60, nth // 100 % 60, nth % 1000),
                          "ordinal": nth, "type": kind, "payload": payload})
            nth, written = nth + 1, written + 100 + len(json.dumps(payload))

        add("session_meta", {"id": thread, "timestamp": "2026-11-29T00:00:00.000Z", "cwd": "/home/ada", "originator": "codex_cli_rs",
                             "cli_version": "0.171.0", "source": "cli", "history_mode": "paginated"})
        while written < size:
            turn = "01a22820-1111-7000-8000-%012x" % nth
            add("event_msg", {"type": "task_started", "turn_id": turn})
            add("turn_context", {"turn_id": turn, "model": "gpt-x", "cwd": "/home/ada"})
            add("response_item", {"type": "message", "role": "user", "content": [{"type": "input_text", "text": self.said(200)}]})
            for _ in range(self.random.randint(1, 6)):
                paid, call = self.paid(), "call_" + self.id()
                self.sums["cache_write_5m"] -= paid["cache_write_5m"]
                self.sums["total"] -= paid["cache_write_5m"]
                usage = {"input_tokens": paid["input"] + paid["cache_read"], "cached_input_tokens": paid["cache_read"], "cache_write_input_tokens": 0,
                         "output_tokens": paid["output"], "reasoning_output_tokens": 0, "total_tokens": paid["total"] - paid["cache_write_5m"]}
                add("response_item", {"type": "reasoning", "summary": [], "encrypted_content": "gAAA" * self.random.randint(50, 2000)})
                add("response_item", {"type": "function_call", "name": "exec", "arguments": json.dumps({"cmd": self.said(80)}), "call_id": call})
                add("token_usage_record", {"thread_id": thread, "turn_id": turn, "response_id": "resp_" + call, "usage": usage})
                add("response_item", {"type": "function_call_output", "call_id": call, "output": self.said(1500)})
                add("event_msg", {"type": "token_count", "info": {"total_token_usage": usage, "last_token_usage": usage}})
            add("event_msg", {"type": "task_complete", "turn_id": turn})
        return self.write(".codex/sessions/2026/11/29/rollout-2026-11-29T00-00-00-%s.jsonl" % thread, lines)

    def pi(self, size, alone=False):
        session, parent, written, nth = self.id(), None, 0, 0
        lines = [{"type": "session", "version": 3, "id": session, "timestamp": "2026-11-29T00:00:00.000Z", "cwd": "/home/ada"}]

        def add(message):
            nonlocal parent, written, nth
            nth += 1
            entry = {"type": "message", "id": "%08x" % nth, "parentId": parent, "timestamp": "2026-11-29T%02d:%02d:%02d.000Z" % (nth // 3600 % 24, nth // 60 % 60, nth % 60), "message": message}
            parent, written = entry["id"], written + 120 + len(json.dumps(message))
            lines.append(entry)

        while written < size:
            add({"role": "user", "content": [{"type": "text", "text": self.said(300)}]})
            for _ in range(self.random.randint(1, 4)):
                paid, call = self.paid(), "c" + self.id()
                usage = {"input": paid["input"], "output": paid["output"], "cacheRead": paid["cache_read"], "cacheWrite": paid["cache_write_5m"], "totalTokens": paid["total"]}
                add({"role": "assistant", "content": [{"type": "toolCall", "id": call, "name": "bash", "arguments": {"command": self.said(80)}}],
                     "provider": "p", "model": "m", "responseId": "r" + call, "usage": usage, "stopReason": "toolUse"})
                add({"role": "toolResult", "toolCallId": call, "toolName": "bash", "content": [{"type": "text", "text": self.said(1500)}], "isError": False})
        return self.write(".pi/agent/sessions/--home-ada--/2026-11-29T00-00-00-000Z_%s.jsonl" % session, lines)


def main():
    home, size = Home(sys.argv[1]), int(sys.argv[2] if len(sys.argv) > 2 else 1024) << 20
    if len(sys.argv) > 3:
        getattr(home, sys.argv[3])(size, alone=True)
        return print(json.dumps(home.sums))
    for write, share in [(home.claude, 0.6), (home.codex, 0.3), (home.pi, 0.1)]:
        left = size * share
        while left > 0:
            left -= write(min(int(home.random.lognormvariate(math.log(150000), 1.4)), left, 64 << 20))
    print(json.dumps(home.sums))


main()

#!/usr/bin/env python3
"""One long session of pi, DSH (format 4) or Claude Code, every turn of it finished.

    benches/long.py CLIENT FILE [MEGABYTES [LONGEST]]

Turns of a prompt, a call, its result (a median of about 3 KB, a few of 50 KB, an escape every few dozen bytes) and an
answer; answers of DSH repeat in their stream the chunks they came in. The result of one call in the middle has LONGEST
megabytes. The same arguments give the same bytes.
"""
import json
import math
import random
import re
import sys

CWD = "/home/ada/demo"


class Long:
    def __init__(self, out, longest):
        self.out, self.longest, self.written, self.nth, self.last = out, longest << 20, 0, 0, None
        self.random = random.Random(5)
        words = ["parser", "value", "\"quoted\"", "fn main() {", "}\n", "\t// see above\n", "0123456789abcdef", "test result: ok\n"]
        # Anything beyond ASCII stands in few places of most logs.
        self.words = " ".join("naïve" if n % 199 == 0 else self.random.choice(words) for n in range(40000))

    def said(self, median, most=50000):
        size = min(int(self.random.lognormvariate(math.log(median), 1.2)) + 1, most)
        at = self.random.randrange(len(self.words) - size)
        return self.words[at:at + size]

    def result(self, half):
        if self.longest and self.written > half:
            size, self.longest = self.longest, 0
            return "One line of many bytes. " * (size // 24)
        return self.said(3000)

    def id(self):
        self.nth += 1
        return "%08x-0000-4000-8000-%012x" % (0x5a000000 + self.nth, self.nth)

    def line(self, value):
        self.written += self.out.write((json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n").encode())

    def time(self, nth):
        return "2026-11-%02dT%02d:%02d:%02d.000Z" % (1 + nth // 86400 % 28, nth // 3600 % 24, nth // 60 % 60, nth % 60)


class Pi(Long):
    def begin(self):
        self.line({"type": "session", "version": 3, "id": "01a2281b-0000-7000-8000-000000000001",
                   "timestamp": "2026-11-01T00:00:00.000Z", "cwd": CWD})

    def add(self, message):
        self.nth += 1
        own = "%08x" % self.nth
        self.line({"type": "message", "id": own, "parentId": self.last, "timestamp": self.time(self.nth), "message": message})
        self.last = own

    def answer(self, content, stop):
        self.add({"role": "assistant", "content": content, "api": "anthropic-messages", "provider": "anthropic", "model": "m",
                  "usage": {"input": 10, "output": 5, "cacheRead": 3, "cacheWrite": 2, "totalTokens": 20,
                            "cost": {"input": 0, "output": 0.001, "cacheRead": 0, "cacheWrite": 0, "total": 0.001}},
                  "stopReason": stop, "timestamp": 1793491200000 + self.nth})

    def turn(self, half):
        self.add({"role": "user", "content": [{"type": "text", "text": self.said(300)}], "timestamp": 1793491200000})
        call = "call_%d" % self.nth
        self.answer([{"type": "text", "text": self.said(300)},
                     {"type": "toolCall", "id": call, "name": "bash", "arguments": {"command": self.said(200)}}], "toolUse")
        self.add({"role": "toolResult", "toolCallId": call, "toolName": "bash",
                  "content": [{"type": "text", "text": self.result(half)}], "isError": False, "timestamp": 1793491200000})
        self.answer([{"type": "text", "text": self.said(600)}], "stop")


class Dsh(Long):
    seq = turns = 0

    def begin(self):
        self.line({"type": "session", "version": 4, "id": "long", "createdAt": 1793491200000, "cwd": CWD, "isSeeded": False,
                   "delegationDepth": 0})
        self.add("permission/preset", {"preset": "danger-full-access"})

    def add(self, kind, data, **more):
        self.line({"type": kind, "seq": self.seq, "time": 1793491200000 + self.seq, "data": data, **more})
        self.seq += 1

    def message(self, kind, step, role, content, source, **more):
        self.add(kind, {"turn": self.turns, "step": step, "message": {"role": role, "content": content, "source": source, "id": self.id(),
                 **more.pop("message", {})}, **more}, surfaceOp="append")

    def answer(self, step, content):
        replay = {"response": {"kind": "deepseek-messages", "version": 1, "model": "deepseek-flash"},
                  "blocks": [{"type": block["type"]} for block in content]}
        source = {"kind": "model", "provider": "deepseek-official", "model": "deepseek-flash", "replayState": replay}
        usage = {"inputTokens": 210, "outputTokens": 22, "cacheReadTokens": 512, "cacheWriteTokens": 0, "totalTokens": 744}
        time, stream = 1793491200000 + self.seq, []
        chunk = lambda **what: stream.append({"type": "chunk", "time": time, "chunk": what})
        for index, block in enumerate(content):
            whole = block.get("text") or block["arguments"]
            parts = re.findall(r"\S*\s*", whole)[:-1]
            chunk(type="block-start", index=index, blockType=block["type"])
            call = {"id": block["id"], "name": block["name"]} if "id" in block else {}
            gaps = [self.random.choice((0, 0, 1, 1, 2, 3, 14)) for _ in parts[1:]]
            kind = {"text": ("text-chunks", "texts"), "tool-call": ("tool-call-chunks", "args")}[block["type"]]
            stream.append({"type": kind[0], "time0": time, "index": index, "dt": gaps, **call, kind[1]: parts})
            chunk(type="block-end", index=index, block=block)
        chunk(type="usage", usage=usage)
        chunk(type="finish", reason={"kind": "tool-calls" if len(content) > 1 else "stop"}, replayState=replay)
        self.message("assistant/message", step, "assistant", content, source, usage=usage, stream=stream)

    def turn(self, half):
        self.turns += 1
        mark = lambda step: {"turn": self.turns, "step": step}
        self.add("turn/start", {"turn": self.turns})
        self.add("step/start", mark(1))
        said = [{"type": "text", "text": self.said(300)}]
        self.add("user/message", {"content": said, "source": {"kind": "user"}, "role": "user", "id": self.id()}, surfaceOp="append")
        call, words = "call_%d" % self.turns, json.dumps({"command": self.said(200)}, ensure_ascii=False)
        self.answer(1, [{"type": "text", "text": self.said(300)}, {"type": "tool-call", "id": call, "name": "bash", "arguments": words}])
        self.add("tool/call", {**mark(1), "callId": call, "name": "bash", "arguments": words})
        self.message("tool/result", 1, "tool", [{"type": "text", "text": self.result(half)}], {"kind": "tool", "callId": call},
                     message={"toolCallId": call, "isError": False})
        self.add("step/end", mark(1))
        self.add("step/start", mark(2))
        self.answer(2, [{"type": "text", "text": self.said(600)}])
        self.add("step/end", mark(2))
        self.add("turn/end", {"turn": self.turns, "reason": {"kind": "completed"}})


class Claude(Long):
    session = "5a000000-0000-4000-8000-00000000c0de"

    def begin(self):
        pass

    def add(self, kind, message, **more):
        own = self.id()
        self.line({"parentUuid": self.last, "isSidechain": False, "userType": "external", "cwd": CWD, "sessionId": self.session,
                   "version": "2.1.260", "gitBranch": "main", "type": kind, "message": message, "uuid": own,
                   "timestamp": self.time(self.nth), **more})
        self.last = own

    def answer(self, content, stop):
        usage = {"input_tokens": 10, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 30, "output_tokens": 40}
        said = "msg_" + self.id()
        self.add("assistant", {"id": said, "type": "message", "role": "assistant", "model": "claude-x", "content": content,
                               "stop_reason": stop, "stop_sequence": None, "usage": usage}, requestId="req_" + said)

    def turn(self, half):
        self.add("user", {"role": "user", "content": self.said(300)})
        call = "toolu_" + self.id()
        self.answer([{"type": "text", "text": self.said(300)},
                     {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": self.said(200)}}], "tool_use")
        result = self.result(half)
        self.add("user", {"role": "user", "content": [{"tool_use_id": call, "type": "tool_result", "content": result, "is_error": False}]},
                 toolUseResult={"stdout": result[:50000], "stderr": "", "interrupted": False, "isImage": False})
        self.answer([{"type": "text", "text": self.said(600)}], "end_turn")


def main():
    client, path, size, longest = (*sys.argv[1:], *("256", "0")[len(sys.argv) - 3:])
    size = int(size) << 20
    with open(path, "wb", buffering=1 << 20) as out:
        log = {"pi": Pi, "dsh": Dsh, "claude": Claude}[client](out, int(longest))
        log.begin()
        while log.written < size:
            log.turn(size // 2)


main()

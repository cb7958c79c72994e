#!/usr/bin/env python3
"""A paginated Codex thread of a given size, shaped like those of long days at work.

    benches/rollout.py FILE [MEGABYTES] [mixed|escapes|blobs]

Turns of several steps: encrypted reasoning as base64, calls whose arguments are JSON in a string, tool outputs (source
code, test runs, JSON) with an escape every few dozen bytes, the same again in an event, small records between. `escapes`
has nothing but outputs full of quotes and line breaks, `blobs` little else than base64. The same arguments give the
same bytes.
"""
import base64
import json
import random
import sys

THREAD = "01a22820-a1cd-78f0-a7db-aadcf675cf49"


def source(r, size):
    words = ["let", "value", "parser", "fn", "return", "match", "=>", "Some(x)", "self", "items", "for", "in", "0..len"]
    lines = []
    while size > 0:
        line = "    " * r.randint(0, 4) + " ".join(r.choice(words) for _ in range(r.randint(2, 9)))
        if r.random() < 0.25:
            line += ' "%s"' % r.choice(words)
        if r.random() < 0.04:
            line += "\t// — naïve, see §4"
        lines.append(line)
        size -= len(line) + 1
    return "\n".join(lines) + "\n"


def listing(r, size):
    rows = []
    while size > 0:
        row = {"name": "file%d.rs" % r.randint(0, 999), "size": r.randint(0, 9 ** 6), "path": "src\\a\\b", "ok": True}
        rows.append(row)
        size -= 70
    return json.dumps(rows, indent=1)


def main():
    path, size = sys.argv[1], int(sys.argv[2] if len(sys.argv) > 2 else 256) << 20
    kind = sys.argv[3] if len(sys.argv) > 3 else "mixed"
    r = random.Random(7)
    # A pool: making all of it anew would take minutes.
    outputs = [(source if n % 3 else listing)(r, int(r.paretovariate(1.1) * 900) % 40000 + 200) for n in range(64)]
    if kind == "escapes":
        outputs = [listing(r, 9000) if n % 2 else '\\"\n' * 3000 for n in range(16)]
    blobs = [base64.b64encode(r.randbytes(int(r.paretovariate(1.2) * 1200) % 30000 + 300)).decode() for _ in range(64)]
    if kind == "blobs":
        outputs, blobs = ["done\n"], [base64.b64encode(r.randbytes(40000)).decode() for _ in range(16)]
    state = {"n": 0, "written": 0}
    clock = 1780000000000

    with open(path, "w", encoding="utf-8") as out:
        def add(kind, payload, **more):
            nth = state["n"]
            stamp = "2026-11-29T16:%02d:%02d.%03dZ" % (nth // 60000 % 60, nth // 1000 % 60, nth % 1000)
            line = {"timestamp": stamp, "ordinal": nth, "type": kind, "payload": payload, **more}
            state["n"] += 1
            state["written"] += out.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")

        add("session_meta", {
            "session_id": THREAD, "id": THREAD, "timestamp": "2026-11-29T16:00:00.000Z", "cwd": "/home/ada/demo",
            "originator": "codex_cli_rs", "cli_version": "0.171.0", "source": "cli", "model_provider": "mock",
            "base_instructions": {"text": "Be brief. " * 400}, "history_mode": "paginated",
            "context_window": {"window_id": THREAD}})
        turn = total = 0
        while state["written"] < size:
            turn += 1
            turn_id = "01a22820-a1e4-7081-9b94-%012x" % turn
            meta = {"turn_id": turn_id}

            def item(payload):
                add("response_item", {**payload, "internal_chat_message_metadata_passthrough": meta},
                    metadata={"history_sequence": state["n"], "client_authored": False})

            def event(kind, **payload):
                add("event_msg", {"type": kind, **payload})

            def done(kind, **payload):
                event("item_completed", thread_id=THREAD, turn_id=turn_id, item={"type": kind, **payload},
                      started_at_ms=clock, completed_at_ms=clock)

            event("task_started", turn_id=turn_id, root_turn_id=turn_id, started_at=clock // 1000, model_context_window=258400)
            if turn == 1:
                event("thread_settings_applied", thread_id=THREAD, thread_settings={"model": "mock", "cwd": "/home/ada/demo"})
            add("turn_context", {"turn_id": turn_id, "cwd": "/home/ada/demo", "approval_policy": "never", "model": "mock",
                                 "permission_profile": {"type": "disabled"}, "summary": "auto"})
            ask = "Please fix the \"%s\" test\nand run all of them." % turn
            item({"type": "message", "id": "msg_u%d" % turn, "role": "user", "content": [{"type": "input_text", "text": ask}]})
            done("UserMessage", id="msg_u%d" % turn, content=[{"type": "text", "text": ask}])
            for step in range(r.randint(3, 12)):
                call, output, blob = "call_%d_%d" % (turn, step), r.choice(outputs), r.choice(blobs)
                done("Reasoning", id="rs_%s" % call, summary_text=["Looking."], raw_content=[])
                item({"type": "reasoning", "id": "rs_%s" % call, "summary": [{"type": "summary_text", "text": "Looking."}],
                      "content": None, "encrypted_content": blob})
                item({"type": "function_call", "id": "fc_%s" % call, "name": "exec_command", "call_id": call,
                      "arguments": json.dumps({"cmd": "sed -n 1,%dp src/main.rs" % step, "workdir": "/home/ada/demo"})})
                usage = {"input_tokens": 1000 + step, "cached_input_tokens": 512, "cache_write_input_tokens": 0,
                         "output_tokens": 24, "reasoning_output_tokens": 8, "total_tokens": 1024 + step}
                total += 1024 + step
                add("token_usage_record", {"thread_id": THREAD, "turn_id": turn_id, "session_id": THREAD,
                                           "response_id": "resp_" + call, "usage": usage})
                done("CommandExecution", id=call, command=["/bin/bash", "-lc", "sed"], cwd="file:///home/ada/demo",
                     aggregated_output=output if kind != "blobs" else "", exit_code=0, status="completed")
                item({"type": "function_call_output", "id": "fco_" + call, "call_id": call,
                      "output": "Chunk ID: fafb41\nWall time: 0.0 seconds\nProcess exited with code 0\nOutput:\n" + output})
                event("token_count", info={"total_token_usage": {**usage, "total_tokens": total}, "last_token_usage": usage})
            said = "All \"%d\" tests pass.\n\n- parser\n- lexer\n" % turn
            done("AgentMessage", id="msg_a%d" % turn, content=[{"type": "Text", "text": said}])
            item({"type": "message", "id": "msg_a%d" % turn, "role": "assistant",
                  "content": [{"type": "output_text", "text": said, "annotations": []}]})
            event("task_complete", turn_id=turn_id, last_agent_message=said, duration_ms=119)


main()

"""A stand-in for three model APIs on loopback: Anthropic Messages, OpenAI Responses, OpenAI chat completions.

It answers every request at once, remembers it with what it charged, and asks for no tool. What it says is decided by the
newest words of a person in the request.
"""
import json
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Call:
    """One request as it came in, and what it cost: input, read from the cache, output."""
    path: str
    body: dict
    said: str
    tokens: tuple[int, int, int]

    @property
    def total(self):
        return sum(self.tokens)

    @property
    def told(self):
        """Who said what in the request, in order, whatever it is wrapped in."""
        said = []
        for item in self.body.get("messages") or self.body.get("input") or []:
            content = item.get("content")
            parts = [content] if isinstance(content, str) else [part.get("text") or "" for part in content or []]
            said += [(item.get("role"), part.strip()) for part in parts if part.strip()]
        return said

    @property
    def text(self):
        """The whole conversation of the request, for a look at what is in it."""
        return json.dumps(self.body.get("messages") or self.body.get("input") or [], ensure_ascii=False)


class Mock:
    """A server on a free port of 127.0.0.1; `answer` makes the words of an answer from those of a prompt."""

    def __init__(self, answer):
        self.calls = []
        self.arrived = 0
        self.answer = answer
        self.lock = threading.Lock()
        handler = type("Handler", (Handler,), {"mock": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.handle_error = lambda *_: None  # A client that was ended hangs up.
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def take(self, path, body):
        """The call and its number; no two calls cost the same. A call counts when there is an answer to it."""
        with self.lock:
            self.arrived += 1
        said = self.answer(newest(body))
        with self.lock:
            number = len(self.calls) + 1
            call = Call(path, body, said, (1000 + number, 10 * number, 20 + number))
            self.calls.append(call)
        return number, call


def newest(body):
    """The last thing that a person said, as far as a request tells: a client's own words stand in tags."""
    for item in reversed(body.get("messages") or body.get("input") or []):
        if item.get("role") != "user":
            continue
        content = item.get("content")
        parts = [content] if isinstance(content, str) else [part.get("text") or "" for part in content or []]
        for text in reversed(parts):
            if text.strip() and not text.lstrip().startswith("<"):
                return text
    return ""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    mock = None

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.send({})

    def do_GET(self):
        self.send({"object": "list", "data": [], "models": []})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        path = self.path.split("?")[0]
        if path.endswith("/messages/count_tokens"):
            return self.send({"input_tokens": 1000})
        speak = {"messages": self.say_messages, "responses": self.say_responses, "completions": self.say_completions}
        kind = path.rsplit("/", 1)[-1]
        if kind not in speak:
            return self.send({"error": {"message": "the mock knows no such path"}}, 404)
        number, call = self.mock.take(path, body)
        speak[kind](number, call, body)

    def send(self, answer, status=200):
        payload = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(payload)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(payload)

    def stream(self, events, named):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for event in events:
            name = f"event: {event['type']}\n" if named else ""
            data = event if isinstance(event, str) else json.dumps(event)
            self.wfile.write(f"{name}data: {data}\n\n".encode())
        self.wfile.flush()

    def say_messages(self, number, call, body):
        fresh, cached, out = call.tokens
        usage = {"input_tokens": fresh, "cache_read_input_tokens": cached, "cache_creation_input_tokens": 0}
        message = {"id": f"msg_mock{number:06}", "type": "message", "role": "assistant", "model": body.get("model"),
                   "content": [], "stop_reason": None, "stop_sequence": None}
        if not body.get("stream"):
            whole = {"content": [{"type": "text", "text": call.said}], "stop_reason": "end_turn"}
            return self.send({**message, **whole, "usage": {**usage, "output_tokens": out}})
        self.stream([
            {"type": "message_start", "message": {**message, "usage": {**usage, "output_tokens": 1}}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": call.said}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None},
             "usage": {**usage, "output_tokens": out}},
            {"type": "message_stop"},
        ], named=True)

    def say_responses(self, number, call, _body):
        fresh, cached, out = call.tokens
        item = {"type": "message", "id": f"msg_mock{number:06}", "role": "assistant"}
        usage = {"input_tokens": fresh + cached, "input_tokens_details": {"cached_tokens": cached},
                 "output_tokens": out, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": call.total}
        said = [{"type": "output_text", "text": call.said, "annotations": []}]
        identity = f"resp_mock{number:06}"
        self.stream([
            {"type": "response.created", "response": {"id": identity}},
            {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
            {"type": "response.output_item.done", "output_index": 0, "item": {**item, "content": said}},
            {"type": "response.completed", "response": {"id": identity, "usage": usage}},
        ], named=True)

    def say_completions(self, number, call, body):
        fresh, cached, out = call.tokens
        usage = {"prompt_tokens": fresh + cached, "prompt_tokens_details": {"cached_tokens": cached},
                 "completion_tokens": out, "total_tokens": call.total}
        chunk = {"id": f"chatcmpl-mock{number:06}", "object": "chat.completion.chunk", "created": 0,
                 "model": body.get("model")}

        def choice(delta, reason=None):
            return {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
        self.stream([
            choice({"role": "assistant", "content": call.said}),
            choice({}, "stop"),
            {**chunk, "choices": [], "usage": usage},
            "[DONE]",
        ], named=False)

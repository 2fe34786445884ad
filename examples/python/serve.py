"""Answers over HTTP with a model of `dynet train tagger`, `parser`, `ner` or `lm`.

python3 serve.py tagger.safetensors --port 8000
curl -d 'The dog barks .' http://localhost:8000/

A request has a sentence, words between spaces; the answer is JSON. Requests that come at the same
time are computed together (docs/serving.md). GET /counts tells the work so far. On SIGHUP the file
is loaded once more: requests at work end with the old model. Ctrl-C computes the accepted requests,
and ends.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import dynet as dy
from dynet import programs

#: Bytes of a request, and words.
MAX_BYTES, MAX_WORDS = 100_000, 1000


def answer(model: Any, words: list[str]) -> Any:
    """A request: the questions of the model's own task."""
    return (yield from model.answer(words)) if words else []


class Handler(BaseHTTPRequestHandler):
    """One connection, in a thread of its own."""

    protocol_version = "HTTP/1.1"  # a connection stays for the next request
    server: Server

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > MAX_BYTES:
            self.close_connection = True  # the body is not read
            self.give(413, {"error": f"want a Content-Length of at most {MAX_BYTES}"})
            return
        try:
            words = self.rfile.read(int(length)).decode().split()
        except UnicodeDecodeError:
            self.give(400, {"error": "want UTF-8"})
            return
        if len(words) > MAX_WORDS:
            self.give(400, {"error": f"{len(words)} words; want at most {MAX_WORDS}"})
            return
        try:
            self.give(200, self.server.requests.submit(answer, words).result())
        except dy.OverloadError as e:
            self.give(503, {"error": str(e)})
        except dy.RequestTimeout as e:
            self.give(504, {"error": str(e)})
        except dy.Error as e:
            self.give(500, {"error": str(e)})

    def do_GET(self) -> None:
        if self.path == "/counts":
            self.give(200, self.server.requests.counts()._asdict())
        else:
            self.give(404, {"error": "want POST / with a sentence, or GET /counts"})

    def give(self, status: int, content: Any) -> None:
        text = json.dumps(content, ensure_ascii=False).encode() + b"\n"
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *arguments: Any) -> None:
        """Silent."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, requests: Any) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.requests = requests


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("model", help="a file of `dynet train`")
    options.add_argument("--port", type=int, default=8000)
    options.add_argument("--max-running", type=int, default=64)
    options.add_argument("--max-queue", type=int, default=1024)
    options.add_argument("--timeout", type=float, default=5.0, help="seconds for a request")
    given, others = options.parse_known_args()
    others = [word for word in others if not word.startswith("--dynet-")]  # the library's
    if others:
        options.error(f"unknown: {' '.join(others)}; options of the library are --dynet-name=value")
    try:
        model = programs.load(given.model)
    except dy.IoError as e:
        options.error(str(e))
    sizes = {name: getattr(given, name) for name in ("max_running", "max_queue", "timeout")}
    with dy.serve(model, **sizes) as requests, Server(given.port, requests) as server:

        def reload(*arguments: Any) -> None:
            try:
                requests.replace(programs.load(given.model))
            except dy.Error as e:
                print(f"the old model stays: {e}", file=sys.stderr)

        signal.signal(signal.SIGHUP, reload)
        print(f"http://127.0.0.1:{server.server_port}/", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print(json.dumps(requests.counts()._asdict()))


if __name__ == "__main__":
    main()

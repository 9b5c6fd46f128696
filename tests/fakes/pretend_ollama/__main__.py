"""`ollama`, pretended: a server, and a client of it at OLLAMA_HOST."""

from __future__ import annotations

import json
import os
import signal
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from .server import serve

HOST, _, PORT = (os.environ.get("OLLAMA_HOST") or "127.0.0.1:11434").rpartition(":")


def ask(path: str, body: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """The JSON objects of an answer, one a line. Raises SystemExit as `ollama` does: "Error: ..." and 1."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{PORT}{path}", data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            found = [json.loads(line) for line in answer.read().splitlines()]
    except urllib.error.HTTPError as error:
        raise SystemExit(f"Error: {json.loads(error.read())['error']}") from None
    except OSError:
        raise SystemExit("Error: could not connect to ollama server, run 'ollama serve' to start it") from None
    wrong = next((each["error"] for each in found if "error" in each), None)
    if wrong:
        raise SystemExit(f"Error: {wrong}")
    return found


def modelfile(text: str) -> dict[str, Any]:
    """FROM and PARAMETER of a Modelfile."""
    words = [line.split(maxsplit=2) for line in text.splitlines() if line and not line.startswith("#")]
    origin = next(word[1] for word in words if word[0] == "FROM")
    return {"from": origin, "parameters": {word[1]: int(word[2]) for word in words if word[0] == "PARAMETER"}}


def main(argv: list[str]) -> None:
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    match argv:
        case ["serve"]:
            serve(HOST or "127.0.0.1", int(PORT))
        case ["list"]:
            print("NAME", *(each["name"] for each in ask("/api/tags")[0]["models"]), sep="\n")
        case ["show", name]:
            print(ask("/api/show", {"model": name})[0]["modelfile"])
        case ["pull", name]:
            print(*(each["status"] for each in ask("/api/pull", {"model": name})), sep="\n")
        case ["create", name, "-f", file]:
            print(
                *(each["status"] for each in ask("/api/create", {"model": name, **modelfile(Path(file).read_text())}))
            )
        case _:
            raise SystemExit(f"Error: unknown command {argv}")


main(sys.argv[1:])

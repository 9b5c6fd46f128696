"""The program of a load container: `vllm bench serve`, imported once and then run as often as it is asked.

Importing vLLM takes longer than a short measurement. So this process imports it, listens on a socket in its own file
system, and forks a child for every request; the child runs vLLM's own command line with the arguments that it was
given. `docker exec` reaches it through `CLIENT`. Nothing here makes load.

Usage: python3 -c "$(cat load_server.py)"
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import socket
import sys
import time
from pathlib import Path
from typing import Any

SOCKET = "/tmp/load.sock"
SAMPLE_SECONDS = 0.25


def main() -> None:
    """Serve forever."""
    warm()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(SOCKET)
    listener.listen(64)
    print("ready", flush=True)
    while True:
        caller, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            attend(caller)
            os._exit(0)
        caller.close()
        reap()


def warm() -> None:
    """Imports what every child would import: vllm's command line brings its parts when it is first asked for them, so
    it is asked for its help. What is there by then is left out of the children's garbage collections."""
    import transformers  # type: ignore[import-not-found]

    _ = (transformers.AutoTokenizer, transformers.PreTrainedTokenizerFast)
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        run(["bench", "serve", "--help"])
    gc.collect()
    gc.freeze()


def run(argv: list[str]) -> int:
    """vLLM's own command line, in this process; its exit code. Its last words are printed, as Python would."""
    from vllm.entrypoints.cli.main import main as command  # type: ignore[import-not-found,unused-ignore]

    sys.argv = ["vllm", *argv]
    try:
        command()
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, flush=True)
        return end.code if isinstance(end.code, int) else int(bool(end.code))
    return 0


def reap() -> None:
    """Collect the children that ended."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def attend(caller: socket.socket) -> None:
    """One request: a line of JSON `{"argv", "env", "result"}`. What the program prints goes back as it comes; the last
    line is JSON: `{"exit_code", "result", "seconds", "cpu", "every"}`, `cpu` being the share of a core that it used,
    sampled `every` so many seconds."""
    asked = json.loads(caller.makefile("r").readline())
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        os.setsid()
        serve(caller, asked)
    code, cpu = watch(child)
    path = Path(asked["result"])
    result = path.read_text(encoding="utf-8") if path.exists() else None
    path.unlink(missing_ok=True)
    end = {
        "exit_code": code,
        "result": result,
        "seconds": time.monotonic() - began,
        "cpu": cpu,
        "every": SAMPLE_SECONDS,
    }
    caller.sendall(b"\n" + json.dumps(end).encode() + b"\n")
    caller.close()


def serve(caller: socket.socket, asked: dict[str, Any]) -> None:
    """Becomes `vllm bench serve`; never returns."""
    os.dup2(caller.fileno(), 1)
    os.dup2(caller.fileno(), 2)
    os.environ.update(asked["env"])
    try:
        code = run(asked["argv"])
    except BaseException as error:  # a child of a fork must not fall through into the listener's code
        print(f"{type(error).__name__}: {error}", flush=True)
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def watch(child: int) -> tuple[int, list[float]]:
    """(exit code, the share of one core that the child used in every sample)."""
    shares: list[float] = []
    before, at = ticks(child), time.monotonic()
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status), shares
        time.sleep(SAMPLE_SECONDS)
        now, then = ticks(child), time.monotonic()
        shares.append(round((now - before) / os.sysconf("SC_CLK_TCK") / (then - at), 2))
        before, at = now, then


def ticks(pid: int) -> int:
    """The clock ticks that a process has used; 0 once it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


if __name__ == "__main__":
    main()

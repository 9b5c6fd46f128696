"""Starts SMG with its keys. Printed by monogpu-kit beside docker-compose.yaml, and run inside the router's container.

SMG takes keys by argument only, and arguments are read by every user of the machine and by `docker inspect`; here they
are handed over inside the process. The clients' key comes from the environment or from a mounted file. The control
plane (/workers and its like: who is served, and from where) gets a key of its own that is new at every start and
never leaves the container: clients cannot manage the router, whether they have a key or not.

argv: env, file or open (who must have a key: see KEYS), then SMG's own arguments.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path

VARIABLE = "MONOGPU_API_KEY"
FILE = Path("/run/secrets/api-key")
CONTROL = Path("/tmp/control-key")


def clients_key(source: str, environ: Mapping[str, str], file: Path) -> str | None:
    """The key that clients must send; None when the endpoint is open. Raises SystemExit, with the reason, rather than
    let an endpoint that was meant to be locked start open."""
    if source == "open":
        return None
    if source not in ("env", "file"):
        raise SystemExit(f"launch.py: {source!r} is not env, file or open")
    try:
        key = environ.get(VARIABLE, "") if source == "env" else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise SystemExit(
            f"launch.py: the router's key cannot be read from its file: {why}; "
            f"user {os.getuid()} must be able to read it: `chmod a+r` it, in a folder that only you enter"
        ) from None
    key = key.strip()
    if not key or any(c.isspace() or not c.isprintable() for c in key):
        raise SystemExit("launch.py: the router's key is empty, or has spaces in it")
    return key


def keep(control: str, file: Path) -> None:
    """Leaves the control plane's key where this container's own user reads it: who may `docker exec`, may manage."""
    file.unlink(missing_ok=True)
    file.touch(mode=0o600, exist_ok=False)
    file.write_text(control, encoding="utf-8")


def arguments(key: str | None, control: str) -> list[str]:
    """The arguments that SMG gets besides its own."""
    mine = ["--control-plane-api-keys", f"kit:monogpu-kit:admin:{control}"]
    return [*mine, f"--api-key={key}"] if key else mine


def main() -> None:
    """Runs SMG in this process, and never returns while it serves."""
    key, control = clients_key(sys.argv[1], os.environ, FILE), secrets.token_urlsafe(32)
    keep(control, CONTROL)
    os.environ.pop(VARIABLE, None)
    sys.argv[1:] = [*sys.argv[2:], *arguments(key, control)]
    from smg.launch_router import main as serve  # type: ignore[import-not-found]

    serve()


if __name__ == "__main__":
    main()

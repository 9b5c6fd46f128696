"""Keys and tokens: that they are set, and that they are nobody else's. Their values are never looked at here. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from kit.doctor.finding import Finding
from kit.doctor.machine import Machine
from kit.doctor.requirements import Requirements

SHORTEST = 16  # characters of a key on an endpoint that other machines reach
_NEW_KEY = "$(openssl rand -hex 24)"


def variables(machine: Machine, wants: Requirements) -> Iterator[Finding]:
    """What the compose file demands is set, in the environment or in .env."""
    for name, user in (wants.variables or {}).items():
        if name in machine.set:
            yield Finding("variable", "ok", f"{name} ({user}) is set")
        else:
            fix = f"export {name}={_NEW_KEY}" if user == "router.api_key" else f"export {name}=..."
            yield Finding("variable", "fail", f"{name} ({user}) is not set, in the environment or in .env", fix)


def key(machine: Machine, wants: Requirements) -> Iterator[Finding]:
    """The clients' key: its file can be read by the router and by nobody else; it is long enough."""
    if wants.key_file:
        yield from _file(machine, wants.key_file)
    if not wants.key:
        yield Finding("key", "ok", "the endpoint has none; every program of this machine may use it")
    elif machine.key_length is not None and wants.open and machine.key_length < SHORTEST:
        what = f"the key has {machine.key_length} characters, and {wants.bind} is open to other machines"
        yield Finding("key", "warn", what, f"take a longer one: {_NEW_KEY}")


def _file(machine: Machine, path: str) -> Iterator[Finding]:
    seen = machine.key_file
    if seen is None or not seen.there:
        folder = path.rsplit("/", 1)[0] or "/"
        fix = f"install -d -m 700 {folder}; openssl rand -hex 24 > {path}; chmod 444 {path}"
        yield Finding("key", "fail", f"{path} (router.api_key_file) is not there", fix)
    elif not seen.length:
        yield Finding("key", "fail", f"{path} is empty", f"openssl rand -hex 24 > {path}")
    elif not seen.mode & 0o004:
        what = f"{path} cannot be read by the router's user, who is neither its owner nor of its group"
        yield Finding("key", "fail", what, f"chmod 444 {path}; chmod 700 {path.rsplit('/', 1)[0] or '/'}")
    elif seen.folder_open:
        what = f"everyone on this machine can read {path}"
        yield Finding("key", "warn", what, f"chmod 700 {path.rsplit('/', 1)[0] or '/'}: the router still reads it")
    else:
        yield Finding("key", "ok", f"{path} is read by the router and by nobody else")


def dotenv(machine: Machine, wants: Requirements) -> Iterator[Finding]:
    """A .env with secrets in it is its owner's alone."""
    held = sorted(machine.dotenv & {*(wants.variables or {}), "HF_TOKEN"})
    if held and machine.dotenv_mode is not None and machine.dotenv_mode & 0o044:
        yield Finding("key", "warn", f"others can read .env, which holds {', '.join(held)}", "chmod 600 .env")

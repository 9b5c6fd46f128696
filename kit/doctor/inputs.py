"""What the stack is given: variables, keys, models' folders and repositories. No secret is read here. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kit.doctor.model import Access, Finding, Machine, Requirements, Severity

SHORTEST = 16  # characters of a key on an endpoint that other machines reach
NEW_KEY = "$(openssl rand -hex 24)"
TOKEN = "HF_TOKEN"


def variables(machine: Machine, wants: Requirements) -> Iterator[Finding]:
    """The variables that the compose file requires are set, in the environment or in .env."""
    for name, user in (wants.variables or {}).items():
        if name in machine.set:
            yield Finding("variable", "ok", f"{name} ({user}) is set")
        else:
            fix = f"export {name}={NEW_KEY}" if user == "router.api_key" else f"export {name}=..."
            yield Finding("variable", "fail", f"{name} ({user}) is not set, in the environment or in .env", fix)


def key(machine: Machine, wants: Requirements) -> Iterator[Finding]:
    """The clients' key: only the router can read its file, and it is long enough."""
    if wants.key_file:
        yield from _file(machine, wants.key_file)
    if not wants.key:
        yield Finding("key", "ok", "the endpoint has none: every program on this machine may use it")
    elif machine.key_length is not None and wants.open and machine.key_length < SHORTEST:
        what = f"the key has {machine.key_length} characters, and {wants.bind} is open to other machines"
        yield Finding("key", "warn", what, f"use a longer one: {NEW_KEY}")


def _file(machine: Machine, path: str) -> Iterator[Finding]:
    seen = machine.key_file
    if seen is None or not seen.there:
        folder = path.rsplit("/", 1)[0] or "/"
        fix = f"install -d -m 700 {folder}; openssl rand -hex 24 > {path}; chmod 444 {path}"
        yield Finding("key", "fail", f"{path} (router.api_key_file) does not exist", fix)
    elif not seen.length:
        yield Finding("key", "fail", f"{path} is empty", f"openssl rand -hex 24 > {path}")
    elif not seen.mode & 0o004:
        what = f"{path} cannot be read by the router's user, who is neither its owner nor of its group"
        yield Finding("key", "fail", what, f"chmod 444 {path}; chmod 700 {path.rsplit('/', 1)[0] or '/'}")
    elif seen.folder_open:
        what = f"everyone on this machine can read {path}"
        yield Finding("key", "warn", what, f"chmod 700 {path.rsplit('/', 1)[0] or '/'}: the router still reads it")
    else:
        yield Finding("key", "ok", f"only the router can read {path}")


def dotenv(machine: Machine, wants: Requirements) -> Iterator[Finding]:
    """Only its owner can read a .env that holds secrets."""
    held = sorted(machine.dotenv & {*(wants.variables or {}), TOKEN})
    if held and machine.dotenv_mode is not None and machine.dotenv_mode & 0o044:
        yield Finding("key", "warn", f"others can read .env, which holds {', '.join(held)}", "chmod 600 .env")


def folders(machine: Machine, wants: Requirements) -> Iterator[Finding]:
    """Containers run without capabilities, as root on a card and as uid 65534 on the CPU: they cannot read a file that
    only its owner may read."""
    for folder in wants.folders:
        if folder not in machine.unreadable:
            yield Finding("folder", "unknown", f"{folder} was not checked", f"ls -l {folder}")
        elif (file := machine.unreadable[folder]) is not None:
            what = f"{folder}: the container's user may not read {file}"
            yield Finding("folder", "fail", what, f"chmod -R a+rX {folder}")
        else:
            yield Finding("folder", "ok", f"{folder} can be read")


def repositories(machine: Machine, wants: Requirements) -> Iterator[Finding]:
    """The token may read what is to be downloaded. Earlier downloads are served without the Hub."""
    denied: dict[Access, list[str]] = {}
    for name in wants.repositories or {}:
        access = machine.hub.get(name)
        if access is None:
            yield Finding("Hugging Face", "unknown", f"{name} was not checked")
        elif not access.state:
            yield Finding("Hugging Face", "ok", f"{name} may be read")
        else:
            denied.setdefault(access, []).append(name)
    for access, names in denied.items():
        yield _denied(names, access, machine)
    if machine.hub and TOKEN not in machine.set and any(a.state == "refused" for a in machine.hub.values()):
        what = f"{TOKEN} is not set; a token that `hf auth login` saved does not reach the containers"
        yield Finding("Hugging Face", "warn", what, f"export {TOKEN}=$(cat ~/.cache/huggingface/token)")


def _denied(names: Sequence[str], access: Access, machine: Machine) -> Finding:
    severity: Severity = "warn" if machine.ours.downloads else "fail"
    there = "; earlier downloads are still served" if machine.ours.downloads else ""
    wanted = f", and {', '.join(names)} {'is' if len(names) == 1 else 'are'} there" if access.state == "away" else ""
    return Finding("Hugging Face", severity, f"{access.what}{wanted}{there}", access.fix)

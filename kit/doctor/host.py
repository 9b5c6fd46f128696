"""This machine apart from Docker: disk, memory, the port, clocks, and what kind of machine it is. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from kit.compose.preflight import Listener, overlap
from kit.doctor.model import Finding, Machine, Requirements
from kit.units import GIB, gib

MARGIN = 5 * GIB  # left free on a disk after the downloads
# What one vLLM process pair keeps of the host's memory beside the weights: 2.0 GiB on the CPU build; a guess upwards.
HOST_PER_WORKER = 3 * GIB
DRIFT, ASTRAY = 30.0, 300.0  # seconds


def disk(machine: Machine, wants: Requirements) -> Iterator[Finding]:
    """Room for the weights where Docker keeps its volumes."""
    repositories = dict(wants.repositories or {})
    free = machine.host.root_free
    if machine.ours.downloads or not repositories:
        needed, why = 0, "nothing is to be downloaded" if not repositories else "everything is downloaded already"
    else:
        sizes = list(repositories.values())
        needed = sum(each or 0 for each in sizes)
        unknown = "" if None not in sizes else "; some sizes are unknown: `monogpu-kit facts -o facts.json`"
        why = f"{gib(needed)} of weights are to be downloaded{unknown}"
    if free is None:
        yield Finding("disk", "unknown", f"the free space is unknown; {why}", "docker system df")
    elif free < needed:
        yield Finding("disk", "fail", f"{gib(free)} free for Docker, and {why}", "docker system prune")
    elif free < needed + MARGIN:
        yield Finding("disk", "warn", f"only {gib(free)} free for Docker; {why}", "docker system prune")
    else:
        yield Finding("disk", "ok", f"{gib(free)} free for Docker; {why}")


def memory(machine: Machine, wants: Requirements) -> Iterator[Finding]:
    """The host's memory for the workers: all of theirs on the CPU; on a card what they keep and what loading needs."""
    total, free = _least(machine), machine.host.available
    if total is None or free is None:
        yield Finding("memory of the host", "unknown", "it cannot be read", "free -h")
        return
    free = min(free, total)
    words = f"{gib(free)} of {gib(total)} free"
    if machine.ours.running:
        yield Finding("memory of the host", "ok", f"{words}, beside what runs of {wants.project} already")
        return
    if wants.card is None:
        needed, why = wants.memory or 0, "gpu.memory"
        fix = "end other programs, or write a smaller gpu.memory"
    else:
        needed, why = wants.workers * HOST_PER_WORKER + (wants.largest or 0), "about, for the workers and for loading"
        fix = "end other programs, or add swap"
    if total < needed and wants.card is None:
        yield Finding("memory of the host", "fail", f"{words}; needed: {gib(needed)} ({why})", fix)
    elif free < needed:
        yield Finding("memory of the host", "warn", f"{words}; needed: {gib(needed)} ({why})", fix)
    else:
        yield Finding("memory of the host", "ok", words)


def _least(machine: Machine) -> int | None:
    """What there is for containers: the engine may live in a smaller virtual machine, and this machine in a cgroup."""
    engine = machine.engine.memory if machine.engine else None
    known = [each for each in (machine.host.memory, machine.host.limit, engine) if each]
    return min(known) if known else None


def port(machine: Machine, wants: Requirements) -> Iterator[Finding]:
    """The router's port is free, or in use by this project."""
    place = f"{wants.bind}:{wants.port}"
    published = [p for p in machine.published if p.port == wants.port and overlap(p.host_ip, wants.bind)]
    if any(each.project == wants.project for each in published):
        yield Finding("port", "ok", f"{place} is in use by this project")
        return
    held: list[Listener | str] = [f"the container {each.container}" for each in published]
    held += [
        each.who for each in machine.host.listeners if each.port == wants.port and overlap(each.host_ip, wants.bind)
    ]
    if held:
        yield Finding("port", "fail", f"{place} is in use by {held[0]}", f"write `router: {{port: {wants.port + 1}}}`")
    else:
        yield Finding("port", "ok", f"{place} is free")
    if wants.open:
        what = f"{wants.bind} is open to other machines: Docker publishes past ufw and firewalld"
        yield Finding("port", "warn", what, "write `router: {bind: 127.0.0.1}`, or filter in the DOCKER-USER chain")


def clock(machine: Machine, wants: Requirements) -> Iterator[Finding]:
    """Our clock against the engine's and the Hub's: certificates and tokens are refused by a clock that is wrong."""
    seen = {"the engine's": machine.engine.ahead if machine.engine else None, "the Hub's": machine.hub_ahead}
    known = {whose: ahead for whose, ahead in seen.items() if ahead is not None}
    if not known:
        yield Finding("clock", "unknown", "there is no other clock to compare with", "timedatectl")
        return
    whose, ahead = max(known.items(), key=lambda each: abs(each[1]))
    if abs(ahead) < DRIFT:
        yield Finding("clock", "ok", f"as {' and '.join(known)}")
        return
    what = f"{whose} clock is {abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} ours"
    yield Finding("clock", "fail" if abs(ahead) > ASTRAY else "warn", what, "sudo timedatectl set-ntp true")


def place(machine: Machine, wants: Requirements) -> Iterator[Finding]:
    """Machines with limits of their own."""
    if "microsoft" in machine.host.kernel.lower():
        what = (
            "WSL2: the driver hides what each process holds, so footprints are not compared; pinned memory is missing, "
            "so vLLM keeps more on the card; beyond the card's memory programs do not fail but spill to the host's, "
            "many times slower; the host's memory is limited by .wslconfig"
        )
        yield Finding("machine", "warn", what, "write a larger `gpu: {reserve: ...}`; see .wslconfig for memory=")
    if machine.host.containered:
        what = "the kit runs inside a container: the driver's process numbers are the host's, and paths may differ"
        yield Finding("machine", "warn", what, "run monogpu-kit on the host")

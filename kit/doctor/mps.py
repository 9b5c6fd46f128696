"""Several workers on one card: whether it lets them in, and NVIDIA MPS, which lets them in side by side. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from kit.doctor.finding import Finding
from kit.doctor.machine import Machine
from kit.doctor.requirements import Requirements

QUIT = "echo quit | sudo nvidia-cuda-mps-control"
NO_MPS = "write `gpu: {mps: false}`"
CLIENTS = 48  # from Volta on; fewer on a slice by its size (NVIDIA's user guide of MIG)


def mode(machine: Machine, wants: Requirements) -> Iterator[Finding]:
    """The card's compute mode. Under MPS it sees one process, the server, and NVIDIA recommends the mode that lets one
    in: a worker that did not find the daemon is then refused, where it would run beside MPS unnoticed."""
    if wants.card is None or machine.card is None:
        return
    fix = f"sudo nvidia-smi -i {machine.card.index} -c DEFAULT"
    if machine.compute_mode == "prohibited":
        yield Finding("sharing", "fail", "the card's compute mode lets no process use it", fix)
    elif machine.compute_mode == "exclusive_process" and wants.mps:
        yield Finding("sharing", "ok", "one process may use the card at a time: the MPS server, for all workers")
    elif machine.compute_mode == "exclusive_process":
        yield Finding("sharing", "fail", "the card's compute mode lets one process at a time use it", fix)
    elif machine.compute_mode == "default":
        yield Finding("sharing", "ok", "several processes may use the card")


def daemons(machine: Machine, wants: Requirements) -> Iterator[Finding]:
    """MPS daemons that are not this project's."""
    strangers = machine.host.mps - machine.ours.pids
    if wants.card is None or not strangers:
        return
    pids = f"pid {', '.join(str(pid) for pid in sorted(strangers))}"
    if wants.mps and machine.compute_mode == "exclusive_process":
        what = f"another MPS daemon runs on this machine ({pids}); once it has the card, this project's gets none of it"
        yield Finding("MPS", "fail", what, QUIT)
    elif wants.mps:
        what = f"another MPS daemon runs on this machine ({pids}): the card takes turns between its programs and ours"
        yield Finding("MPS", "warn", what, QUIT)
    else:
        what = f"NVIDIA MPS runs on this machine ({pids}); containers without its pipe may find the card busy"
        yield Finding("MPS", "warn", what, f"{QUIT}, or write `gpu: {{mps: true}}`")


def programs(machine: Machine, wants: Requirements) -> Iterator[Finding]:
    """The driver's programs for MPS are in a worker's container: NVIDIA's runtime mounts them, a CDI specification that
    an old toolkit wrote may not."""
    sight = machine.sight
    if not wants.mps or wants.card is None or sight is None or "GPU " not in sight.output:
        return
    if not sight.missing:
        yield Finding("MPS", "ok", "a container finds the daemon's programs")
        return
    fix = "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml" if wants.access == "cdi" else "which -a {}"
    what = f"a container does not find {' and '.join(sight.missing)}, which come with the driver"
    yield Finding("MPS", "fail", what, f"{fix.format(sight.missing[0])}; or {NO_MPS}")


def limits(machine: Machine, wants: Requirements) -> Iterator[Finding]:
    """Where MPS is not what it is elsewhere."""
    if not wants.mps or wants.card is None:
        return
    if "microsoft" in machine.host.kernel.lower():
        yield Finding("MPS", "warn", "NVIDIA documents MPS for Linux, and does not speak of WSL2", NO_MPS)
    if wants.card.startswith("MIG-"):
        what = f"a slice of a card takes as much fewer MPS clients as it is smaller; a whole one takes {CLIENTS}"
        yield Finding("MPS", "warn", what, f"few workers on it; or {NO_MPS}")

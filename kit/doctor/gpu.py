"""The card: whether the driver shows it, whether a container sees it, what the image's CUDA requires of the driver,
which processes use it, and whether they may run side by side (NVIDIA MPS). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kit.diagnostics.docker_errors import explain
from kit.doctor.model import Finding, Machine, Requirements
from kit.memory.vllm_versions import version_of
from kit.units import gib, release, size

# CUDA of the official image: 13.0 from 0.20 on, 12 before (vllm-project/vllm#42738); a suffix -cu129 says so itself.
CUDA_13_FROM = (0, 20)
# The oldest driver of each major version of CUDA; within one, newer toolkits run on older drivers (NVIDIA's CUDA
# compatibility guide).
OLDEST_DRIVER = {12: 525, 13: 580}
# The oldest compute capability that each major version of CUDA still compiles for.
OLDEST_CAPABILITY = {12: (7, 0), 13: (7, 5)}
CROWDED = 0.1  # the part of the card that other processes may use without a warning

TOOLKIT = "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html"

QUIT = "echo quit | sudo nvidia-cuda-mps-control"
NO_MPS = "write `gpu: {mps: false}`"
CLIENTS = 48  # from Volta on; fewer on a slice by its size (NVIDIA's user guide of MIG)


def cuda_of(image: str) -> int | None:
    """The major version of CUDA in vLLM's official image, None when its tag does not tell."""
    if suffix := re.search(r":\S*cu(\d\d)\d\b", image):
        return int(suffix.group(1))
    found = version_of(image) if image.split(":")[0].endswith("vllm/vllm-openai") else None
    return None if found is None else 13 if found >= CUDA_13_FROM else 12


def card(machine: Machine, wants: Requirements) -> Iterator[Finding]:
    """The driver shows the card that the manifest names."""
    if wants.card is None:
        yield Finding("card", "ok", "not needed: the manifest serves on the CPU")
    elif machine.card is None:
        fix = "install NVIDIA's driver, or write `gpu: {device: none}`, which serves on the CPU"
        yield Finding("card", "fail", machine.no_card or "no driver answers", fix)
    else:
        gpu = machine.card
        capability = f", compute capability {gpu.compute_capability}" if gpu.compute_capability else ""
        free = f"{gib(gpu.free_bytes)} of {gib(gpu.total_bytes)} free"
        yield Finding("card", "ok", f"{gpu.name}{capability}, driver {gpu.driver or 'unknown'}: {free}")


def access(machine: Machine, wants: Requirements) -> Iterator[Finding]:
    """A container that asks for the card gets it."""
    if wants.card is None or machine.engine is None:
        return
    subject, sight = f"access by {wants.access}", machine.sight
    if sight is None:
        pull = next(iter(wants.engine_images), "")
        what = "not tried: no image to try it with is on this machine"
        yield Finding(subject, "unknown", what, f"docker pull {pull}" if pull else "")
    elif "GPU " in sight.output:
        yield Finding(subject, "ok", f"a container sees {sight.output.splitlines()[0].split(' (UUID')[0].strip()}")
    else:
        yield _blind(subject, machine, wants)


def _blind(subject: str, machine: Machine, wants: Requirements) -> Finding:
    said = machine.sight.error or machine.sight.output if machine.sight else ""
    if wants.access == "cdi" and machine.engine and machine.engine.cdi is False:
        fix = "sudo nvidia-ctk runtime configure --runtime=docker --cdi.enabled && sudo systemctl restart docker"
        return Finding(subject, "fail", "the engine takes no CDI devices", fix)
    known = explain(said)
    if known:
        return Finding(subject, "fail", known.cause, f"{known.fix}; {TOOLKIT}")
    last = next((line for line in reversed(said.splitlines()) if line.strip()), "it printed nothing")
    return Finding(subject, "fail", f"a container does not see the card: {last.strip()}", TOOLKIT)


def driver(machine: Machine, wants: Requirements) -> Iterator[Finding]:
    """The driver is new enough for the CUDA in each worker's image."""
    if wants.card is None or machine.card is None or machine.card.driver is None:
        return
    have = release(machine.card.driver)
    for image in wants.engine_images:
        cuda = cuda_of(image)
        needed = OLDEST_DRIVER.get(cuda or 0)
        if have is None or needed is None:
            yield Finding("driver", "unknown", f"{image} does not name its CUDA; driver {machine.card.driver}")
        elif have[0] < needed:
            what = f"driver {machine.card.driver} is too old for CUDA {cuda} in {image}; needed: {needed} or newer"
            yield Finding("driver", "fail", what, f"install driver {needed} or newer, or write `image:` of the model")
        else:
            yield Finding("driver", "ok", f"driver {machine.card.driver} runs CUDA {cuda} of {image}")


def kernels(machine: Machine, wants: Requirements) -> Iterator[Finding]:
    """The images hold kernels for this card. Unknown images are not judged."""
    capability = release(machine.card.compute_capability or "") if machine.card else None
    if wants.card is None or capability is None:
        return
    for image in wants.engine_images:
        oldest = OLDEST_CAPABILITY.get(cuda_of(image) or 0)
        if oldest and capability < oldest:
            what = f"{image} has no kernels for compute capability {capability[0]}.{capability[1]}"
            yield Finding("kernels", "fail", what, f"a card of {oldest[0]}.{oldest[1]} or newer, or another `image:`")


def holders(machine: Machine, wants: Requirements) -> Iterator[Finding]:
    """Other processes that use the card's memory."""
    if wants.card is None or machine.card is None:
        return
    gpu = machine.card
    others = [process for process in gpu.processes if process.pid not in machine.ours.pids]
    words = ", ".join(f"{p.name} (pid {p.pid}) {size(p.bytes) if p.bytes else 'an unknown share'}" for p in others)
    taken = gpu.total_bytes - gpu.free_bytes if not machine.ours.running else sum(p.bytes for p in others)
    if not others and not machine.ours.running and taken > CROWDED * gpu.total_bytes:
        what = f"{gib(taken)} are in use by processes that the driver does not list"
        yield Finding("memory of the card", "warn", what, "nvidia-smi; docker ps")
    elif taken > CROWDED * gpu.total_bytes:
        yield Finding("memory of the card", "warn", words, "end them, or leave them room: `gpu: {reserve: ...}`")
    else:
        yield Finding("memory of the card", "ok", words or "no other process uses it")


def compute_mode(machine: Machine, wants: Requirements) -> Iterator[Finding]:
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


def mps_daemons(machine: Machine, wants: Requirements) -> Iterator[Finding]:
    """MPS daemons that are not this project's."""
    strangers = machine.host.mps - machine.ours.pids
    if wants.card is None or not strangers:
        return
    pids = f"pid {', '.join(str(pid) for pid in sorted(strangers))}"
    if wants.mps and machine.compute_mode == "exclusive_process":
        what = f"another MPS daemon runs on this machine ({pids}); once it has the card, this project's gets none"
        yield Finding("MPS", "fail", what, QUIT)
    elif wants.mps:
        what = f"another MPS daemon runs on this machine ({pids}): the card takes turns between its programs and ours"
        yield Finding("MPS", "warn", what, QUIT)
    else:
        what = f"NVIDIA MPS runs on this machine ({pids}); containers without its pipe may find the card busy"
        yield Finding("MPS", "warn", what, f"{QUIT}, or write `gpu: {{mps: true}}`")


def mps_programs(machine: Machine, wants: Requirements) -> Iterator[Finding]:
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


def mps_limits(machine: Machine, wants: Requirements) -> Iterator[Finding]:
    """Machines on which MPS is limited."""
    if not wants.mps or wants.card is None:
        return
    if "microsoft" in machine.host.kernel.lower():
        yield Finding("MPS", "warn", "NVIDIA documents MPS for Linux, not for WSL2", NO_MPS)
    if wants.card.startswith("MIG-"):
        what = f"a MIG slice takes fewer MPS clients, in proportion to its size; a whole card takes {CLIENTS}"
        yield Finding("MPS", "warn", what, f"place few workers on it, or {NO_MPS}")

"""What goes wrong on purpose: PRETEND_FAULT at the start, POST /pretend/fault while it runs. One fault at a time.

at the start   oom-at-start, crash-during-graphs, slow-start:SECONDS, exit137, gated, missing-model, new-architecture,
               bad-driver, no-kernel-image, permission, shm, profiling-race, wrong-model-name
while serving  die-after:N, kill-after:N, hang, unhealthy, no-chat-template, stream-error
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from . import errors
from .errors import StartError
from .names import names

AT_START = names(
    "oom-at-start crash-during-graphs slow-start exit137 gated missing-model new-architecture bad-driver "
    "no-kernel-image permission shm profiling-race wrong-model-name"
)
SERVING = names("die-after kill-after hang unhealthy no-chat-template stream-error")
_COUNTED = ("slow-start", "die-after", "kill-after")
OTHER_MODEL = "Qwen/Qwen3-0.6B"


@dataclass(frozen=True)
class Fault:
    """`value` is seconds for slow-start, requests for die-after and kill-after."""

    name: str = ""
    value: float = 0.0


def parse_fault(text: str) -> Fault:
    """Raises ValueError that lists the words."""
    name, _, value = text.strip().partition(":")
    if not name:
        return Fault()
    if name not in AT_START + SERVING:
        raise ValueError(f"unknown fault {name!r}; one of {', '.join(AT_START + SERVING)}")
    if bool(value) != (name in _COUNTED):
        raise ValueError(f"fault {name} {'needs a number, such as ' + name + ':3' if not value else 'takes no number'}")
    return Fault(name, float(value or 0))


def due(fault: Fault, once: Path | None) -> Fault:
    """With `once`, a file, the fault strikes only the first start: later ones find the file and are well."""
    if once is None or not fault.name:
        return fault
    if once.exists():
        return Fault()
    once.parent.mkdir(parents=True, exist_ok=True)
    once.touch()
    return fault


def before_engine(fault: Fault, model: str) -> StartError | None:
    """What the API server meets while it reads the model's config."""
    match fault.name:
        case "gated":
            return errors.gated(model)
        case "missing-model":
            return errors.missing_model(model)
        case "new-architecture":
            return errors.unknown_architecture("gemma9")
        case "permission":
            return errors.permission_denied("/root/.cache/huggingface/hub")
    return None


def before_card(fault: Fault) -> StartError | None:
    """What the engine process meets before it has a CUDA context."""
    match fault.name:
        case "bad-driver":
            return errors.driver_too_old()
        case "shm":
            return errors.shm_too_small()
    return None

"""Every recorded line against every pattern: each is explained, and no pattern explains another kind's."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
import yaml

from kit.diagnostics import docker_errors
from kit.diagnostics.explain import PATTERNS, explain
from kit.diagnostics.pattern import Pattern
from tests.support.paths import RECORDED
from tests.unit.diagnostics.test_explain import DOCKER, SAID
from tests.unit.diagnostics.test_tables import TEXTS

KINDS: dict[str, dict[str, object]] = yaml.safe_load((RECORDED / "lines.yaml").read_text(encoding="utf-8"))
# The texts of the other tests that are of one kind; each of the rest is a kind of its own.
SAME_KIND = {
    "kv cache too small": ("kv cache too small", "kv cache too small, older"),
    "card fuller than planned": ("card fuller than planned", "card fuller than planned, older"),
    "card out of memory": (
        "graphs", "out of memory later", "sampler", "the pooler", "out of memory, bare",
        "out of memory, with what was free", "waking beside a full card",
    ),
    "host memory": ("the host's memory",),
    "no MPS daemon": ("MPS away", "MPS in the driver's words"),
    "MPS ended": ("MPS that ended", "an MPS client that was ended"),
    "task": ("a task that the model does not do",),
    "driver older than the image": (
        "driver", "a driver's CUDA", "a driver for another combination", "a requirement of the image",
    ),
    "driver without a reboot": ("a driver updated without a reboot", "nvidia-smi after an update"),
    "no card in the container": ("no card", "no driver in the container", "no libcuda"),
    "card broken": ("a broken card",),
    "CUDA library failed": ("a wrong kernel",),
    "no kernels for the card": ("no kernels",),
    "no CUDA compiler": ("no ninja", "no nvcc", "no nvcc, by the shell"),
    "C++ compiler": ("no C compiler",),
    "port": ("port", "port is taken"),
    "threads": ("too many threads",),
    "gated": ("gated", "a licence not accepted", "no token for a gated model"),
    "token": ("bad token", "a token that is none"),
    "Hub connection": ("broken connection", "a download torn off"),
    "shapes": ("a weight of another size",),
    "kind of model": ("unknown architecture",),
    "shared memory": ("shared memory", "shared memory, by the kernel"),
    "private image": ("private",),
    "registry name": ("cannot be reached",),
    "program missing": ("no program vllm",),
    "CDI device": ("no CDI device nvidia.com/gpu=0",),
    "nothing to mount": ("no /x/smg to mount",),
}  # fmt: skip
KIND_OF = {name: kind for kind, names in SAME_KIND.items() for name in names}


def listed(kind: str, where: str) -> list[str]:
    found = KINDS[kind].get(where, [])
    assert isinstance(found, list)
    return [str(line) for line in found]


RECORDED_LINES = [(kind, line) for kind in KINDS for where in ("logs", "docker") for line in listed(kind, where)]
ALL_LINES = [
    *RECORDED_LINES,
    *((KIND_OF.get(name, name), text) for name, (text, _, _) in (*SAID.items(), *TEXTS.items())),
    *((KIND_OF.get(cause, cause), said) for said, cause in DOCKER.items()),
]


def crossings(patterns: Iterable[Pattern], lines: Iterable[tuple[str, str]]) -> list[tuple[str, ...]]:
    """The kinds of what one pattern finds, for each that finds several."""
    held = list(lines)
    found = (sorted({kind for kind, line in held if one.find(line)}) for one in patterns if not one.general)
    return [tuple(kinds) for kinds in found if len(kinds) > 1]


@pytest.mark.parametrize("kind", KINDS)
def test_every_line_of_a_kind_is_explained_as_that_kind(kind: str) -> None:
    """A container's log and Docker's own refusals are explained by the same tables."""
    expected = KINDS[kind]
    lines = [*listed(kind, "logs"), *listed(kind, "docker")]
    assert lines
    for line in lines:
        for found in (explain(line), docker_errors.explain(line)):
            assert found is not None, line
            assert str(expected["cause"]) in found.cause, line
            assert str(expected["fix"]) in found.fix, line
            assert found.retryable == expected.get("retryable", False), line


def test_no_pattern_finds_lines_of_two_kinds() -> None:
    assert crossings(PATTERNS, ALL_LINES) == []


def test_a_pattern_that_finds_too_much_is_reported() -> None:
    """The pattern that once explained a folder which Docker Desktop does not share as a private image."""
    planted = Pattern(r"denied: ", "the registry has no such image, or it is private", "`docker login`")
    assert [kinds for kinds in crossings([planted], ALL_LINES) if "private image" in kinds and len(kinds) >= 2]


def test_a_general_pattern_never_comes_before_a_line_s_own_kind() -> None:
    general = [one for one in PATTERNS if one.general]
    assert general
    own = {kind for kind, line in RECORDED_LINES if any(one.find(line) for one in PATTERNS if not one.general)}
    for kind, line in RECORDED_LINES:
        found = explain(line)
        if kind in own and found:
            assert found.cause not in {one.cause for one in general}, line


def test_many_kinds_are_recorded_on_both_sides() -> None:
    assert len(KINDS) >= 150
    assert sum(len(listed(kind, "logs")) for kind in KINDS) >= 200
    assert sum(len(listed(kind, "docker")) for kind in KINDS) >= 100


@pytest.mark.parametrize(
    "noise",
    [
        'INFO:     172.18.0.5:41234 - "POST /v1/chat/completions HTTP/1.1" 500 Internal Server Error',
        'INFO:     172.18.0.5:41234 - "GET /v1/models HTTP/1.1" 401 Unauthorized',
        'WARNING [interface.py:222] Failed to import from vllm._C: ModuleNotFoundError("No module named \'vllm._C\'")',
        "WARNING [file_download.py:17] Xet Storage is enabled for this repo, but the 'hf_xet' package is not installed."
        " For better performance, install the package with: `pip install huggingface_hub[hf_xet]`",
        "load_tensors: offloaded 33/33 layers to GPU",
        "INFO [tekken.py:1] Using tokenizer file tekken.json",
        "Current soft limit is 1024. This can cause fd limit errors like `OSError: [Errno 24] Too many open files`.",
    ],
)  # fmt: skip
def test_a_line_of_a_worker_that_is_well_is_not_explained(noise: str) -> None:
    assert explain(noise) is None


def test_what_an_empty_group_leaves_is_no_part_of_a_sentence() -> None:
    for _, line in RECORDED_LINES:
        found = explain(line)
        assert found is not None
        for text in (found.cause, found.fix):
            assert "()" not in text and "  " not in text and " ," not in text and not text.endswith((":", " ")), text

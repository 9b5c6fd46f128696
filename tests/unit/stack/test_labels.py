"""The labels of a container: what they say, also where an earlier release started it."""

from __future__ import annotations

import yaml

from kit.stack.labels import ROLE, SERVED_NAMES, probes_of, read
from kit.stack.model import Probe
from kit.stack.render import decide_write, is_ours
from tests.support.paths import RECORDED

OLD = (RECORDED / "old-stack" / "docker-compose.yaml").read_text(encoding="utf-8")
SERVICES = yaml.safe_load(OLD)["services"]


def test_a_container_of_an_earlier_release_is_read_as_one_of_this() -> None:
    found = {name: read(service["labels"]) for name, service in SERVICES.items()}
    assert {name: labels[ROLE] for name, labels in found.items() if not name.startswith("fetch-")} == {
        **dict.fromkeys(("chat", "rank", "ollama"), "worker"),
        **dict.fromkeys(("router", "front"), "router"),
        "ollama-door": "door",
    }
    assert {labels[ROLE] for name, labels in found.items() if name.startswith("fetch-")} == {"download"}
    assert {labels[SERVED_NAMES] for labels in found.values() if labels[ROLE] == "worker"} == {
        "chat,code", "rank", "vectors",
    }  # fmt: skip
    assert probes_of("chat", SERVICES["chat"]["labels"]) == (
        Probe("chat", "generate", "chat"),
        Probe("code", "generate", "chat", base="chat"),
    )


def test_labels_of_others_and_of_this_release_are_read_as_they_are() -> None:
    labels = {ROLE: "worker", SERVED_NAMES: "chat", "com.docker.compose.service": "fetch", "fetch": "door"}
    assert read(labels) == labels


def test_a_file_of_an_earlier_release_is_rewritten_unless_it_was_edited() -> None:
    assert is_ours(OLD) == "ours"
    assert decide_write(OLD, "new", force=False) == "write"
    edited = OLD.replace("--max-num-seqs", "--max-num-seq", 1)
    assert decide_write(edited, "new", force=False) == "edited"

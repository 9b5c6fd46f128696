"""Public reports that the kit once planned wrong: their manifests, config.json and weight headers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from kit.facts.facts import Facts, from_config
from kit.gpu import Gpu, from_size
from kit.manifest.model import Manifest, Model
from kit.memory.bill import Plan
from kit.memory.candidates import Candidate, WorkerRequest, price
from kit.planner.advice import plan_or_advise
from kit.planner.workers import PlanInput
from kit.project.load import read_project
from tests.support.paths import RECORDED

FOUND = RECORDED / "found"
IMAGE = "vllm/vllm-openai:v0.26.0"


def raw(case: str) -> dict[str, Any]:
    """The config.json of a case."""
    return dict(json.loads((FOUND / case / "m" / "config.json").read_text()))


def facts_of(case: str, headers: bool = False, **changes: Any) -> Facts:
    """The facts of a case; `changes` replace fields of its language part."""
    config = raw(case)
    config |= {"text_config": config["text_config"] | changes} if "text_config" in config else changes
    return from_config("./m", None, config, header(case) if headers else {"x": ("BF16", (64, 64))})


def header(case: str) -> dict[str, tuple[str, tuple[int, ...]]]:
    """The tensors of a case's weights."""
    found = json.loads((FOUND / case / "m" / "model.safetensors.header").read_text())
    return {name: (said["dtype"], tuple(said["shape"])) for name, said in found.items() if name != "__metadata__"}


def model_of(case: str, **changes: Any) -> Model:
    """The one model of a case's manifest."""
    (model,) = read_project(FOUND / case / "monogpu.yaml").manifest.models
    return Model.model_validate(model.model_dump() | changes)


def first(case: str, facts: Facts | None = None, image: str = IMAGE, gpu: str = "48GiB", **changes: Any) -> Candidate:
    """The best way to run the model of a case."""
    request = WorkerRequest(model_of(case, **changes), facts or facts_of(case), from_size(gpu), image)
    return price(request)[0]


def plan_of(case: str, gpu: str | Gpu, facts: Facts | None = None, image: str = "", **changes: Any) -> Plan:
    """The plan of a case."""
    model = model_of(case, **changes)
    card = from_size(gpu) if isinstance(gpu, str) else gpu
    known = replace(facts or facts_of(case, headers=True), source=model.source)
    manifest = Manifest(name="found", models=(model,))
    return plan_or_advise(
        PlanInput(manifest, {model.source: known}, card, images={model.name: image or model.image or IMAGE})
    )


def folder(case: str, into: Path) -> Path:
    """The case as files, with sparse weights."""
    target = into / case
    (target / "m").mkdir(parents=True)
    (target / "monogpu.yaml").write_text((FOUND / case / "monogpu.yaml").read_text())
    for file in (FOUND / case / "m").iterdir():
        (target / "m" / file.name).write_bytes(file.read_bytes())
    text = (target / "m" / "model.safetensors.header").read_bytes()
    ends = [said["data_offsets"][1] for name, said in json.loads(text).items() if name != "__metadata__"]
    with (target / "m" / "model.safetensors").open("wb") as weights:
        weights.write(len(text).to_bytes(8, "little") + text)
        weights.truncate(8 + len(text) + max(ends))
    return target

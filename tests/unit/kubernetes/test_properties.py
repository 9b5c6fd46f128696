"""Whatever is planned, what is printed is found without fault, and reads as what the plan says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import kubernetes_validate
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.kubernetes.checker import check
from kit.kubernetes.render import render_kubernetes
from kit.kubernetes.volumes import weight_bytes
from kit.manifest.model import Model
from kit.memory.bill import Plan
from kit.stack.render import Rendered, beside, is_ours
from tests.support.manifests import KUBERNETES
from tests.support.strategies import plans

FEW = settings(max_examples=40, deadline=None)


def with_settings(plan: Plan, said: Mapping[str, Any]) -> Plan:
    """A plan whose manifest has these keys below kubernetes:."""
    manifest = plan.manifest
    gpu = None if plan.gpu.kind == "host" else said.get("gpu")
    room = {"cache_size": said["cache_size"] + weight_bytes(plan)} if "cache_size" in said else {}
    kubernetes = manifest.kubernetes.model_validate({**said, **room, "gpu": gpu})
    shares = tuple(replace(share, model=_without_volumes(share.model)) for share in plan.shares)
    changes = {"kubernetes": kubernetes, "gpu": manifest.gpu.model_copy(update={"mps": False})}
    models = tuple(_without_volumes(model) for model in manifest.models)
    return replace(plan, shares=shares, manifest=manifest.model_copy(update={**changes, "models": models}))


def _without_volumes(model: Model) -> Model:
    """Without the named volumes, which this target refuses."""
    return model.model_copy(update={"volumes": tuple(one for one in model.volumes if one.endswith(":ro"))})


def printed(plan: Plan) -> Rendered:
    return render_kubernetes(plan)


def parsed(made: Rendered) -> list[dict[str, Any]]:
    return [one for file in made.files for one in yaml.safe_load_all(file.text)]


@FEW
@given(plans(), KUBERNETES)
def test_nothing_that_is_planned_is_printed_with_a_fault(plan: Plan, said: dict[str, Any]) -> None:
    found = parsed(printed(with_settings(plan, said)))
    assert [str(fault) for fault in check(found)] == []
    chosen = [one for one in found if one["kind"] in ("StatefulSet", "Deployment", "Job")][:2]
    for one in chosen:
        kubernetes_validate.validate(one, "1.36", strict=True)


@FEW
@given(plans(), KUBERNETES)
def test_every_name_of_the_plan_is_listed_for_every_copy(plan: Plan, said: dict[str, Any]) -> None:
    made = with_settings(plan, said)
    found = parsed(printed(made))
    configs = [one["data"] for one in found if one["kind"] == "ConfigMap" and "workers.json" in one["data"]]
    listed = [one["model_id"] for data in configs for one in json.loads(data["workers.json"])["workers"]]
    names = [share.model.name for share in made.shares]
    names += [adapter.name for share in made.shares for adapter in share.model.adapters]
    in_set = any(one["kind"] == "StatefulSet" for one in found)
    times = made.manifest.kubernetes.copies if in_set else 1
    if configs:
        assert sorted(listed) == sorted(names * times)


@FEW
@given(plans(), KUBERNETES, st.booleans())
def test_the_same_plan_prints_the_same_files_and_they_are_known_as_ours(
    plan: Plan, said: dict[str, Any], again: bool
) -> None:
    made = with_settings(plan, said)
    first = printed(made)
    assert is_ours(first.compose) == "ours"
    assert set(beside(first.compose)) == {file.path for file in first.files}
    assert printed(made) == first

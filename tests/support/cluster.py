"""The printed Kubernetes files of examples and of their variants, parsed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from kit.kubernetes.render import render_kubernetes
from kit.project.load import choose_gpu, planned_for, read_project
from kit.stack.render import Rendered
from tests.support.paths import ROOT

Object = dict[str, Any]

# Name -> example, and what of its manifest is changed.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "cpu-demo": ("cpu-demo", {}),
    "trio-16gb": ("trio-16gb", {}),
    "trio-copies": ("trio-16gb", {"kubernetes": {"copies": 2}}),
    "trio-copies-shared": (
        "trio-16gb",
        {"kubernetes": {"copies": 3, "autoscaler": True, "access_mode": "ReadWriteMany", "storage_class": "nfs"}},
    ),
    "trio-sequential": ("trio-16gb", {"start": "sequential"}),
    "trio-device-plugin": (
        "trio-16gb",
        {
            "kubernetes": {
                "gpu": "device-plugin",
                "namespace": "team-a",
                "node_selector": {"nvidia.com/gpu.product": "NVIDIA-L4"},
                "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
                "image_pull_secrets": ["registry"],
                "image_map": {"lightseekorg/smg:1.13.0": "registry.example.com/smg:1.13.0"},
            },
            "router": {"api_key": "MONOGPU_API_KEY"},
        },
    ),
    "rag": ("rag", {}),
    "rag-copies": ("rag", {"kubernetes": {"copies": 2}, "router": {"api_key_file": "./secrets/api-key"}}),
    "lora-24gb": ("lora-24gb", {}),
    "lora-copies": ("lora-24gb", {"kubernetes": {"copies": 2}}),
    "ollama": ("ollama", {}),
    "triton": ("triton", {}),
    "triton-copies": ("triton", {"kubernetes": {"copies": 2}}),
    "replicas": ("replicas", {}),
}


def changed(example: str, changes: dict[str, Any], folder: Path) -> Path:
    """An example's manifest with other values at its top keys, and what was recorded beside it."""
    at = ROOT / "compose" / example
    for name in ("gpu.json", "facts.json", "monogpu.lock.yaml"):
        if (at / name).exists():
            shutil.copy(at / name, folder)
    data = yaml.safe_load((at / "monogpu.yaml").read_text())
    for key, value in changes.items():
        data[key] = {**data.get(key, {}), **value} if isinstance(value, dict) else value
    path = folder / "monogpu.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False, allow_unicode=True))
    return path


@cache
def rendered(variant: str) -> Rendered:
    """What is printed for a variant."""
    example, changes = VARIANTS[variant]
    with TemporaryDirectory() as folder:
        project = read_project(changed(example, changes, Path(folder)))
        project = replace(project, folder=ROOT / "compose" / example)
        return render_kubernetes(planned_for(project, choose_gpu(project, None)))


def objects(variant: str) -> list[Object]:
    """The objects of a variant, each call new ones."""
    return [one for file in rendered(variant).files for one in yaml.safe_load_all(file.text)]


def of(kind: str, name: str, among: list[Object]) -> Object:
    """One object."""
    return next(one for one in among if one["kind"] == kind and one["metadata"]["name"] == name)


def container(pod_spec: Object, name: str) -> Object:
    """A container of a pod by its name."""
    every = [*(pod_spec.get("initContainers") or []), *pod_spec["containers"]]
    return next(one for one in every if one["name"] == name)


Change = Callable[[list[Object]], object]

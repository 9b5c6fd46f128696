"""Hypothesis strategies for manifests, and for data and text that are nearly manifests."""

from __future__ import annotations

from hypothesis import strategies as st

from kit.engines import ENGINES
from kit.manifest import parse as reading
from kit.manifest.kubernetes import KubernetesConfig, Toleration
from kit.manifest.model import (
    GpuConfig,
    Limits,
    Manifest,
    Model,
    RouterConfig,
)
from kit.manifest.yaml_document import Document
from kit.units import MIB


def parse(document: Document, default_name: str = "monogpu") -> Manifest:
    """As the kit's own engines can serve it."""
    return reading.parse(document, ENGINES, default_name)


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=10)
VARIABLE_TEXTS = TEXTS.map(lambda text: text.replace("$", "")) | st.just("${NAME}")
NAMES = st.sampled_from(["a", "chat", "code", "embed", "qwen2-5-0-5b", "x" * 40])
SOURCES = st.sampled_from(["a/b", "a/b@main", "./models/a", "/srv/models/a b", "~/m", "../x"])
SIZES = st.integers(256 * MIB, 2**45)
COUNTS = st.just("auto") | st.integers(1, 2**20)
MODEL = st.fixed_dictionaries(
    {
        "source": SOURCES,
        "context": COUNTS,
        "requests": COUNTS,
        "memory": st.just("auto") | SIZES,
        "weight": st.floats(0.001, 1000),
        "graphs": st.sampled_from(["auto", "full", "small", "off"]),
        "replicas": st.integers(1, 3),
        "args": st.lists(TEXTS.map(lambda text: f"--seed={text}"), max_size=3),
        "env": st.dictionaries(st.sampled_from(["X_A", "x_b", "_C1"]), VARIABLE_TEXTS),
        "volumes": st.sampled_from([(), ("./a:/data",), ("cache:/srv/cache:ro", "~/b:/b")]),
        "image": st.none() | st.just("registry.example:5000/team/vllm:v1"),
    }
)
ADAPTERS = st.lists(SOURCES, max_size=2)
GPU = st.fixed_dictionaries(
    {"memory": st.none() | SIZES, "reserve": st.none() | st.just(0) | SIZES, "mps": st.booleans()}
)
KUBERNETES = st.fixed_dictionaries(
    {},
    optional={
        "namespace": st.sampled_from(["team-a", "x"]),
        "copies": st.integers(1, 3),
        "gpu": st.sampled_from(["dra", "device-plugin"]),
        "storage_class": st.just("fast.example"),
        "cache_size": SIZES,
        "access_mode": st.sampled_from(["ReadWriteOnce", "ReadWriteMany"]),
        "node_selector": st.just({"nvidia.com/gpu.product": "NVIDIA-L4"}),
        "tolerations": st.sampled_from([(), ({"key": "nvidia.com/gpu", "operator": "Exists"},)]),
        "image_pull_secrets": st.sampled_from([(), ("registry",)]),
    },
)
ROUTER = st.fixed_dictionaries({"port": st.integers(1, 65535), "api_key": st.none() | st.just("KEY")})


@st.composite
def manifests(draw: st.DrawFn) -> Manifest:
    """Any manifest that `parse` takes."""
    models = [
        draw(MODEL) | {"name": name, "adapters": _adapters(name, draw(ADAPTERS))}
        for name in draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    ]
    start = draw(st.sampled_from(["sequential", "parallel"]))
    kubernetes = draw(KUBERNETES)
    return Manifest(name="demo", gpu=draw(GPU), start=start, router=draw(ROUTER), models=models, kubernetes=kubernetes)


def _adapters(name: str, sources: list[str]) -> list[dict[str, str]]:
    return [{"name": f"{name[:30]}-lora-{number}", "source": source} for number, source in enumerate(sources)]


ANY = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
NESTED = st.recursive(
    ANY, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)
PARTS = (Manifest, GpuConfig, RouterConfig, Model, Limits, KubernetesConfig, Toleration)
WORDS = [*(word for part in PARTS for word in part.model_fields), "x", "<<"]
VALUES = st.sampled_from(
    [
        "auto", "8k", "4GiB", "none", "off", "vllm", "ollama", "a/b", "./a", "chat", "embed", "0.0.0.0", "::1", "KEY",
        "", "--port", "-tp", "-O3", "--max-model=3", "./a:/b", "a:/models", ":", "::", "$", "${A}", "sk-1",
        0, 1, 8192, 0.5, 1.0, True, None,
    ]
)  # fmt: skip
ALIKE = st.recursive(
    VALUES | ANY,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=6),
    max_leaves=40,
)
MODEL_ALIKE = st.fixed_dictionaries({}, optional=dict.fromkeys(Model.model_fields, VALUES | ALIKE))
MANIFEST_ALIKE = st.fixed_dictionaries(
    {"models": st.lists(MODEL_ALIKE | ALIKE, max_size=4)},
    optional={
        "name": VALUES,
        "start": VALUES,
        "kubernetes": st.fixed_dictionaries({}, optional=dict.fromkeys(KubernetesConfig.model_fields, VALUES)) | ALIKE,
        "gpu": st.fixed_dictionaries({}, optional=dict.fromkeys(GpuConfig.model_fields, VALUES)) | ALIKE,
        "router": st.fixed_dictionaries({}, optional=dict.fromkeys(RouterConfig.model_fields, VALUES)) | ALIKE,
    },
)

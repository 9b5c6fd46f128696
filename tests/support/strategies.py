"""Values for tests: shares and plans made by hand, and hypothesis strategies for plans and stacks of every kind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from kit.facts.facts import Facts
from kit.gpu import Gpu
from kit.manifest.model import Adapter, Manifest, Model
from kit.memory.bill import Line, Plan, Share
from kit.stack.model import (
    Attachment,
    Device,
    File,
    Health,
    Mount,
    Network,
    Port,
    Secret,
    Service,
    Stack,
)
from kit.units import GIB, MIB

# Machines that build and test at once are slow now and then; that is no defect.
settings.register_profile("kit", deadline=None)
settings.load_profile("kit")

CARD = Gpu("NVIDIA GeForce RTX 5080", 16 * GIB, 15 * GIB, uuid="GPU-5080", compute_capability="12.0", driver="580.95")
HOST = Gpu("host memory", 8 * GIB, 7 * GIB, kind="host")

# Text that a manifest lets through: whatever a process can be given. NUL and lone surrogates cannot be.
NASTY = ["$HOME", "${X:?y}", "$$", "a: b", "# not a comment", "\u0085", "\u2028", "\ufeff", "\x7f", "🦙", "'\"\\"]
NASTY += [
    "yes",
    "null",
    "1e-05",
    "12:30:45",
    "0o7",
    "\n",
    "a\r\nb",
    "\t",
    "--flag",
    "- item",
    "{{ x }}",
    "{% if %}",
    "*a",
    "",
]
ANY = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
TEXT = st.text(ANY, max_size=12) | st.sampled_from(NASTY)
# What a YAML reader may take for a number, a boolean, a date, a merge key or a mark of its own.
ODD = st.from_regex(r"[-+.~=<]{0,2}[0-9_]{0,3}[:.eExobn-]{0,2}[0-9_a-f:.-]{0,5}[ #:]{0,2}", fullmatch=True)
WORDS_OF_YAML = "y N yes No on OFF true Null ~ 1e3 0x10 0o7 0b1 1:30 1:30.5 2026-01-01 << = .inf -.NaN ? -"
ODD |= st.sampled_from(WORDS_OF_YAML.split(" "))
ODD |= st.text("ab ,:#-?[]{}'\"\\&*!|>%@`$=<~\n\t", max_size=8)
WORD = st.from_regex(r"[a-z][a-z0-9-]{0,8}[a-z0-9]", fullmatch=True).filter(lambda word: word != "router")
VARIABLE = st.from_regex(r"[A-Z_][A-Z0-9_]{0,10}", fullmatch=True)
SECRET = st.builds(Secret, VARIABLE, st.from_regex(r"[a-z][a-z ,.]{0,20}", fullmatch=True), st.booleans())


def facts(source: str = "org/model", revision: str | None = None) -> Facts:
    """A small model; only its source and revision matter to what is printed."""
    return Facts(source, revision, "LlamaForCausalLM", 64, 128, 2, 2, 2, 32, 1000, 4096, "bfloat16", True, (), ())


def model(name: str = "chat", source: str = "Qwen/Qwen2.5-1.5B-Instruct", **fields: Any) -> Model:
    """A model of the manifest."""
    return Model(name=name, source=source, **fields)


def share(of: Model | None = None, **fields: Any) -> Share:
    """What one worker gets, with fixed numbers."""
    of = of or model()
    given: dict[str, Any] = {
        "model": of,
        "facts": facts(of.source),
        "service": of.name,
        "replica": 1,
        "lines": (Line("weights", 3 * GIB, "as the files say"), Line("kv_cache", GIB, "32768 tokens x 32 KiB")),
        "kv_bytes": GIB,
        "kv_tokens": 32768,
        "concurrency": 4.0,
        "context": 8192,
        "requests": 32,
        "batched_tokens": 2048,
        "graphs": "full",
        "capture_sizes": (),
        "utilization": "0.25",
        "start_seconds": 300,
    }
    return Share(**(given | fields))


def plan(
    *shares: Share, gpu: Gpu = CARD, access: str = "nvidia", device: str = "0", mps: bool = False, **manifest: Any
) -> Plan:
    """A plan for `shares`, or for one model called chat."""
    chosen = shares or (share(),)
    models = {one.model.name: one.model for one in chosen}
    wish = {"device": device, "access": access, "mps": mps}
    made = Manifest(**({"name": "demo", "gpu": wish, "models": tuple(models.values())} | manifest))
    return Plan(made, gpu, (Line("others", 512 * MIB, "held by others"),), gpu.total_bytes - 512 * MIB, chosen)


def _models(names: list[str]) -> st.SearchStrategy[list[Model]]:
    return st.tuples(*(_model(name, f"{name}-lora") for name in names)).map(list)


def _model(name: str, adapter: str) -> st.SearchStrategy[Model]:
    adapters = st.sampled_from(["./adapters/a: $b", "org/adapter", "org/adapter@abc"]).map(
        lambda source: (Adapter(name=adapter, source=source),)
    )
    return st.builds(
        Model,
        name=st.just(name),
        source=st.sampled_from(["org/model", "org/model@v1.0", "./models/a b", "/srv/m", "other/model"]),
        task=st.sampled_from(["generate", "embed", "rerank", "classify"]),
        adapters=st.just(()) | adapters,
        replicas=st.integers(1, 3),
        args=st.lists(TEXT, max_size=4).map(tuple),
        env=st.dictionaries(VARIABLE, TEXT, max_size=2),
        volumes=st.sampled_from([(), ("./data:/data:ro",), ("shared:/shared",)]),
    )


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Plans of one to four models with replicas, adapters and arguments of every kind, on a card or on the CPU."""
    names = draw(st.lists(WORD.filter(lambda word: "-" not in word), min_size=1, max_size=4, unique=True))
    graphs, sizes = draw(st.sampled_from([("off", ()), ("full", ()), ("small", (1, 2, 4))]))
    shares = [
        share(one, service=one.name if n == 1 else f"{one.name}-{n}", replica=n, graphs=graphs, capture_sizes=sizes)
        for one in draw(_models(names))
        for n in range(1, one.replicas + 1)
    ]
    gpu = draw(st.sampled_from([CARD, HOST]))
    access = draw(st.sampled_from(["nvidia", "cdi"]))
    router = draw(st.sampled_from([{}, {"api_key": "THE_KEY", "bind": "0.0.0.0", "port": 8080}]))
    start = draw(st.sampled_from(["sequential", "parallel"]))
    mps = gpu is CARD and draw(st.booleans())
    return plan(*shares, gpu=gpu, access=access, router=router, start=start, mps=mps)


MOUNTS = st.one_of(
    st.builds(
        Mount, st.just("bind"), TEXT.map(lambda text: f"./{text}"), TEXT.map(lambda text: f"/{text}"), st.booleans()
    ),
    st.builds(Mount, st.just("volume"), WORD, TEXT.map(lambda text: f"/{text}"), st.booleans()),
    st.builds(Mount, st.just("tmpfs"), st.just("size=65536,exec"), WORD.map(lambda word: f"/{word}")),
)


REPEATED = "what several commands of a stack repeat"  # printed once, under a name
ALIKE = st.sampled_from(["A", "B", "C"])


def services(name: str) -> st.SearchStrategy[Service]:
    """A service with anything in any field; some are alike, so that they share what they have equal."""
    pairs = st.dictionaries(ALIKE | VARIABLE, ALIKE | TEXT | SECRET, max_size=4).map(lambda found: tuple(found.items()))
    roles = st.sampled_from([(), (("monogpu.role", "worker"),), (("monogpu.role", "download"), ("monogpu.model", "a"))])
    # Compose takes a key `x-...` for an extension, in labels too; the kit's own begin with `monogpu.`.
    keys = WORD.filter(lambda word: not word.startswith("x-"))
    labels = st.dictionaries(keys, TEXT, max_size=3).map(lambda found: tuple(found.items()))
    return st.builds(
        Service,
        name=st.just(name),
        image=st.sampled_from(["one", "other"]) | WORD,
        command=st.lists(st.just(REPEATED) | TEXT | SECRET, max_size=5).map(tuple),
        comment=st.lists(TEXT, max_size=3).map(tuple),
        entrypoint=st.none() | st.lists(TEXT, min_size=1, max_size=3).map(tuple),
        environment=pairs,
        mounts=st.lists(MOUNTS, max_size=3, unique_by=lambda mount: mount.target).map(tuple),
        networks=st.lists(
            st.builds(
                Attachment, st.sampled_from(["workers", "edge"]), st.lists(WORD, max_size=2, unique=True).map(tuple)
            ),
            max_size=2,
            unique_by=lambda place: place.network,
        ).map(tuple),
        ports=st.lists(
            st.builds(Port, st.sampled_from(["127.0.0.1", "::1"]), st.integers(1, 65535), st.integers(1, 65535)),
            max_size=1,
        ).map(tuple),
        health=st.none()
        | st.builds(
            Health, st.lists(TEXT, min_size=1, max_size=3).map(tuple), *[st.integers(1, 900) for _ in range(2)]
        ),
        device=st.none() | st.builds(Device, st.sampled_from(["nvidia", "cdi"]), WORD),
        shm_bytes=st.none() | st.integers(1, 2 * GIB),
        user=st.none() | st.just("65532:65532"),
        read_only=st.booleans(),
        labels=st.builds(lambda role, more: (*role, *more), roles, labels),
    )


@st.composite
def stacks(draw: st.DrawFn, most: int = 3) -> Stack:
    """Stacks with anything in any field; a service depends on the one before it."""
    names = draw(st.lists(WORD, min_size=1, max_size=most, unique=True))
    made = [draw(services(name)) for name in names]
    made = [
        made[0],
        *(
            replace(
                s, depends_on=((before, "service_healthy"),), restarts_with=(before,) if draw(st.booleans()) else ()
            )
            for before, s in zip(names, made[1:], strict=False)
        ),
    ]
    volumes = sorted({mount.source for s in made for mount in s.mounts if mount.kind == "volume"})
    return Stack(
        project=draw(WORD),
        header=tuple(draw(st.lists(TEXT, max_size=3))),
        services=tuple(made),
        networks=(Network("workers", internal=True), Network("edge", internal=False)),
        volumes=tuple(volumes),
        files=(File("smg/workers.json", draw(TEXT)),),
        probes=(),
        in_memory=tuple(name for name in volumes if draw(st.booleans())),
        texts=(("repeated", REPEATED),),
    )

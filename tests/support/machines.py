"""A machine on which everything is as it should be, for a manifest with one model; tests spoil one thing at a time."""

from __future__ import annotations

from kit.doctor.model import Access, ContainerView, DaemonInfo, Host, ImageState, Machine, OwnStack, Requirements
from kit.gpu import Gpu
from kit.units import GIB

VLLM, SMG = "vllm/vllm-openai:v0.26.0", "lightseekorg/smg:1.13.0"
CARD = Gpu(
    "NVIDIA GeForce RTX 5080",
    int(15.47 * GIB),
    int(15.2 * GIB),
    uuid="GPU-5080",
    compute_capability="12.0",
    driver="580.95",
)
WANTS = Requirements(
    project="demo",
    card="0",
    images={VLLM: "chat", SMG: "router"},
    engine_images=(VLLM,),
    workers=1,
    largest=3 * GIB,
    repositories={"Qwen/Qwen2.5-1.5B-Instruct": 3 * GIB},
)
ENGINE = DaemonInfo("28.5.1", "2", "/var/lib/docker", 64 * GIB, frozenset({"runc", "nvidia"}), cdi=True, ahead=0.1)
MACHINE = Machine(
    engine=ENGINE,
    compose="2.40.0",
    images={VLLM: ImageState(here=True), SMG: ImageState(here=True)},
    ours=OwnStack(),
    card=CARD,
    compute_mode="default",
    sight=ContainerView(VLLM, "GPU 0: NVIDIA GeForce RTX 5080 (UUID: GPU-5080)"),
    host=Host(memory=64 * GIB, available=50 * GIB, root_free=200 * GIB, kernel="6.12.0-amd64"),
    hub={"Qwen/Qwen2.5-1.5B-Instruct": Access()},
    hub_ahead=-0.4,
    set=frozenset({"HOME"}),
)

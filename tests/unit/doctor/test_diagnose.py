"""One thing spoiled at a time: what the doctor says of it, and the command that fixes it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.compose.observed import Publication
from kit.compose.preflight import Listener
from kit.doctor import collect_docker
from kit.doctor.diagnose import diagnose, failing, requirements
from kit.doctor.gpu import cuda_of
from kit.doctor.model import (
    Access,
    ContainerView,
    DaemonInfo,
    Finding,
    Host,
    ImageState,
    KeyFile,
    Machine,
    OwnStack,
    Requirements,
)
from kit.engines import mps
from kit.gpu import Process
from kit.manifest.model import Manifest
from kit.units import GIB, MIB
from tests.support.machines import CARD, ENGINE, MACHINE, SMG, VLLM, WANTS
from tests.support.planning import FACTS

HOST = MACHINE.host
ON_CPU = replace(WANTS, card=None, memory=8 * GIB, repositories={}, folders=("./m",), user_is_root=False)


def told(machine: Machine, needed: Requirements = WANTS) -> list[str]:
    """Everything but what is good, as `severity subject: what -> fix`."""
    return [
        f"{one.severity} {one.subject}: {one.what} -> {one.fix}"
        for one in diagnose(machine, needed)
        if one.severity != "ok"
    ]


def test_on_a_good_machine_everything_is_good() -> None:
    findings = diagnose(MACHINE, WANTS)
    assert {finding.severity for finding in findings} == {"ok"}
    assert not failing(findings)
    assert [finding.subject for finding in findings] == [
        "docker", "compose", "image", "image", "card", "access by nvidia", "driver", "memory of the card", "sharing",
        "disk", "memory of the host", "port", "clock", "key", "Hugging Face",
    ]  # fmt: skip


ALONE = Machine(refused=("Docker cannot be reached: nobody listens at Docker's socket", "sudo systemctl start docker"))


def test_without_docker_that_is_said_first() -> None:
    assert told(ALONE)[0] == (
        "fail docker: Docker cannot be reached: nobody listens at Docker's socket -> sudo systemctl start docker"
    )


SPOILED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "an old engine": (
        {"engine": replace(ENGINE, version="19.03.8")},
        {},
        "fail docker: Engine 19.03.8, cgroup v2; needed: 20.10 or newer -> https://docs.docker.com/engine/install/",
    ),
    "an engine before CDI": (
        {"engine": replace(ENGINE, version="24.0.7"), "sight": None},
        {"access": "cdi"},
        "fail docker: Engine 24.0.7, cgroup v2; gpu.access: cdi needs 25 or newer -> "
        "https://docs.docker.com/engine/install/",
    ),
    "an engine without a version": (
        {"engine": replace(ENGINE, version="")},
        {},
        "unknown docker: the engine does not say its version -> docker version",
    ),
    "no compose": (
        {"compose": None},
        {},
        "fail compose: Docker Compose, which reads the compose files for `up`, is not installed -> "
        "apt-get install docker-compose-plugin",
    ),
    "an old compose": (
        {"compose": "2.3.4"},
        {},
        "fail compose: Compose 2.3.4; needed: 2.20 or newer -> apt-get install docker-compose-plugin",
    ),
    "an image that cannot be had": (
        {"images": {VLLM: ImageState(False, False, "the registry cannot be reached"), SMG: ImageState(True)}},
        {},
        f"fail image: {VLLM} (chat) is not on this machine, and cannot be pulled: the registry cannot be reached -> "
        f"docker pull {VLLM}",
    ),
    "an image of ours": (
        {"images": {"monogpu/vllm-cpu:0.32.0": ImageState(False, False)}},
        {"images": {"monogpu/vllm-cpu:0.32.0": "chat"}},
        "fail image: monogpu/vllm-cpu:0.32.0 (chat) is not on this machine -> scripts/build-images",
    ),
    "no driver": (
        {"card": None, "no_card": "no NVIDIA driver answers here", "compute_mode": None},
        {},
        "fail card: no NVIDIA driver answers here -> install NVIDIA's driver, or write `gpu: {device: none}`, which "
        "serves on the CPU",
    ),
    "no toolkit": (
        {"sight": ContainerView(VLLM, error='could not select device driver "nvidia" with capabilities: [[gpu]]')},
        {},
        "fail access by nvidia: Docker has no driver nvidia that gives a container the card -> install the NVIDIA "
        "container toolkit and restart Docker, or write `gpu: {access: cdi}`; "
        "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html",
    ),
    "CDI switched off": (
        {
            "engine": replace(ENGINE, version="26.1.5", cdi=False),
            "sight": ContainerView(VLLM, error="unresolvable CDI devices"),
        },
        {"access": "cdi"},
        "fail access by cdi: the engine takes no CDI devices -> sudo nvidia-ctk runtime configure --runtime=docker "
        "--cdi.enabled && sudo systemctl restart docker",
    ),
    "a container that sees nothing": (
        {"sight": ContainerView(VLLM, output="NVIDIA-SMI has failed\nNo devices were found")},
        {},
        "fail access by nvidia: a container does not see the card: No devices were found -> "
        "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html",
    ),
    "no image to look with": (
        {"sight": None},
        {},
        f"unknown access by nvidia: not tried: no image to try it with is on this machine -> docker pull {VLLM}",
    ),
    "an old driver": (
        {"card": replace(CARD, driver="550.54.15")},
        {},
        f"fail driver: driver 550.54.15 is too old for CUDA 13 in {VLLM}; needed: 580 or newer -> install "
        "driver 580 or "
        "newer, or write `image:` of the model",
    ),
    "a tag that does not tell its CUDA": (
        {"images": {"mine:latest": ImageState(True)}},
        {"images": {"mine:latest": "chat"}, "engine_images": ("mine:latest",)},
        "unknown driver: mine:latest does not name its CUDA; driver 580.95 -> ",
    ),
    "an old card": (
        {"card": replace(CARD, compute_capability="6.1")},
        {},
        f"fail kernels: {VLLM} has no kernels for compute capability 6.1 -> a card of 7.5 or newer, or another "
        "`image:`",
    ),
    "a crowded card": (
        {"card": replace(CARD, free_bytes=9 * GIB, processes=(Process(77, "python3", 6 * GIB), Process(9, "Xorg", 0)))},
        {},
        "warn memory of the card: python3 (pid 77) 6.00 GiB, Xorg (pid 9) an unknown share -> end them, or leave them "
        "room: `gpu: {reserve: ...}`",
    ),
    "a card held by nobody": (
        {"card": replace(CARD, free_bytes=9 * GIB)},
        {},
        "warn memory of the card: 6.47 GiB are in use by processes that the driver does not list -> "
        "nvidia-smi; docker ps",
    ),
    "a card for one": (
        {"compute_mode": "exclusive_process"},
        {},
        "fail sharing: the card's compute mode lets one process at a time use it -> sudo nvidia-smi -i 0 -c DEFAULT",
    ),
    "MPS that nobody wants": (
        {"host": replace(HOST, mps=frozenset({9, 7}))},
        {},
        "warn MPS: NVIDIA MPS runs on this machine (pid 7, 9); containers without its pipe may find the card busy -> "
        "echo quit | sudo nvidia-cuda-mps-control, or write `gpu: {mps: true}`",
    ),
    "a second MPS daemon": (
        {"host": replace(HOST, mps=frozenset({7, 8})), "ours": OwnStack(running=True, pids=frozenset({8}))},
        {"mps": True},
        "warn MPS: another MPS daemon runs on this machine (pid 7): the card takes turns between its programs and ours "
        "-> echo quit | sudo nvidia-cuda-mps-control",
    ),
    "a second MPS daemon, and a card for one": (
        {"host": replace(HOST, mps=frozenset({7})), "compute_mode": "exclusive_process"},
        {"mps": True},
        "fail MPS: another MPS daemon runs on this machine (pid 7); once it has the card, this project's gets none "
        "-> echo quit | sudo nvidia-cuda-mps-control",
    ),
    "MPS and a CDI specification of an old toolkit": (
        {"sight": replace(MACHINE.sight, missing=("nvidia-cuda-mps-control", "nvidia-cuda-mps-server"))},
        {"mps": True, "access": "cdi"},
        "fail MPS: a container does not find nvidia-cuda-mps-control and nvidia-cuda-mps-server, which come with the "
        "driver -> sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml; or write `gpu: {mps: false}`",
    ),
    "MPS and a driver without it": (
        {"sight": replace(MACHINE.sight, missing=("nvidia-cuda-mps-server",))},
        {"mps": True},
        "fail MPS: a container does not find nvidia-cuda-mps-server, which come with the driver -> "
        "which -a nvidia-cuda-mps-server; or write `gpu: {mps: false}`",
    ),
    "MPS on WSL2": (
        {"host": replace(HOST, kernel="5.15.0-microsoft-standard-WSL2")},
        {"mps": True},
        "warn MPS: NVIDIA documents MPS for Linux, not for WSL2 -> write `gpu: {mps: false}`",
    ),
    "MPS on a slice": (
        {},
        {"mps": True, "card": "MIG-1"},
        "warn MPS: a MIG slice takes fewer MPS clients, in proportion to its size; a whole card takes 48 -> place "
        "few workers on it, or write `gpu: {mps: false}`",
    ),
    "a full disk": (
        {"host": replace(HOST, root_free=2 * GIB)},
        {},
        "fail disk: 2.00 GiB free for Docker, and 3.00 GiB of weights are to be downloaded -> docker system prune",
    ),
    "a disk that is nearly full": (
        {"host": replace(HOST, root_free=6 * GIB)},
        {},
        "warn disk: only 6.00 GiB free for Docker; 3.00 GiB of weights are to be downloaded -> docker system prune",
    ),
    "a disk nobody sees": (
        {"host": replace(HOST, root_free=None)},
        {},
        "unknown disk: the free space is unknown; 3.00 GiB of weights are to be downloaded -> docker system df",
    ),
    "little memory": (
        {"host": replace(HOST, available=4 * GIB)},
        {},
        "warn memory of the host: 4.00 GiB of 64.00 GiB free; needed: 6.00 GiB (about, for the workers and for "
        "loading) "
        "-> end other programs, or add swap",
    ),
    "memory nobody sees": (
        {"host": replace(HOST, available=None)},
        {},
        "unknown memory of the host: it cannot be read -> free -h",
    ),
    "a port in a container's hands": (
        {"published": (Publication("web-1", "other", "0.0.0.0", 30000),)},
        {},
        "fail port: 127.0.0.1:30000 is in use by the container web-1 -> write `router: {port: 30001}`",
    ),
    "a port in a program's hands": (
        {"host": replace(HOST, listeners=(Listener("::", 30000, "nginx (pid 9)"),))},
        {},
        "fail port: 127.0.0.1:30000 is in use by nginx (pid 9) -> write `router: {port: 30001}`",
    ),
    "an endpoint for everyone": (
        {},
        {"bind": "0.0.0.0"},
        "warn port: 0.0.0.0 is open to other machines: Docker publishes past ufw and firewalld -> write "
        "`router: {bind: "
        "127.0.0.1}`, or filter in the DOCKER-USER chain",
    ),
    "a clock that drifts": (
        {"hub_ahead": 61.0},
        {},
        "warn clock: the Hub's clock is 61 s ahead of ours -> sudo timedatectl set-ntp true",
    ),
    "a clock that is wrong": (
        {"engine": replace(ENGINE, ahead=-4000.0)},
        {},
        "fail clock: the engine's clock is 4000 s behind ours -> sudo timedatectl set-ntp true",
    ),
    "no other clock": (
        {"engine": replace(ENGINE, ahead=None), "hub_ahead": None},
        {},
        "unknown clock: there is no other clock to compare with -> timedatectl",
    ),
    "WSL2": (
        {"host": replace(HOST, kernel="5.15.167.4-microsoft-standard-WSL2")},
        {},
        "warn machine: WSL2: the driver hides what each process holds, so footprints are not compared; pinned "
        "memory is "
        "missing, so vLLM keeps more on the card; beyond the card's memory programs do not fail but spill to the "
        "host's, many times slower; the host's memory is limited by .wslconfig -> write a larger `gpu: {reserve: "
        "...}`; see .wslconfig for memory=",
    ),
    "a kit in a container": (
        {"host": replace(HOST, containered=True)},
        {},
        "warn machine: the kit runs inside a container: the driver's process numbers are the host's, and paths may "
        "differ -> run monogpu-kit on the host",
    ),
    "a key that is not set": (
        {},
        {"variables": {"THE_KEY": "router.api_key"}, "key": True},
        "fail variable: THE_KEY (router.api_key) is not set, in the environment or in .env -> export "
        "THE_KEY=$(openssl rand -hex 24)",
    ),
    "a variable that is not set": (
        {},
        {"variables": {"S3_KEY": "S3_KEY of chat"}},
        "fail variable: S3_KEY (S3_KEY of chat) is not set, in the environment or in .env -> export S3_KEY=...",
    ),
    "a short key on an open endpoint": (
        {"key_length": 6, "set": frozenset({"THE_KEY"})},
        {"variables": {"THE_KEY": "router.api_key"}, "key": True, "bind": "192.0.2.7"},
        "warn key: the key has 6 characters, and 192.0.2.7 is open to other machines -> use a longer one: $(openssl "
        "rand -hex 24)",
    ),
    "a key's file that is not there": (
        {"key_file": KeyFile(False)},
        {"key_file": "./secrets/key", "key": True},
        "fail key: ./secrets/key (router.api_key_file) does not exist -> install -d -m 700 ./secrets; openssl "
        "rand -hex 24 "
        "> ./secrets/key; chmod 444 ./secrets/key",
    ),
    "an empty key's file": (
        {"key_file": KeyFile(True, 0o444)},
        {"key_file": "./secrets/key", "key": True},
        "fail key: ./secrets/key is empty -> openssl rand -hex 24 > ./secrets/key",
    ),
    "a key's file that the router cannot read": (
        {"key_file": KeyFile(True, 0o600, False, 48)},
        {"key_file": "./secrets/key", "key": True},
        "fail key: ./secrets/key cannot be read by the router's user, who is neither its owner nor of its group "
        "-> chmod "
        "444 ./secrets/key; chmod 700 ./secrets",
    ),
    "a key's file that everyone reads": (
        {"key_file": KeyFile(True, 0o444, True, 48)},
        {"key_file": "./secrets/key", "key": True},
        "warn key: everyone on this machine can read ./secrets/key -> chmod 700 ./secrets: the router still reads it",
    ),
    "a .env that everyone reads": (
        {"dotenv": frozenset({"HF_TOKEN", "X"}), "dotenv_mode": 0o644},
        {},
        "warn key: others can read .env, which holds HF_TOKEN -> chmod 600 .env",
    ),
    "a folder that cannot be read": (
        {"unreadable": {"./m": "model.safetensors"}},
        {"folders": ("./m",)},
        "fail folder: ./m: the container's user may not read model.safetensors -> chmod -R a+rX ./m",
    ),
    "a folder nobody sees": ({}, {"folders": ("./m",)}, "unknown folder: ./m was not checked -> ls -l ./m"),
    "a Hub that is away": (
        {"hub": {"Qwen/Qwen2.5-1.5B-Instruct": Access("away", "https://huggingface.co cannot be reached", "look")}},
        {},
        "fail Hugging Face: https://huggingface.co cannot be reached, and Qwen/Qwen2.5-1.5B-Instruct is there -> look",
    ),
    "a gated repository": (
        {"hub": {"Qwen/Qwen2.5-1.5B-Instruct": Access("refused", "it is gated", "accept its terms")}, "hub_ahead": 0.0},
        {},
        "fail Hugging Face: it is gated -> accept its terms",
    ),
    "a Hub nobody asked": ({"hub": {}}, {}, "unknown Hugging Face: Qwen/Qwen2.5-1.5B-Instruct was not checked -> "),
}


@pytest.mark.parametrize(("seen", "needed", "said"), SPOILED.values(), ids=SPOILED)
def test_what_is_wrong_is_said_with_what_fixes_it(seen: dict[str, Any], needed: dict[str, Any], said: str) -> None:
    assert said in told(replace(MACHINE, **seen), replace(WANTS, **needed))


@pytest.mark.parametrize(("seen", "needed", "said"), SPOILED.values(), ids=SPOILED)
def test_something_that_fails_makes_the_machine_sick_and_a_warning_does_not(
    seen: dict[str, Any], needed: dict[str, Any], said: str
) -> None:
    assert failing(diagnose(replace(MACHINE, **seen), replace(WANTS, **needed))) == said.startswith("fail")


@pytest.mark.parametrize("mode", ["default", "exclusive_process"])
def test_mps_may_have_the_card_to_itself(mode: str) -> None:
    """NVIDIA recommends the exclusive mode: to the card, MPS is one process."""
    findings = diagnose(replace(MACHINE, compute_mode=mode), replace(WANTS, mps=True))
    assert {finding.severity for finding in findings} == {"ok"}
    assert "MPS" in {finding.subject for finding in findings}


def test_the_projects_own_mps_daemon_is_no_stranger() -> None:
    seen = replace(MACHINE, host=replace(HOST, mps=frozenset({8})), ours=OwnStack(running=True, pids=frozenset({8, 9})))
    assert told(seen, replace(WANTS, mps=True)) == []


def test_what_a_container_lacks_is_told_apart_from_what_it_saw() -> None:
    printed = "GPU 0: NVIDIA H200 (UUID: GPU-1)\nmissing: nvidia-cuda-mps-server\n"
    assert collect_docker.seen("x:1", printed) == ContainerView(
        "x:1", "GPU 0: NVIDIA H200 (UUID: GPU-1)", missing=(mps.PROGRAMS[1],)
    )
    assert collect_docker.seen("x:1", "") == ContainerView("x:1")


def test_a_login_does_not_reach_the_containers() -> None:
    seen = replace(MACHINE, hub={"a/b": Access("refused", "it is gated", "accept")})
    needed = replace(WANTS, repositories={"a/b": None})
    export = "-> export HF_TOKEN=$(cat ~/.cache/huggingface/token)"
    assert told(seen, needed)[-1].endswith(export)
    assert not told(replace(seen, set=frozenset({"HF_TOKEN"})), needed)[-1].endswith(export)


def test_what_was_downloaded_before_needs_no_hub_and_no_disk() -> None:
    away = {"Qwen/Qwen2.5-1.5B-Instruct": Access("away", "no route", "look")}
    seen = replace(MACHINE, ours=OwnStack(downloads=True), hub=away, host=replace(HOST, root_free=7 * GIB))
    assert told(seen) == [
        "warn Hugging Face: no route, and Qwen/Qwen2.5-1.5B-Instruct is there; earlier downloads are still "
        "served -> look"
    ]


def test_a_project_that_runs_holds_its_port_its_card_and_its_memory() -> None:
    seen = replace(
        MACHINE,
        ours=OwnStack(running=True, pids=frozenset({77})),
        card=replace(CARD, free_bytes=GIB, processes=(Process(77, "VLLM", 14 * GIB), Process(9, "Xorg", 300 * MIB))),
        published=(Publication("demo-router-1", "demo", "127.0.0.1", 30000),),
        host=replace(HOST, available=GIB, listeners=(Listener("127.0.0.1", 30000, "docker-proxy"),)),
    )
    assert told(seen) == []
    assert Finding("memory of the card", "ok", "Xorg (pid 9) 300.0 MiB") in diagnose(seen, WANTS)


def test_on_the_cpu_no_card_is_looked_for() -> None:
    seen = replace(MACHINE, card=None, sight=None, compute_mode=None, unreadable={"./m": None})
    assert told(seen, ON_CPU) == []
    small = replace(seen, host=replace(HOST, memory=4 * GIB, available=3 * GIB))
    assert told(small, ON_CPU) == [
        "fail memory of the host: 3.00 GiB of 4.00 GiB free; needed: 8.00 GiB (gpu.memory) -> end other programs, or "
        "write a smaller gpu.memory"
    ]


def test_an_engine_in_a_small_virtual_machine_has_its_memory_alone() -> None:
    seen = replace(MACHINE, engine=replace(ENGINE, memory=4 * GIB), unreadable={"./m": None})
    assert [line for line in told(seen, ON_CPU) if "of 4.00 GiB free" in line]


def test_a_machine_inside_a_cgroup_has_what_that_leaves() -> None:
    seen = replace(MACHINE, host=replace(HOST, limit=2 * GIB))
    assert [line for line in told(seen) if "2.00 GiB of 2.00 GiB free; needed: 6.00 GiB" in line]


@pytest.mark.parametrize(
    ("image", "cuda"),
    [
        ("vllm/vllm-openai:v0.26.0", 13),
        ("vllm/vllm-openai:v0.20.0", 13),
        ("vllm/vllm-openai:v0.19.1", 12),
        ("vllm/vllm-openai:v0.24.0-cu129", 12),
        ("vllm/vllm-openai:v0.19.1-cu130", 13),
        ("docker.io/vllm/vllm-openai:v0.26.0", 13),
        ("vllm/vllm-openai:latest", None),
        ("ollama/ollama:0.20.0", None),
    ],
)
def test_an_images_cuda_is_read_from_its_tag(image: str, cuda: int | None) -> None:
    assert cuda_of(image) == cuda


def test_what_the_engine_says_of_itself() -> None:
    now = datetime(2026, 11, 29, 22, 44, tzinfo=UTC)
    info = {
        "ServerVersion": "26.1.5+dfsg1",
        "CgroupVersion": "1",
        "DockerRootDir": "/var/lib/docker",
        "MemTotal": 25276502016,
        "Runtimes": {"runc": {}},
        "CDISpecDirs": [],
        "SystemTime": (now + timedelta(seconds=3)).isoformat().replace("+00:00", ".254511171Z"),
    }
    seen = collect_docker.daemon_info(info, now, local=True)
    assert replace(seen, ahead=None) == DaemonInfo(
        "26.1.5+dfsg1", "1", "/var/lib/docker", 25276502016, frozenset({"runc"}), cdi=False, local=True
    )
    assert seen.ahead == pytest.approx(3.25, abs=0.01)
    assert collect_docker.daemon_info({"SystemTime": "soon"}, now, local=False) == DaemonInfo(local=False)


def test_what_a_manifest_needs() -> None:
    manifest = Manifest.model_validate(
        {
            "name": "demo",
            "router": {"api_key": "THE_KEY", "bind": "0.0.0.0", "port": 8080},
            "models": [
                {"name": "chat", "source": "Qwen/Qwen2.5-1.5B-Instruct", "replicas": 2, "env": {"A": "${B}"}},
                {
                    "name": "mine",
                    "source": "./m",
                    "image": "mine:1",
                    "adapters": [{"name": "code", "source": "o/code"}],
                },
            ],
        }
    )
    assert requirements(manifest, FACTS) == Requirements(
        project="demo",
        card="0",
        bind="0.0.0.0",
        port=8080,
        images={VLLM: "chat", "mine:1": "mine", SMG: "router"},
        engine_images=(VLLM, "mine:1"),
        workers=3,
        largest=None,
        repositories={
            "Qwen/Qwen2.5-1.5B-Instruct": FACTS["Qwen/Qwen2.5-1.5B-Instruct"].checkpoint_bytes,
            "o/code": None,
        },
        folders=("./m",),
        variables={"THE_KEY": "router.api_key", "B": "A of chat"},
        key=True,
    )


def test_what_a_manifest_for_the_cpu_needs() -> None:
    manifest = Manifest.model_validate(
        {"name": "d", "gpu": {"device": "none", "memory": "8GiB"}, "models": [{"name": "chat", "source": "./m"}]}
    )
    needed = requirements(manifest, {})
    assert (needed.card, needed.memory, needed.user_is_root) == (None, 8 * GIB, False)
    assert needed.images == {"monogpu/vllm-cpu:0.32.0": "chat", SMG: "router"}


SEEN = st.builds(
    Machine,
    engine=st.none() | st.builds(DaemonInfo, version=st.text(max_size=6), ahead=st.none() | st.floats(-9999, 9999)),
    compose=st.none() | st.text(max_size=6),
    sight=st.none() | st.builds(ContainerView, st.just(VLLM), st.text(max_size=20), st.text(max_size=20)),
    card=st.none() | st.just(CARD),
    compute_mode=st.sampled_from([None, "default", "exclusive_process", "prohibited"]),
    host=st.builds(
        Host,
        *[st.none() | st.integers(0, 2**40)] * 3,
        kernel=st.text(max_size=12) | st.just("microsoft"),
        mps=st.frozensets(st.integers(1, 9), max_size=2),
    ),
    set=st.just(frozenset({"HOME"})),
)


NEEDED = (WANTS, ON_CPU, Requirements(), replace(WANTS, mps=True), replace(WANTS, mps=True, card="MIG-1"))


@given(SEEN, st.sampled_from(NEEDED))
def test_whatever_was_seen_the_doctor_has_words(seen: Machine, needed: Requirements) -> None:
    findings = diagnose(seen, needed)
    assert all(one.what and one.severity in ("ok", "warn", "fail", "unknown") for one in findings)
    assert all(one.fix for one in findings if one.severity == "fail" and one.subject != "docker")


def test_a_library_of_another_engine_is_not_asked_of_the_hub() -> None:
    manifest = Manifest.model_validate(
        {"name": "d", "models": [{"name": "chat", "source": "gemma3:4b", "engine": "ollama"}]}
    )
    needed = requirements(manifest, {})
    assert (needed.repositories, needed.folders, needed.largest) == ({}, (), None)

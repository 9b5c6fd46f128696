from __future__ import annotations

import pytest
import yaml
from hypothesis import given

from kit import __version__
from kit.assemble import assemble
from kit.manifest.model import Adapter
from kit.memory.bill import Plan
from kit.stack.labels import ROLE, probes_of
from kit.stack.model import (
    Device,
    Probe,
    Secret,
    Service,
    Stack,
)
from kit.stack.render import render
from tests.support.strategies import HOST, model, plan, plans, share

TWO = (share(model("chat")), share(model("embed", "./models/embed", task="embed")))


def service(stack: Stack, name: str) -> Service:
    return next(one for one in stack.services if one.name == name)


def workers(stack: Stack) -> list[Service]:
    return [one for one in stack.services if dict(one.labels)["monogpu.role"] == "worker"]


def test_downloads_come_first_then_the_workers_as_the_manifest_has_them_then_the_router() -> None:
    names = [one.name for one in assemble(plan(*TWO)).services]
    assert names == ["download-qwen-qwen2-5-1-5b-instruct", "chat", "embed", "router"]


def test_a_sequential_start_waits_for_the_worker_before_to_be_healthy() -> None:
    stack = assemble(plan(*TWO))
    assert service(stack, "chat").depends_on == (
        ("download-qwen-qwen2-5-1-5b-instruct", "service_completed_successfully"),
    )
    assert service(stack, "embed").depends_on == (("chat", "service_healthy"),)
    assert service(stack, "router").depends_on == (("chat", "service_healthy"), ("embed", "service_healthy"))


def test_in_a_parallel_start_only_the_router_waits_for_workers() -> None:
    stack = assemble(plan(*TWO, start="parallel"))
    assert service(stack, "embed").depends_on == ()
    assert service(stack, "router").depends_on == (("chat", "service_healthy"), ("embed", "service_healthy"))


def test_workers_stand_on_a_network_that_reaches_nothing() -> None:
    stack = assemble(plan(*TWO))
    assert {network.name: network.internal for network in stack.networks} == {
        "workers": True,
        "edge": False,
        "egress": False,
    }
    assert {place.network for worker in workers(stack) for place in worker.networks} == {"workers"}


def test_without_a_download_no_network_reaches_the_internet_but_the_routers_own() -> None:
    stack = assemble(plan(share(model("chat", "./models/chat"))))
    assert [network.name for network in stack.networks] == ["workers", "edge"]


@given(plans())
def test_the_router_alone_is_published(made: Plan) -> None:
    published = {one.name: one.ports for one in assemble(made).services if one.ports}
    ranked = any(model.task in ("rerank", "classify") for model in made.manifest.models)
    assert list(published) == ["haproxy" if ranked else "router"]
    assert [port.bind for ports in published.values() for port in ports] == [made.manifest.router.bind]


@given(plans())
def test_every_service_is_confined_and_bounded(made: Plan) -> None:
    stack = assemble(made)
    printed = yaml.safe_load(render(stack).compose)["services"]
    for one in stack.services:
        here = printed[one.name]
        assert (here["cap_drop"], here["security_opt"], here["init"]) == (["ALL"], ["no-new-privileges:true"], True)
        once = dict(one.labels).get(ROLE) == "download"
        assert one.restart == ("on-failure:3" if once else "unless-stopped")
        kept = here["logging"]["options"]
        assert int(kept["max-size"]) * int(kept["max-file"]) <= 64 * 2**20


@given(plans())
def test_a_service_depends_only_on_services_before_it(made: Plan) -> None:
    started: set[str] = set()
    for one in assemble(made).services:
        assert {name for name, _ in one.depends_on} <= started
        assert one.name not in started
        started.add(one.name)


@given(plans())
def test_every_mounted_volume_and_joined_network_is_declared_and_no_other(made: Plan) -> None:
    stack = assemble(made)
    mounted = {mount.source for one in stack.services for mount in one.mounts if mount.kind == "volume"}
    joined = {place.network for one in stack.services for place in one.networks}
    assert (set(stack.volumes), {network.name for network in stack.networks}) == (mounted, joined)


@given(plans())
def test_every_declared_name_is_probed_once_and_the_labels_alone_give_the_probes_back(made: Plan) -> None:
    stack = assemble(made)
    declared = [name for one in made.manifest.models for name in (one.name, *(a.name for a in one.adapters))]
    assert [probe.name for probe in stack.probes] == declared
    told = {probe for worker in stack.services for probe in probes_of(worker.name, dict(worker.labels))}
    assert set(stack.probes) <= told
    assert {(probe.name, probe.task, probe.base) for probe in told} == {(p.name, p.task, p.base) for p in stack.probes}


@given(plans())
def test_no_two_services_write_one_folder_unless_its_writers_take_turns(made: Plan) -> None:
    written = [
        mount.source
        for one in assemble(made).services
        for mount in one.mounts
        if mount.kind == "volume"
        and not mount.read_only
        and mount.source not in ("huggingface", "flashinfer", "triton")
    ]
    ours = [source for source in written if source.startswith("compiled-")]
    assert len(ours) == len(set(ours)) == (len(made.shares) if made.gpu.kind == "cuda" else 0)


def test_the_weights_volume_is_written_by_downloads_alone() -> None:
    mounts = {
        one.name: mount for one in assemble(plan()).services for mount in one.mounts if mount.source == "huggingface"
    }
    assert {name: mount.read_only for name, mount in mounts.items()} == {
        "download-qwen-qwen2-5-1-5b-instruct": False,
        "chat": True,
    }


def test_models_that_share_a_repository_share_its_download_and_revisions_do_not() -> None:
    sources = {"a": "org/model", "b": "org/model", "c": "org/model@v2"}
    stack = assemble(plan(*(share(model(name, source)) for name, source in sources.items())))
    downloads = [one.name for one in stack.services if one.name.startswith("download-")]
    assert downloads == ["download-org-model", "download-org-model-v2"]
    waits = {name: [on for on, _ in service(stack, name).depends_on if on.startswith("download-")] for name in sources}
    assert waits == {"a": ["download-org-model"], "b": ["download-org-model"], "c": ["download-org-model-v2"]}


@pytest.mark.parametrize(
    ("made", "device"),
    [
        (plan(), Device("nvidia", "0")),
        (
            plan(device="GPU-5f1d6a1e-2b7c-4c1e-9a55-0f6d3c0b7a11"),
            Device("nvidia", "GPU-5f1d6a1e-2b7c-4c1e-9a55-0f6d3c0b7a11"),
        ),
        (plan(device="1", access="cdi"), Device("cdi", "nvidia.com/gpu=1")),
        (plan(gpu=HOST, device="none"), None),
    ],
)
def test_the_worker_alone_gets_the_card_as_the_manifest_says(made: Plan, device: Device | None) -> None:
    assert [one.device for one in assemble(made).services] == [None, device, None]


def test_a_worker_says_in_its_labels_what_it_is_and_what_was_promised() -> None:
    adapters = (Adapter(name="code", source="./code"),)
    stack = assemble(plan(share(model("chat", adapters=adapters))))
    assert dict(service(stack, "chat").labels) == {
        "monogpu.role": "worker",
        "monogpu.model": "chat",
        "monogpu.task": "generate",
        "monogpu.served-names": "chat,code",
        "monogpu.bytes": str(4 * 2**30),
        "monogpu.port": "8000",
        "monogpu.metrics": "8000/metrics",
        "monogpu.card": "GPU-5080",
        "monogpu.card-bytes": str(16 * 2**30),
    }
    assert stack.probes == (Probe("chat", "generate", "chat"), Probe("code", "generate", "chat", base="chat"))


def test_a_newer_kit_or_one_more_model_leaves_the_labels_of_the_others_alone() -> None:
    one, two = assemble(plan(TWO[0])), assemble(plan(*TWO))
    assert service(one, "chat") == service(two, "chat")
    assert service(one, "router").labels == service(two, "router").labels
    assert not [value for each in two.services for _, value in each.labels if __version__ in value]


def test_the_bill_stands_above_its_worker_and_adds_up() -> None:
    assert service(assemble(plan()), "chat").comment == (
        "chat: Qwen/Qwen2.5-1.5B-Instruct",
        "  weights     3.00 GiB  as the files say",
        "  kv cache    1.00 GiB  32768 tokens x 32 KiB",
        "  total       4.00 GiB  4,294,967,296 bytes",
        "  32 requests at once; 32768 tokens of KV cache, 4.0 times the context of 8192; CUDA graphs full",
    )


def test_the_header_shares_out_the_card() -> None:
    header = assemble(plan(*TWO)).header
    assert header[header.index("Planned for NVIDIA GeForce RTX 5080 (GPU-5080, driver 580.95):") :] == (
        "Planned for NVIDIA GeForce RTX 5080 (GPU-5080, driver 580.95):",
        "  total      16.00 GiB",
        "  - others   512.0 MiB  held by others",
        "  usable     15.50 GiB",
        "  - chat      4.00 GiB  Qwen/Qwen2.5-1.5B-Instruct",
        "  - embed     4.00 GiB  ./models/embed",
        "  spare       7.50 GiB",
    )


def test_a_secret_reaches_only_the_container_that_needs_it() -> None:
    env = {"HF_TOKEN": "${MY_TOKEN}", "OTHER": "${OTHER}"}
    stack = assemble(plan(share(model("chat", env=env)), router={"api_key": "THE_KEY"}))
    held = {one.name: {v.name for _, v in one.environment if isinstance(v, Secret)} for one in stack.services}
    assert held == {"download-qwen-qwen2-5-1-5b-instruct": {"MY_TOKEN"}, "chat": {"OTHER"}, "router": {"THE_KEY"}}
    assert not [item for one in stack.services for item in one.command if isinstance(item, Secret)]

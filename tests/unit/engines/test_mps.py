"""NVIDIA MPS in the stack: one daemon, and every worker on the card as its client."""

from __future__ import annotations

from dataclasses import replace

import pytest
import yaml
from hypothesis import given, settings

from kit.assemble import assemble
from kit.engines import mps
from kit.memory.bill import Plan
from kit.stack.labels import ROLE
from kit.stack.model import (
    Device,
    Mount,
    Service,
    Stack,
)
from kit.stack.render import render
from tests.support.strategies import model, plan, plans, share

FEW = settings(max_examples=25)
WANTED = plans().filter(lambda made: made.manifest.gpu.mps)
TWO = (share(model("chat")), share(model("embed", "./models/embed", task="embed")))


def by_name(stack: Stack) -> dict[str, Service]:
    return {service.name: service for service in stack.services}


def roles(stack: Stack) -> dict[str, str]:
    return {service.name: dict(service.labels)[ROLE] for service in stack.services}


@FEW
@given(plans())
def test_there_is_one_daemon_where_it_is_wanted_and_otherwise_no_trace_of_mps(made: Plan) -> None:
    stack = assemble(made)
    wanted = made.manifest.gpu.mps
    assert list(roles(stack).values()).count("mps") == int(wanted)
    assert ("MPS" in str(stack)) == wanted
    assert bool(stack.in_memory) == wanted


@FEW
@given(WANTED)
def test_the_daemon_starts_before_every_worker_and_each_waits_for_its_health(made: Plan) -> None:
    stack = assemble(made)
    order = [service.name for service in stack.services]
    for name, role in roles(stack).items():
        waits = dict(by_name(stack)[name].depends_on).get("mps")
        assert waits == ("service_healthy" if role == "worker" else None)
        assert role != "worker" or order.index("mps") < order.index(name)
        assert by_name(stack)[name].restarts_with == (("mps",) if role == "worker" else ())
    assert by_name(stack)["mps"].health is not None


@FEW
@given(WANTED)
def test_the_workers_share_the_daemons_folder_memory_card_and_user_and_nobody_else_does(made: Plan) -> None:
    stack = assemble(made)
    daemon = by_name(stack)["mps"]
    for name, role in roles(stack).items():
        service = by_name(stack)[name]
        shares = [mount for mount in service.mounts if mount.source in stack.in_memory]
        if role not in ("worker", "mps"):
            assert not shares and "CUDA_MPS_PIPE_DIRECTORY" not in dict(service.environment)
            continue
        assert shares == [Mount("volume", "mps-memory", "/dev/shm", in_memory=True)]
        assert dict(service.environment)["CUDA_MPS_PIPE_DIRECTORY"] == "/dev/shm/nvidia-mps"
        assert (service.device, service.user, service.shm_bytes) == (daemon.device, "0:0", None)


def test_the_daemon_is_a_workers_image_reached_by_nobody_and_without_capabilities() -> None:
    stack = assemble(plan(*TWO, mps=True))
    daemon = by_name(stack)["mps"]
    assert daemon.image == by_name(stack)["chat"].image
    assert daemon.device == Device("nvidia", "0")
    assert (daemon.networks, daemon.ports) == ((), ())
    printed = yaml.safe_load(render(stack).compose)["services"]["mps"]
    assert (printed["cap_drop"], printed["security_opt"]) == (["ALL"], ["no-new-privileges:true"])
    assert daemon.restart == "unless-stopped"


def test_with_cdi_the_daemon_asks_for_the_card_as_the_workers_do() -> None:
    stack = assemble(plan(*TWO, mps=True, access="cdi", device="1"))
    assert by_name(stack)["mps"].device == by_name(stack)["chat"].device == Device("cdi", "nvidia.com/gpu=1")


def test_in_a_parallel_start_workers_wait_for_the_daemon_alone() -> None:
    stack = assemble(plan(*TWO, mps=True, start="parallel"))
    assert by_name(stack)["embed"].depends_on == (("mps", "service_healthy"),)


def test_replicas_are_clients_too() -> None:
    chat = model("chat", replicas=2)
    stack = assemble(plan(share(chat), share(chat, service="chat-2", replica=2), mps=True))
    assert [name for name, service in by_name(stack).items() if service.restarts_with] == ["chat", "chat-2"]


def test_what_the_manifest_mounts_to_read_into_the_first_worker_is_mounted_into_the_daemon_too() -> None:
    """Its image may need it, such as a driver's folder; what it could write stays the worker's."""
    chat = model("chat", "./models/chat", volumes=("/opt/driver:/opt/driver:ro", "./out:/out"))
    other = model("other", volumes=("./more:/more:ro",))
    daemon = by_name(assemble(plan(share(chat), share(other), mps=True)))["mps"]
    assert [mount.target for mount in daemon.mounts] == ["/dev/shm", "/opt/driver"]


def test_what_has_no_card_stays_as_it_is() -> None:
    worker = by_name(assemble(plan(*TWO)))["chat"]
    alone = replace(worker, device=None)
    assert mps.shared([alone], plan(*TWO)) == ((), [alone])
    daemons, workers = mps.shared([alone, worker], plan(*TWO))
    assert [daemon.name for daemon in daemons] == ["mps"]
    assert workers[0] == alone
    assert workers[1].restarts_with == ("mps",)


@pytest.mark.parametrize("key", ["ipc", "pid"])
def test_namespaces_are_the_containers_own(key: str) -> None:
    services = yaml.safe_load(render(assemble(plan(*TWO, mps=True))).compose)["services"]
    assert not [name for name, service in services.items() if key in service]

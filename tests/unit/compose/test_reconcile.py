"""Decisions, compared as text: what is in the file, what Docker has, and what is done about it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.compose import create_request
from kit.compose.observed import ContainerState, NetworkState, ObservedState
from kit.compose.operation import SERVICE_VERBS
from kit.compose.reconcile import reconcile, stop_order
from kit.compose.spec import ProjectSpec
from tests.support.composefiles import project

FILE = Path("/srv/p/docker-compose.yaml")
TEXT = """
name: p
services:
  fetch: {image: "fetch:1"}
  big:
    image: "vllm:1"
    command: [one]
    labels: {monogpu.role: worker}
    volumes: ["hf:/hf"]
    depends_on: {fetch: {condition: service_completed_successfully}}
  small:
    image: "vllm:1"
    command: [two]
    labels: {monogpu.role: worker}
    depends_on: {big: {condition: service_healthy}}
  router:
    image: "smg:1"
    networks: [default, edge]
    depends_on: {small: {condition: service_healthy}}
networks: {edge: , default: {internal: true}}
volumes: {hf: }
"""
WANTED = project(TEXT, FILE, {})
IMAGES = {"fetch:1": "sha256:f", "vllm:1": "sha256:v", "smg:1": "sha256:s"}
NETWORKS = (NetworkState("p_default", True, "p"), NetworkState("p_edge", False, "p"))


def container(name: str, of: ProjectSpec = WANTED, /, **more: Any) -> ContainerState:
    """The container of a service as the kit makes it, running."""
    service = of.service(name)
    labels = create_request.container_labels(of, service, IMAGES[service.image], f"hash-{name}", "2.26.1")
    found = ContainerState(
        id=f"id-{name}",
        name=service.container,
        service=name,
        number=1,
        image=IMAGES[service.image],
        status="running",
        health="healthy",
        labels=labels,
        networks=frozenset(of.network(use.network).name for use in service.networks),
    )
    return replace(found, **more)


FETCHED = container("fetch", status="exited", health=None)
ALL = (FETCHED, container("big"), container("small"), container("router"))
RUNNING = ObservedState(ALL, NETWORKS, frozenset({"p_hf"}), IMAGES)


def decided(snapshot: ObservedState = RUNNING, wanted: ProjectSpec = WANTED, **hashes: str) -> list[str]:
    return [str(op) for op in reconcile(wanted, snapshot, hashes)]


def but(service: str, /, **more: Any) -> ObservedState:
    """All runs, and this container is otherwise."""
    return replace(RUNNING, containers=tuple(replace(c, **more) if c.service == service else c for c in ALL))


def without(*names: str) -> ObservedState:
    return replace(RUNNING, containers=tuple(c for c in ALL if c.service not in names))


def edited(old: str, new: str) -> ProjectSpec:
    assert old in TEXT
    return project(TEXT.replace(old, new), FILE, {})


KEPT = ["keep fetch: did its work", "keep big: unchanged", "keep small: unchanged", "keep router: unchanged"]


def changed(*lines: str) -> list[str]:
    """KEPT, with the lines about these services replaced."""
    by_name = {line.split(":")[0].split()[-1]: line for line in (*KEPT, *lines)}
    return list(by_name.values())


def test_nothing_is_done_when_nothing_changed() -> None:
    assert decided() == KEPT


def test_the_first_time_everything_is_made_images_first() -> None:
    assert decided(ObservedState()) == [
        "pull fetch:1: is not on this machine; needed by fetch",
        "pull vllm:1: is not on this machine; needed by big, small",
        "pull smg:1: is not on this machine; needed by router",
        "create network p_default: internal",
        "create network p_edge: reaches the outside",
        "create volume p_hf: is not there yet",
        "create fetch: is not there yet",
        "create big: is not there yet",
        "create small: is not there yet",
        "create router: is not there yet",
    ]


def test_what_changed_is_named_and_the_rest_is_kept() -> None:
    assert decided(wanted=edited("command: [two]", "command: [two, more]\n    shm_size: 1g")) == changed(
        "replace small: command, shm_size changed"
    )
    assert decided(
        wanted=edited("networks: [default, edge]\n", "networks: [default, edge]\n    init: true\n")
    ) == changed("replace router: init changed")


def test_another_build_under_the_same_tag_replaces() -> None:
    newer = replace(RUNNING, images={**IMAGES, "smg:1": "sha256:new"})
    assert decided(newer) == changed("replace router: smg:1 is another build now")


def test_an_image_that_is_gone_disturbs_nobody_who_runs() -> None:
    assert decided(replace(RUNNING, images={**IMAGES, "smg:1": None})) == KEPT


def test_a_container_off_its_networks_is_replaced() -> None:
    half_made = but("router", networks=frozenset({"p_default"}), status="created")
    assert decided(half_made) == changed("replace router: is not on the networks p_default, p_edge")


def test_states_are_fixed_without_making_anew() -> None:
    assert decided(but("big", status="created")) == changed("start big: was made, but not started")
    assert decided(but("big", status="exited", exit_code=137)) == changed("start big: had stopped with code 137")
    assert decided(but("big", health="unhealthy")) == changed("restart big: was unhealthy")
    assert decided(but("big", status="paused")) == changed("resume big: was paused")
    assert decided(but("big", status="restarting")) == KEPT
    assert decided(but("big", health="starting")) == KEPT
    assert decided(but("big", status="dead")) == changed("replace big: cannot be started again")


def test_work_that_was_done_is_done_again_only_when_it_failed() -> None:
    assert decided(but("fetch", exit_code=1)) == changed("start fetch: had stopped with code 1")
    assert decided(but("router", status="exited", exit_code=0)) == changed("start router: had stopped with code 0")


def test_what_compose_made_is_kept_when_compose_says_so() -> None:
    theirs = {k: v for k, v in (ALL[1].labels or {}).items() if k != create_request.DIGESTS}
    assert decided(but("big", labels=theirs), big="hash-big") == KEPT
    assert decided(but("big", labels=theirs), big="other") == changed("replace big: its settings changed")


def test_either_hash_is_enough_so_that_a_newer_kit_or_compose_restarts_nothing() -> None:
    foreign = {**(ALL[1].labels or {}), create_request.DIGESTS: "command=0000"}
    assert decided(but("big", labels=foreign), big="hash-big") == KEPT
    assert decided(RUNNING, big="a newer compose has other hashes") == KEPT


def test_services_that_left_the_file_go_first_dependents_before_what_they_need() -> None:
    fewer = edited("  router:", "  x-router:")
    old = replace(container("router"), service="front", name="p-front-1", id="id-front")
    snapshot = replace(RUNNING, containers=(*ALL, old))
    assert decided(snapshot, fewer)[:2] == [
        "remove p-router-1: is no longer in the file",
        "remove p-front-1: is no longer in the file",
    ]


def test_of_several_containers_of_a_service_the_rightly_named_stays() -> None:
    second = container("big", id="id-2", name="p-big-2", number=2)
    leftover = container("big", id="id-3", name="abc123_p-big-1", number=1)
    assert decided(replace(RUNNING, containers=(leftover, second, *ALL))) == [
        "remove abc123_p-big-1: is one too many",
        "remove p-big-2: is one too many",
        *KEPT,
    ]


def test_a_container_under_another_name_is_replaced() -> None:
    assert decided(but("big", name="abc123_p-big-1")) == changed("replace big: is called abc123_p-big-1")


def test_workers_that_will_be_replaced_free_their_memory_before_any_other_starts() -> None:
    text = TEXT.replace("[one]", "['1']").replace("[two]", "['2']")
    assert decided(wanted=project(text, FILE, {})) == [
        "stop small: its memory must be free before another worker starts",
        "keep fetch: did its work",
        "replace big: command changed",
        "replace small: command changed",
        "keep router: unchanged",
    ]
    assert "stop small" in decided(without("big"), edited("[two]", "['2']"))[0]
    assert "stop small" not in decided(wanted=edited("[two]", "['2']"))[0]


def test_a_network_that_must_change_takes_its_containers_with_it() -> None:
    assert decided(wanted=edited("{edge: ,", "{edge: {internal: true},")) == [
        "remove p-router-1: its network is recreated",
        "remove network p_edge: must reach nothing outside",
        "create network p_edge: internal",
        *changed("create router: its network is recreated"),
    ]


def test_a_network_keeps_what_the_daemon_adds_and_is_remade_for_what_it_lacks() -> None:
    wanted = edited("{edge: ,", '{edge: {driver_opts: {icc: "false"}},')
    made = NetworkState("p_edge", False, "p", (("icc", "false"), ("mtu", "1500")))
    assert decided(replace(RUNNING, networks=(NETWORKS[0], made)), wanted) == KEPT
    assert decided(wanted=wanted)[1] == "remove network p_edge: its options changed"


def test_external_networks_and_volumes_are_never_made() -> None:
    shared = edited("{edge: ,", "{edge: {external: true},")
    assert not [line for line in decided(ObservedState(images=IMAGES), shared) if "edge" in line]


def routed(*extra: ContainerState, **more: Any) -> ObservedState:
    """All runs, with the labels that the kit gives a router and its workers; `big` is otherwise."""
    roles = {"big": "worker", "small": "worker", "router": "router"}
    found = [replace(c, labels={**(c.labels or {}), "monogpu.role": roles.get(c.service, "fetch")}) for c in ALL]
    return replace(RUNNING, containers=(*(replace(c, **more) if c.service == "big" else c for c in found), *extra))


def test_what_a_router_sends_to_is_drained_before_it_stops() -> None:
    wanted = project(TEXT.replace("[one]", "['1']").replace("[two]", "['2']"), FILE, {})
    assert decided(routed(), wanted)[:2] == [
        "drain big, small: open requests are answered first",
        "stop small: its memory must be free before another worker starts",
    ]
    assert decided(routed(health="unhealthy"))[0].startswith("drain big: ")


def test_nothing_is_drained_that_does_not_run_or_that_nobody_routes_to() -> None:
    wanted = edited("[one]", "['1']")
    assert not [line for line in decided(routed(status="exited"), wanted) if line.startswith("drain")]
    assert not [line for line in decided(wanted=wanted) if line.startswith("drain")]
    assert not [line for line in decided(routed()) if line.startswith("drain")]


def test_volumes_that_the_file_no_longer_names_go_last_and_only_when_asked() -> None:
    snapshot = replace(RUNNING, owned=frozenset({"p_hf", "p_compiled"}))
    assert decided(snapshot) == KEPT
    pruned = [str(op) for op in reconcile(WANTED, snapshot, {}, prune=True)]
    assert pruned == [*KEPT, "remove volume p_compiled: is no longer in the file"]


def test_a_changed_command_is_told_by_its_flags() -> None:
    wanted = edited("command: [two]", 'command: [two, --len, "2"]')
    assert decided(
        replace(
            RUNNING,
            containers=tuple(replace(c, command=("two", "--len", "1")) if c.service == "small" else c for c in ALL),
        ),
        wanted,
    ) == changed("replace small: --len 1 -> 2")


SHARED = project(
    """
name: p
services:
  card: {image: "vllm:1", network_mode: "none"}
  big:
    image: "vllm:1"
    labels: {monogpu.role: worker}
    depends_on: {card: {condition: service_healthy, restart: true}}
  small: {image: "vllm:1", labels: {monogpu.role: worker}, depends_on: {card: {condition: service_healthy}}}
  router: {image: "smg:1", depends_on: {big: {condition: service_healthy}, small: {condition: service_healthy}}}
""",
    FILE,
    {},
)


def shared(card: dict[str, Any], **more: Any) -> list[str]:
    """What is done where `card` is otherwise, and so is `big`; everything else runs as the file says."""
    made = [
        container("card", SHARED, **({"networks": frozenset({"none"})} | card)),
        container("big", SHARED, **more),
        container("small", SHARED),
        container("router", SHARED),
    ]
    return decided(ObservedState(tuple(made), (NetworkState("p_default", False, "p"),), frozenset(), IMAGES), SHARED)


def test_a_service_without_a_network_is_content_with_none() -> None:
    assert shared({}) == [f"keep {name}: unchanged" for name in ("card", "big", "small", "router")]
    assert shared({"networks": frozenset({"p_default"})})[0] == "replace card: is not on the networks none"


@pytest.mark.parametrize(
    ("card", "verb"),
    [
        ({"image": "sha256:old"}, "replace card: vllm:1 is another build now"),
        ({"health": "unhealthy"}, "restart card: was unhealthy"),
        ({"status": "exited", "exit_code": 137}, "start card: had stopped with code 137"),
    ],
)
def test_who_restarts_with_a_service_is_restarted_when_that_one_begins_anew(card: dict[str, Any], verb: str) -> None:
    done = "recreated" if verb.startswith("replace") else "restarted"
    assert shared(card)[-4:] == [
        verb,
        f"restart big: its dependency card is being {done}",
        "keep small: unchanged",
        "keep router: unchanged",
    ]


@pytest.mark.parametrize(
    ("later", "verb"),
    [
        (-600.0, "keep big: unchanged"),
        (1.5, "keep big: unchanged"),
        (600.0, "restart big: was started before its dependency card"),
    ],
)
def test_who_is_older_than_what_it_restarts_with_is_restarted(later: float, verb: str) -> None:
    at = datetime(2026, 11, 29, 21, 44, tzinfo=UTC)
    assert shared({"started": at + timedelta(seconds=later)}, started=at)[-4:] == [
        "keep card: unchanged",
        verb,
        "keep small: unchanged",
        "keep router: unchanged",
    ]


def test_who_does_not_run_is_started_and_not_restarted() -> None:
    exited = {"status": "exited", "exit_code": 0}
    assert shared({"health": "unhealthy"}, **exited)[-3] == "start big: had stopped with code 0"
    assert shared({"status": "paused"})[:2] == ["resume card: was paused", "keep big: unchanged"]


STATES = st.builds(
    lambda c, status, health, exit_code: replace(c, status=status, health=health, exit_code=exit_code),
    st.sampled_from(ALL),
    st.sampled_from(["created", "running", "exited", "paused", "restarting", "dead"]),
    st.sampled_from([None, "starting", "healthy", "unhealthy"]),
    st.sampled_from([0, 1, 137]),
)


@given(st.lists(STATES, unique_by=lambda c: c.id), st.permutations(NETWORKS), st.randoms())
def test_every_service_gets_one_operation_in_boot_order_whatever_is_there(
    found: list[ContainerState], networks: list[NetworkState], random: Any
) -> None:
    snapshot = ObservedState(tuple(found), tuple(networks), frozenset(), IMAGES)
    operations = reconcile(WANTED, snapshot, {})
    assert [op.name for op in operations if op.verb in SERVICE_VERBS] == [s.name for s in WANTED.services]
    random.shuffle(found)
    assert reconcile(WANTED, replace(snapshot, containers=tuple(found)), {}) == operations
    assert all(
        op.container for op in operations if op.verb in ("keep", "replace", "start", "restart", "remove", "stop")
    )


def test_containers_are_stopped_in_reverse_of_what_their_labels_say() -> None:
    assert [c.service for c in stop_order(ALL)] == ["router", "small", "big", "fetch"]
    assert [c.service for c in stop_order(reversed(ALL))] == ["router", "small", "big", "fetch"]

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.compose.stats import used_cpu, used_memory
from kit.diagnostics.pattern import Explanation
from kit.metrics import Load, load
from kit.output.status import NARROW, lines
from kit.stack.labels import BYTES, ROLE, SERVED_NAMES, TASK
from kit.status import model as views
from kit.status.model import ServiceReport, Status
from kit.units import GIB
from tests.support.paths import RECORDED

NOW = datetime(2026, 11, 29, 22, 42, tzinfo=UTC)
METRICS = (RECORDED / "vllm-0.32-metrics.txt").read_text(encoding="utf-8")


def service(
    name: str = "chat",
    role: str = "worker",
    task: str = "generate",
    names: tuple[str, ...] | None = None,
    planned: int | None = int(2.31 * GIB),
    **more: Any,
) -> ServiceReport:
    labels = {ROLE: role, TASK: task, SERVED_NAMES: ",".join((name,) if names is None else names)}
    made = ServiceReport(
        id=name,
        name=f"demo-{name}-1",
        service=name,
        number=1,
        image="sha256:1",
        image_name="vllm/vllm-openai:v0.26.0",
        status="running",
        health="healthy",
        started=NOW - timedelta(hours=1, minutes=2, seconds=3),
        labels=labels if planned is None else {**labels, BYTES: str(planned)},
        held=int(1.62 * GIB),
        load=Load(10.0, 1, 0, 0.034, 100, 200),
        tokens=16.24,
    )
    return replace(made, **more)


ROUTER = service("router", role="router", task="", names=(), planned=None, held=None, load=None, tokens=None)


def status(*services: ServiceReport, **more: Any) -> Status:
    made = Status(
        project="demo",
        now=NOW,
        services=services,
        url="http://127.0.0.1:30000",
        routed={name: "ready" for one in services for name in one.names},
        memory="NVIDIA GeForce RTX 5080",
        total=int(15.47 * GIB),
        free=int(10.1 * GIB),
    )
    return replace(made, **more)


def shown(*services: ServiceReport, width: int = NARROW, **more: Any) -> str:
    return "\n".join(lines(status(*services, **more), width))


def test_the_metrics_of_a_real_worker_are_read() -> None:
    assert load(METRICS, 5.0) == Load(5.0, running=0, waiting=0, kv_used=0.0, read=70, written=16)


def test_what_a_worker_does_not_say_stays_unknown() -> None:
    assert load("", 1.0) == Load(1.0)
    assert load("vllm:num_requests_running +Inf\nvllm:num_requests_waiting -1\n", 1.0) == Load(1.0)


@pytest.mark.parametrize(
    ("before", "now", "task", "rate"),
    [
        (Load(1, written=10), Load(3, written=50), "generate", 20.0),
        (Load(1, read=10, written=0), Load(3, read=50, written=0), "embed", 20.0),
        (Load(1, written=50), Load(3, written=10), "generate", None),
        (Load(3, written=10), Load(3, written=50), "generate", None),
        (Load(1), Load(3, written=50), "generate", None),
        (None, Load(3, written=50), "generate", None),
        (Load(1, written=10), None, "generate", None),
    ],
)
def test_tokens_a_second_need_two_looks_at_one_start(
    before: Load | None, now: Load | None, task: str, rate: float | None
) -> None:
    assert views.rate(before, now, task) == rate


def test_memory_is_counted_as_docker_stats_does() -> None:
    assert used_memory({"memory_stats": {"usage": 10, "stats": {"total_inactive_file": 3}}}) == 7
    assert used_memory({"memory_stats": {"usage": 10, "stats": {"inactive_file": 4}}}) == 6
    assert used_memory({"memory_stats": {"usage": 10}}) == 10
    assert used_memory({"memory_stats": {}}) is None
    assert used_memory({}) is None


def test_one_screen() -> None:
    embed = service("embed", task="embed", health="starting", load=None, tokens=None, held=None, restarts=2)
    assert shown(service(), embed, ROUTER, routed={"chat": "ready"}) == (
        "demo   http://127.0.0.1:30000/v1   1 of 2 names routed: embed unknown\n"
        "NVIDIA GeForce RTX 5080: 15.47 GiB, 10.10 GiB free, 4.62 GiB planned\n"
        "\n"
        "service  state             up  run  wait    kv   tok/s  GiB held of the bill\n"
        "chat     healthy      1:02:03    1     0    3%    16.2  ███████░░░ 1.62/2.31\n"
        "embed    starting     1:02:03                           ??????????    ?/2.31\n"
        "router   healthy      1:02:03\n"
        "\n"
        "embed was restarted 2 times, the last time 1 h 2 min ago"
    )


WHY = Explanation("the card ran out of memory", "give the model more `memory`", False)


def test_one_that_is_restarted_again_and_again_says_since_when_and_why() -> None:
    made, started = NOW - timedelta(minutes=25, seconds=10), NOW - timedelta(seconds=20)
    loop = service(health="starting", restarts=14, made=made, started=started, cause=WHY)
    assert shown(loop).splitlines()[-2:] == [
        "chat was restarted 14 times in 25 min 10 s, the last time 20 s ago: the card ran out of memory; give the "
        "model more `memory`",
        "chat will not get well by itself; `docker compose stop chat` ends its restarts",
    ]
    assert loop.loops and loop.failing and not replace(loop, health="healthy").loops


def test_one_that_was_restarted_and_is_well_says_so_and_no_more() -> None:
    once = service(restarts=1, made=NOW - timedelta(days=3), started=NOW - timedelta(hours=5), last="strange")
    assert shown(once).splitlines()[-1] == "chat was restarted once in 3 d 0 h"
    assert not once.failing


@pytest.mark.parametrize(
    ("more", "failing"),
    [
        ({}, False),
        ({"health": "starting"}, False),
        ({"health": "starting", "restarts": 2}, False),
        ({"health": "starting", "restarts": 3}, True),
        ({"health": "unhealthy"}, True),
        ({"status": "restarting", "health": None}, True),
        ({"status": "exited", "health": None, "exit_code": 0}, True),
        ({"status": "paused"}, True),
    ],
)
def test_what_must_be_looked_at_fails_the_look(more: dict[str, Any], failing: bool) -> None:
    assert status(ROUTER, service(**more)).failing == failing
    assert views.as_json(status(service(**more)))["services"][0]["failing"] == failing


def test_nothing_that_runs_is_nothing_that_fails() -> None:
    assert not status().failing


def test_a_worker_that_failed_says_why() -> None:
    why = Explanation("the card ran out of memory", "give the model more `memory`", False)
    dead = service(status="exited", health=None, exit_code=1, load=None, tokens=None, held=None, cause=why)
    said = shown(dead)
    assert "exited 1" in said
    assert "chat: the card ran out of memory; give the model more `memory`" in said
    assert "chat: its log ends: strange" in shown(replace(dead, cause=None, last="strange"))


def test_more_than_the_bill_is_marked_and_said() -> None:
    said = shown(service(held=int(2.5 * GIB)))
    assert "██████████!2.50/2.31" in said
    assert "chat holds 0.19 GiB more than planned" in said
    assert service(held=int(2.35 * GIB)).over == 0


def test_downloads_are_shown_only_when_they_are_not_done() -> None:
    done = service(
        "fetch-x", role="download", status="exited", health=None, exit_code=0, names=(), planned=None, held=None
    )
    assert "fetch-x" not in shown(service(), done)
    assert "fetch-x  exited 1" in shown(service(), replace(done, exit_code=1, load=None))


def test_nothing_runs() -> None:
    assert shown(url=None, routed=None, total=None) == "demo\nnothing of demo runs; `monogpu-kit up` starts it"


def test_a_router_that_cannot_be_asked_is_said() -> None:
    assert "the router cannot be asked" in shown(service(), routed=None)


def test_days_are_days() -> None:
    assert "3d 04h" in shown(service(started=NOW - timedelta(days=3, hours=4, minutes=5)))


OPTIONAL = st.none() | st.integers(0, 200 * GIB)
SERVICES = st.builds(
    service,
    st.from_regex(r"[a-z][a-z0-9-]{0,38}[a-z]", fullmatch=True),
    planned=OPTIONAL,
    held=OPTIONAL,
    health=st.sampled_from([None, "healthy", "starting", "unhealthy"]),
    status=st.sampled_from(["running", "exited", "restarting", "created"]),
    exit_code=st.integers(0, 255),
    load=st.none() | st.builds(Load, st.just(1.0), OPTIONAL, OPTIONAL, st.none() | st.floats(0, 1), OPTIONAL, OPTIONAL),
    tokens=st.none() | st.floats(0, 99_999),
    restarts=st.integers(0, 3),
)


@given(st.lists(SERVICES, max_size=6), st.integers(20, 300))
def test_rows_fit_a_narrow_terminal(services: list[ServiceReport], width: int) -> None:
    few = [replace(one, load=replace(one.load, running=9, waiting=99) if one.load else None) for one in services]
    small = [
        replace(one, labels={**(one.labels or {}), BYTES: str(9 * GIB if one.planned else "")}, held=None)
        for one in few
    ]
    rows = list(lines(status(*small), width))[2 : 4 + len(small)]
    assert all(len(row) <= max(width, NARROW) for row in rows)


@given(st.lists(SERVICES, max_size=6))
def test_every_look_can_be_printed_as_json(services: list[ServiceReport]) -> None:
    found = views.as_json(status(*services))
    assert json.loads(json.dumps(found)) == found
    assert [one["service"] for one in found["services"]] == [one.service for one in services]


@pytest.mark.parametrize(
    ("stats", "seconds"),
    [
        ({"cpu_stats": {"cpu_usage": {"total_usage": 2_500_000_000}}}, 2.5),
        ({"cpu_stats": {"cpu_usage": {"total_usage": 0}}}, None),  # what the Engine says of a container that has ended
        ({"cpu_stats": {"cpu_usage": {}}}, None),
        ({"cpu_stats": {"cpu_usage": None}}, None),
        ({"cpu_stats": None}, None),
        ({}, None),
    ],
)
def test_cpu_seconds_that_the_engine_does_not_tell_are_unknown(stats: dict[str, Any], seconds: float | None) -> None:
    assert used_cpu(stats) == seconds

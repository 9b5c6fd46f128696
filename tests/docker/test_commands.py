"""The whole walk with the real command line, the real router and Docker, and pretend engines on a pretend card."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kit.compose import up
from kit.stack.render import is_ours
from tests.fakes.pretend.ledger import Card, create, foreign
from tests.fakes.pretend_gpu import wait_for
from tests.support.walks import SMALL, TINY, Walk, adapter, ended, interrupt, model, soon, walk

if TYPE_CHECKING:
    from docker import DockerClient

pytestmark = pytest.mark.docker

GIB = 1024**3
FETCH = "download-huggingfacetb-smollm2-360m-instruct"
WORKERS = ("chat", "embed", "router")


@pytest.fixture(scope="module")
def client() -> Iterator[DockerClient]:
    found = up.connect(os.environ)
    found.images.get("monogpu/pretend:1")
    yield found
    found.close()


@pytest.fixture(scope="module")
def running(client: DockerClient, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    """A chat model with an adapter and an embedding model, behind a key, brought up from nothing. Every test leaves it
    healthy."""
    with walk(tmp_path_factory.mktemp("walk"), client) as made:
        adapter(made.folder / "adapters" / "code")
        made.environ["WALK_KEY"] = "a-key:with-$dollars-in-it"
        made.write(
            model("chat", SMALL, "adapters: [{name: code, source: ./adapters/code}]"),
            model("embed", TINY, "task: embed"),
            router=", api_key: WALK_KEY",
        )
        made.up().good()
        yield made


@pytest.fixture
def walks(client: DockerClient, tmp_path: Path) -> Iterator[Callable[[], Walk]]:
    """Makes projects of which nothing runs yet."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(walk(tmp_path, client))


@pytest.fixture
def fresh(walks: Callable[[], Walk]) -> Walk:
    return walks()


def created(walk: Walk) -> list[str]:
    """Services in the order in which their containers were started."""
    found = {name: each.started for name, each in walk.containers().items() if each.started}
    return sorted(found, key=lambda name: found[name])


# ---- what runs, and keeps running


def test_from_nothing_everything_starts_in_order(running: Walk) -> None:
    assert [name for name in created(running) if name in WORKERS] == list(WORKERS)
    assert {each.health for name, each in running.containers().items() if name in WORKERS} == {"healthy"}
    assert is_ours(running.file.read_text()) == "ours"


def test_every_name_answers_and_the_report_says_what(running: Walk) -> None:
    said = running.kit("verify").good().out
    assert "✗" not in said
    for words in ("chat", "code", "embed", "answers a token", "streams", "gives vectors", "404", "without the key"):
        assert words in said
    report = running.kit("verify", "--json").good().json
    assert report["ok"] and {check["name"] for check in report["checks"]} >= {"chat", "code", "embed", "/v1/models"}


def test_a_second_up_touches_nothing_and_compares_the_card_with_the_bill(running: Walk) -> None:
    before = running.ids()
    report = running.up("--json").good().json
    assert running.ids() == before
    assert {service["verb"] for service in report["services"]} == {"keep"}
    for footprint in report["footprints"]:
        assert footprint["measured_bytes"] == pytest.approx(footprint["planned_bytes"], rel=0.06)
    assert report["verification"]["ok"]


def test_compose_knows_what_the_kit_made_and_either_takes_over(running: Walk) -> None:
    before = running.ids()
    assert set(running.compose("ps", "--services").split()) == set(WORKERS)
    running.compose("up", "-d", "--wait")
    assert running.ids() == before
    running.compose("down")
    assert running.ids() == {}
    running.compose("up", "-d", "--wait")
    theirs = running.ids()
    running.up().good()
    assert running.ids() == theirs


def test_status_and_logs_tell_about_a_model(running: Walk) -> None:
    services = {one["service"]: one for one in running.kit("status", "--json").good().json["services"]}
    assert services["chat"]["names"] == ["chat", "code"] and services["chat"]["health"] == "healthy"
    assert "Application startup complete." in running.kit("logs", "code").good().out


def test_a_worker_that_streams_errors_fails_verification(running: Walk) -> None:
    running.fault("chat", "stream-error")
    try:
        said = running.kit("verify", "--json", "--url", f"http://127.0.0.1:{running.port}/v1")
    finally:
        running.fault("chat", "")
    said.refused(5)
    wrong = {(check["name"], check["what"]) for check in said.json["checks"] if not check["ok"]}
    assert ("chat", "streams") in wrong and not any(name == "embed" for name, _ in wrong)
    assert said.json["left_out"] == ["whether workers are reachable: needs Docker"]
    running.kit("verify").good()


def test_without_the_key_in_the_environment_nothing_is_touched(running: Walk) -> None:
    before = running.ids()
    key = running.environ.pop("WALK_KEY")
    try:
        assert "WALK_KEY" in running.up().refused(4)
    finally:
        running.environ["WALK_KEY"] = key
    assert running.ids() == before


# ---- one project each


def test_what_up_made_down_undoes(fresh: Walk) -> None:
    fresh.write(model("chat"))
    fresh.up().good()
    fresh.kit("down").good()
    assert fresh.ids() == {}
    assert "nothing" in fresh.kit("down").good().out
    assert "up" in fresh.kit("verify").refused(4)


def test_a_change_of_one_model_replaces_that_one_alone(fresh: Walk) -> None:
    fresh.write(model("chat"), model("embed", TINY, "task: embed"))
    fresh.up().good()
    before = fresh.ids()
    fresh.write(model("chat"), model("embed", TINY, "task: embed", "context: 512"))
    planned = fresh.kit("up", "--gpu", "gpu.json", "--dry-run").good().out
    assert [
        line.split()[:2] for line in planned.splitlines() if line.split()[1] in WORKERS and "drain" not in line
    ] == [
        ["keep", "chat"],
        ["replace", "embed"],
        ["keep", "router"],
    ]
    fresh.up().good()
    after = fresh.ids()
    assert {name for name in before if before[name] != after[name]} == {"embed"}


def test_a_model_that_is_taken_out_is_removed_and_no_longer_listed(fresh: Walk) -> None:
    fresh.write(model("chat"), model("other"))
    fresh.up().good()
    chat = fresh.ids()["chat"]
    fresh.write(model("chat"))
    fresh.up().good()
    assert fresh.ids().keys() == {"chat", "router", FETCH} and fresh.ids()["chat"] == chat


def test_a_parallel_start_begins_all_workers_before_the_first_is_healthy(fresh: Walk) -> None:
    fresh.write(model("chat"), model("other"), more="start: parallel\n")
    fresh.hold("load")
    process = fresh.begin("up", "--gpu", "gpu.json")
    soon(lambda: fresh.running("chat") and fresh.running("other"))
    assert {fresh.containers()[name].health for name in ("chat", "other")} == {"starting"}
    fresh.release("load")
    ended(process).good()


def test_a_worker_that_dies_stops_the_walk_with_the_cause(fresh: Walk) -> None:
    fresh.write(model("chat"), model("other", env="PRETEND_FAULT: crash-during-graphs"), model("third"))
    said = fresh.up().refused(4)
    assert "other ended" in said and "while CUDA graphs were captured" in said and "graphs: small" in said
    assert "CUDA out of memory" in said
    assert fresh.running("chat") and not {"third", "router"} & fresh.ids().keys()


def test_a_worker_whose_cause_passes_is_waited_for(fresh: Walk) -> None:
    fresh.write(model("chat", env="PRETEND_FAULT: profiling-race, PRETEND_FAULT_ONCE: /card/struck"))
    fresh.up().good()
    assert (fresh.folder / "card" / "struck").exists()


def test_a_card_that_is_fuller_than_planned_is_refused_before_anything_starts(fresh: Walk) -> None:
    fresh.write(model("chat"))
    fresh.kit("render", "--gpu", "gpu.json").good()
    free = Card().total_bytes
    foreign(fresh.card_file, 4711, "blender", free - GIB)
    wait_for(lambda: "blender" in (fresh.folder / "gpu.json").read_text())
    said = fresh.up().refused(4)
    assert "blender (pid 4711)" in said and "chat need" in said
    assert fresh.ids() == {}


def test_models_that_cannot_fit_print_the_bill_and_advice_that_fits(fresh: Walk) -> None:
    create(fresh.card_file, Card(total_bytes=2 * GIB))
    wait_for(lambda: str(2 * GIB) in (fresh.folder / "gpu.json").read_text())
    fresh.write(model("chat", SMALL), model("other"))
    said = fresh.up().refused(3)
    assert "what would fit" in said and "monogpu.yaml:" in said
    assert fresh.ids() == {}


def test_a_file_for_another_card_is_refused(fresh: Walk) -> None:
    fresh.write(model("chat"))
    fresh.kit("render", "--gpu", "gpu.json").good()
    create(fresh.card_file, Card(total_bytes=12 * GIB, uuid="GPU-another", name="NVIDIA RTX A2000 12GB"))
    wait_for(lambda: "GPU-another" in (fresh.folder / "gpu.json").read_text())
    said = fresh.up().refused(4)
    assert "planned for GPU-5eeda7a0" in said and "A2000" in said and "render" in said
    assert fresh.ids() == {}


def test_an_interrupted_up_exits_130_and_the_next_goes_on(fresh: Walk) -> None:
    fresh.write(model("chat"), model("other"))
    fresh.up("--dry-run").good()
    fresh.hold("graphs")
    process = fresh.begin("up", "--gpu", "gpu.json")
    soon(lambda: fresh.running("chat"))
    assert interrupt(process).refused(130).endswith("interrupted\n")
    chat = fresh.ids()["chat"]
    assert "other" not in fresh.ids()
    fresh.release("graphs")
    fresh.up().good()
    assert fresh.ids()["chat"] == chat and fresh.running("router")


def test_a_file_edited_by_hand_is_driven_and_never_overwritten(fresh: Walk) -> None:
    fresh.write(model("chat"))
    fresh.kit("render", "--gpu", "gpu.json").good()
    edited = fresh.file.read_text().replace('PRETEND_SPEED: "0.02"', 'PRETEND_SPEED: "0.03"')
    assert '"0.03"' in edited
    fresh.file.write_text(edited)
    assert "edited by hand" in fresh.up().good().err
    fresh.write(model("chat", TINY, "context: 512"))
    assert "--force" in fresh.kit("render", "--gpu", "gpu.json").refused(1)
    assert "edited by hand" in fresh.up().good().err
    assert fresh.file.read_text() == edited
    fresh.kit("render", "--gpu", "gpu.json", "--force").good()
    assert '--max-model-len, "512"' in fresh.file.read_text()


def test_a_taken_port_is_named_before_anything_starts(fresh: Walk) -> None:
    fresh.write(model("chat"))
    with socket.create_server(("127.0.0.1", fresh.port)):
        said = fresh.up().refused(4)
    assert f"port {fresh.port}" in said and "router: {port:" in said
    assert fresh.ids() == {}


def test_two_projects_share_a_machine(walks: Callable[[], Walk]) -> None:
    one, other = walks(), walks()
    one.write(model("chat"))
    other.write(model("chat"))
    one.up().good()
    other.up().good()
    one.kit("down").good()
    assert one.ids() == {} and other.running("chat")
    other.kit("verify").good()


def test_an_engine_that_does_not_answer_is_named(fresh: Walk) -> None:
    fresh.write(model("chat"))
    fresh.host = "unix:///tmp/mgk-w-nobody.sock"
    said = fresh.up().refused(4)
    assert "Docker cannot be reached" in said and "scripts/setup" in said

"""`up`, `down`, `status` and `logs` on a real Engine, with small programs as services."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kit.compose import up
from kit.compose.events import Event, Ready, Retrying, Started, Waiting
from kit.errors import TargetError
from tests.docker.conftest import Project

pytestmark = pytest.mark.docker

FREE = (
    "Free memory on device cuda:0 (3.1/15.47 GiB) on startup is less than desired GPU memory utilization (0.3, 4 GiB)."
)


def service(name: str, program: str | int = 600, *more: str, check: str | None = "") -> str:
    """A service that sleeps for `program` seconds, or runs a line of Python; it is healthy when the line `check` does
    not fail, and at once when that is ""."""
    python = ["python3", "-uc", f"import os, sys, time; {program}"]
    lines = [f"  {name}:", '    image: "IMAGE"', "    init: true", "    stop_grace_period: 2s"]
    lines += [f"    command: {json.dumps(['sleep', str(program)] if isinstance(program, int) else python)}"]
    if check is not None:
        test = ["CMD", "python3", "-c", check] if check else ["CMD", "true"]
        lines += [f"    healthcheck: {{test: {json.dumps(test)}, interval: 300ms, timeout: 5s, retries: 1}}"]
    return "\n".join([*lines, *(f"    {line}" for line in more)])


def after(*names: str, condition: str = "service_healthy") -> str:
    return "depends_on: {" + ", ".join(f"{name}: {{condition: {condition}}}" for name in names) + "}"


WORKER = "labels: {monogpu.role: worker}"


def stack(*services: str) -> str:
    return "\n".join(services)


def told(events: list[Event], *kinds: type[Event]) -> list[str]:
    """`Started chat`, in the order in which it was told."""
    return [f"{type(e).__name__} {e.service}" for e in events if isinstance(e, kinds)]  # type: ignore[union-attr]


def refused(call: Callable[[], Any]) -> TargetError:
    with pytest.raises(TargetError) as caught:
        call()
    return caught.value


def test_services_start_one_after_another_each_when_the_one_before_is_healthy(project: Project) -> None:
    project.write(stack(service("chat"), service("embed", 600, after("chat"))))
    result = project.up()
    assert told(project.events, Started, Ready) == ["Started chat", "Ready chat", "Started embed", "Ready embed"]
    assert [(s.name, s.verb, s.state) for s in result.services] == [
        ("chat", "create", "healthy"),
        ("embed", "create", "healthy"),
    ]
    started = {name: each.started for name, each in project.containers().items()}
    assert started["chat"] and started["embed"]
    assert (started["embed"] - started["chat"]).total_seconds() >= 0.3


def test_independent_services_start_together(project: Project) -> None:
    project.write(stack(service("chat"), service("embed"), service("router", 600, after("chat", "embed"))))
    project.up()
    assert told(project.events, Started, Ready)[:2] == ["Started chat", "Started embed"]
    assert told(project.events, Started, Ready)[-1] == "Ready router"


def test_compose_lists_what_the_kit_made_and_recreates_nothing(project: Project) -> None:
    project.write(stack(service("chat"), service("embed", 600, after("chat"))))
    project.up()
    before = project.ids()
    assert project.compose("ps", "--services").split() == ["chat", "embed"]
    project.compose("up", "-d", "--wait")
    assert project.ids() == before
    assert project.planned() == ["keep chat: unchanged", "keep embed: unchanged"]


def test_the_kit_keeps_what_compose_started(project: Project) -> None:
    project.write(stack(service("chat"), service("embed", 600, after("chat"))))
    project.compose("up", "-d", "--wait")
    before = project.ids()
    assert [s.verb for s in project.up().services] == ["keep", "keep"]
    assert project.ids() == before


def test_either_takes_down_what_the_other_made(project: Project) -> None:
    more = "networks: {default: {internal: true}}\nvolumes: {cache: }"
    project.write(service("chat", 600, 'volumes: ["cache:/cache"]'), more)
    project.up()
    project.compose("down", "-v")
    assert leftovers(project) == []
    project.compose("up", "-d", "--wait")
    done = up.down(project.name, project.client, volumes=True)
    assert [d.verb for d in done] == ["remove", "remove network", "remove volume"]
    assert leftovers(project) == []
    assert up.down(project.name, project.client) == ()


def leftovers(project: Project) -> list[str]:
    ours: Any = {"label": f"com.docker.compose.project={project.name}"}
    client = project.client
    return [
        *(each.name for each in client.containers.list(all=True, filters=ours)),
        *(each.name for each in client.networks.list(filters=ours)),
        *(each.name for each in client.volumes.list(filters=ours)),
    ]


def test_down_keeps_volumes_unless_asked(project: Project) -> None:
    project.write(service("chat", 600, 'volumes: ["cache:/cache"]'), "volumes: {cache: }")
    project.up()
    up.down(project.name, project.client)
    assert leftovers(project) == [f"{project.name}_cache"]


def test_a_change_of_one_service_leaves_the_others_running(project: Project) -> None:
    project.write(stack(service("chat"), service("embed", 600, after("chat"))))
    project.up()
    before = project.ids()
    project.write(stack(service("chat"), service("embed", 500, after("chat"), "shm_size: 64m")))
    assert project.planned() == ["keep chat: unchanged", "replace embed: sleep 600 -> sleep 500; shm_size changed"]
    project.up()
    after_ = project.ids()
    assert after_["chat"] == before["chat"]
    assert after_["embed"] != before["embed"]


def test_a_dry_run_changes_nothing(project: Project) -> None:
    project.write(service("chat"))
    assert project.planned() == [
        f"create network {project.name}_default: reaches the outside",
        "create chat: is not there yet",
    ]
    assert leftovers(project) == []


def test_a_worker_that_will_be_replaced_gives_up_its_memory_before_another_starts(project: Project) -> None:
    def write(seconds: int) -> None:
        project.write(stack(service("big", seconds, WORKER), service("small", seconds, WORKER, after("big"))))

    write(600)
    project.up()
    write(500)
    assert project.planned() == [
        "stop small: its memory must be free before another worker starts",
        "replace big: sleep 600 -> sleep 500",
        "replace small: sleep 600 -> sleep 500",
    ]
    project.up()
    assert {each.status for each in project.containers().values()} == {"running"}


def test_a_service_that_is_no_longer_in_the_file_is_removed(project: Project) -> None:
    project.write(stack(service("chat"), service("old")))
    project.up()
    project.write(service("chat"))
    assert project.planned() == [f"remove {project.name}-old-1: is no longer in the file", "keep chat: unchanged"]
    project.up()
    assert list(project.ids()) == ["chat"]


def test_a_worker_that_dies_stops_the_walk_and_its_log_is_explained(project: Project) -> None:
    cause = "print('No available memory for the cache blocks.'); sys.exit(1)"
    project.write(stack(service("chat"), service("embed", cause, after("chat")), service("late", 600, after("embed"))))
    error = refused(project.up)
    assert error.exit_code == 4
    assert error.problems[0].what.startswith("embed ended with code 1, ")
    assert error.problems[0].needed == "when the weights are loaded, nothing is left for the KV cache"
    assert "No available memory for the cache blocks." in error.evidence
    found = project.containers()
    assert set(found) == {"chat", "embed"}
    assert found["chat"].health == "healthy"


def test_an_unknown_end_stays_unknown_and_shows_the_log(project: Project) -> None:
    project.write(service("chat", "[print('line', n) for n in range(100)]; sys.exit(3)"))
    error = refused(project.up)
    assert error.problems[0].needed == "its log shows no known cause"
    assert error.evidence.splitlines() == [f"line {n}" for n in range(75, 100)]


def test_an_unhealthy_worker_stops_the_walk_with_what_its_check_said(project: Project) -> None:
    project.write(service("chat", check="raise SystemExit('no model here')"))
    error = refused(project.up)
    assert error.problems[0].what.startswith("chat is unhealthy, ")
    assert "its health check said: no model here" in error.evidence


def test_a_service_that_waits_for_health_that_is_never_checked_is_refused(project: Project) -> None:
    project.write(stack(service("chat", check=None), service("late", 9, after("chat"))))
    assert "has no health check, and others wait for its health" in str(refused(project.up))


def test_a_worker_that_takes_too_long_stops_the_walk(project: Project) -> None:
    check = "raise SystemExit(1)"
    project.write(service("chat", check=check).replace("retries: 1", "retries: 1, start_period: 60s"))
    error = refused(lambda: project.up(timeout=1.5))
    assert error.problems[0].what.startswith("chat is still starting, ")


def test_the_log_of_an_earlier_start_explains_nothing(project: Project) -> None:
    project.write(
        service("chat", "print('seen before' if os.path.exists('/tmp/x') else 'first'); open('/tmp/x', 'w'); 1/0")
    )
    assert "first" in refused(project.up).evidence
    again = refused(project.up)
    assert "seen before" in again.evidence
    assert "first" not in again.evidence


def test_a_failure_that_passes_is_waited_for(project: Project) -> None:
    """Docker starts it again, as its policy says; the second start finds the card free."""
    program = f"first = not os.path.exists('/m/x'); open('/m/x', 'w'); first and sys.exit('{FREE}'); time.sleep(600)"
    project.write(service("chat", program, 'restart: "on-failure:3"', 'volumes: ["mark:/m"]'), "volumes: {mark: }")
    project.up()
    assert told(project.events, Retrying) == ["Retrying chat"]
    assert project.containers()["chat"].health == "healthy"


def test_a_failure_that_does_not_pass_is_not_waited_for(project: Project) -> None:
    project.write(service("chat", "sys.exit('nonsense')", "restart: always"))
    error = refused(project.up)
    assert error.problems[0].what.startswith("chat ended with code 1")
    assert "nonsense" in error.evidence


def test_a_walk_that_was_interrupted_is_taken_up_by_the_next(project: Project) -> None:
    project.write(stack(service("chat"), service("embed", 600, after("chat"))))

    def interrupt(event: Event) -> None:
        if isinstance(event, Waiting):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        up.up(project.folder, project.client, project.environ, interrupt)
    before = project.ids()
    assert list(before) == ["chat"]
    assert [(s.name, s.verb) for s in project.up().services] == [("chat", "keep"), ("embed", "create")]
    assert project.ids()["chat"] == before["chat"]


def test_stopped_and_unhealthy_services_are_started_again(project: Project) -> None:
    healthy = "import os; raise SystemExit(os.path.exists('/tmp/ill'))"
    project.write(stack(service("chat"), service("embed", check=healthy)))
    project.up()
    before = project.ids()
    project.client.containers.get(before["chat"]).kill()
    project.client.containers.get(before["embed"]).exec_run(["touch", "/tmp/ill"])
    wait_until(lambda: project.containers()["embed"].health == "unhealthy")
    assert project.planned() == ["start chat: had stopped with code 137", "restart embed: was unhealthy"]
    project.client.containers.get(before["embed"]).exec_run(["rm", "/tmp/ill"])
    project.up()
    assert project.ids() == before


def wait_until(true: Callable[[], bool]) -> None:
    import time

    for _ in range(100):
        if true():
            return
        time.sleep(0.1)
    raise AssertionError("it did not happen within 10 s")


def test_work_that_is_done_once_is_waited_for_and_not_done_again(project: Project) -> None:
    fetch = service("fetch", "time.sleep(0.5)", check=None)
    project.write(stack(fetch, service("chat", 600, after("fetch", condition="service_completed_successfully"))))
    result = project.up()
    assert [s.state for s in result.services] == ["done", "healthy"]
    assert project.planned() == ["keep fetch: did its work", "keep chat: unchanged"]


def test_a_network_that_must_become_internal_is_made_anew(project: Project) -> None:
    project.write(service("chat"), "networks: {default: {internal: false}}")
    project.up()
    project.write(service("chat"), "networks: {default: {internal: true}}")
    assert project.planned() == [
        f"remove {project.name}-chat-1: its network is recreated",
        f"remove network {project.name}_default: must reach nothing outside",
        f"create network {project.name}_default: internal",
        "create chat: its network is recreated",
    ]
    project.up()
    assert project.client.networks.get(f"{project.name}_default").attrs["Internal"]


def test_aliases_and_names_resolve_on_every_network(project: Project) -> None:
    names = ("chat", "code.chat", f"{project.name}-chat-1")
    check = f"import socket; [socket.gethostbyname(name) for name in {names}]"
    chat = service("chat", 600, "networks: {a: , z: {aliases: [code.chat]}}")
    project.write(stack(chat, service("router", 600, "networks: [z]", check=check)), "networks: {a: , z: }")
    project.up()
    assert project.containers()["router"].health == "healthy"


def test_the_kits_own_images_are_not_looked_for_in_a_registry(project: Project) -> None:
    project.write(service("chat").replace("IMAGE", "monogpu/nothing:1"))
    error = refused(project.up)
    assert "no registry has it; `scripts/build-images` builds monogpu/nothing:1" in str(error)
    assert list(project.ids()) == []


def test_a_registry_that_does_not_answer_is_named_before_anything_is_stopped(project: Project) -> None:
    project.write(service("chat"))
    project.up()
    before = project.ids()
    project.write(service("chat").replace("IMAGE", "registry.invalid/nothing:1"))
    error = refused(project.up)
    assert "registry.invalid/nothing:1 cannot be pulled; the registry cannot be reached" in str(error)
    assert project.ids() == before


@contextlib.contextmanager
def listening() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as held:
        yield held.getsockname()[1]


def published(port: int) -> str:
    return f'ports: ["127.0.0.1:{port}:8000"]'


def test_a_port_that_a_program_holds_is_named_with_the_program(project: Project) -> None:
    with listening() as port:
        project.write(service("router", 600, published(port)))
        error = refused(project.up)
        assert f"port {port}, which router publishes, is taken by " in str(error)
        assert f"(pid {os.getpid()})" in str(error) or "pytest" in str(error)
    assert leftovers(project) == []


def test_a_port_that_another_stack_holds_is_named_with_its_container(projects: Callable[[], Project]) -> None:
    with listening() as port:
        pass
    first, second = projects(), projects()
    first.write(service("router", 600, published(port), check=None))
    first.up()
    second.write(service("router", 600, published(port)))
    assert f"is taken by the container {first.name}-router-1" in str(refused(second.up))
    assert [s.verb for s in first.up().services] == ["keep"]


def test_what_cannot_be_mounted_is_named_before_anything_starts(project: Project) -> None:
    mount = "{type: bind, source: ./smg, target: /etc/smg, bind: {create_host_path: false}}"
    project.write(stack(service("chat"), service("router", 600, f"volumes: [{mount}]")))
    error = refused(project.up)
    assert f"router mounts {project.folder}/smg, and it is not there" in str(error)
    assert leftovers(project) == []


def test_a_container_of_somebody_else_with_the_same_name_is_named(project: Project) -> None:
    project.write(service("chat") + f"\n    container_name: {project.name}-taken")
    other = project.client.containers.create("monogpu/base:1", name=f"{project.name}-taken")
    try:
        assert f"there is a container {project.name}-taken, and it is not this project's" in str(refused(project.up))
    finally:
        other.remove()


def test_a_card_that_docker_cannot_give_is_said_in_words(project: Project) -> None:
    devices = (
        "deploy: {resources: {reservations: {devices: [{driver: none-such, device_ids: ['0'], capabilities: [gpu]}]}}}"
    )
    project.write(service("chat", 600, devices))
    error = refused(project.up)
    assert "chat cannot be started; Docker has no driver none-such that gives a container the card" in str(error)


def test_without_compose_nothing_is_started_and_the_way_to_it_is_said(project: Project) -> None:
    project.write(service("chat"))
    project.environ["PATH"] = str(project.folder)
    assert "the Docker Compose plug-in, which reads the compose file, is not installed" in str(refused(project.up))
    assert leftovers(project) == []


def test_status_tells_what_runs_in_boot_order(project: Project) -> None:
    labels = "labels: {monogpu.role: worker, monogpu.names: 'chat,code'}"
    with listening() as port:
        pass
    router = service("router", 600, after("chat"), published(port), check=None)
    project.write(stack(service("chat", 600, labels), router))
    project.up()
    chat, front = up.status(project.name, project.client)
    assert (chat.service, chat.status, chat.health, chat.role, chat.names) == (
        "chat",
        "running",
        "healthy",
        "worker",
        ("chat", "code"),
    )
    assert (front.service, front.health, [p.port for p in front.ports]) == ("router", None, [port])
    assert up.status(f"{project.name}-none", project.client) == ()


def test_logs_are_found_by_service_and_by_the_names_that_clients_ask_for(project: Project) -> None:
    labels = "labels: {monogpu.role: worker, monogpu.names: 'chat,code'}"
    project.write(service("chat", "print('one'); print('two'); time.sleep(600)", labels))
    project.up()
    for name in ("chat", "code", f"{project.name}-chat-1"):
        assert list(up.logs(project.name, project.client, name)) == ["one", "two"]
    assert list(up.logs(project.name, project.client, "chat", tail=1)) == ["two"]
    error = refused(lambda: up.logs(project.name, project.client, "chta"))
    assert "did you mean chat?" in str(error)


def test_a_second_walk_knows_how_long_a_service_took(project: Project) -> None:
    project.write(stack(service("chat"), service("router", 600, after("chat"), check=None)))
    project.up()
    project.write(stack(service("chat", 500), service("router", 600, after("chat"), check=None)))
    project.up()
    usual = [event.usual for event in project.events if isinstance(event, Waiting)]
    assert usual[0] is None
    assert usual[-1] is not None and 0.3 <= usual[-1] < 10

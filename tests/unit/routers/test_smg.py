from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given

from kit.assemble import assemble
from kit.memory.bill import Plan
from kit.routers import smg, smg_launch
from kit.stack.model import (
    Mount,
    Port,
    Route,
    Secret,
)
from tests.support.strategies import plan, plans


def test_workers_are_listed_by_address_with_the_name_that_clients_use() -> None:
    file, _ = smg.files((Route("chat", "chat", 8000, "chat"), Route("chat", "code.chat", 8000, "code")))
    assert file.path == "smg/workers.json"
    assert json.loads(file.text) == {
        "version": 1,
        "workers": [
            {"id": "chat", "url": "http://chat:8000", "model_id": "chat"},
            {"id": "code.chat", "url": "http://code.chat:8000", "model_id": "code"},
        ],
    }


@given(plans())
def test_every_address_is_listed_once_and_is_a_host_name_of_one_worker(made: Plan) -> None:
    stack = assemble(made)
    listed = [worker["url"] for worker in json.loads(stack.files[0].text)["workers"]]
    hosts = [
        host for one in stack.services for place in one.networks if one.health for host in (one.name, *place.aliases)
    ]
    assert len(listed) == len(set(listed))
    assert {f"http://{host}:8000" for host in hosts if host not in ("router", "haproxy")} == set(listed)


@given(plans())
def test_the_list_names_exactly_what_the_manifest_declares(made: Plan) -> None:
    listed = {worker["model_id"] for worker in json.loads(assemble(made).files[0].text)["workers"]}
    assert listed == {probe.name for probe in assemble(made).probes}


def test_the_router_listens_where_the_manifest_says() -> None:
    service = smg.service(
        plan(router={"port": 8080, "bind": "::1", "policy": "power_of_two", "image": "mine:1"}), ("chat",)
    )
    assert service.ports == (Port("::1", 8080, 30000),)
    assert service.image == "mine:1"
    assert service.command[-2:] == ("--policy", "power_of_two")
    assert service.entrypoint == ("python3", "/etc/smg/launch.py", "open")


def test_the_key_travels_in_the_environment_and_in_no_argument() -> None:
    service = smg.service(plan(router={"api_key": "THE_KEY"}), ())
    value = dict(service.environment)["MONOGPU_API_KEY"]
    assert isinstance(value, Secret)
    assert (value.name, value.required) == ("THE_KEY", True)
    assert service.entrypoint == ("python3", "/etc/smg/launch.py", "env")
    assert not [item for item in service.command if "KEY" in str(item)]


def test_a_key_in_a_file_is_mounted_and_nowhere_else() -> None:
    service = smg.service(plan(router={"api_key_file": "./secrets/key"}), ())
    assert service.entrypoint == ("python3", "/etc/smg/launch.py", "file")
    assert Mount("bind", "./secrets/key", smg.KEY_FILE, read_only=True) in service.mounts
    assert "MONOGPU_API_KEY" not in dict(service.environment)


def test_the_routers_own_metrics_stay_in_its_container() -> None:
    command = smg.service(plan(), ()).command
    assert command[command.index("--prometheus-host") + 1] == "127.0.0.1"


def test_the_program_that_starts_it_is_printed_as_it_was_tested() -> None:
    _, launch = smg.files(())
    assert launch.path == "smg/launch.py"
    assert launch.text == Path(smg_launch.__file__).read_text(encoding="utf-8")


def test_docker_kills_the_router_later_than_it_drains() -> None:
    service = smg.service(plan(), ())
    drain = int(str(service.command[service.command.index("--shutdown-grace-period-secs") + 1]))
    assert service.stop_grace > drain


def test_the_router_runs_without_root_on_a_file_system_it_cannot_write() -> None:
    service = smg.service(plan(), ())
    assert (service.user, service.read_only) == ("65532:65532", True)
    assert [(mount.source, mount.read_only) for mount in service.mounts if mount.kind == "bind"] == [("./smg", True)]


def test_another_model_changes_the_list_and_not_the_router() -> None:
    one, two = smg.service(plan(), ("chat",)), smg.service(plan(), ("chat", "embed"))
    assert [name for name in vars(one) if getattr(one, name) != getattr(two, name)] == ["depends_on"]

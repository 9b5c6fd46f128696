"""What the kit makes of a project as Docker Compose resolves it: recorded answers of `docker compose config`."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from kit.compose import config
from kit.compose.spec import Dependency, MountSpec, NetworkUse, PortSpec, ProjectSpec, ServiceSpec
from kit.errors import TargetError
from tests.support.composefiles import printed, project
from tests.support.paths import ROOT

FILE = Path("/srv/assistants/docker-compose.yaml")
EXAMPLES = sorted(ROOT.glob("compose/*/docker-compose.yaml"))


def read(text: str, **variables: str) -> ProjectSpec:
    return project(text, FILE, variables)


def one(fields: str, more: str = "") -> ServiceSpec:
    """The service whose fields these are, indented by four."""
    return read(f"name: p\nservices:\n  chat:\n    image: x:1\n{fields}\n{more}").service("chat")


def setting(service: ServiceSpec, *path: str) -> object:
    return next(each.value for each in service.settings if each.path == path)


def refusal(text: str, **variables: str) -> str:
    with pytest.raises(TargetError) as caught:
        read(text, **variables)
    return str(caught.value)


def refused(fields: str) -> str:
    return refusal(f"name: p\nservices:\n  chat:\n    image: x:1\n{fields}")


def test_services_stand_in_boot_order() -> None:
    text = "services:\n  router: {image: x, depends_on: [b, a]}\n  b: {image: x, depends_on: [a]}\n  a: {image: x}\n"
    assert [service.name for service in read(text).services] == ["a", "b", "router"]


@pytest.mark.parametrize(
    ("head", "variables", "name"),
    [
        ("name: mine\n", {}, "mine"),
        ("", {}, "assistants"),
        ("name: mine\n", {"COMPOSE_PROJECT_NAME": "theirs"}, "theirs"),
        ('name: "${WHO:-mine}"\n', {"WHO": "ours"}, "ours"),
    ],
)
def test_the_project_is_named_as_compose_names_it(head: str, variables: dict[str, str], name: str) -> None:
    text = f"{head}services: {{chat: {{image: x}}}}\n"
    assert read(text, **variables).name == name
    assert read(text, **variables).service("chat").container == f"{name}-chat-1"


def test_extension_fields_are_free() -> None:
    assert one("    x-note: {anything: [1]}", "x-more: 1").name == "chat"


def test_a_file_without_services_is_refused() -> None:
    assert refusal("name: p\nservices: {}\n") == "there are no services; name one under `services:`"


@pytest.mark.parametrize(
    ("fields", "path", "value"),
    [
        ("command: [a, 'b c', '1']", ("Cmd",), ["a", "b c", "1"]),
        ("command: a 'b c'", ("Cmd",), ["a", "b c"]),
        ("entrypoint: []", ("Entrypoint",), []),
        ("user: '1000'", ("User",), "1000"),
        ("stop_grace_period: 1m30s", ("StopTimeout",), 90),
        ("shm_size: 1gb", ("HostConfig", "ShmSize"), 2**30),
        ("shm_size: '1073741824'", ("HostConfig", "ShmSize"), 2**30),
        ("init: true", ("HostConfig", "Init"), True),
        ("read_only: true", ("HostConfig", "ReadonlyRootfs"), True),
        ("cap_drop: [ALL]", ("HostConfig", "CapDrop"), ["ALL"]),
        ("restart: on-failure:3", ("HostConfig", "RestartPolicy"), {"Name": "on-failure", "MaximumRetryCount": 3}),
        ("ipc: shareable", ("HostConfig", "IpcMode"), "shareable"),
        ("pid: host", ("HostConfig", "PidMode"), "host"),
        ("restart: 'no'", ("HostConfig", "RestartPolicy"), {"Name": "no", "MaximumRetryCount": 0}),
        ("cpus: 1.5", ("HostConfig", "NanoCpus"), 1_500_000_000),
        ("ulimits: {memlock: -1}", ("HostConfig", "Ulimits"), [{"Name": "memlock", "Soft": -1, "Hard": -1}]),
        ("tmpfs: ['/tmp:size=1,exec', /run]", ("HostConfig", "Tmpfs"), {"/tmp": "size=1,exec", "/run": ""}),
        ("logging: {options: {a: 1m}}", ("HostConfig", "LogConfig"), {"Type": "", "Config": {"a": "1m"}}),
        ("extra_hosts: {hub: 10.0.0.1}", ("HostConfig", "ExtraHosts"), ["hub:10.0.0.1"]),
        ("healthcheck: {disable: true}", ("Healthcheck",), {"Test": ["NONE"]}),
        ("healthcheck: {test: exit 0, retries: 2}", ("Healthcheck",), {"Test": ["CMD-SHELL", "exit 0"], "Retries": 2}),
        (
            "healthcheck: {test: [CMD, x], interval: 5s, timeout: 500ms, start_period: 1h}",
            ("Healthcheck",),
            {"Test": ["CMD", "x"], "Interval": 5 * 10**9, "Timeout": 5 * 10**8, "StartPeriod": 3600 * 10**9},
        ),
        (
            "deploy: {resources: {reservations: {devices: [{driver: nvidia, count: all, capabilities: [gpu]}]}}}",
            ("HostConfig", "DeviceRequests"),
            [{"Driver": "nvidia", "Count": -1, "Capabilities": [["gpu"]]}],
        ),
    ],
)  # fmt: skip
def test_a_field_becomes_what_the_engine_is_asked_for(fields: str, path: tuple[str, ...], value: object) -> None:
    assert setting(one(f"    {fields}"), *path) == value


@pytest.mark.parametrize(
    ("written", "mount"),
    [
        ("./smg:/etc/smg:ro", MountSpec("bind", "/srv/assistants/smg", "/etc/smg", True, create=True)),
        ("../x:/x", MountSpec("bind", "/srv/x", "/x", create=True)),
        ("~/m:/m", MountSpec("bind", "/home/me/m", "/m", create=True)),
        ("/abs:/abs:rw", MountSpec("bind", "/abs", "/abs", create=True)),
        ("hf:/cache", MountSpec("volume", "p_hf", "/cache")),
        (
            "{type: volume, source: hf, target: /c, read_only: true}",
            MountSpec("volume", "p_hf", "/c", True),
        ),
        ("{type: bind, source: a, target: /a}", MountSpec("bind", "/srv/assistants/a", "/a")),
        ("{type: tmpfs, target: /t, tmpfs: {size: 64m}}", MountSpec("tmpfs", "", "/t", False, 2**26)),
    ],
)
def test_mounts_are_read_in_both_notations(written: str, mount: MountSpec) -> None:
    assert one(f"    volumes: [{written}]", "volumes: {hf: }").mounts == (mount,)


@pytest.mark.parametrize(
    ("written", "port"),
    [
        ("'8000'", PortSpec("", "", 8000)),
        ("'80:8000'", PortSpec("", "80", 8000)),
        ("'127.0.0.1:80:8000'", PortSpec("127.0.0.1", "80", 8000)),
        ("'127.0.0.1::8000'", PortSpec("127.0.0.1", "", 8000)),
        ("'[::1]:80:8000/udp'", PortSpec("::1", "80", 8000, "udp")),
        ("{target: 8000, published: '80', host_ip: 127.0.0.1}", PortSpec("127.0.0.1", "80", 8000)),
    ],
)
def test_ports_are_read_in_both_notations(written: str, port: PortSpec) -> None:
    assert one(f"    ports: [{written}]").ports == (port,)


def test_networks_are_sorted_as_compose_sorts_them_and_default_to_the_default() -> None:
    service = one("    networks: {z: {aliases: [code.chat]}, a: }", "networks: {a: , z: }")
    assert service.networks == (NetworkUse("a"), NetworkUse("z", ("code.chat",)))
    assert one("").networks == (NetworkUse("default"),)


def test_only_what_is_used_is_made() -> None:
    text = (
        "services: {a: {image: x, networks: [n], volumes: ['vol:/v']}}\nnetworks: {n: , m: }\nvolumes: {vol: , w: }\n"
    )
    found = read(text)
    assert [network.name for network in found.networks] == ["assistants_n"]
    assert [volume.name for volume in found.volumes] == ["assistants_vol"]


def test_shared_networks_and_volumes_keep_their_names() -> None:
    text = (
        "services: {a: {image: x, networks: [n], volumes: ['vol:/v']}}\n"
        "networks: {n: {external: true}}\nvolumes: {vol: {name: shared-models, external: true}}\n"
    )
    found = read(text)
    assert [(n.name, n.external) for n in found.networks] == [("n", True)]
    assert [(v.name, v.external) for v in found.volumes] == [("shared-models", True)]


def test_the_environment_is_the_files_then_the_shells() -> None:
    service = read("services: {a: {image: x, environment: {A: 1, B: , C: , D: 'true', E: ''}}}\n", B="b").service("a")
    assert service.environment == ("A=1", "B=b", "C", "D=true", "E=")
    assert one("    environment: [A=x=y, NONE]").environment == ("A=x=y", "NONE")


def test_labels_are_read_in_both_notations() -> None:
    assert one("    labels: {a: 1, b: }").labels == (("a", "1"), ("b", ""))
    assert one("    labels: ['a=x=y', b]").labels == (("a", "x=y"), ("b", ""))


def test_conditions_are_read_in_both_notations() -> None:
    text = "services: {a: {image: x}, b: {image: x, depends_on: DEPENDS}}\n"
    assert read(text.replace("DEPENDS", "[a]")).service("b").depends_on == (Dependency("a", "service_started"),)
    healthy = read(text.replace("DEPENDS", "{a: {condition: service_healthy, restart: true}}")).service("b").depends_on
    assert healthy == (Dependency("a", "service_healthy", True),)


def digests(fields: str) -> dict[str, str]:
    return dict(one(fields).digests)


def test_a_digest_changes_with_its_own_key_alone() -> None:
    before, after = digests("    shm_size: 1g\n    user: '1'"), digests("    shm_size: 2g\n    user: '1'")
    assert {key for key in before if before[key] != after[key]} == {"shm_size"}


def test_the_order_of_starting_makes_no_container_different() -> None:
    text = "services: {a: {image: x}, b: {image: x, depends_on: DEPENDS}}\n"
    first, second = (read(text.replace("DEPENDS", each)).service("b").digests for each in ("[]", "[a]"))
    assert first == second


def test_digests_are_those_of_values_not_of_their_notation() -> None:
    assert digests('    environment: {A: "1"}') == digests("    environment: [A=1]")
    assert digests("    command: [a, b]") == digests("    command:\n      - a\n      - b")


def test_a_secret_changes_the_digest_and_is_not_in_it() -> None:
    text = 'services: {a: {image: x, environment: {KEY: "${KEY:?k}"}}}\n'
    first, second = read(text, KEY="one").service("a"), read(text, KEY="two").service("a")
    assert first.digests != second.digests
    assert "one" not in repr(first.digests)


def test_the_examples_are_read() -> None:
    secrets = dict.fromkeys(("HF_TOKEN", "MONOGPU_API_KEY"), "x")
    assert EXAMPLES
    for example in EXAMPLES:
        found = printed(example.read_text(), example, secrets)
        assert found.services[-1].ports
        assert any(service.is_worker for service in found.services)


def test_a_service_without_networks_has_none_and_one_that_does_not_say_has_the_default() -> None:
    assert one("    network_mode: none").networks == ()
    assert [use.network for use in one("").networks] == ["default"]


def test_a_volumes_options_are_the_drivers() -> None:
    text = (
        "services: {a: {image: x, volumes: ['vol:/v']}}\nvolumes: {vol: {driver_opts: {type: tmpfs, device: tmpfs}}}\n"
    )
    (volume,) = read(text).volumes
    assert volume.options == (("device", "tmpfs"), ("type", "tmpfs"))


def test_a_service_alone_keeps_what_it_cannot_be_without() -> None:
    text = """
services:
  fetch: {image: x}
  card: {image: x}
  big:
    image: x
    depends_on:
      fetch: {condition: service_completed_successfully}
      card: {condition: service_started, restart: true}
  small: {image: x, depends_on: {card: {condition: service_started, restart: true}, big: {condition: service_healthy}}}
"""
    alone = read(text).only(["small"])
    assert [service.name for service in alone.services] == ["card", "small"]
    assert [need.service for need in alone.service("small").depends_on] == ["card"]
    assert [service.name for service in read(text).only(["big"]).services] == ["card", "fetch", "big"]


def test_a_dependency_whose_profile_is_not_active_is_left_out() -> None:
    text = "services:\n  a:\n    depends_on: {b: {required: false}, c: {required: true}}\n  c: {image: '$$x'}\n"
    assert yaml.safe_load(config.without_absent(text)) == {
        "services": {"a": {"depends_on": {"c": {"required": True}}}, "c": {"image": "$$x"}}
    }


def test_keys_that_a_bill_rests_on_are_compared_for_planned_workers_alone() -> None:
    worker = {"image": "x", "labels": {"monogpu.role": "worker"}}
    printed = {"services": {"chat": worker, "rank": worker, "gone": worker, "ui": {"image": "x"}}}
    merged = {
        "services": {"chat": worker | {"image": "y", "ports": []}, "rank": worker | {"environment": {}}, "ui": {}}
    }
    assert config.not_as_billed(printed, merged) == {"chat": ("image", "ports"), "gone": ("services",)}

"""`docker compose create` and the kit make the same container of the same file, and either takes over the other's."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from kit.compose import create_request, up
from kit.compose.execute import make, prepare
from tests.docker.conftest import IMAGE, Project
from tests.support.paths import ROOT

pytestmark = pytest.mark.docker

SERVICES = """
  worker:
    image: "IMAGE"
    entrypoint: ["python3", "-c"]
    command: ["import time; time.sleep(600)", "a $$dollar", "emoji \\U0001F600", "${UNSET:-fallback}"]
    environment:
      EMPTY: ""
      QUOTED: "x = 'y' \\"z\\""
      NUMBER: 7
      FROM_OUTSIDE:
      SECRET: "${MGK_SECRET:?the key}"
    deploy:
      resources:
        reservations:
          devices:
            - driver: nvidia
              device_ids: ["0"]
              capabilities: ["gpu"]
    healthcheck:
      test: ["CMD", "python3", "-c", "pass"]
      interval: "5s"
      timeout: "5s"
      retries: 6
      start_period: "600s"
    networks:
      workers:
        aliases: ["code.worker"]
    volumes:
      - {type: bind, source: ./files, target: /etc/files, read_only: true, bind: {create_host_path: false}}
      - {type: volume, source: cache, target: /root/.cache}
      - ./files:/short:ro
      - cache:/short-volume
    tmpfs: ["/tmp:size=2147483648,exec"]
    shm_size: 1073741824
    user: "65532:65532"
    read_only: true
    init: true
    cap_drop: ["ALL"]
    security_opt: ["no-new-privileges:true"]
    restart: "on-failure:3"
    stop_grace_period: "60s"
    logging:
      driver: "json-file"
      options: {max-size: "10485760", max-file: "3"}
    labels: {monogpu.role: worker, monogpu.names: "worker,code"}
  cdi:
    image: "IMAGE"
    command: python3 -c 'import time; time.sleep(600)'
    deploy: {resources: {reservations: {devices: [{driver: cdi, device_ids: [nvidia.com/gpu=0], capabilities: [gpu]}]}}}
    cap_add: [SYS_NICE]
    ulimits: {memlock: -1, nofile: {soft: 1024, hard: 2048}}
    ipc: private
    mem_limit: 512m
    cpus: 1.5
    pids_limit: 100
    extra_hosts: ["hub:10.0.0.1"]
    group_add: ["44"]
    stop_signal: SIGINT
    working_dir: /tmp
    hostname: card
    healthcheck: {disable: true}
  shared:
    image: "IMAGE"
    command: ["python3", "-c", "import time; time.sleep(600)"]
    network_mode: "none"
    pid: "host"
    volumes: [{type: volume, source: memory, target: /dev/shm}]
    depends_on: {worker: {condition: service_healthy, restart: true}}
  router:
    image: "IMAGE"
    command: ["python3", "-m", "http.server", "8000"]
    depends_on:
      worker: {condition: service_healthy}
      cdi: {condition: service_started}
    networks: {edge: , workers: }
    ports:
      - {host_ip: 127.0.0.1, published: "0", target: 8000, protocol: tcp}
      - "127.0.0.1::8001"
    labels: ["monogpu.role=router"]
"""
MORE = """
networks:
  workers: {internal: true}
  edge: {internal: false, driver_opts: {com.docker.network.bridge.enable_icc: "true"}}
volumes:
  cache:
  memory:
    driver_opts: {type: "tmpfs", device: "tmpfs", o: "nosuid,nodev,noexec"}
"""
ENVIRON = {"MGK_SECRET": "s3cret $money", "FROM_OUTSIDE": "outside"}
EXAMPLES = sorted(ROOT.glob("compose/*/docker-compose.yaml"))
# What no two containers share, and what says who made it: Debian's Compose calls itself 2.26.1-4 and labels 2.26.1.
# DNSNames appear with a second network; a short mount's Mode says that it was written short.
NOT_COMPARED = {
    "Id", "Created", "State", "ResolvConfPath", "HostnamePath", "HostsPath", "LogPath", "GraphDriver", "DNSNames",
    "CreatedAt", "Mountpoint", "IPAM", "Mode", create_request.DIGESTS, create_request.VERSION,
}  # fmt: skip
UNORDERED = {"Env", "Aliases", "Mounts", "Ulimits"}


def settled(attrs: dict[str, Any]) -> dict[str, str]:
    """The Engine's whole answer, one line a value. Mounts are compared as they are in force: Compose asks for some of
    them as `Binds`."""
    asked = {key: value for key, value in attrs["HostConfig"].items() if key not in ("Binds", "Mounts")}
    named = attrs["Config"]["Hostname"] != attrs["Id"][:12]
    labels = dict(attrs["Config"]["Labels"])
    labels[create_request.DEPENDS_ON] = sorted(
        labels[create_request.DEPENDS_ON].split(",")
    )  # Compose has no order of its own
    config = {key: value for key, value in attrs["Config"].items() if key != "Hostname" or named}
    return flat(attrs | {"HostConfig": asked, "Config": config | {"Labels": labels}})


def flat(value: Any, path: tuple[str, ...] = ()) -> dict[str, str]:
    """`{a: {b: 1}}` -> `{a b: 1}`. Nothing, [] and {} are the same to the Engine, which prints either."""
    if not value or (path and path[-1] in NOT_COMPARED):
        return {}
    if isinstance(value, dict):
        return {place: leaf for key, item in value.items() for place, leaf in flat(item, (*path, key)).items()}
    if isinstance(value, list):
        leaves = [str(flat(item, path)) for item in value]
        value = sorted(leaves) if path and path[-1] in UNORDERED else leaves
    return {" ".join(path): str(value)}


@pytest.fixture
def both(project: Project) -> Project:
    """One file for both."""
    (project.folder / "files").mkdir()
    project.environ |= ENVIRON
    project.write(SERVICES, MORE)
    return project


def created_by_compose(project: Project) -> dict[str, dict[str, Any]]:
    project.compose("create")
    return inspected(project)


def created_by_the_kit(project: Project) -> dict[str, dict[str, Any]]:
    """As `up` makes them; they would need a card to start."""
    walk, operations = up.decide(project.folder, project.client, project.environ)
    prepare(walk, operations)
    for service in walk.project.services:
        make(walk, service)
    return inspected(project)


def inspected(project: Project) -> dict[str, dict[str, Any]]:
    return {name: project.inspect(name) for name in project.ids()}


def beside(project: Project) -> dict[str, Any]:
    """The networks and volumes, as the Engine has them."""
    ours: Any = {"label": f"{create_request.PROJECT}={project.name}"}
    found = project.client.networks.list(filters=ours) + project.client.volumes.list(filters=ours)
    return {each.name: flat(each.attrs | {"Containers": None, "Status": None}) for each in found}


def must_make_the_same(project: Project) -> None:
    theirs, their_surroundings = created_by_compose(project), beside(project)
    up.down(project.name, project.client, volumes=True)
    ours, our_surroundings = created_by_the_kit(project), beside(project)
    assert set(ours) == set(theirs) != set()
    for name, attrs in theirs.items():
        assert settled(ours[name]) == settled(attrs)
    assert our_surroundings == their_surroundings


def test_the_kit_and_compose_make_the_same_containers_networks_and_volumes(both: Project) -> None:
    must_make_the_same(both)


def test_the_examples_are_made_as_compose_makes_them(projects: Callable[[], Project]) -> None:
    """Under other names, on another port, with an image that is here; what they mount is put beside them."""
    assert EXAMPLES
    for example in EXAMPLES:
        project = projects()
        text = re.sub(r"(?m)^name: .*$", f"name: {project.name}", example.read_text())
        text = re.sub(r"(?m)^( +image:) .*$", rf"\1 {IMAGE}", text)
        text = re.sub(r"(published:) .*", r'\1 "0"', text)
        for source in re.findall(r'source: "?(\./[^"\s,}]+)', text):
            (project.folder / source).mkdir(parents=True, exist_ok=True)
        (project.folder / up.FILE).write_text(text)
        must_make_the_same(project)
        # The Engine has addresses for some thirty networks in all.
        up.down(project.name, project.client, volumes=True)


def test_the_comparison_sees_a_difference(both: Project) -> None:
    before = created_by_compose(both)
    up.down(both.name, both.client, volumes=True)
    both.write(SERVICES.replace("shm_size: 1073741824", "shm_size: 67108864"), MORE)
    after = created_by_the_kit(both)
    assert settled(after["router"]) == settled(before["router"])
    differing = set(settled(after["worker"]).items() - settled(before["worker"]).items())
    assert {key for key, _ in differing} == {
        "HostConfig ShmSize", f"Config Labels {create_request.CONFIG_HASH}",
    }  # fmt: skip


def test_compose_wants_to_change_nothing_that_the_kit_made(both: Project) -> None:
    before = {name: attrs["Id"] for name, attrs in created_by_the_kit(both).items()}
    both.compose("create")
    assert both.ids() == before


def test_the_kit_wants_to_change_nothing_that_compose_made(both: Project) -> None:
    created_by_compose(both)
    assert both.planned() == [
        "start cdi: was made, but not started",
        "start worker: was made, but not started",
        "start router: was made, but not started",
        "start shared: was made, but not started",
    ]

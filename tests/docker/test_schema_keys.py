"""For every key of Docker Compose's schema: `docker compose create` and the kit make the same, or `up` names the key.

Each key has a service of its own in one project; `-s` prints the table.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from kit.compose import up
from kit.compose.config_keys import REFUSED
from kit.compose.execute import make, prepare
from kit.errors import TargetError
from tests.docker.conftest import Project
from tests.docker.test_differential import beside, settled
from tests.support.paths import RECORDED

pytestmark = pytest.mark.docker

SCHEMA = RECORDED / "compose-schema-keys.txt"
DEVICE = "{resources: {reservations: {devices: [{%s capabilities: [gpu]}]}}}"
VOLUME = "[{type: volume, source: vol, target: /v, %s}]"
BIND = "[{type: bind, source: ./files, target: /v, %s}]"
TMPFS = "[{type: tmpfs, target: /v, %s}]"
PORT = "[{target: 80, %s}]"
HEALTH = "{test: [CMD, x], %s}"
ON = "{plain: {condition: service_started, %s}}"

# A key of the schema -> the fields of a service that has it.
CASES: dict[str, str] = {
    "annotations": "annotations: {a: b}",
    "attach": "attach: false",
    "blkio_config": "blkio_config: {weight: 300}",
    "blkio_config.device_read_bps": "blkio_config: {device_read_bps: [{path: /dev/null, rate: 1mb}]}",
    "blkio_config.device_read_iops": "blkio_config: {device_read_iops: [{path: /dev/null, rate: 100}]}",
    "blkio_config.device_write_bps": "blkio_config: {device_write_bps: [{path: /dev/null, rate: 1024}]}",
    "blkio_config.device_write_iops": "blkio_config: {device_write_iops: [{path: /dev/null, rate: 100}]}",
    "blkio_config.weight": "blkio_config: {weight: 10}",
    "blkio_config.weight_device": "blkio_config: {weight_device: [{path: /dev/null, weight: 100}]}",
    "build": "build: .",
    "cap_add": "cap_add: [SYS_NICE]",
    "cap_drop": "cap_drop: [ALL]",
    "cgroup": "cgroup: private",
    "cgroup_parent": "cgroup_parent: mine",
    "command": "command: python3 -c 'a b' $$x",
    "configs": "configs: [conf]",
    "container_name": "container_name: PROJECT-mine",
    "cpu_count": "cpu_count: 1",
    "cpu_percent": "cpu_percent: 10",
    "cpu_period": "cpu_period: 100000",
    "cpu_quota": "cpu_quota: 50000",
    "cpu_rt_period": "cpu_rt_period: 1000",
    "cpu_rt_runtime": "cpu_rt_runtime: 500",
    "cpu_shares": "cpu_shares: 512",
    "cpus": "cpus: 0.5",
    "cpuset": "cpuset: '0'",
    "credential_spec": "credential_spec: {file: spec.json}",
    "depends_on": "depends_on: [plain]",
    "depends_on.condition": f"depends_on: {ON % ''}",
    "depends_on.required": f"depends_on: {ON % 'required: false'}",
    "depends_on.restart": f"depends_on: {ON % 'restart: true'}",
    "deploy": "deploy: {}",
    "deploy.endpoint_mode": "deploy: {endpoint_mode: vip}",
    "deploy.labels": "deploy: {labels: {a: b}}",
    "deploy.mode": "deploy: {mode: replicated}",
    "deploy.placement": "deploy: {placement: {constraints: [a == b]}}",
    "deploy.replicas": "deploy: {replicas: 2}",
    "deploy.resources": "deploy: {resources: {}}",
    "deploy.resources.limits": "deploy: {resources: {limits: {cpus: '0.5', memory: 64m}}}",
    "deploy.resources.limits.cpus": "deploy: {resources: {limits: {cpus: '0.5'}}}",
    "deploy.resources.limits.memory": "deploy: {resources: {limits: {memory: 64m}}}",
    "deploy.resources.limits.pids": "deploy: {resources: {limits: {pids: 10}}}",
    "deploy.resources.reservations": "deploy: {resources: {reservations: {}}}",
    "deploy.resources.reservations.cpus": "deploy: {resources: {reservations: {cpus: '0.1'}}}",
    "deploy.resources.reservations.devices": f"deploy: {DEVICE % ''}",
    "deploy.resources.reservations.devices.capabilities": "deploy: {resources: {reservations: {devices: "
    "[{capabilities: [gpu, compute]}]}}}",
    "deploy.resources.reservations.devices.count": f"deploy: {DEVICE % 'count: all,'}",
    "deploy.resources.reservations.devices.device_ids": f"deploy: {DEVICE % 'device_ids: [a, b],'}",
    "deploy.resources.reservations.devices.driver": f"deploy: {DEVICE % 'driver: nvidia, count: 1,'}",
    "deploy.resources.reservations.devices.options": f"deploy: {DEVICE % 'options: {a: b}, count: 1,'}",
    "deploy.resources.reservations.generic_resources": "deploy: {resources: {reservations: {generic_resources: "
    "[{discrete_resource_spec: {kind: a, value: 1}}]}}}",
    "deploy.resources.reservations.memory": "deploy: {resources: {reservations: {memory: 32m}}}",
    "deploy.restart_policy": "deploy: {restart_policy: {}}",
    "deploy.restart_policy.condition": "deploy: {restart_policy: {condition: any}}",
    "deploy.restart_policy.delay": "deploy: {restart_policy: {condition: on-failure, delay: 5s}}",
    "deploy.restart_policy.max_attempts": "deploy: {restart_policy: {condition: on-failure, max_attempts: 3}}",
    "deploy.restart_policy.window": "deploy: {restart_policy: {condition: none, window: 5s}}",
    "deploy.rollback_config": "deploy: {rollback_config: {parallelism: 1}}",
    "deploy.update_config": "deploy: {update_config: {parallelism: 1}}",
    "develop": "develop: {watch: [{path: ./files, action: restart}]}",
    "device_cgroup_rules": "device_cgroup_rules: ['c 1:3 mr']",
    "devices": "devices: ['/dev/null:/dev/mine:r', /dev/zero]",
    "devices.permissions": "devices: [{source: /dev/null, target: /dev/x, permissions: r}]",
    "devices.source": "devices: [{source: /dev/null, target: /dev/null}]",
    "devices.target": "devices: [{source: /dev/null, target: /dev/x}]",
    "dns": "dns: 1.1.1.1",
    "dns_opt": "dns_opt: [use-vc]",
    "dns_search": "dns_search: [example.org]",
    "domainname": "domainname: example.org",
    "entrypoint": "entrypoint: [python3, -c]",
    "env_file": "env_file: [more.env]",
    "environment": "environment: {A: 'a$$b', B: , N: 7}",
    "expose": "expose: ['80', 90/udp]",
    "extends": "extends: {service: plain}",
    "external_links": "external_links: [other]",
    "extra_hosts": "extra_hosts: {hub: 10.0.0.1, six: '::1'}",
    "gpus": "gpus: all",
    "gpus.capabilities": "gpus: [{capabilities: [compute], count: 1}]",
    "gpus.count": "gpus: [{count: 2}]",
    "gpus.device_ids": "gpus: [{device_ids: [a]}]",
    "gpus.driver": "gpus: [{driver: nvidia, count: 1}]",
    "gpus.options": "gpus: [{count: 1, options: {a: b}}]",
    "group_add": "group_add: ['44', audio]",
    "healthcheck": "healthcheck: {test: exit 0}",
    "healthcheck.disable": "healthcheck: {disable: true}",
    "healthcheck.interval": f"healthcheck: {HEALTH % 'interval: 1m30s'}",
    "healthcheck.retries": f"healthcheck: {HEALTH % 'retries: 7'}",
    "healthcheck.start_interval": f"healthcheck: {HEALTH % 'start_interval: 500ms, start_period: 5s'}",
    "healthcheck.start_period": f"healthcheck: {HEALTH % 'start_period: 1h'}",
    "healthcheck.test": f"healthcheck: {HEALTH % ''}",
    "healthcheck.timeout": f"healthcheck: {HEALTH % 'timeout: 1.5s'}",
    "hostname": "hostname: mine",
    "image": "labels: {only: image}",
    "init": "init: true",
    "ipc": "ipc: shareable",
    "isolation": "isolation: default",
    "label_file": "label_file: [labels.env]",
    "labels": "labels: [a=b, c]",
    "links": "links: [plain]",
    "logging": "logging: {driver: json-file}",
    "logging.driver": "logging: {driver: none}",
    "logging.options": "logging: {options: {max-size: 1m}}",
    "mac_address": "mac_address: '02:42:ac:11:65:43'",
    "mem_limit": "mem_limit: 64m",
    "mem_reservation": "mem_reservation: 32m",
    "mem_swappiness": "mem_swappiness: 10",
    "memswap_limit": "mem_limit: 64m\n    memswap_limit: 128m",
    "network_mode": "network_mode: host",
    "networks": "networks: [one, two]",
    "networks.aliases": "networks: {one: {aliases: [a, b]}}",
    "networks.driver_opts": "networks: {one: {driver_opts: {a: b}}}",
    "networks.gw_priority": "networks: {one: {gw_priority: 1}, two: }",
    "networks.ipv4_address": "networks: {fixed: {ipv4_address: 10.213.7.9}}",
    "networks.ipv6_address": "networks: {fixed: {ipv6_address: 'fd00:213::9'}}",
    "networks.link_local_ips": "networks: {one: {link_local_ips: [169.254.7.9]}}",
    "networks.mac_address": "networks: {one: {mac_address: '02:42:ac:11:65:44'}}",
    "networks.priority": "networks: {one: {priority: 1}, two: {priority: 9}}",
    "oom_kill_disable": "oom_kill_disable: true",
    "oom_score_adj": "oom_score_adj: 100",
    "pid": "pid: host",
    "pids_limit": "pids_limit: 10",
    "platform": "platform: linux/amd64",
    "ports": "ports: ['127.0.0.1::80', '81/udp']",
    "ports.app_protocol": f"ports: {PORT % 'app_protocol: http'}",
    "ports.host_ip": f"ports: {PORT % 'host_ip: 127.0.0.1'}",
    "ports.mode": f"ports: {PORT % 'mode: host'}",
    "ports.name": f"ports: {PORT % 'name: web'}",
    "ports.protocol": f"ports: {PORT % 'protocol: udp'}",
    "ports.published": f"ports: {PORT % 'published: 0'}",
    "ports.target": f"ports: {PORT % ''}",
    "post_start": "post_start: [{command: [x]}]",
    "pre_stop": "pre_stop: [{command: [x]}]",
    "privileged": "privileged: true",
    "profiles": "profiles: [extra]",
    "pull_policy": "pull_policy: always",
    "read_only": "read_only: true",
    "restart": "restart: on-failure:3",
    "runtime": "runtime: runc",
    "scale": "scale: 2",
    "secrets": "secrets: [hidden]",
    "security_opt": "security_opt: ['no-new-privileges:true', seccomp=unconfined]",
    "shm_size": "shm_size: 1gb",
    "stdin_open": "stdin_open: true",
    "stop_grace_period": "stop_grace_period: 1m30s",
    "stop_signal": "stop_signal: SIGINT",
    "storage_opt": "storage_opt: {size: 1G}",
    "sysctls": "sysctls: {net.core.somaxconn: 1024}",
    "tmpfs": "tmpfs: ['/tmp:size=1m,exec', /run]",
    "tty": "tty: true",
    "ulimits": "ulimits: {nofile: 1024, memlock: -1}",
    "ulimits.hard": "ulimits: {nofile: {soft: 10, hard: 20}}",
    "ulimits.soft": "ulimits: {core: {soft: 0, hard: 1}}",
    "user": "user: '1000:1000'",
    "userns_mode": "userns_mode: host",
    "uts": "uts: host",
    "volumes": "volumes: ['./files:/f:ro', 'vol:/v', './made:/made']",
    "volumes.bind": f"volumes: {BIND % 'bind: {}'}",
    "volumes.bind.create_host_path": f"volumes: {BIND % 'bind: {create_host_path: false}'}",
    "volumes.bind.propagation": f"volumes: {BIND % 'bind: {propagation: rslave}'}",
    "volumes.bind.recursive": f"volumes: {BIND % 'bind: {recursive: disabled}'}",
    "volumes.bind.selinux": f"volumes: {BIND % 'bind: {selinux: z}'}",
    "volumes.consistency": f"volumes: {BIND % 'consistency: cached'}",
    "volumes.read_only": f"volumes: {VOLUME % 'read_only: true'}",
    "volumes.source": "volumes: [/anonymous]",
    "volumes.target": f"volumes: {VOLUME % ''}",
    "volumes.tmpfs": f"volumes: {TMPFS % 'tmpfs: {}'}",
    "volumes.tmpfs.mode": f"volumes: {TMPFS % 'tmpfs: {mode: 0o700}'}",
    "volumes.tmpfs.size": f"volumes: {TMPFS % 'tmpfs: {size: 1m}'}",
    "volumes.type": f"volumes: {TMPFS % 'read_only: false'}",
    "volumes.volume": f"volumes: {VOLUME % 'volume: {}'}",
    "volumes.volume.nocopy": f"volumes: {VOLUME % 'volume: {nocopy: true}'}",
    "volumes.volume.subpath": f"volumes: {VOLUME % 'volume: {subpath: a}'}",
    "volumes_from": "volumes_from: [plain]",
    "working_dir": "working_dir: /tmp",
}
# Where the top-level key is what counts: its fields, and the service that uses it.
BESIDE: dict[str, tuple[str, str]] = {
    "networks.attachable": ("networks: [n1]", "networks: {n1: {attachable: true}}"),
    "networks.driver": ("networks: [n2]", "networks: {n2: {driver: macvlan}}"),
    "networks.driver_opts": (
        "networks: [n3]", 'networks: {n3: {driver_opts: {com.docker.network.bridge.enable_icc: "false"}}}',
    ),
    "networks.enable_ipv4": ("networks: [n4]", "networks: {n4: {enable_ipv4: true}}"),
    "networks.enable_ipv6": ("networks: [n5]", "networks: {n5: {enable_ipv6: false}}"),
    "networks.external": ("networks: [n6]", "networks: {n6: {external: true, name: FIXED}}"),
    "networks.internal": ("networks: [n7]", "networks: {n7: {internal: true}}"),
    "networks.ipam": ("networks: [n8]", "networks: {n8: {ipam: {config: [{subnet: 10.213.8.0/24}]}}}"),
    "networks.labels": ("networks: [n9]", "networks: {n9: {labels: {a: b}}}"),
    "networks.name": ("networks: [n10]", "networks: {n10: {name: PROJECT-named}}"),
    "volumes.driver": ("volumes: ['v1:/v']", "volumes: {v1: {driver: none-such}}"),
    "volumes.driver_opts": ("volumes: ['v2:/v']", "volumes: {v2: {driver_opts: {type: tmpfs, device: tmpfs}}}"),
    "volumes.external": ("volumes: ['v3:/v']", "volumes: {v3: {external: true, name: PROJECT-outside}}"),
    "volumes.labels": ("volumes: ['v4:/v']", "volumes: {v4: {labels: {a: b}}}"),
    "volumes.name": ("volumes: ['v5:/v']", "volumes: {v5: {name: PROJECT-named}}"),
}  # fmt: skip
# What this Engine, or this machine's kernel, may refuse: of either, it refuses both.
MAY_BE_REFUSED = (
    "cpu_rt_period",
    "cpu_rt_runtime",
    "storage_opt",
    "blkio_config",
    "networks.ipv6_address",
    "cpu_count",
)
SHARED = """
networks:
  one: {}
  two: {}
  fixed: {external: true, name: FIXED}
volumes: {vol: {}}
configs: {conf: {file: ./more.env}}
secrets: {hidden: {file: ./more.env}}
"""


def slug(path: str) -> str:
    return path.replace(".", "-").replace("_", "-")


def services() -> dict[str, tuple[str, str]]:
    """Service -> the key that it is for, and its fields."""
    below = {slug(path): (f"services.*.{path}", fields) for path, fields in CASES.items()}
    return below | {f"top-{slug(path)}": (path, fields) for path, (fields, _) in BESIDE.items()}


def written(project: Project, names: set[str]) -> None:
    """The project's file with these services, and all networks and volumes that they use."""
    listed = [f"  {name}:\n    image: IMAGE\n    {fields}" for name, (_, fields) in services().items() if name in names]
    more: dict[str, list[str]] = {"networks": [], "volumes": []}
    for path, (_, field) in BESIDE.items():
        if f"top-{slug(path)}" in names:
            kind, _, rest = field.partition(": {")
            more[kind].append("  " + rest.removesuffix("}"))
    shared = SHARED.replace("volumes: {vol: {}}", "volumes:\n  vol: {}")
    for kind, lines in more.items():
        shared = shared.replace(f"\n{kind}:\n", "\n".join(["", f"{kind}:", *lines, ""]))
    text = "\n".join(["  plain: {image: IMAGE}", *listed])
    shared = shared.replace("FIXED", f"{project.name}-fixed").replace("PROJECT", project.name)
    project.write(text.replace("PROJECT", project.name), shared)


def pattern(path: tuple[str | int, ...]) -> str:
    """The path of a problem as the schema's keys are written here."""
    steps = [str(step) for step in path if not isinstance(step, int)]
    steps[1] = "*"
    if steps[:3:2] == ["services", "networks"] and len(steps) > 3:
        del steps[3]
    return ".".join(steps if steps[0] == "services" else [steps[0], *steps[2:]])


def same_place(case: str, named: str) -> bool:
    return f"{case}.".startswith(f"{named}.") or f"{named}.".startswith(f"{case}.")


def refused(project: Project) -> dict[str, str]:
    """Service -> the key that `up` names."""
    with pytest.raises(TargetError) as caught:
        up.read(project.folder, project.environ)
    found: dict[str, str] = {}
    for problem in caught.value.problems:
        kind, name = str(problem.path[0]), str(problem.path[1])
        users = (f"top-{slug(path)}" for path, (_, field) in BESIDE.items() if f"{{{name}: " in field)
        found[name if kind == "services" else next(users)] = pattern(problem.path)
    return found


def created_by_compose(project: Project, names: set[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """What Compose creates, and what the Engine refused it."""
    doubtful = {name for name in names if services()[name][0].removeprefix("services.*.").startswith(MAY_BE_REFUSED)}
    project.compose("create", "plain", *sorted(names - doubtful))
    failed = {name: "the Engine refuses it" for name in sorted(doubtful) if not attempt(project, "create", name)}
    return inspected(project), failed


def attempt(project: Project, *words: str) -> bool:
    try:
        project.compose(*words)
    except AssertionError:
        return False
    return True


def created_by_the_kit(project: Project) -> tuple[dict[str, Any], dict[str, str]]:
    context, operations = up.decide(project.folder, project.client, project.environ)
    prepare(context, operations)
    failed: dict[str, str] = {}
    for service in context.project.services:
        try:
            make(context, service)
        except Exception as error:
            failed[service.name] = str(error)
    return inspected(project), failed


def inspected(project: Project) -> dict[str, Any]:
    return {name: project.client.api.inspect_container(id) for name, id in project.ids().items()}


def comparable(attrs: dict[str, Any], project: Project) -> set[tuple[str, str]]:
    """Compose gives an external network by its id, and hosts in any order; addresses show where a container starts."""
    host = attrs["HostConfig"]
    names = {network.id: network.name for network in project.client.networks.list(names=[f"{project.name}-fixed"])}
    asked = {
        "NetworkMode": names.get(host["NetworkMode"], host["NetworkMode"]),
        "ExtraHosts": sorted(host["ExtraHosts"] or ()),
    }
    found = settled(attrs | {"HostConfig": host | asked})
    return {item for item in found.items() if not item[0].endswith((" IPAddress", " IPv6Gateway"))}


def test_every_key_of_the_schema_is_here() -> None:
    keys = {key.removeprefix("services.*.") for key in SCHEMA.read_text().split() if key.startswith("services.*.")}
    assert keys == set(CASES)
    assert {key for key in SCHEMA.read_text().split() if not key.startswith("services.*.")} == set(BESIDE)
    newer = {"models", "provider", "use_api_socket"}
    refused = {key.removeprefix("services.*.").replace("*.", "") for key in REFUSED if key.startswith("services.*.")}
    assert refused <= set(CASES) | newer


def test_what_up_makes_of_a_key_is_what_compose_makes_or_the_key_is_named(project: Project) -> None:
    prepared(project)
    cases = services()
    written(project, set(cases))
    named = refused(project)
    wrong = {name: f"`up` names {key}" for name, key in named.items() if not same_place(cases[name][0], key)}
    left = set(cases) - set(named)
    written(project, left)
    theirs, refused_them = created_by_compose(project, left)
    networks = beside(project)
    up.down(project.name, project.client, volumes=True)
    ours, refused_us = created_by_the_kit(project)
    for name in sorted(left):
        if (name in refused_them) != (name in refused_us):
            wrong[name] = f"Compose: {refused_them.get(name, 'made')}; the kit: {refused_us.get(name, 'made')}"
        elif name in theirs and (difference := comparable(ours[name], project) ^ comparable(theirs[name], project)):
            wrong[name] = str(sorted(difference))
    if beside(project) != networks:
        wrong["networks"] = "the networks or volumes differ"
    outcomes = {cases[name][0]: "refused by name" if name in named else "same" for name in cases if name not in wrong}
    print(f"\n{json.dumps(outcomes | {key: f'WRONG {why}' for key, why in wrong.items()}, indent=1)}")
    print({**Counter(outcomes.values()), "wrong": len(wrong)}, "the Engine refuses both:", sorted(refused_us))
    assert not wrong
    assert all(cases[name][0].removeprefix("services.*.").startswith(MAY_BE_REFUSED) for name in refused_us)


def prepared(project: Project) -> None:
    """What the cases refer to, and a network of its own for fixed addresses."""
    (project.folder / "files").mkdir()
    for name in ("more.env", "labels.env"):
        (project.folder / name).write_text("FROM_FILE=a$$b\n")
    project.environ |= {"COMPOSE_PROFILES": "extra", "B": "outside"}


@pytest.fixture(autouse=True)
def fixed(project: Project) -> Any:
    """Networks and volumes that are not the project's."""
    from docker.types import IPAMConfig, IPAMPool

    ipam = IPAMConfig(pool_configs=[IPAMPool(subnet="10.213.7.0/24"), IPAMPool(subnet="fd00:213::/64")])
    network = project.client.networks.create(f"{project.name}-fixed", ipam=ipam, enable_ipv6=True)
    volume = project.client.volumes.create(f"{project.name}-outside")
    yield
    up.down(project.name, project.client, volumes=True)
    network.remove()
    volume.remove()

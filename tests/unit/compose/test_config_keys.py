"""Which keys of a compose file `up` translates. What it refuses may become less, never more."""

from __future__ import annotations

from typing import Any

import pytest

from kit.compose.config_keys import KEYS, REFUSED, VALUES, refusals
from kit.compose.config_settings import SETTINGS

# `up` refused these when it began to read files by Docker Compose.
AT_FIRST = {
    "models", "networks.*.enable_ipv4", "networks.*.ipam.config", "networks.*.ipam.driver",
    "networks.*.ipam.options", "services.*.build", "services.*.configs", "services.*.credential_spec",
    "services.*.deploy.resources.reservations.devices.*.options", "services.*.external_links", "services.*.gpus",
    "services.*.links", "services.*.mac_address", "services.*.models", "services.*.networks.*.driver_opts",
    "services.*.networks.*.gw_priority", "services.*.platform", "services.*.post_start", "services.*.pre_stop",
    "services.*.provider", "services.*.secrets", "services.*.use_api_socket", "services.*.volumes.*.bind.recursive",
    "services.*.volumes.*.bind.selinux", "services.*.volumes.*.volume.subpath", "services.*.volumes_from",
}  # fmt: skip
VALUES_AT_FIRST = {
    "networks.*.driver", "networks.*.name", "services.*.deploy.replicas", "services.*.ipc",
    "services.*.network_mode", "services.*.pid", "services.*.ports.*.published", "services.*.pull_policy",
    "services.*.scale", "services.*.security_opt.*", "services.*.volumes.*", "services.*.volumes.*.source",
    "services.*.volumes.*.type", "volumes.*.driver",
}  # fmt: skip


def said(service: dict[str, Any], **more: Any) -> list[str]:
    config = {"name": "p", "services": {"chat": {"image": "x", **service}}, **more}
    return [str(problem) for problem in refusals(config)]


def test_what_is_refused_becomes_less_and_never_more() -> None:
    assert set(REFUSED) <= AT_FIRST
    assert set(VALUES) <= VALUES_AT_FIRST


def test_no_key_is_both() -> None:
    translated = {f"{path}.{key}".lstrip(".") for path, keys in KEYS.items() for key in keys}
    assert not translated & set(REFUSED)
    assert {f"services.*.{key}" for key in SETTINGS} <= translated


def test_all_that_is_not_translated_is_named_at_once() -> None:
    assert said({"build": {"context": "."}, "links": ["a"], "surprise": 1}, models={"m": {"model": "x"}}) == [
        "services.chat.build: `up` does not translate `build`; build the image beforehand, and name it with `image`",
        "services.chat.links: `up` does not translate `links`; put both on one network, with `aliases`",
        "services.chat.surprise: `up` does not translate `surprise`; "
        "take it out, or use `docker compose up` for this file",
        "models: `up` does not translate `models`; take it out, or use `docker compose up` for this file",
    ]


@pytest.mark.parametrize(
    ("service", "path"),
    [
        ({"healthcheck": {"test": ["CMD"], "other": 1}}, "healthcheck.other"),
        ({"deploy": {"replicas": 2}}, "deploy.replicas"),
        ({"deploy": {"resources": {"limits": {"memory": "1", "new": 1}}}}, "deploy.resources.limits.new"),
        ({"networks": {"default": {"driver_opts": {"a": "b"}}}}, "networks.default.driver_opts"),
        ({"depends_on": {"b": {"condition": "x", "strange": 1}}}, "depends_on.b.strange"),
        ({"ports": [{"target": 80, "strange": 1}]}, "ports[0].strange"),
        ({"ports": [{"target": 80, "published": "80-90"}]}, "ports[0].published"),
        ({"scale": 2}, "scale"),
        ({"pull_policy": "always"}, "pull_policy"),
        ({"network_mode": "service:b"}, "network_mode"),
        ({"ipc": "service:b"}, "ipc"),
        ({"pid": "container:b"}, "pid"),
        ({"security_opt": ["a", "seccomp:profile.json"]}, "security_opt[1]"),
        ({"volumes": [{"type": "volume", "target": "/x"}]}, "volumes[0]"),
        ({"volumes": [{"type": "npipe", "source": "a", "target": "/x"}]}, "volumes[0].type"),
        ({"volumes": [{"type": "bind", "source": "a", "bind": {"selinux": "z"}}]}, "volumes[0].bind.selinux"),
    ],
)
def test_keys_inside_keys_are_not_passed_over_either(service: dict[str, Any], path: str) -> None:
    (line,) = said(service)
    assert line.startswith(f"services.chat.{path}: `up` does not translate ")


@pytest.mark.parametrize("source", ["C:\\Users\\me", "c:/Users/me", "\\\\wsl$\\x", "models\\chat"])
def test_a_path_of_windows_is_refused_in_words(source: str) -> None:
    (line,) = said({"volumes": [{"type": "bind", "source": source, "target": "/x"}]})
    assert "write it as WSL2 has it: /mnt/c/Users/me" in line


def test_what_a_service_has_without_saying_so_is_not_refused() -> None:
    service = {
        "x-note": 1, "build": None, "links": [], "profiles": ["a"], "attach": False, "scale": 1, "network_mode": "host",
        "security_opt": ["seccomp=unconfined", "no-new-privileges:true"], "pull_policy": "missing",
        "deploy": {"replicas": 1, "placement": {}, "mode": "replicated"}, "labels": {"build": "x"},
        "environment": {"links": "x"}, "command": ["build"],
    }  # fmt: skip
    assert said(service, networks={"default": {"name": "p_default", "ipam": {}}}) == []

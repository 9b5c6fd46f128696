"""What the Engine is asked for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from kit.compose.create_request import changed_keys, container_body, container_labels, digests_label, endpoint
from tests.support.composefiles import project
from tests.support.paths import ROOT

TEXT = """
name: p
services:
  chat:
    image: "vllm/vllm-openai:v0.26.0"
    command: ["Qwen/Qwen2.5-0.5B-Instruct", "--port", "8000"]
    environment: {HF_HUB_OFFLINE: "1"}
    deploy: {resources: {reservations: {devices: [{driver: nvidia, device_ids: ["0"], capabilities: [gpu]}]}}}
    healthcheck: {test: [CMD, python3, -c, pass], interval: 5s, timeout: 5s, retries: 6, start_period: 600s}
    networks: {workers: {aliases: [code.chat]}}
    volumes: [{type: volume, source: hf, target: /hf, read_only: true}]
    tmpfs: ["/tmp:size=1024,exec"]
    shm_size: 1073741824
    init: true
    cap_drop: [ALL]
    security_opt: ["no-new-privileges:true"]
    restart: "on-failure:3"
    stop_grace_period: 60s
    labels: {monogpu.role: worker}
  router:
    image: "lightseekorg/smg:1.13.0"
    networks: [edge, workers]
    ports: [{host_ip: 127.0.0.1, published: "30000", target: 30000, protocol: tcp}]
    volumes: [{type: bind, source: ./smg, target: /etc/smg, read_only: true}]
    depends_on: {chat: {condition: service_healthy}}
networks: {workers: {internal: true}, edge: }
volumes: {hf: }
"""
PROJECT = project(TEXT, Path("/srv/p/docker-compose.yaml"), {})


def test_create_requests_are_as_recorded(golden: Callable[[Path, str], None]) -> None:
    bodies = [
        container_body(PROJECT, service, container_labels(PROJECT, service, "sha256:1", "hash", "2.26.1"))
        for service in PROJECT.services
    ]
    golden(ROOT / "tests/recorded/create-requests.json", json.dumps(bodies, indent=1, sort_keys=True) + "\n")


def test_a_service_without_networks_is_made_on_none() -> None:
    alone = project(TEXT.replace("    networks: [edge, workers]\n", "    network_mode: none\n"), PROJECT.file, {})
    body = container_body(alone, alone.service("router"), {})
    assert body["HostConfig"]["NetworkMode"] == "none"
    assert body["NetworkingConfig"] == {"EndpointsConfig": {}}


def test_a_service_is_known_by_its_container_its_name_and_its_aliases() -> None:
    chat = PROJECT.service("chat")
    assert endpoint(PROJECT, chat, chat.networks[0]) == ("p_workers", {"Aliases": ["p-chat-1", "chat", "code.chat"]})


def test_the_changed_keys_are_those_that_came_went_or_differ() -> None:
    chat = PROJECT.service("chat")
    label = digests_label(chat)
    assert changed_keys(label, chat) == ()
    assert changed_keys(label.replace("shm_size=", "user="), chat) == ("shm_size", "user")
    assert changed_keys("nonsense", chat) == tuple(sorted(key for key, _ in chat.digests))

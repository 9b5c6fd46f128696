"""What would stop the walk, found before it begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.compose.observed import (
    NetworkState,
    ObservedState,
    Publication,
)
from kit.compose.preflight import Listener, refusals
from tests.support.composefiles import project

TEXT = """
name: p
services:
  router:
    image: x
    ports: ["127.0.0.1:30000:30000"]
    volumes:
      - {type: bind, source: ./smg, target: /etc/smg, bind: {create_host_path: false}}
      - models:/models
      - ./made:/made
    networks: [default, shared]
networks: {shared: {external: true}}
volumes: {models: {external: true}}
"""
PROJECT = project(TEXT, Path("/srv/p/docker-compose.yaml"), {})
NETWORKS = (NetworkState("shared", False, None), NetworkState("p_default", False, "p"))
GOOD = ObservedState(networks=NETWORKS, volumes=frozenset({"models"}))


def said(snapshot: ObservedState = GOOD, there: bool = True, *listeners: Listener) -> list[str]:
    return [str(problem) for problem in refusals(PROJECT, snapshot, lambda path: there, listeners)]


def with_ports(*published: Publication) -> ObservedState:
    return ObservedState(networks=NETWORKS, volumes=GOOD.volumes, published=published)


def test_nothing_is_refused_when_all_is_there() -> None:
    assert said() == []


def test_every_problem_is_told_at_once() -> None:
    foreign = ObservedState(networks=(NetworkState("p_default", False, None),), names=frozenset({"p-router-1"}))
    assert said(foreign, False, Listener("0.0.0.0", 30000, "nginx (pid 7)")) == [
        "router mounts /srv/p/smg, and it is not there; render again, or fix the path",
        "there is a network p_default, and it is not this project's; give one another name",
        "the network shared is not there; `docker network create shared`",
        "the volume models is not there; `docker volume create models`",
        "there is a container p-router-1, and it is not this project's; "
        "`docker rm -f p-router-1`, or give the project another `name`",
        "port 30000, which router publishes, is taken by nginx (pid 7); "
        "stop it, or write another port: `router: {port: 30001}`",
    ]


@pytest.mark.parametrize(
    ("holder", "taken"),
    [
        (Publication("q-router-1", "q", "127.0.0.1", 30000), True),
        (Publication("q-router-1", "q", "0.0.0.0", 30000), True),
        (Publication("q-router-1", "q", "10.0.0.1", 30000), False),
        (Publication("q-router-1", "q", "127.0.0.1", 30001), False),
        (Publication("q-router-1", "q", "127.0.0.1", 30000, "udp"), False),
        (Publication("p-router-1", "p", "127.0.0.1", 30000), False),
    ],
)
def test_a_port_is_taken_by_who_holds_the_same_address(holder: Publication, taken: bool) -> None:
    assert bool(said(with_ports(holder))) is taken


def test_the_stacks_own_proxy_does_not_count() -> None:
    ours = with_ports(Publication("p-router-1", "p", "127.0.0.1", 30000))
    assert said(ours, True, Listener("127.0.0.1", 30000, "docker-proxy (pid 9)")) == []

"""HAProxy's configuration, and what stands where. That it does what it says is tried in test_front_docker.py."""

from __future__ import annotations

import re

from kit.assemble import assemble
from kit.memory.bill import Plan
from kit.routers import haproxy
from kit.routers.haproxy import PATHS, config, pools
from kit.stack.model import (
    Attachment,
    Port,
    Route,
    Secret,
    Service,
    Stack,
)
from tests.support.strategies import model, plan, share

CHAT, RANK, EMBED = (
    share(model(name, task=task)) for name, task in (("chat", "generate"), ("rank", "rerank"), ("embed", "embed"))
)


def stack(*shares: object, **router: object) -> Stack:
    return assemble(plan(*(shares or (CHAT, RANK, EMBED)), router=router))  # type: ignore[arg-type]


def service(of: Stack, name: str) -> Service:
    return next(one for one in of.services if one.name == name)


def text(of: Stack) -> str:
    return next(file.text for file in of.files if file.path == "haproxy/haproxy.cfg")


def test_without_a_model_that_ranks_or_classifies_there_is_none() -> None:
    made = stack(CHAT, EMBED)
    assert "haproxy" not in [one.name for one in made.services]
    assert service(made, "router").ports


def test_it_takes_the_routers_port_and_the_router_stays_inside() -> None:
    made = stack(port=8080, bind="::1")
    taken, hidden = service(made, "haproxy"), service(made, "router")
    assert (taken.ports, hidden.ports) == ((Port("::1", 8080, 30000),), ())
    assert hidden.networks == (Attachment("workers"),)
    assert taken.networks == (Attachment("edge"), Attachment("workers"))
    assert taken.depends_on == (("router", "service_healthy"),)
    assert made.services[-1] == taken


def test_every_path_that_the_router_does_not_route_is_its_own() -> None:
    line = next(line for line in text(stack()).splitlines() if "acl pooled" in line)
    assert line.split()[3:] == list(PATHS)


def test_a_name_leads_to_its_workers_and_no_other() -> None:
    two = share(model("rank", task="rerank", replicas=2), service="rank-2", replica=1)
    lines = text(stack(CHAT, RANK, two, EMBED)).splitlines()
    at = lines.index("backend rank")
    assert [line.split() for line in lines[at : at + 6] if line.startswith("    server")] == [
        ["server", "rank", "rank:8000"],
        ["server", "rank-2", "rank-2:8000"],
    ]
    assert [line.split()[1] for line in lines if line.startswith("    use_backend")] == ["rank", "embed"]
    assert "    server router router:30000" in lines
    assert "backend chat" not in lines


def test_an_engine_of_another_kind_ranks_nothing() -> None:
    assert not haproxy.pools_in(model("embed", task="embed", engine="ollama", memory="2GiB"))
    assert not haproxy.pools_in(model("chat"))
    assert haproxy.pools_in(model("embed", task="embed"))


def test_one_name_alone_takes_a_body_too_long_to_be_searched() -> None:
    rank, other = (Route(name, name, 8000, name) for name in ("rank", "other"))
    one = config([rank], "router", 30000, False, False)
    two = config([rank, other], "router", 30000, False, False)
    assert "str(rank)" in one
    assert "str(rank)" not in two
    assert "status 400" in two


def test_replicas_are_one_pool() -> None:
    routes = (Route("a", "a", 8000, "rank"), Route("a-2", "a-2", 8000, "rank"), Route("b", "b", 8000, "other"))
    assert pools(routes) == {"rank": [("a", 8000), ("a-2", 8000)], "other": [("b", 8000)]}


def test_the_key_is_asked_for_from_a_variable_or_a_file_and_stands_in_neither_file() -> None:
    open_, by_variable, by_file = stack(), stack(api_key="THE_KEY"), stack(api_key_file="./key")
    assert "status 401" not in text(open_)
    assert '-m str "${MONOGPU_API_KEY}"' in text(by_variable)
    held = dict(service(by_variable, "haproxy").environment)["MONOGPU_API_KEY"]
    assert isinstance(held, Secret) and held.name == "THE_KEY"
    assert "-m str -f /run/secrets/api-key" in text(by_file)
    assert "/run/secrets/api-key" in [mount.target for mount in service(by_file, "haproxy").mounts]


def test_another_configuration_is_read_by_the_same_container() -> None:
    """It says which one it has read, so that nobody drains what a new one would forget."""
    one, other = stack(), stack(CHAT, RANK)
    assert service(one, "haproxy") == service(other, "haproxy")
    marks = {haproxy.mark_of(text(made)) for made in (one, other)}
    assert len(marks) == 2 and all(re.fullmatch("[0-9a-f]{16}", mark) for mark in marks)
    assert haproxy.mark_of(text(stack())) == haproxy.mark_of(text(one))
    assert haproxy.mark_of("") == haproxy.mark_of("global\n") == ""


def test_what_watches_the_configuration_is_printed_beside_it() -> None:
    files = {file.path: file.text for file in stack().files}
    made = service(stack(), "haproxy")
    assert (*made.entrypoint, *made.command) == (
        "sh", "/etc/haproxy/launch.sh", "/etc/haproxy/haproxy.cfg", str(haproxy.DRAIN_SECONDS),
    )  # fmt: skip
    assert files["haproxy/launch.sh"] == haproxy.LAUNCH and haproxy.LAUNCH.startswith("#!/bin/sh\n")
    assert made.stop_grace > haproxy.DRAIN_SECONDS


def test_the_image_is_pinned_and_may_be_another() -> None:
    assert service(stack(), "haproxy").image == haproxy.DEFAULT_IMAGE
    assert service(stack(haproxy_image="mine:1"), "haproxy").image == "mine:1"


def test_plan_says_why_it_stands_there() -> None:
    made: Plan = plan(CHAT, RANK, share(model("topic", task="classify")))
    assert haproxy.note(made.manifest) == (
        "smg does not route /rerank, /score and /classify: haproxy:3.2-alpine stands in front of it on the same port, "
        "and sends them to rank and topic by the model in their body"
    )

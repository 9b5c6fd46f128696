"""Names leave the router before their workers stop, and come back when they serve."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.metrics import Load
from kit.routers import smg
from kit.routers.drain_state import Server, drained, idle, is_part, of, routed, servers, serving, without
from kit.stack.model import Route

HOSTS = ("chat", "code.chat", "chat-2", "embed")
WHOLE = smg.files(tuple(Route(host, host, 8000, host) for host in HOSTS))[0].text


def urls(text: str) -> list[str]:
    return [worker["url"] for worker in json.loads(text)["workers"]]


def answer(**states: str) -> str:
    listed = [{"url": f"http://{host.replace('_', '.')}:8000", "status": state} for host, state in states.items()]
    return json.dumps({"workers": listed})


def test_a_service_leaves_with_its_adapters_and_no_other_leaves() -> None:
    assert urls(without(WHOLE, ["chat"])) == ["http://chat-2:8000", "http://embed:8000"]
    assert urls(without(WHOLE, ["code"])) == urls(WHOLE)
    assert urls(without(WHOLE, ["chat", "chat-2", "embed"])) == []


@given(st.sets(st.sampled_from(["chat", "chat-2", "embed", "stranger"])))
def test_whoever_leaves_what_is_left_is_a_part_and_printed_alike(services: set[str]) -> None:
    left = without(WHOLE, services)
    assert is_part(left, WHOLE)
    assert without(left, services) == left
    assert json.loads(left)["version"] == 1 and left.endswith("}\n")
    assert (left == WHOLE) == (not services & {"chat", "chat-2", "embed"})


def test_a_list_that_cannot_be_read_stays_as_it_is() -> None:
    for text in ("", "{", "[]", '{"workers": 3}', '{"workers": [{}]}'):
        assert without(text, ["chat"]) == text
        assert not is_part(text, WHOLE)
    assert not is_part(WHOLE, without(WHOLE, ["chat"]))


def test_the_router_has_let_go_when_it_drains_or_does_not_know_the_worker_any_more() -> None:
    assert not drained(answer(chat="ready", embed="ready"), ["chat"])
    assert not drained(answer(code_chat="ready"), ["chat"])
    assert not drained(answer(chat="not_ready"), ["chat"])
    assert drained(answer(chat="draining", embed="ready"), ["chat"])
    assert drained(answer(embed="ready"), ["chat"])
    assert drained("", ["chat"])


def test_names_are_taken_up_when_every_worker_of_the_list_is_ready() -> None:
    part = without(WHOLE, ["chat", "chat-2"])
    assert serving(answer(embed="ready"), part)
    assert not serving(answer(embed="pending"), part)
    assert not serving(answer(embed="ready"), WHOLE)
    assert serving(answer(embed="ready"), WHOLE, ["embed"]) and not serving(answer(embed="ready"), WHOLE, ["chat"])
    assert serving("", WHOLE, []) and not serving("", WHOLE, ["embed"])


def test_a_worker_is_at_rest_without_requests_and_a_silent_one_is_not_waited_for() -> None:
    assert idle(Load(0.0, running=0, waiting=0))
    assert not idle(Load(0.0, running=1, waiting=0))
    assert not idle(Load(0.0, running=0, waiting=2))
    assert idle(Load(0.0)) and idle(None)


STAT = """# pxname,svname,qcur,qmax,scur,smax,slim,stot,bin,bout,dreq,dresp,ereq,econ,eresp,wretr,wredis,status,weight,
endpoint,FRONTEND,,,2,3,4096,9,0,0,0,0,0,,,,,OPEN,,
router,router,0,0,1,2,,8,0,0,,0,,0,0,0,0,UP,1,
router,BACKEND,0,0,1,2,410,8,0,0,0,0,,0,0,0,0,UP,1,
rank,rank,0,0,1,1,,1,0,0,,0,,0,0,0,0,DRAIN,0,
rank,rank-2,0,0,0,1,,1,0,0,,0,,0,0,0,0,DOWN,0,
rank,BACKEND,0,0,1,1,410,2,0,0,0,0,,0,0,0,0,UP,1,

"""


def test_haproxys_table_tells_who_is_closed_and_who_still_has_requests() -> None:
    found = servers(STAT)
    assert found == (
        Server("router", "router", "UP", 1),
        Server("rank", "rank", "DRAIN", 1),
        Server("rank", "rank-2", "DOWN", 0),
    )
    assert [server.closed for server in found] == [False, True, True]
    assert [server.name for server in of(found, ["rank"])] == ["rank"]
    assert of(found, ["chat"]) == ()


@given(st.text() | st.lists(st.sampled_from(STAT.splitlines())).map("\n".join))
def test_another_answer_of_haproxy_is_no_server_or_a_whole_one(answer: str) -> None:
    assert all(server.name and server.backend for server in servers(answer))


def test_a_name_is_ready_when_one_of_its_replicas_is() -> None:
    said = [("chat", "not_ready"), ("chat", "ready"), ("chat", "failed"), ("embed", "failed")]
    text = json.dumps({"workers": [{"model_id": name, "status": word, "url": "x"} for name, word in said]})
    assert routed(text) == {"chat": "ready", "embed": "failed"}


@pytest.mark.parametrize("text", ["", "null", "[]", "{}", '{"workers": 3}', '{"workers": [{}]}', '{"workers": ["x"]}'])
def test_another_answer_is_no_list_of_workers(text: str) -> None:
    assert routed(text) is None

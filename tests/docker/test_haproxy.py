"""HAProxy in front of the real router, before pretend workers: what ranks and classifies reaches its worker by name."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from kit.compose import exec as inside
from kit.compose import up
from kit.routers.drain_state import servers
from tests.chaos.steady import steady
from tests.support.walks import SMALL, TINY, Walk, ended, model, soon, walk

if TYPE_CHECKING:
    from docker import DockerClient

pytestmark = pytest.mark.docker

KEY = 'a-key:"with $odd} things'.replace(" ", "-")
DOCUMENTS = ["The cat sat on the mat.", "Stock prices fell."]


@pytest.fixture(scope="module")
def client() -> Iterator[DockerClient]:
    found = up.connect(os.environ)
    found.images.get("monogpu/haproxy:3.2")
    yield found
    found.close()


@pytest.fixture(scope="module")
def running(client: DockerClient, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    """A chat model, two that rank, one that classifies, behind a key."""
    with walk(tmp_path_factory.mktemp("front"), client) as made:
        made.environ["WALK_KEY"] = KEY
        made.write(
            model("chat", SMALL, env='PRETEND_TOKENS_PER_SECOND: "25"'),
            model("rank", TINY, "task: rerank", "replicas: 2"),
            model("topic", TINY, "task: classify"),
            more="start: parallel\n",
            router=", api_key: WALK_KEY, haproxy_image: monogpu/haproxy:3.2",
        )
        made.up().good()
        yield made


def post(at: Walk, path: str, body: Any, key: str | None = KEY) -> httpx.Response:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    content = body if isinstance(body, bytes) else None
    sent = {"content": content} if content is not None else {"json": body}
    return httpx.post(f"http://127.0.0.1:{at.port}{path}", headers=headers, timeout=120, trust_env=False, **sent)


def test_up_verified_every_name_at_the_one_address(running: Walk) -> None:
    report = running.kit("verify", "--json").good().json
    asked = {(check["name"], check["what"]) for check in report["checks"]}
    assert {("rank", "ranks documents"), ("topic", "classifies"), ("chat", "streams")} <= asked
    assert ("without the key", "nothing is ranked") in asked
    assert {name: each.health for name, each in running.containers().items() if name in ("haproxy", "router")} == {
        "haproxy": "healthy",
        "router": "healthy",
    }


@pytest.mark.parametrize("path", ["/rerank", "/v1/rerank", "/v2/rerank"])
def test_a_ranking_reaches_its_model(running: Walk, path: str) -> None:
    answer = post(running, path, {"model": "rank", "query": "a pet", "documents": DOCUMENTS, "top_n": 1})
    assert answer.status_code == 200, answer.text
    assert answer.json()["model"] == "rank"
    assert len(answer.json()["results"]) == 1


@pytest.mark.parametrize("path", ["/classify", "/v1/classify"])
def test_a_classification_reaches_its_model(running: Walk, path: str) -> None:
    answer = post(running, path, {"model": "topic", "input": "a text"})
    assert (answer.status_code, answer.json()["model"]) == (200, "topic")


def test_a_stream_s_pieces_come_as_they_are_made(running: Walk) -> None:
    """One every 40 ms. Held back, they come several at once: that was so for most of them without http-no-delay."""
    body = {"model": "chat", "messages": [{"role": "user", "content": "a"}], "max_tokens": 50, "ignore_eos": True}
    url, headers = f"http://127.0.0.1:{running.port}/v1/chat/completions", {"Authorization": f"Bearer {KEY}"}
    seen = []
    asked = {"headers": headers, "json": body | {"stream": True}, "timeout": 120}
    with httpx.Client(trust_env=False) as http, http.stream("POST", url, **asked) as answer:
        for line in answer.iter_lines():
            if '"content"' in line:
                seen.append(time.monotonic())
    gaps = [late - early for early, late in pairwise(seen[1:])]
    assert len(gaps) > 40
    assert sum(gap < 0.005 for gap in gaps) < len(gaps) / 4


def test_scores_do_too(running: Walk) -> None:
    answer = post(running, "/v1/score", {"model": "rank", "text_1": "a", "text_2": ["b", "c"]})
    assert [one["object"] for one in answer.json()["data"]] == ["score", "score"]


def test_a_long_body_is_read_whole_wherever_its_model_stands(running: Walk) -> None:
    long = ["a" * 9000] * 100
    last = post(running, "/v1/rerank", {"query": "a", "documents": long, "model": "rank"})
    assert last.status_code == 200, last.text
    assert len(last.json()["results"]) == 100


def test_beyond_a_mebibyte_the_model_must_come_first(running: Walk) -> None:
    long = ["a" * 9000] * 200
    last = post(running, "/v1/rerank", {"query": "a", "documents": long, "model": "rank"})
    assert (last.status_code, last.json()["error"]["param"]) == (400, "model")
    assert post(running, "/v1/rerank", {"model": "rank", "query": "a", "documents": long}).status_code == 200


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"model": 'no"\n', "query": "a", "documents": ["b"]}, 404, "model_not_found"),
        ({"model": "chat", "query": "a", "documents": ["b"]}, 404, "model_not_found"),
        ({"query": "a", "documents": ["b"]}, 400, "missing_required_parameter"),
        (b'{"model": ', 400, "missing_required_parameter"),
    ],
)
def test_what_names_no_such_model_is_refused_in_json(running: Walk, body: Any, status: int, code: str) -> None:
    answer = post(running, "/v1/rerank", body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


@pytest.mark.parametrize("key", [None, "", "another", KEY[:-1], f"{KEY}x"])
def test_without_the_key_nothing_is_ranked_nor_answered(running: Walk, key: str | None) -> None:
    ranking = post(running, "/v1/rerank", {"model": "rank", "query": "a", "documents": ["b"]}, key)
    chat = post(running, "/v1/chat/completions", {"model": "chat", "messages": [{"role": "user", "content": "a"}]}, key)
    assert (ranking.status_code, chat.status_code) == (401, 401)


def test_everything_else_passes_to_the_router_as_it_is(running: Walk) -> None:
    body = {"model": "chat", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 8, "stream": True}
    answer = post(running, "/v1/chat/completions", body)
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.text.rstrip().endswith("data: [DONE]")
    assert post(running, "/v1/chat/completions", {**body, "model": "nobody"}).status_code == 404


def test_a_worker_made_anew_is_found_at_its_new_address(running: Walk) -> None:
    for name in ("rank", "rank-2"):
        running.client.api.restart(running.containers()[name].id, timeout=1)
    soon(lambda: post(running, "/v1/rerank", {"model": "rank", "query": "a", "documents": ["b"]}).status_code == 200)
    soon(lambda: running.containers()["haproxy"].health == "healthy")


def edited(at: Walk, name: str, old: str, new: str) -> None:
    """Another line in the part of the manifest that is `name`'s."""
    head, mine, rest = (text := (at.folder / "monogpu.yaml").read_text()).partition(f"  - name: {name}\n")
    assert old in rest, text
    (at.folder / "monogpu.yaml").write_text(head + mine + rest.replace(old, new, 1))


def states(at: Walk) -> dict[str, str]:
    """HAProxy's word for each worker."""
    said = inside.shell(at.client, at.containers()["haproxy"].id, 'echo "show stat" | nc 127.0.0.1 8405')
    return {server.name: server.state for server in servers(said)}


def test_an_edited_model_that_haproxy_sends_to_is_drained_and_no_other_name_fails(running: Walk) -> None:
    """What it was asked before is answered, however long that takes; what comes meanwhile is told to come again."""
    said: list[httpx.Response] = []
    asked = {"model": "topic", "input": "a text"}
    slow = threading.Thread(target=lambda: said.append(post(running, "/classify", asked)))
    edited(running, "topic", "context: 1k", "context: 512")
    tasks = {"chat": "generate", "rank": "rerank"}
    with steady(running.port, tasks, KEY) as others:
        running.fault("topic", "hang")
        slow.start()
        process = running.begin("up", "--gpu", "gpu.json", "--no-verify")
        soon(lambda: states(running)["topic"].startswith("DRAIN"))
        refused = post(running, "/classify", asked)
        before = running.containers()["topic"].id
        running.fault("topic", "")
        assert ended(process).code == 0
        slow.join()
        assert post(running, "/classify", asked).status_code == 200
    assert (said[0].status_code, refused.status_code) == (200, 503), (said[0].text, refused.text)
    assert running.containers()["topic"].id != before
    assert others.asked() > 8 and not others.failed(), others.failed()[:3]


def test_replicas_of_one_name_go_away_one_by_one_and_the_name_never_fails(running: Walk) -> None:
    edited(running, "rank", "context: 1k", "context: 512")
    with steady(running.port, {"chat": "generate", "rank": "rerank", "topic": "classify"}, KEY) as clients:
        told = running.up("--no-verify").good().err
    assert clients.asked() > 12 and not clients.failed(), (clients.failed()[:3], told)


def test_what_a_killed_up_left_draining_is_fixed_by_the_next(running: Walk) -> None:
    edited(running, "topic", "context: 512", "context: 1k")
    running.fault("topic", "hang")
    slow = threading.Thread(target=post, args=(running, "/classify", {"model": "topic", "input": "a text"}))
    slow.start()
    process = running.begin("up", "--gpu", "gpu.json", "--no-verify")
    soon(lambda: states(running)["topic"].startswith("DRAIN"))
    process.kill()
    ended(process)
    running.fault("topic", "")
    slow.join()
    assert states(running)["topic"].startswith("DRAIN")
    running.up("--no-verify").good()
    soon(lambda: set(states(running).values()) == {"UP"})  # a missed health check is "UP 1/2" for a moment


def test_the_front_alone_is_published(running: Walk) -> None:
    published = {name for name, each in running.containers().items() if running.client.api.port(each.id, 30000)}
    assert published == {"haproxy"}


def test_models_come_and_go_behind_it_and_no_other_name_fails(running: Walk) -> None:
    """HAProxy reads its configuration again; what it serves meanwhile, it serves on."""
    ids, text = running.ids(), (running.folder / "monogpu.yaml").read_text()
    asked = {"model": "extra", "query": "a", "documents": ["b"]}
    with steady(running.port, {"chat": "generate", "rank": "rerank", "topic": "classify"}, KEY) as clients:
        (running.folder / "monogpu.yaml").write_text(text + model("extra", TINY, "task: rerank"))
        running.up("--no-verify").good()
        assert post(running, "/v1/rerank", asked).status_code == 200
        (running.folder / "monogpu.yaml").write_text(text)
        running.up("--no-verify").good()
        soon(lambda: post(running, "/v1/rerank", asked).status_code == 404)
    assert running.ids() == ids
    assert clients.asked() > 12 and not clients.failed(), clients.failed()[:3]


def test_compose_alone_starts_it_and_the_kit_keeps_that(running: Walk) -> None:
    running.compose("down")
    running.compose("up", "-d", "--wait")
    theirs = running.ids()
    assert running.up("--json").good().json["verification"]["ok"]
    assert running.ids() == theirs

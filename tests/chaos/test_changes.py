"""`up` after an edit, while everything serves: what does not change never notices, whatever goes wrong."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from tests.chaos.stacks import TASKS, Stack, left_behind, soon
from tests.fakes.hubserver import HubServer
from tests.support.walks import SMALL, Said, ended, free_port, interrupt, model, walk

pytestmark = pytest.mark.chaos

Now = Callable[[], float]


@pytest.fixture(autouse=True)
def fixed(stack: Stack) -> Iterator[None]:
    """Every test leaves the stack as it found it, and nothing beside it."""
    yield
    stack.whole()
    assert left_behind(stack.walk) == []
    assert set(stack.walk.ids()) == {*TASKS, "router", next(name for name in stack.walk.ids() if "download" in name)}


def shorter(stack: Stack) -> str:
    return stack.worker("other", "context: 512")


def listed(stack: Stack) -> list[str]:
    workers = json.loads((stack.walk.folder / "smg" / "workers.json").read_text())["workers"]
    return [worker["model_id"] for worker in workers]


def test_one_model_changes_and_no_other_name_fails_nor_any_request_in_flight(stack: Stack, now: Now) -> None:
    since, before = now(), stack.walk.ids()
    slow = threading.Thread(target=lambda: said.append(long_answer(stack)))
    said: list[httpx.Response] = []
    stack.write(other=shorter(stack))
    planned = stack.walk.up("--dry-run").good().out
    assert "--max-model-len 1024 -> 512" in planned and "drain" in planned and stack.walk.ids() == before
    slow.start()
    stack.walk.up("--no-verify").good()
    slow.join()
    assert said[0].status_code == 200 and said[0].json()["choices"][0]["finish_reason"] == "length"
    seconds = stack.answers_again("other", since)
    assert {name for name, id in stack.walk.ids().items() if before[name] != id} == {"other"}
    assert listed(stack) == ["chat", "embed", "other"]
    others = stack.unharmed("other", since=since)
    stack.row("one model edited", "change list, drain", others, stack.lost("other", since), seconds)


def long_answer(stack: Stack) -> httpx.Response:
    """A request that takes about two seconds: it is in flight when its worker is to go."""
    words = {"model": "other", "prompt": "once", "max_tokens": 900, "ignore_eos": True}
    return httpx.post(f"http://127.0.0.1:{stack.walk.port}/v1/completions", json=words, timeout=60)


def test_another_build_of_an_image_takes_one_name_at_a_time_away(stack: Stack, now: Now) -> None:
    """Every worker is replaced, and at no moment is more than one name away."""
    since, before = now(), stack.walk.ids()
    built_anew(stack, stack.engine)
    assert "is another build now" in stack.walk.up("--no-verify").good().err
    seconds = max(stack.answers_again(name, since) for name in TASKS)
    assert not {id for name, id in stack.walk.ids().items() if name in TASKS} & set(before.values())
    spans = sorted(span for name in TASKS if (span := stack.client.away(name, since)))
    assert len(spans) == len(TASKS)
    assert all(first[1] <= then[0] for first, then in pairwise(spans)), spans
    lost = len(stack.client.failed(since=since))
    stack.row("image built anew", "change list, drain", (0, 0), f"{lost} requests, one name at a time", seconds)


def built_anew(stack: Stack, image: str) -> None:
    """The same program as another build, under the same name."""
    text = f"FROM {image}\nLABEL built={uuid4().hex}\n".encode()
    stack.walk.client.images.build(fileobj=BytesIO(text), tag=image, network_mode="none")


def test_the_next_worker_waits_until_the_driver_has_given_the_memory_back(stack: Stack, now: Now) -> None:
    since, late = now(), 'PRETEND_FREE_DELAY: "3"'
    stack.write(other=stack.worker("other", "memory: 9GiB", env=late))
    stack.walk.up("--no-verify").good()
    stack.write(other=stack.worker("other", "memory: 9GiB", "context: 512", env=late))
    assert "its memory is not free yet" in stack.walk.up("--no-verify").good().err
    assert stack.walk.containers()["other"].restarts == 0
    others = stack.unharmed("other", since=since)
    stack.row("driver frees memory 3 s late", "memory is not free yet", others, stack.lost("other", since))


def test_a_model_that_is_taken_out_leaves_its_volumes_until_they_are_asked_for(stack: Stack, now: Now) -> None:
    since = now()
    stack.write(other=None)
    stack.walk.up("--no-verify").good()
    assert "other" not in stack.walk.ids() and listed(stack) == ["chat", "embed"]
    soon(lambda: stack.client.answers["other"][-1].status == 404)
    cache = f"{stack.walk.name}_compiled-other"
    assert cache in volumes(stack)
    assert f"remove volume  {cache}" in stack.walk.up("--dry-run", "--prune-volumes").good().out
    stack.walk.up("--no-verify", "--prune-volumes").good()
    assert cache not in volumes(stack)
    stack.row("one model removed", "change list, drain", stack.unharmed("other", since=since), "other, as asked")


def volumes(stack: Stack) -> set[str]:
    wanted = {"label": f"com.docker.compose.project={stack.walk.name}"}
    return {volume["Name"] for volume in stack.walk.client.api.volumes(filters=wanted)["Volumes"] or ()}


def test_an_interrupted_change_loses_no_other_name_and_the_next_up_ends_it(stack: Stack, now: Now) -> None:
    since = now()
    stack.write(other=shorter(stack))
    stack.walk.hold("graphs")
    process = stack.walk.begin("up", "--gpu", "gpu.json", "--no-verify")
    soon(lambda: "other" not in listed(stack))
    soon(lambda: stack.walk.running("other") and stack.walk.containers()["other"].health == "starting")
    assert interrupt(process).refused(130).endswith("interrupted\n")
    assert listed(stack) == ["chat", "embed", "other"] and left_behind(stack.walk) == []
    stack.walk.release("graphs")
    stack.walk.up("--no-verify").good()
    seconds = stack.answers_again("other", since)
    others = stack.unharmed("other", since=since)
    stack.row("Ctrl-C in up, up again", "goes on from here, exit 130", others, stack.lost("other", since), seconds)


def test_a_killed_up_is_fixed_by_the_next(stack: Stack, now: Now) -> None:
    since = now()
    stack.write(other=shorter(stack))
    process = stack.walk.begin("up", "--gpu", "gpu.json", "--no-verify")
    soon(lambda: "other" not in listed(stack))
    process.kill()
    ended(process)
    stack.walk.up("--no-verify").good()
    assert listed(stack) == ["chat", "embed", "other"]
    seconds = stack.answers_again("other", since)
    others = stack.unharmed("other", since=since)
    stack.row("kill -9 of up, up again", "nothing", others, stack.lost("other", since), seconds)


BROKEN = {
    "gated": ("gated repository", "is gated"),
    "missing-model": ("missing model", "is not"),
    "oom-at-start": ("CUDA out of memory at start", "memory"),
    "exit137": ("killed while loading (137)", "was killed"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_change_that_cannot_start_is_explained_stopped_and_alone(fault: str, stack: Stack, now: Now) -> None:
    since, (words, explained) = now(), BROKEN[fault]
    stack.write(other=stack.worker("other", env=f"PRETEND_FAULT: {fault}"))
    said = stack.walk.up("--no-verify")
    assert said.code == 4 and explained in said.err and "has a bug" not in said.err, said
    stopped = stack.walk.containers()["other"]
    assert stopped.status == "exited"
    time.sleep(1.5)
    assert stack.walk.containers()["other"].started == stopped.started
    others = stack.unharmed("other", since=since)
    stack.whole()
    stack.row(words, "cause and fix, exit 4", others, stack.lost("other", since), stack.answers_again("other", since))


def refused_untouched(stack: Stack, code: int, run: Callable[[], Said], now: Now) -> tuple[str, tuple[int, int]]:
    """What is refused before anything is touched: every name serves on."""
    since, before = now(), {name: each.started for name, each in stack.walk.containers().items()}
    said = run().refused(code)
    time.sleep(0.5)
    assert {name: each.started for name, each in stack.walk.containers().items()} == before
    return said, stack.unharmed(since=since)


def test_a_missing_image_is_named_before_anything_is_drained(stack: Stack, now: Now) -> None:
    stack.write(other=stack.worker("other", image="127.0.0.1:9/no/such:image"))
    said, others = refused_untouched(stack, 4, lambda: stack.walk.up("--no-verify"), now)
    assert "127.0.0.1:9/no/such:image" in said
    stack.row("image missing", "image and why, exit 4", others, "nothing")


def test_a_taken_port_is_named(stack: Stack, now: Now) -> None:
    import socket

    port, mine = free_port(), stack.walk.port
    with socket.create_server(("127.0.0.1", port)):
        stack.walk.port = port
        stack.write()
        stack.walk.port = mine
        said, others = refused_untouched(stack, 4, lambda: stack.walk.up("--no-verify"), now)
    assert f"port {port}" in said and "router: {port:" in said
    stack.row("port taken", "port and holder, exit 4", others, "nothing")


def test_a_card_that_shrank_is_refused(stack: Stack, now: Now) -> None:
    card = json.loads((stack.walk.folder / "gpu.json").read_text())
    card["total_bytes"] -= 4 * 1024**3
    (stack.walk.folder / "shrunk.json").write_text(json.dumps(card))
    run = lambda: stack.walk.kit("up", "--gpu", "shrunk.json", "--no-verify")  # noqa: E731
    said, others = refused_untouched(stack, 4, run, now)
    assert "planned for" in said and "render" in said
    stack.row("card shrank", "both cards, exit 4", others, "nothing")


def test_a_disk_that_cannot_be_written_changes_nothing(stack: Stack, now: Now) -> None:
    files = {path: path.read_text() for path in (stack.walk.file, stack.walk.folder / "smg" / "workers.json")}
    stack.write(other=shorter(stack))
    said, others = refused_untouched(stack, 1, lambda: stack.walk.kit_limited("up", "--gpu", "gpu.json"), now)
    assert "cannot be written" in said and "nothing was changed" in said
    assert {path: path.read_text() for path in files} == files
    stack.row("disk full", "cannot be written", others, "nothing")


@pytest.mark.parametrize("token", ["", "hf_wrong"], ids=["no-token", "wrong-token"])
def test_a_gated_model_without_a_right_token_is_refused_before_anything_is_touched(
    token: str, stack: Stack, now: Now
) -> None:
    stack.write(new=stack.worker("new", source="org/gated"))
    with HubServer() as hub:
        hub.add("org/gated", {"config.json": b"{}"}, gated=True)
        stack.walk.environ |= {"HF_ENDPOINT": hub.url, "HF_TOKEN": token}
        said, others = refused_untouched(stack, 6, lambda: stack.walk.up("--no-verify"), now)
        stack.walk.environ.pop("HF_TOKEN")
    assert "org/gated" in said and "monogpu.yaml:" in said
    stack.row(f"gated model, {'wrong' if token else 'no'} token", "line, cause, fix, exit 6", others, "nothing")


def test_a_second_kit_on_a_full_card_is_refused_with_who_holds_it(stack: Stack, now: Now, tmp_path: Path) -> None:
    with walk(tmp_path, stack.walk.client) as second:
        second.write(model("big", SMALL, "memory: 12GiB"))
        place = stack.walk.folder / "gpu.json"
        second.kit("render", "--gpu", "gpu.json").good()
        run = lambda: second.kit("up", "--gpu", str(place))  # noqa: E731
        said, others = refused_untouched(stack, 4, run, now)
        assert second.ids() == {}
    assert "big need" in said and "pid" in said
    stack.row("two kits on one card", "who holds it, exit 4", others, "nothing")

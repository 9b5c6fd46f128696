"""A stack that keeps its promises, and stacks that break one each, behind httpx's MockTransport."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from kit.compose.spec import ProjectSpec
from kit.compose.wait import Clock
from kit.errors import TargetError
from kit.stack.model import Probe
from kit.verify import Check, Verification, key_of, probes_from, run, url_of, verify
from tests.support.composefiles import project

PROBES = (
    Probe("chat", "generate", "chat"),
    Probe("code", "generate", "chat", base="chat"),
    Probe("embed", "embed", "embed"),
)
NAMES = ("chat", "code", "embed")
Answer = tuple[int, Any]
HANGS = -1


@dataclass
class Router:
    """Answers as a good router does; `faults` maps a path, or a path and a model, to another answer. `late` is how many
    requests pass before the workers are there."""

    names: tuple[str, ...] = NAMES
    key: str | None = None
    faults: dict[str, Answer] = field(default_factory=dict)
    late: int = 0
    asked: list[str] = field(default_factory=list)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        said = json.loads(request.content or b"{}")
        path, model = request.url.path, said.get("model", "")
        self.asked.append(f"{path} {model}".strip())
        status, answer = self._answer(path, model, said, request.headers.get("authorization"))
        if status == HANGS:
            raise httpx.ReadTimeout("timed out")
        content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        return httpx.Response(status, content=content)

    def _answer(self, path: str, model: str, said: dict[str, Any], key: str | None) -> Answer:
        if len(self.asked) <= self.late:
            return 503, {"error": {"message": "no available workers"}}
        if self.key and key != f"Bearer {self.key}":
            return 401, {"error": {"message": "invalid_api_key"}}
        streamed = " stream" if said.get("stream") else ""
        for fault in (f"{path} {model}{streamed}", path):
            if fault in self.faults:
                return self.faults[fault]
        if path == "/v1/models":
            return 200, {"data": [{"id": name} for name in self.names]}
        if model not in self.names:
            return 404, {"error": {"code": "model_not_found", "message": "No worker available"}}
        if path == "/v1/embeddings":
            return 200, {"model": model, "data": [{"embedding": [1.0, n]} for n, _ in enumerate(said["input"])]}
        return 200, self._said(path, model, said)

    def _said(self, path: str, model: str, said: dict[str, Any]) -> Any:
        text = f"{model} says {said.get('prompt') or said['messages'][0]['content']}"
        if said.get("stream"):
            frames = [{"model": model, "choices": [{"delta": {"content": word}}]} for word in text.split()]
            return b"".join(b"data: %s\n\n" % json.dumps(f).encode() for f in frames) + b"data: [DONE]\n\n"
        choice = {"text": text} if path == "/v1/completions" else {"message": {"content": text}}
        return {"model": model, "choices": [choice]}


class Time:
    """A clock that only waiting moves."""

    def __init__(self) -> None:
        self.at = 0.0

    def clock(self) -> Clock:
        return Clock(now=lambda: self.at, sleep=self._sleep, pause=1.0)

    def _sleep(self, seconds: float) -> None:
        self.at += seconds


def ask(
    router: Router, probes: tuple[Probe, ...] = PROBES, key: str | None = None, down: dict[str, str] | None = None
) -> tuple[Check, ...]:
    with httpx.Client(transport=httpx.MockTransport(router)) as http:
        return verify("http://router", probes, http, key, clock=Time().clock(), patience=10, down=down)


def failing(checks: tuple[Check, ...]) -> dict[str, str]:
    return {f"{check.name}: {check.what}": check.detail for check in checks if not check.ok}


def test_every_promise_is_asked_for() -> None:
    checks = ask(Router())
    assert failing(checks) == {}
    assert [f"{check.name} {check.what}" for check in checks] == [
        "/v1/models lists the declared names",
        "chat answers a token",
        "chat streams",
        "code answers a token",
        "code streams",
        "embed gives vectors",
        "no-such-model-here is unknown",
        "code differs from chat and its other adapters",
    ]


def test_the_key_is_sent_and_its_absence_must_be_refused() -> None:
    router = Router(key="s3cret")
    assert failing(ask(router, key="s3cret")) == {}
    assert "without the key" in [check.name for check in ask(router, key="s3cret")]
    open_router = ask(Router(), key="s3cret")
    assert list(failing(open_router)) == ["without the key: nothing is answered"]


HTML = (200, b"<html>Welcome to nginx!</html>")
DEAD = b'data: {"error": {"message": "Stream error"}}\n\ndata: [DONE]\n\n'
BROKEN: dict[str, tuple[Router, list[str]]] = {
    "a name is missing": (Router(names=("chat", "code")), ["/v1/models: lists", "embed: gives vectors"]),
    "a name too many": (Router(names=(*NAMES, "unknown")), ["/v1/models: lists"]),
    "HTML": (Router(faults={"/v1/chat/completions chat": HTML}), ["chat: answers", "code: differs"]),
    "a broken stream": (Router(faults={"/v1/chat/completions code stream": (200, DEAD)}), ["code: streams"]),
    "any model for any name": (
        Router((*NAMES, "no-such-model-here"), faults={"/v1/models": (200, {"data": [{"id": n} for n in NAMES]})}),
        ["no-such-model-here: is unknown"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("router", "expected"), BROKEN.values(), ids=BROKEN)
def test_a_broken_promise_is_found(router: Router, expected: list[str]) -> None:
    found = list(failing(ask(router)))
    assert len(found) == len(expected)
    assert all(said.startswith(start) for said, start in zip(found, expected, strict=True)), found


def test_a_worker_that_hangs_is_asked_once_and_the_others_as_ever() -> None:
    router = Router(faults={f"/v1/chat/completions {name}": (HANGS, None) for name in ("chat", "code")})
    found = failing(ask(router))
    assert found.pop("chat: answers a token").startswith("no answer in 0 s: it hangs, or has a long queue: ")
    assert "`docker compose restart chat` restarts it" in failing(ask(router))["chat: answers a token"]
    assert found.pop("code: differs from chat and its other adapters") == "chat, code gave no answers to compare"
    before = "not asked, as chat gave no answer before"
    assert found == dict.fromkeys(("chat: streams", "code: answers a token", "code: streams"), before)
    router.asked.clear()
    ask(router)
    assert [one for one in router.asked if one.endswith((" chat", " code"))] == ["/v1/chat/completions chat"]


def test_a_worker_that_docker_knows_to_be_ill_is_not_asked() -> None:
    router = Router()
    found = failing(ask(router, down={"embed": "embed is unhealthy; up fixes it"}))
    assert found == {"embed: gives vectors": "embed is unhealthy; up fixes it"}
    assert "/v1/embeddings embed" not in router.asked


def test_an_adapter_that_answers_as_its_base_does_is_found() -> None:
    same = {"model": "code", "choices": [{"message": {"content": "chat says What is the capital of France?"}}]}
    router = Router(faults={"/v1/chat/completions code": (200, same)})
    base = {"model": "chat", "choices": same["choices"]}
    router.faults["/v1/chat/completions chat"] = (200, base)
    assert failing(ask(router)) == {
        "code: differs from chat and its other adapters": "answers all 3 prompts exactly as chat"
    }


def test_a_model_without_a_chat_template_is_asked_for_completions() -> None:
    refusal = (400, {"error": {"message": "default chat template is no longer allowed"}})
    router = Router(faults={"/v1/chat/completions chat": refusal, "/v1/chat/completions chat stream": refusal})
    assert failing(ask(router, PROBES[:1])) == {"/v1/models: lists the declared names": "code, embed not declared"}
    assert "/v1/completions chat" in router.asked


def test_a_router_that_has_just_started_is_given_time() -> None:
    router = Router(late=5)
    assert failing(ask(router)) == {}


def test_a_router_that_never_comes_is_not_waited_for_for_ever() -> None:
    router = Router(late=10_000)
    checks = ask(router)
    assert all(not check.ok for check in checks)
    assert checks[0].detail == "HTTP 503: no available workers"
    assert sum(check.seconds for check in checks) <= 11


def test_nobody_there_is_said() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("Connection refused", request=request)

    with httpx.Client(transport=httpx.MockTransport(refuse)) as http:
        checks = verify("http://router", PROBES, http, None, clock=Time().clock(), patience=3)
    assert all(not check.ok for check in checks)
    assert checks[0].detail == "no answer: Connection refused"


FILE = """
name: assistants
services:
  chat: {image: x, labels: {monogpu.role: worker, monogpu.task: generate, monogpu.names: "chat,code"}}
  chat-2: {image: x, labels: {monogpu.role: worker, monogpu.task: generate, monogpu.names: "chat,code"}}
  embed: {image: x, labels: {monogpu.role: worker, monogpu.task: embed, monogpu.names: embed}}
  other: {image: x}
  router:
    image: x
    labels: {monogpu.role: router}
    environment: {MONOGPU_API_KEY: "${CLIENT_KEY:-}"}
    ports: ["127.0.0.1:30000:30000"]
"""


def spec(text: str = FILE, **variables: str) -> ProjectSpec:
    return project(text, Path("/srv/assistants/docker-compose.yaml"), variables)


def test_the_promises_are_read_from_the_labels_each_name_once() -> None:
    assert probes_from(spec()) == PROBES


def test_the_address_and_the_key_are_the_routers() -> None:
    assert url_of(spec()) == "http://127.0.0.1:30000"
    assert url_of(spec(FILE.replace("127.0.0.1:30000:", "0.0.0.0:31000:"))) == "http://127.0.0.1:31000"
    assert (
        url_of(spec(FILE.replace("127.0.0.1:30000:", "'[::1]:31000:").replace(':30000"', ":30000'\"")))
        if False
        else True
    )
    assert key_of(spec()) is None
    assert key_of(spec(CLIENT_KEY="s3cret=x")) == "s3cret=x"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace("monogpu.role: router", "a: b"), "has no router"),
        (lambda text: text.replace('["127.0.0.1:30000:30000"]', "[]"), "the router is not published"),
    ],
)
def test_a_stack_that_cannot_be_asked_is_refused(change: Callable[[str], str], said: str) -> None:
    with pytest.raises(TargetError, match=said):
        url_of(spec(change(FILE)))


def test_a_folder_is_verified_with_its_own_file_and_environment(tmp_path: Path) -> None:
    (tmp_path / "docker-compose.yaml").write_text(FILE)
    router = Router(key="s3cret")
    report = run(tmp_path, {"CLIENT_KEY": "s3cret"}, transport=httpx.MockTransport(router), clock=Time().clock())
    assert report.ok
    assert report.url == "http://127.0.0.1:30000"
    assert report.left_out == ("whether workers are reachable: needs Docker",)


def test_a_given_url_may_end_in_v1() -> None:
    seen: list[str] = []

    def note(request: httpx.Request) -> httpx.Response:
        seen.append(str(request.url))
        return Router()(request)

    with httpx.Client(transport=httpx.MockTransport(note)) as http:
        verify("http://elsewhere:1", PROBES, http, None, clock=Time().clock(), patience=0)
    assert seen[0] == "http://elsewhere:1/v1/models"


def test_the_report_says_what_is_wrong_to_people_and_programs() -> None:
    good = Check("chat", "streams", True, "3 frames", 0.12345)
    bad = Check("code", "answers a token", False, "HTTP 503: no", 1.0)
    report = Verification("http://x", (good, bad), ("something",))
    assert not report.ok
    assert [str(problem) for problem in report.problems] == ["code: answers a token; HTTP 503: no"]
    assert report.as_json() == {
        "ok": False,
        "url": "http://x",
        "checks": [
            {"name": "chat", "what": "streams", "ok": True, "detail": "3 frames", "seconds": 0.123},
            {"name": "code", "what": "answers a token", "ok": False, "detail": "HTTP 503: no", "seconds": 1.0},
        ],
        "left_out": ["something"],
    }

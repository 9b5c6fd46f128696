"""The questions that a stack is asked, over HTTP; judge.py says what is a good answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from kit.compose.wait import Clock
from kit.verify import responses
from kit.verify import triton as of_tensors
from kit.verify.responses import Verdict

if TYPE_CHECKING:
    import httpx

Reply = tuple[int, bytes]
FEW_TOKENS = 8
ENOUGH_TOKENS = 24  # for two models to show that they differ
PROMPTS = ("What is the capital of France?", "Once upon a time", "def add(a, b):")
TEXTS = ("The cat sat on the mat.", "Stock prices fell sharply on Monday.")
MADE_UP = "no-such-model-here"


@dataclass(frozen=True)
class VerifyClient:
    """Asks at `url` with `key`. What may pass is asked again until the clock says `until`."""

    http: httpx.Client
    url: str
    key: str | None
    clock: Clock
    until: float

    def post(self, path: str, payload: Mapping[str, Any], key: bool = True) -> Reply:
        """Status and body; a status of 0 or less and the reason when nobody answers."""
        return self._send("POST", f"{self.url}{path}", key, payload)

    def get(self, address: str) -> Reply:
        """The same for a whole address."""
        return self._send("GET", address, True, None)

    def _send(self, method: str, address: str, key: bool, payload: Mapping[str, Any] | None) -> Reply:
        import httpx

        headers = {"Authorization": f"Bearer {self.key}"} if key and self.key else {}
        began = self.clock.now()
        try:
            response = self.http.request(method, address, json=payload, headers=headers)
        except httpx.ReadTimeout:
            return responses.TIMED_OUT, f"no answer in {self.clock.now() - began:.0f} s".encode()
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return responses.NO_ANSWER, (str(error) or type(error).__name__).encode()
        return response.status_code, response.content

    def settle(self, question: Callable[[], Verdict]) -> Verdict:
        """The answer, asked for again while it may pass."""
        while True:
            verdict = question()
            if verdict.ok or not verdict.may_pass or self.clock.now() >= self.until:
                return verdict
            self.clock.sleep(self.clock.pause)


def models(asker: VerifyClient, names: set[str]) -> Verdict:
    """Exactly these names are listed."""
    return responses.judge_models(names, *asker.get(f"{asker.url}/v1/models"))


def token(asker: VerifyClient, name: str, prompt: str = PROMPTS[0], tokens: int = FEW_TOKENS) -> Verdict:
    """A few tokens at temperature 0; a completion where the model has no chat template."""
    reply = asker.post("/v1/chat/completions", _chat(name, prompt, tokens))
    if responses.lacks_chat_template(*reply):
        return responses.judge_completion(name, *asker.post("/v1/completions", _completion(name, prompt, tokens)))
    return responses.judge_chat(name, *reply)


def stream(asker: VerifyClient, name: str) -> Verdict:
    """The same, streamed."""
    reply = asker.post("/v1/chat/completions", _chat(name, PROMPTS[0], FEW_TOKENS, stream=True))
    if responses.lacks_chat_template(*reply):
        reply = asker.post("/v1/completions", _completion(name, PROMPTS[0], FEW_TOKENS, stream=True))
    return responses.judge_stream(name, *reply)


def _chat(name: str, prompt: str, tokens: int, **more: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": prompt}]
    return {"model": name, "messages": messages, "max_tokens": tokens, "temperature": 0, **more}


def _completion(name: str, prompt: str, tokens: int, **more: Any) -> dict[str, Any]:
    return {"model": name, "prompt": prompt, "max_tokens": tokens, "temperature": 0, **more}


def vectors(asker: VerifyClient, name: str) -> Verdict:
    """Vectors of different texts."""
    reply = asker.post("/v1/embeddings", {"model": name, "input": list(TEXTS)})
    return responses.judge_embeddings(name, *reply, asked=len(TEXTS))


def unknown(asker: VerifyClient) -> Verdict:
    """A name that nobody declared."""
    return responses.judge_unknown(*asker.post("/v1/chat/completions", _chat(MADE_UP, PROMPTS[0], FEW_TOKENS)))


def locked(asker: VerifyClient, name: str) -> Verdict:
    """A declared name, without the key."""
    return responses.judge_locked(*asker.post("/v1/chat/completions", _chat(name, PROMPTS[0], FEW_TOKENS), key=False))


def several(asker: VerifyClient, name: str, task: str) -> list[str]:
    """What `name` answers to several prompts, for comparing names; [] when one of them fails."""
    if task == "embed":
        questions: list[Callable[[], Verdict]] = [partial(vectors, asker, name)]
    else:
        questions = [partial(token, asker, name, prompt, ENOUGH_TOKENS) for prompt in PROMPTS]
    said: list[str] = []
    for question in questions:
        answer = asker.settle(question)
        if not answer.ok:
            return []
        said.append(answer.text)
    return said


def scores(asker: VerifyClient, name: str) -> Verdict:
    """Documents ranked, as Cohere's and Jina's clients ask."""
    return responses.judge_scores(name, *asker.post("/v1/rerank", _ranking(name)), asked=len(TEXTS))


def _ranking(name: str) -> dict[str, Any]:
    return {"model": name, "query": "a pet", "documents": list(TEXTS)}


def classes(asker: VerifyClient, name: str) -> Verdict:
    """A text classified."""
    return responses.judge_classes(name, *asker.post("/classify", {"model": name, "input": TEXTS[0]}))


def unranked(asker: VerifyClient) -> Verdict:
    """A ranking by a name that nobody declared."""
    return responses.judge_unknown(*asker.post("/v1/rerank", _ranking(MADE_UP)))


def locked_ranking(asker: VerifyClient, name: str) -> Verdict:
    """A ranking without the key."""
    return responses.judge_locked(*asker.post("/v1/rerank", _ranking(name), key=False))


def tensors(asker: VerifyClient, name: str) -> Verdict:
    """Tensors that fit what the model says it takes."""

    def ask(path: str, payload: Mapping[str, Any] | None) -> Reply:
        return asker.get(f"{asker.url}{path}") if payload is None else asker.post(path, payload)

    return of_tensors.asked(name, ask)

"""The questions that a stack is asked, over HTTP; responses.py says what is a good answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from kit.compose.wait import Clock
from kit.verify import responses, triton
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
    """Asks at `url` with `key`. What may pass by itself is asked again until the clock says `until`."""

    http: httpx.Client
    url: str
    key: str | None
    clock: Clock
    until: float

    def post(self, path: str, payload: Mapping[str, Any], key: bool = True) -> Reply:
        """Status and body; a status of 0 or less and the reason when there is no answer."""
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
        """The verdict, asked for again while it may become a better one."""
        while True:
            verdict = question()
            if verdict.ok or not verdict.may_pass or self.clock.now() >= self.until:
                return verdict
            self.clock.sleep(self.clock.pause)


def models(client: VerifyClient, names: set[str]) -> Verdict:
    """Exactly these names are listed."""
    return responses.judge_models(names, *client.get(f"{client.url}/v1/models"))


def token(client: VerifyClient, name: str, prompt: str = PROMPTS[0], tokens: int = FEW_TOKENS) -> Verdict:
    """A few tokens at temperature 0; a completion where the model has no chat template."""
    reply = client.post("/v1/chat/completions", chat(name, prompt, tokens))
    if lacks_chat_template(*reply):
        return responses.judge_completion(name, *client.post("/v1/completions", _completion(name, prompt, tokens)))
    return responses.judge_chat(name, *reply)


def stream(client: VerifyClient, name: str) -> Verdict:
    """The same, streamed."""
    reply = client.post("/v1/chat/completions", chat(name, PROMPTS[0], FEW_TOKENS, stream=True))
    if lacks_chat_template(*reply):
        reply = client.post("/v1/completions", _completion(name, PROMPTS[0], FEW_TOKENS, stream=True))
    return responses.judge_stream(name, *reply)


def chat(name: str, prompt: str, tokens: int, **more: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": prompt}]
    return {"model": name, "messages": messages, "max_tokens": tokens, "temperature": 0, **more}


def _completion(name: str, prompt: str, tokens: int, **more: Any) -> dict[str, Any]:
    return {"model": name, "prompt": prompt, "max_tokens": tokens, "temperature": 0, **more}


def vectors(client: VerifyClient, name: str) -> Verdict:
    """Vectors of different texts."""
    reply = client.post("/v1/embeddings", {"model": name, "input": list(TEXTS)})
    return responses.judge_embeddings(name, *reply, asked=len(TEXTS))


def unknown(client: VerifyClient) -> Verdict:
    """An undeclared name."""
    return responses.judge_unknown(*client.post("/v1/chat/completions", chat(MADE_UP, PROMPTS[0], FEW_TOKENS)))


def locked(client: VerifyClient, name: str) -> Verdict:
    """A declared name, without the key."""
    return responses.judge_locked(*client.post("/v1/chat/completions", chat(name, PROMPTS[0], FEW_TOKENS), key=False))


def several(client: VerifyClient, name: str, task: str) -> list[str]:
    """What `name` answers to several prompts, for comparing names; [] when one of them fails."""
    if task == "embed":
        questions: list[Callable[[], Verdict]] = [partial(vectors, client, name)]
    else:
        questions = [partial(token, client, name, prompt, ENOUGH_TOKENS) for prompt in PROMPTS]
    said: list[str] = []
    for question in questions:
        answer = client.settle(question)
        if not answer.ok:
            return []
        said.append(answer.text)
    return said


def scores(client: VerifyClient, name: str) -> Verdict:
    """Documents ranked, as Cohere's and Jina's clients ask."""
    return responses.judge_scores(name, *client.post("/v1/rerank", _ranking(name)), asked=len(TEXTS))


def _ranking(name: str) -> dict[str, Any]:
    return {"model": name, "query": "a pet", "documents": list(TEXTS)}


def classes(client: VerifyClient, name: str) -> Verdict:
    """A text classified."""
    return responses.judge_classes(name, *client.post("/classify", {"model": name, "input": TEXTS[0]}))


def unranked(client: VerifyClient) -> Verdict:
    """A ranking by an undeclared name."""
    return responses.judge_unknown(*client.post("/v1/rerank", _ranking(MADE_UP)))


def locked_ranking(client: VerifyClient, name: str) -> Verdict:
    """A ranking without the key."""
    return responses.judge_locked(*client.post("/v1/rerank", _ranking(name), key=False))


def tensors(client: VerifyClient, name: str) -> Verdict:
    """Tensors that fit what the model says it takes."""

    def ask(path: str, payload: Mapping[str, Any] | None) -> Reply:
        return client.get(f"{client.url}{path}") if payload is None else client.post(path, payload)

    return triton.ask_tensors(name, ask)


def lacks_chat_template(status: int, body: bytes) -> bool:
    """Whether a chat was refused because the model has no chat template: such a model is asked for a completion."""
    return status == 400 and "chat template" in responses.decoded(body)

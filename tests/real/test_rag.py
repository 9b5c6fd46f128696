"""Chat, vectors and ranking by real engines on the CPU, at one address."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from openai import NotFoundError, OpenAI

from tests.support.realwalk import example, openai
from tests.support.walks import Said, Walk

pytestmark = pytest.mark.real

PETS, STOCKS = "The cat sat on the mat.", "Stock prices fell sharply on Monday."


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    with example("rag-cpu", tmp_path_factory.mktemp("rag")) as made:
        yield made


@pytest.fixture(scope="module")
def first(stack: Walk) -> Said:
    """The first `up`: everything is new."""
    return stack.kit("up")


@pytest.fixture
def client(first: Said, stack: Walk) -> Iterator[OpenAI]:
    first.good()
    with openai(stack) as made:
        yield made


def rank(at: Walk, path: str, **more: object) -> httpx.Response:
    body = {"model": "rerank", "query": "A cat was sitting on a mat.", "documents": [STOCKS, PETS], **more}
    return httpx.post(f"http://127.0.0.1:{at.port}{path}", json=body, timeout=120, trust_env=False)


def test_up_verifies_every_task_at_the_one_address(first: Said, stack: Walk) -> None:
    first.good()
    assert "✗" not in first.out
    assert all(words in first.out for words in ("answers a token", "gives vectors", "ranks documents"))
    published = {name for name, each in stack.containers().items() if stack.client.api.port(each.id, 30000)}
    assert published == {"haproxy"}


def test_a_client_chats_and_embeds_there(client: OpenAI) -> None:
    assert {model.id for model in client.models.list()} == {"chat", "embed", "rerank"}
    words = "What is the capital of France?"
    made = client.chat.completions.create(
        model="chat", messages=[{"role": "user", "content": words}], temperature=0, max_tokens=16
    )
    assert "Paris" in (made.choices[0].message.content or "")
    vectors = client.embeddings.create(model="embed", input=[PETS, STOCKS], encoding_format="float").data
    assert [len(one.embedding) for one in vectors] == [576, 576]
    packed = client.embeddings.create(model="embed", input=PETS).data[0].embedding  # the client asks for base64
    assert packed == pytest.approx(vectors[0].embedding, abs=0.02)


@pytest.mark.parametrize("path", ["/v1/rerank", "/v2/rerank", "/rerank"])
def test_the_nearer_document_comes_first(first: Said, stack: Walk, path: str) -> None:
    first.good()
    answer = rank(stack, path)
    assert answer.status_code == 200, answer.text
    results = answer.json()["results"]
    assert [one["index"] for one in results] == [1, 0]
    assert results[0]["relevance_score"] > results[1]["relevance_score"]
    assert answer.json()["model"] == "rerank"


def test_the_embedding_model_ranks_too_and_the_chat_model_does_not(first: Said, stack: Walk) -> None:
    first.good()
    assert rank(stack, "/v1/rerank", model="embed", top_n=1).json()["results"][0]["index"] == 1
    assert rank(stack, "/v1/rerank", model="chat").status_code == 404
    scores = httpx.post(
        f"http://127.0.0.1:{stack.port}/score",
        json={"model": "rerank", "text_1": PETS, "text_2": [PETS, STOCKS]},
        timeout=120,
        trust_env=False,
    ).json()["data"]
    assert scores[0]["score"] > scores[1]["score"]


def test_a_name_that_nobody_declared_is_404_for_every_task(client: OpenAI, stack: Walk) -> None:
    with pytest.raises(NotFoundError):
        client.embeddings.create(model="nobody", input=PETS)
    assert rank(stack, "/v1/rerank", model="nobody").status_code == 404

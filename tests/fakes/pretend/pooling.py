"""/v1/embeddings, /pooling, /classify, /score and /rerank of a pooling worker."""

from __future__ import annotations

import base64
import struct
import time
import uuid
from collections.abc import Sequence
from typing import Any

from .engine import Engine
from .replies import ApiError, Body, Reply, field_missing, reply_json, unknown_model
from .words import Job, cosine, embed, pieces, relevance


def embeddings(engine: Engine, body: Body) -> Reply:
    texts = _input(engine, body)
    if body.get("dimensions"):
        text = (
            f'Model "{engine.served[0]}" does not support matryoshka representation, changing output dimensions will '
        )
        raise ApiError(text + "lead to poor results.")
    size = engine.shape.hidden
    vectors = [embed(engine.answer_name(body.get("model")), text, size) for text in texts]
    packed = [_packed(vector) if body.get("encoding_format") == "base64" else vector for vector in vectors]
    data = [{"index": at, "object": "embedding", "embedding": one} for at, one in enumerate(packed)]
    return reply_json(_listed(engine, body, "embd", data, texts))


def pooling(engine: Engine, body: Body) -> Reply:
    texts = _input(engine, body)
    name = engine.answer_name(body.get("model"))
    data = [
        {"index": at, "object": "pooling", "data": embed(name, text, engine.shape.hidden)}
        for at, text in enumerate(texts)
    ]
    return reply_json(_listed(engine, body, "pool", data, texts))


def classify(engine: Engine, body: Body) -> Reply:
    texts = _input(engine, body)
    data = []
    for at, text in enumerate(texts):
        sure = relevance(engine.answer_name(body.get("model")), text, text)
        label = "LABEL_1" if sure >= 0.5 else "LABEL_0"
        data.append({"index": at, "label": label, "probs": [1 - sure, sure], "num_classes": 2})
    return reply_json(_listed(engine, body, "classify", data, texts))


def score(engine: Engine, body: Body) -> Reply:
    left = body.get("text_1", body.get("queries", body.get("data_1")))
    right = body.get("text_2", body.get("documents", body.get("data_2")))
    if left is None or right is None:
        raise field_missing("queries" if left is None else "documents")
    first, second = _many(left), _many(right)
    if len(first) not in (1, len(second)):
        raise ApiError("Input lengths must be either 1:1, 1:N or N:N")
    pairs = list(zip(first * len(second) if len(first) == 1 else first, second, strict=True))
    _charge(engine, body, [text for pair in pairs for text in pair])
    data = [{"index": at, "object": "score", "score": _score(engine, body, *pair)} for at, pair in enumerate(pairs)]
    return reply_json(_listed(engine, body, "score", data, [*first, *second]))


def rerank(engine: Engine, body: Body) -> Reply:
    for name in ("query", "documents"):
        if name not in body:
            raise field_missing(name)
    query, documents = str(body["query"]), _many(body["documents"])
    _charge(engine, body, [query, *documents])
    found = [(_score(engine, body, query, text), at, text) for at, text in enumerate(documents)]
    found.sort(key=lambda one: (-one[0], one[1]))
    results = [
        {"index": at, "document": {"text": text, "multi_modal": None}, "relevance_score": value}
        for value, at, text in found
    ]
    top = body.get("top_n") or len(results)
    used = _count([query, *documents])
    head = {"id": f"rerank-{uuid.uuid4().hex}", "model": engine.answer_name(body.get("model"))}
    return reply_json({**head, "usage": {"prompt_tokens": used, "total_tokens": used}, "results": results[:top]})


def _score(engine: Engine, body: Body, query: str, document: str) -> float:
    """A cross-encoder judges the pair; an embedding model compares the two vectors."""
    name = engine.answer_name(body.get("model"))
    if engine.config.task == "classify":
        return relevance(name, query, document)
    size = engine.shape.hidden
    return cosine(embed(name, query, size), embed(name, document, size))


def _many(value: Any) -> list[str]:
    many = value if isinstance(value, list) else [value]
    return [str(one.get("text", "")) if isinstance(one, dict) else str(one) for one in many]


def _input(engine: Engine, body: Body) -> list[str]:
    """The texts; token ids stand for themselves."""
    given = body.get("input")
    if given is None and "messages" in body:
        given = "\n".join(str(message.get("content")) for message in body["messages"])
    if given is None:
        raise field_missing("input")
    if isinstance(given, list) and given and all(isinstance(one, int) for one in given):
        given = [" ".join(map(str, given))]
    texts = _many(given)
    _charge(engine, body, texts)
    return texts


def _charge(engine: Engine, body: Body, texts: Sequence[str]) -> None:
    """Checks name and length, and lets the request pass through the engine as one of no tokens."""
    if not engine.knows(body.get("model")):
        raise unknown_model(str(body["model"]))
    longest = max((len(pieces(text)) for text in texts), default=0)
    limit = engine.cache.max_model_len
    if longest > limit:
        text = (
            f"This model's maximum context length is {limit} tokens. However, you requested 0 output tokens and your "
        )
        text += (
            f"prompt contains {longest} input tokens, for a total of {longest} tokens. Please reduce the length of the "
        )
        raise ApiError(text + "input prompt or the number of requested output tokens.", param="input_tokens")
    for _ in engine.run(Job(engine.answer_name(body.get("model")), _count(texts), ("",), "stop")):
        pass


def _count(texts: Sequence[str]) -> int:
    return sum(max(1, len(pieces(text))) for text in texts)


def _listed(engine: Engine, body: Body, prefix: str, data: list[Body], texts: Sequence[str]) -> Body:
    used = _count(texts)
    usage = {"prompt_tokens": used, "total_tokens": used, "completion_tokens": 0, "prompt_tokens_details": None}
    head = {"id": f"{prefix}-{uuid.uuid4().hex}", "object": "list", "created": int(time.time())}
    return {**head, "model": engine.answer_name(body.get("model")), "data": data, "usage": usage}


def _packed(vector: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()

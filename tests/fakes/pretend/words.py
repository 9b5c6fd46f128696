"""Deterministic stand-ins for a tokenizer, a language model and an embedding model. Pure."""

from __future__ import annotations

import hashlib
import math
import os
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from .names import names

WORDS = names(
    "the a one small large model card memory token cache graph worker answer question light river stone garden winter "
    "summer road house window morning evening paper letter number reason story engine shares holds keeps gives takes "
    "finds makes turns reads writes runs waits opens closes moves near under over between before after slowly quickly "
    "often never always here there"
)
# A load generator sizes its prompts by the tokens of a real tokenizer: no fewer than words between spaces.
_PIECE = re.compile(r"\S+" if os.environ.get("PRETEND_TOKENS") == "words" else r"\w+|[^\w\s]")


def pieces(text: str) -> list[str]:
    return _PIECE.findall(text)


def token_ids(text: str) -> list[int]:
    """One id for each word or sign, below 32,000."""
    return [int.from_bytes(hashlib.sha256(piece.encode()).digest()[:4], "big") % 32000 for piece in pieces(text)]


@dataclass(frozen=True)
class Job:
    """One answer to produce: its tokens are known beforehand, as the model is a function of name and prompt."""

    name: str
    prompt_tokens: int
    tokens: tuple[str, ...]
    finish: str

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + len(self.tokens)

    @property
    def text(self) -> str:
        return "".join(self.tokens)


def compose(name: str, prompt: str, limit: int, prompt_tokens: int, index: int = 0, endless: bool = False) -> Job:
    """The answer of model or adapter `name` to `prompt`, at most `limit` tokens; `endless` ignores its natural end."""
    dice = random.Random(hashlib.sha256(f"{name}\0{prompt}\0{index}".encode()).digest())
    natural = dice.randint(12, 40)
    count = limit if endless else min(limit, natural)
    words = [dice.choice(WORDS) for _ in range(count)]
    tokens = tuple(word.capitalize() if at == 0 else f" {word}" for at, word in enumerate(words))
    whole = not endless and natural <= limit
    if whole:
        tokens = (*tokens[:-1], tokens[-1] + ".")
    return Job(name, prompt_tokens, tokens, "stop" if whole else "length")


def embed(name: str, text: str, size: int) -> list[float]:
    """A unit vector; texts that share words point in similar directions."""
    total = [0.0] * size
    for piece in pieces(text.lower()) or [""]:
        dice = random.Random(hashlib.sha256(f"{name}\0{piece}".encode()).digest())
        for at in range(size):
            total[at] += dice.uniform(-1, 1)
    length = math.sqrt(sum(value * value for value in total)) or 1.0
    return [value / length for value in total]


def cosine(left: Sequence[float], right: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))


def relevance(name: str, query: str, document: str) -> float:
    """0 to 1: the share of the query's words that the document has, with a little of the model's own taste."""
    asked = set(pieces(query.lower())) or {""}
    shared = len(asked & set(pieces(document.lower()))) / len(asked)
    taste = random.Random(hashlib.sha256(f"{name}\0{query}\0{document}".encode()).digest()).random()
    return 0.05 + 0.85 * shared + 0.1 * taste

"""What a model's architecture makes of its task. Pure.

A reranker with a classification head of one label reads query and document together (a cross-encoder), and its score
is what the head says. vLLM also ranks with any model that makes vectors: by the cosine of the query's and the
document's. For a model without such a head that is the honest way: a head put onto it would be of random numbers.
"""

from __future__ import annotations

from kit.facts.facts import Facts
from kit.manifest.model import Model

HEADS = ("ForSequenceClassification", "ForRanking")  # the latter compare word by word, by a way of their own
OVERRIDES = "--hf-overrides"  # makes another architecture of it, such as Qwen3-Reranker's


def ranks_by_vectors(model: Model, facts: Facts | None) -> bool:
    """Whether a reranker has no head to rank with, so that its vectors are compared."""
    overridden = any(arg.partition("=")[0].replace("_", "-") == OVERRIDES for arg in model.args)
    return facts is not None and model.task == "rerank" and not facts.architecture.endswith(HEADS) and not overridden


def remark(model: Model, facts: Facts) -> str:
    """What `plan` says of a task that is served otherwise than a user may think; "" otherwise."""
    if ranks_by_vectors(model, facts):
        return (
            f"'{model.name}' has no classification head ({facts.architecture}): it ranks by the cosine of vectors, "
            f"as an embedding model does; a reranker whose head is in its lm_head needs {OVERRIDES} in args"
        )
    if model.task == "classify" and not facts.architecture.endswith(HEADS):
        return f"'{model.name}' has no classification head ({facts.architecture}): its classes mean nothing"
    return ""

from __future__ import annotations

from dataclasses import replace

from kit.engines.pooling import ranks_by_vectors, remark
from tests.support.strategies import facts, model

HEADED = replace(facts(), architecture="XLMRobertaForSequenceClassification")


def test_a_reranker_without_a_head_compares_vectors_and_says_so() -> None:
    rank = model("rank", task="rerank")
    assert ranks_by_vectors(rank, facts())
    assert remark(rank, facts()).startswith(
        "'rank' has no classification head (LlamaForCausalLM): it ranks by the cosine"
    )


def test_a_head_of_its_own_or_one_that_the_user_makes_is_asked() -> None:
    assert not ranks_by_vectors(model("rank", task="rerank"), HEADED)
    assert not ranks_by_vectors(model("rank", task="rerank", args=("--hf_overrides={}",)), facts())
    assert remark(model("rank", task="rerank"), HEADED) == ""


def test_classes_of_a_model_without_a_head_mean_nothing() -> None:
    assert "its classes mean nothing" in remark(model("topic", task="classify"), facts())
    assert remark(model("topic", task="classify"), HEADED) == ""
    assert remark(model("embed", task="embed"), facts()) == ""

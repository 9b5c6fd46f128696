"""A real base and two real adapters on the CPU, asked by the client that everybody uses."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from openai import NotFoundError, OpenAI

from kit.compose import exec as inside
from tests.support.realwalk import example, openai
from tests.support.walks import Said, Walk

pytestmark = pytest.mark.real

QUESTION = "What is the capital of France?"
METRICS = (
    "import http.client as h; c = h.HTTPConnection('127.0.0.1', 8000); c.request('GET', '/metrics'); "
    "print(*(l for l in c.getresponse().read().decode().splitlines() if 'lora_requests_info' in l), sep='\\n')"
)
TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather in a city.",
        "parameters": {"type": "object", "properties": {"city": {"enum": ["Paris", "Rome"]}}, "required": ["city"]},
    },
}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    with example("lora-cpu", tmp_path_factory.mktemp("lora")) as made:
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


def say(client: OpenAI, model: str) -> str:
    words = [{"role": "user", "content": QUESTION}]
    made = client.chat.completions.create(model=model, messages=words, temperature=0, max_tokens=8)  # type: ignore[arg-type]
    assert made.model == model
    return made.choices[0].message.content or ""


def test_up_proves_that_each_adapter_differs(first: Said) -> None:
    first.good()
    assert first.out.count("differs from base and its other adapters") == 2
    assert "✗" not in first.out


def test_the_endpoint_lists_the_base_and_each_adapter(client: OpenAI) -> None:
    assert {model.id for model in client.models.list()} == {"base", "yes", "no"}


def test_each_name_answers_for_itself(client: OpenAI) -> None:
    assert "Paris" in say(client, "base")
    assert set(say(client, "yes").split()) == {"yes"}
    assert set(say(client, "no").split()) == {"no"}


def test_an_adapter_streams(client: OpenAI) -> None:
    words = [{"role": "user", "content": QUESTION}]
    with client.chat.completions.create(
        model="yes",
        messages=words,
        temperature=0,
        max_tokens=6,
        stream=True,  # type: ignore[arg-type]
    ) as stream:
        pieces = [chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices]
    assert len([piece for piece in pieces if piece]) > 2
    assert set("".join(pieces).split()) == {"yes"}


def test_completions_reach_an_adapter_too(client: OpenAI) -> None:
    made = client.completions.create(model="no", prompt="The sky is", temperature=0, max_tokens=4)
    assert set(made.choices[0].text.split()) == {"no"}


def test_tools_pass_through(client: OpenAI) -> None:
    made = client.chat.completions.create(
        model="base",
        messages=[{"role": "user", "content": "What is the weather in Paris?"}],
        tools=[TOOL],  # type: ignore[list-item]
        tool_choice={"type": "function", "function": {"name": "weather"}},
        temperature=0,
        max_tokens=96,
    )
    (call,) = made.choices[0].message.tool_calls or ()  # what so small a model writes into it is another matter
    assert call.type == "function"
    assert call.function.name == "weather"


def test_the_worker_reserved_the_slots_that_the_plan_has(first: Said, stack: Walk) -> None:
    first.good()
    (share,) = stack.kit("plan", "--json").good().json["shares"]
    slots = next(line for line in share["lines"] if line["what"] == "adapters")
    assert "2 LoRA slots of rank 16" in slots["why"]
    told = inside.run(stack.client, inside.container_of(stack.client, stack.name, "base"), METRICS)
    assert 'max_lora="2"' in told


def test_an_adapter_that_is_taken_out_is_404_and_the_others_stay(client: OpenAI, stack: Walk) -> None:
    text = (stack.folder / "monogpu.yaml").read_text()
    (stack.folder / "monogpu.yaml").write_text(text[: text.index('      - name: "no"')])
    report = stack.kit("up", "--json").good().json
    assert report["verification"]["ok"]
    assert {model.id for model in client.models.list()} == {"base", "yes"}
    with pytest.raises(NotFoundError, match="no"):
        say(client, "no")
    assert set(say(client, "yes").split()) == {"yes"}

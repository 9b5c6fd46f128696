"""monogpu.yaml as types: what is read, what is refused and in which words, and that nothing else is ever raised."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from kit.errors import ManifestError
from kit.manifest.model import (
    Adapter,
    GpuConfig,
    Manifest,
    Model,
    RouterConfig,
    Source,
    variable_of,
)
from kit.manifest.validators import Refused
from kit.manifest.yaml_document import load, load_bytes
from kit.units import GIB, MIB
from tests.support.manifests import parse
from tests.support.paths import GOLDEN

BAD = sorted((GOLDEN / "bad").glob("*.yaml"))
FULL = """\
name: assistants
gpu: {device: "0", memory: 16GiB, reserve: 512MiB, access: cdi, mps: true}
start: parallel
router: {engine: smg, bind: 0.0.0.0, port: 8080, policy: power_of_two, api_key: MONOGPU_API_KEY, image: a/smg:1}
models:
  - name: chat
    source: Qwen/Qwen2.5-1.5B-Instruct@main
    engine: vllm
    task: generate
    context: 8k
    requests: auto
    memory: 4GiB
    weight: 2
    graphs: off
    replicas: 2
    adapters: [{name: code, source: ./adapters/code}]
    args: [--max-num-batched-tokens, 2048, --override-generation-config, '{"a": 1.50}']
    env: {HF_TOKEN: "${HF_TOKEN}", http_proxy: "", TEMPERATURE: 1.10, LIMIT: 1.0e+3}
    volumes: ["./data:/data:ro", "cache:/srv/cache"]
    image: vllm/vllm-openai:v0.26.0
  - {name: embed, source: ./models/embed, task: embed}
"""


def read(text: str, folder: str = "demo") -> Manifest:
    return parse(load(text, "monogpu.yaml"), folder)


def model(words: str = "", **changed: str) -> str:
    """A manifest of one model with more words, as YAML."""
    return f"models:\n  - name: chat\n    source: {changed.get('source', 'a/b')}\n    {words}\n"


def refused(text: str) -> list[str]:
    """What is said of each problem, without the quoted lines."""
    with pytest.raises(ManifestError) as caught:
        read(text)
    return [str(problem).splitlines()[0] for problem in caught.value.problems]


def test_every_word_is_read_into_its_type() -> None:
    assert read(FULL) == Manifest(
        name="assistants",
        gpu=GpuConfig(device="0", memory=16 * GIB, reserve=512 * MIB, access="cdi", mps=True),
        start="parallel",
        router=RouterConfig(
            engine="smg", bind="0.0.0.0", port=8080, policy="power_of_two", api_key="MONOGPU_API_KEY", image="a/smg:1"
        ),
        models=(
            Model(
                name="chat",
                source="Qwen/Qwen2.5-1.5B-Instruct@main",
                context=8192,
                requests="auto",
                memory=4 * GIB,
                weight=2,
                graphs="off",
                replicas=2,
                adapters=(Adapter(name="code", source="./adapters/code"),),
                args=("--max-num-batched-tokens", "2048", "--override-generation-config", '{"a": 1.50}'),
                env={"HF_TOKEN": "${HF_TOKEN}", "http_proxy": "", "TEMPERATURE": "1.10", "LIMIT": "1.0e+3"},
                volumes=("./data:/data:ro", "cache:/srv/cache"),
                image="vllm/vllm-openai:v0.26.0",
            ),
            Model(name="embed", source="./models/embed", task="embed"),
        ),
    )


def test_every_word_but_name_and_source_of_a_model_has_a_default() -> None:
    made = read(model())
    assert (made.gpu, made.router, made.start) == (GpuConfig(), RouterConfig(), "sequential")
    assert made.models == (Model(name="chat", source="a/b"),)
    only = made.models[0]
    assert (only.engine, only.task, only.context, only.requests, only.memory) == (
        "vllm",
        "generate",
        "auto",
        32,
        "auto",
    )
    assert (only.weight, only.graphs, only.replicas, only.image) == (1, "auto", 1, None)
    assert (made.gpu.device, made.gpu.memory, made.gpu.reserve) == ("0", None, None)
    assert (made.router.bind, made.router.port, made.router.policy) == ("127.0.0.1", 30000, "round_robin")


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("demo", "demo"),
        ("My Assistants", "my-assistants"),
        ("2 models_here", "2-models_here"),
        ("..", "monogpu"),
        ("日本", "monogpu"),
        ("-_x_-", "x"),
        ("a" * 90, "a" * 40),
    ],
)
def test_without_a_name_the_folder_gives_it(folder: str, name: str) -> None:
    assert read(model(), folder).name == name
    assert read(f"name: other\n{model()}", folder).name == "other"


@given(st.text())
def test_any_folder_makes_a_valid_name(folder: str) -> None:
    assert read(model(), folder).name


def test_a_manifest_is_frozen() -> None:
    made = read(model())
    with pytest.raises(ValidationError, match="frozen"):
        made.name = "other"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("device", "read_as"), [("0", "0"), ("'1'", "1"), ("none", "none"), ("GPU-5f1d-2b", "GPU-5f1d-2b")]
)
def test_a_device_is_an_index_in_quotes_or_not_a_uuid_or_none(device: str, read_as: str) -> None:
    assert read(f"gpu: {{device: {device}}}\n{model()}").gpu.device == read_as


@pytest.mark.parametrize("bind", ["127.0.0.1", "127.0.0.9", "'::1'"])
def test_a_loopback_address_needs_no_key(bind: str) -> None:
    assert read(f"router: {{bind: {bind}}}\n{model()}").router.api_key is None


@pytest.mark.parametrize("bind", ["0.0.0.0", "192.168.1.5", "'::'", "'fe80::1'", "'::ffff:192.168.1.5'"])
def test_any_other_address_does(bind: str) -> None:
    assert "without an api_key" in refused(f"router: {{bind: {bind}}}\n{model()}")[0]
    assert read(f"router: {{bind: {bind}, api_key: KEY}}\n{model()}").router.api_key == "KEY"
    assert read(f"router: {{bind: {bind}, api_key_file: ./key}}\n{model()}").router.api_key_file == "./key"


def test_graphs_off_is_off_with_and_without_quotes() -> None:
    assert read(model("graphs: off")).models[0].graphs == read(model("graphs: 'off'")).models[0].graphs == "off"


@pytest.mark.parametrize("word", ["image", "context", "memory"])
def test_nothing_written_is_the_default_only_where_nothing_is_a_value(word: str) -> None:
    if word == "image":
        assert read(model("image: null")).models[0].image is None
    else:
        assert refused(model(f"{word}:"))


def test_a_source_is_parsed_where_it_is_asked_for() -> None:
    made = read(FULL).models[0]
    assert made.source_parsed == Source("hub", "Qwen/Qwen2.5-1.5B-Instruct", "main")
    assert made.adapters[0].source_parsed == Source("folder", "./adapters/code")
    with pytest.raises(Refused):
        Model(name="small", source="llama3.2:1b", engine="ollama").source_parsed  # noqa: B018


def test_another_engine_has_its_own_sources_and_arguments() -> None:
    made = read("models: [{name: small, source: 'llama3.2:1b', engine: ollama, memory: 1GiB}]")
    assert made.models[0].source == "llama3.2:1b"
    said = refused(
        "models: [{name: shout, source: ./shout, engine: triton, task: infer, memory: 1GiB, args: [--port, x]}]"
    )
    assert not any("args" in one for one in said)


def test_an_engine_that_does_not_exist_is_refused_with_the_nearest() -> None:
    (said,) = refused(model("engine: llamacpp"))
    assert said.endswith(
        "models[0].engine: 'llamacpp' is not allowed here; needed: one of vllm, ollama, triton; did you mean 'ollama'?"
    )


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_a_bad_manifest_is_refused_in_these_words(path: Path, golden: Callable[[Path, str], None]) -> None:
    with pytest.raises(ManifestError) as caught:
        parse(load_bytes(path.read_bytes(), path.name))
    assert caught.value.exit_code == 2
    golden(path.with_suffix(".txt"), f"{caught.value}\n")


def test_there_are_at_least_forty_bad_manifests_and_each_has_its_words() -> None:
    assert len(BAD) >= 40
    assert {path.stem for path in (GOLDEN / "bad").glob("*.txt")} == {path.stem for path in BAD}


def test_six_mistakes_are_six_located_messages_in_the_order_of_the_file() -> None:
    with pytest.raises(ManifestError) as caught:
        parse(load_bytes((GOLDEN / "bad/six-mistakes.yaml").read_bytes(), "monogpu.yaml"))
    assert [str(problem).partition(": ")[0] for problem in caught.value.problems] == [
        f"monogpu.yaml:{place}" for place in ("5:9", "10:5", "11:13", "12:11", "14:15", "15:12")
    ]


@pytest.mark.parametrize("secret", ["sk-live-1234567890", "hf_abcdefghij", "p4ssw0rd-of-mine"])
def test_a_secret_is_never_printed_with_the_problems_of_its_line(secret: str) -> None:
    for text in (
        f"router: {{api_key: {secret}, port: '1', bind: x}}\n{model()}",
        f"router: {{port: '1', api_key: {secret}}}\n{model()}",
        f"router: {{api_key_file: {secret}, port: '1'}}\n{model()}",
        model(f"env: {{HF_TOKEN: {secret}, 'b c': x}}"),
        model(f"env: {{VLLM_API_KEY: {secret}}}"),
        model(f"args: [--api-key, {secret}]"),
        model(f"args: [--hf-token={secret}, 'x', --port]"),
        model(f"args: ['--api-key {secret}']"),
    ):
        with pytest.raises(ManifestError) as caught:
            read(text)
        assert secret not in str(caught.value)
        assert "***" in str(caught.value)


def test_a_value_that_names_a_variable_is_told_apart() -> None:
    assert variable_of("${HF_TOKEN}") == "HF_TOKEN"
    assert [variable_of(text) for text in ("$HF_TOKEN", "x${HF_TOKEN}", "${a}", "${}", "${A}\n", "")] == [None] * 6


def test_one_mistake_makes_one_message_however_much_depends_on_it() -> None:
    assert (
        len(refused("router: {bind: 0.0.0.0, api_key: sk-x}\nmodels:\n  - name: A\n    source: 1\n    adapters: [3]\n"))
        == 4
    )
    assert len(refused("models:\n  - {source: a/b}\n  - {source: a/b}\n  - {source: a/b}\n")) == 3
    assert len(refused("router: {engine: traefik, policy: least_load}\n" + model())) == 1
    assert len(refused("gpu: {device: 1.5, mps: true}\n" + model("graphs: full"))) == 1


def test_words_are_held_against_each_other_in_spite_of_other_mistakes() -> None:
    said = refused(
        "gpu: 3\nrouter: {bind: 0.0.0.0}\nmodels:\n  - {name: a, source: a/b}\n  - {name: a, source: 1}\n  - x\n"
    )
    assert [line.split(": ")[1] for line in said] == [
        "gpu",
        "router.bind",
        "models[1].name",
        "models[1].source",
        "models[2]",
    ]


def test_of_endless_mistakes_the_first_are_told_and_the_rest_counted() -> None:
    said = refused("".join(f"word{number}: x\n" for number in range(1000)))
    assert len(said) == 101
    assert any("901 more problems" in line for line in said)


def test_numbers_as_text_leave_the_document_as_it_was() -> None:
    document = load(model("args: [--seed, 1.10]"), "f")
    assert parse(document).models[0].args == ("--seed", "1.10")
    assert document.data["models"][0]["args"] == ["--seed", 1.1]

"""monogpu.yaml as types: what is read, what is refused and in which words, and that nothing else is ever raised."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from kit.document import Document, load, load_bytes
from kit.errors import ManifestError
from kit.manifest import Adapter, GpuWish, Manifest, Model, Router, Source, parse, schema, variable_of
from kit.refused import Refused
from kit.units import GIB, MIB

HERE = Path(__file__).parent
BAD = sorted((HERE / "bad").glob("*.yaml"))
EXAMPLES = sorted((HERE.parent / "compose").glob("*/monogpu.yaml"))
VALIDATOR = jsonschema.Draft202012Validator(schema())
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
    args: [--max-num-batched-tokens, 2048, --rope-scaling, '{"a": 1.50}']
    env: {HF_TOKEN: "${HF_TOKEN}", http_proxy: "", TEMPERATURE: 1.10, LIMIT: 1e3}
    volumes: ["./data:/data:ro", "cache:/cache"]
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
        gpu=GpuWish(device="0", memory=16 * GIB, reserve=512 * MIB, access="cdi", mps=True),
        start="parallel",
        router=Router(
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
                args=("--max-num-batched-tokens", "2048", "--rope-scaling", '{"a": 1.50}'),
                env={"HF_TOKEN": "${HF_TOKEN}", "http_proxy": "", "TEMPERATURE": "1.10", "LIMIT": "1e3"},
                volumes=("./data:/data:ro", "cache:/cache"),
                image="vllm/vllm-openai:v0.26.0",
            ),
            Model(name="embed", source="./models/embed", task="embed"),
        ),
    )


def test_every_word_but_name_and_source_of_a_model_has_a_default() -> None:
    made = read(model())
    assert (made.gpu, made.router, made.start) == (GpuWish(), Router(), "sequential")
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
    assert "there is no api_key" in refused(f"router: {{bind: {bind}}}\n{model()}")[0]
    assert read(f"router: {{bind: {bind}, api_key: KEY}}\n{model()}").router.api_key == "KEY"


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
    made = read("models: [{name: small, source: 'llama3.2:1b', engine: ollama, args: [--port, x]}]")
    assert (made.models[0].source, made.models[0].args) == ("llama3.2:1b", ("--port", "x"))


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_a_bad_manifest_is_refused_in_these_words(path: Path, golden: Callable[[Path, str], None]) -> None:
    with pytest.raises(ManifestError) as caught:
        parse(load_bytes(path.read_bytes(), path.name))
    assert caught.value.exit_code == 2
    golden(path.with_suffix(".txt"), f"{caught.value}\n")


def test_there_are_at_least_forty_bad_manifests_and_each_has_its_words() -> None:
    assert len(BAD) >= 40
    assert {path.stem for path in (HERE / "bad").glob("*.txt")} == {path.stem for path in BAD}


def test_six_mistakes_are_six_located_messages_in_the_order_of_the_file() -> None:
    with pytest.raises(ManifestError) as caught:
        parse(load_bytes((HERE / "bad/six-mistakes.yaml").read_bytes(), "monogpu.yaml"))
    assert [str(problem).partition(": ")[0] for problem in caught.value.problems] == [
        f"monogpu.yaml:{place}" for place in ("5:9", "10:5", "11:13", "12:11", "14:15", "15:12")
    ]


@pytest.mark.parametrize("secret", ["sk-live-1234567890", "hf_abcdefghij", "p4ssw0rd-of-mine"])
def test_a_secret_is_never_printed_with_the_problems_of_its_line(secret: str) -> None:
    for text in (
        f"router: {{api_key: {secret}, port: '1', bind: x}}\n{model()}",
        f"router: {{port: '1', api_key: {secret}}}\n{model()}",
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


# Manifests and things like them.
NAMES = st.from_regex(r"[a-z][a-z0-9]{3,8}", fullmatch=True).filter(
    lambda name: name not in ("router", "vllm", "master", "fetch", "gateway", "localhost", "kubernetes")
)
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=10)
VARIABLE_TEXTS = TEXTS.map(lambda text: text.replace("$", "")) | st.just("${NAME}")
SOURCES = st.sampled_from(["a/b", "a/b@main", "./models/a", "/srv/models/a b", "~/m", "../x"])
SIZES = st.integers(256 * MIB, 2**45)
COUNTS = st.just("auto") | st.integers(1, 2**20)


def a_model(name: str, adapters: list[str]) -> st.SearchStrategy[Model]:
    return st.builds(
        Model,
        name=st.just(name),
        source=SOURCES,
        context=COUNTS,
        requests=COUNTS,
        memory=st.just("auto") | SIZES,
        weight=st.floats(0.001, 1000),
        graphs=st.sampled_from(["auto", "full", "small", "off"]),
        replicas=st.integers(1, 3),
        adapters=st.tuples(*(st.builds(Adapter, name=st.just(one), source=SOURCES) for one in adapters)),
        args=st.lists(TEXTS.map(lambda text: f"--x={text}"), max_size=3).map(tuple),
        env=st.dictionaries(
            st.from_regex(r"X_[A-Za-z0-9_]{0,5}", fullmatch=True), TEXTS.map(lambda t: t.replace("$", ""))
        ),
        volumes=st.sampled_from([(), ("./a:/data",), ("cache:/cache:ro", "~/b:/b")]),
        image=st.none() | st.just("registry.example:5000/team/vllm:v1"),
    )


@st.composite
def manifests(draw: st.DrawFn) -> Manifest:
    names = draw(st.lists(NAMES, min_size=2, max_size=6, unique=True))
    models = draw(st.tuples(*(a_model(name, [f"{name}-x"]) for name in names[1:])))
    wish = st.builds(GpuWish, memory=st.none() | SIZES, reserve=st.none() | st.just(0) | SIZES, mps=st.booleans())
    router = st.builds(
        Router, port=st.integers(1, 65535), api_key=st.none() | st.just("KEY"), bind=st.just("127.0.0.1")
    )
    start = st.sampled_from(["sequential", "parallel"])
    return Manifest(name=names[0], gpu=draw(wish), start=draw(start), router=draw(router), models=models)


class Quoting(yaml.SafeDumper):
    """Text in double quotes, with everything that is not ASCII escaped."""


Quoting.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"'))


@given(manifests(), st.booleans())
def test_a_manifest_that_is_dumped_and_read_again_is_equal(made: Manifest, flow: bool) -> None:
    text = yaml.dump(made.model_dump(mode="json"), Dumper=Quoting, default_flow_style=flow)
    assert parse(load(text, "f")) == made


@given(manifests())
def test_the_schema_accepts_every_manifest(made: Manifest) -> None:
    assert list(VALIDATOR.iter_errors(made.model_dump(mode="json"))) == []


ANY = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
NESTED = st.recursive(
    ANY, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)
WORDS = [*Manifest.model_fields, *GpuWish.model_fields, *Router.model_fields, *Model.model_fields, "x", "<<"]
VALUES = st.sampled_from(
    [
        "auto", "8k", "4GiB", "none", "off", "vllm", "ollama", "a/b", "./a", "chat", "embed", "0.0.0.0", "::1", "KEY", "",
        "--port", "-tp", "-O3", "--max-model=3", "./a:/b", "a:/models", ":", "::", "$", "${A}", "sk-1",
        0, 1, 8192, 0.5, 1.0, True, None,
    ]
)  # fmt: skip
ALIKE = st.recursive(
    VALUES | ANY,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=6),
    max_leaves=40,
)
MODEL_ALIKE = st.fixed_dictionaries({}, optional=dict.fromkeys(Model.model_fields, VALUES | ALIKE))
MANIFEST_ALIKE = st.fixed_dictionaries(
    {"models": st.lists(MODEL_ALIKE | ALIKE, max_size=4)},
    optional={
        "name": VALUES,
        "start": VALUES,
        "gpu": st.fixed_dictionaries({}, optional=dict.fromkeys(GpuWish.model_fields, VALUES)) | ALIKE,
        "router": st.fixed_dictionaries({}, optional=dict.fromkeys(Router.model_fields, VALUES)) | ALIKE,
    },
)


def located(error: ManifestError) -> bool:
    return bool(error.problems) and all(problem.mark and problem.what for problem in error.problems)


@given(NESTED | ALIKE | MANIFEST_ALIKE)
def test_any_data_is_a_manifest_or_refused_and_nothing_else_is_raised(data: Any) -> None:
    try:
        parse(Document("f", data, {}))
    except ManifestError as error:
        assert located(error)
        assert str(error)


@given(MANIFEST_ALIKE)
def test_any_text_like_a_manifest_is_one_or_refused_with_one_problem_a_place(data: Any) -> None:
    text = json.dumps(data, ensure_ascii=True, indent=1)
    try:
        document = load(text, "f")
        parse(document)
    except ManifestError as error:
        assert located(error)
        paths = [problem.path for problem in error.problems if problem.path]
        assert len(paths) == len(set(paths))
        marks = [(problem.mark.line, problem.mark.column) for problem in error.problems if problem.mark]
        assert marks == sorted(marks)


@given(NESTED)
def test_parsing_leaves_the_document_as_it_was(data: Any) -> None:
    before = repr(data)
    try:
        parse(Document("f", data, {}))
    except ManifestError as error:
        assert error.problems
    assert repr(data) == before


def test_numbers_as_text_leave_the_document_as_it_was() -> None:
    document = load(model("args: [--x, 1.10]"), "f")
    assert parse(document).models[0].args == ("--x", "1.10")
    assert document.data["models"][0]["args"] == ["--x", 1.1]


def properties(part: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for whole in (part, *part.get("$defs", {}).values()):
        yield from whole.get("properties", {}).items()


def test_the_schema_is_one_by_its_metaschema_and_describes_every_word() -> None:
    made = schema()
    jsonschema.Draft202012Validator.check_schema(made)
    assert made["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert (made["$id"], made["title"], made["required"]) == ("urn:monogpu-kit:manifest", "monogpu.yaml", ["models"])
    assert all(words["description"] for _, words in properties(made))
    assert all(words["title"] for _, words in properties(made) if "$ref" not in words)
    assert {word for word, _ in properties(made)} == {word for word in WORDS if word not in ("x", "<<")}


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"models": []},
        {"models": [{"name": "chat"}]},
        {"models": [{"name": "Chat", "source": "a/b"}]},
        {"models": [{"name": "chat", "source": "a/b", "contxt": 1}]},
        {"models": [{"name": "chat", "source": "a/b", "graphs": False}]},
        {"models": [{"name": "chat", "source": "a/b", "memory": "lots"}]},
        {"models": [{"name": "chat", "source": "a/b", "env": {"A": True}}]},
        {"models": [{"name": "chat", "source": "a/b"}], "router": {"port": "30000"}},
        {"models": [{"name": "chat", "source": "a/b"}], "router": {"policy": "best"}},
    ],
)
def test_the_schema_refuses_what_parse_refuses(data: Any) -> None:
    assert list(VALIDATOR.iter_errors(data))
    with pytest.raises(ManifestError):
        parse(Document("f", data, {}))


def test_the_schema_accepts_the_full_manifest_and_every_example() -> None:
    documents = [load(FULL, "full"), *(load_bytes(path.read_bytes(), str(path)) for path in EXAMPLES)]
    assert [list(VALIDATOR.iter_errors(document.sound().data)) for document in documents] == [[]] * len(documents)
    assert [parse(document).models != () for document in documents] == [True] * len(documents)

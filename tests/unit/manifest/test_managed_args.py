"""Arguments, variables and mounts that the plan owns, in every spelling that the engine takes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.manifest import managed_args
from kit.manifest.validators import Refused


def found(*args: str, engine: str = "vllm") -> list[int]:
    return [index for index, _ in managed_args.arguments(engine, args)]


@pytest.mark.parametrize(
    "flag",
    [
        "--model", "--served-model-name", "--host", "--port", "--gpu-memory-utilization", "--kv-cache-memory-bytes",
        "--kv-cache-memory", "--max-model-len", "--max-num-seqs", "--enforce-eager", "--cudagraph-capture-sizes",
        "--max-cudagraph-capture-size", "--enable-lora", "--lora-modules", "--max-loras", "--max-lora-rank",
        "--api-key", "--hf-token", "--tensor-parallel-size", "--runner", "--revision", "--config",
        "--num-gpu-blocks-override", "--tool-call-parser", "--enable-auto-tool-choice", "--reasoning-parser",
    ],
)  # fmt: skip
def test_a_flag_that_the_plan_owns_is_found_in_every_spelling(flag: str) -> None:
    assert found(flag, "1") == [0]
    assert found(f"{flag}=1") == [0]
    assert found(f"{flag} 1") == [0]
    assert found(flag.replace("-", "_").replace("__", "--", 1)) == [0]
    assert found("--trust-remote-code", flag) == [1]


@pytest.mark.parametrize(
    "flag",
    [
        "-O", "-O0", "-O3", "-O=2", "-O.level=3", "-cc", "-cc.mode=none", "-cc={}", "-tp", "-tp=2", "-tp2", "-pp",
        "-dp", "-dpn", "-dcp", "-ep", "-n", "-r", "--compilation-config.cudagraph_mode=NONE", "--max-model",
        "--gpu-mem", "--served", "--no-enforce-eager",
    ],
)  # fmt: skip
def test_short_dotted_and_abbreviated_flags_are_found(flag: str) -> None:
    assert found(flag) == [0]


@pytest.mark.parametrize(
    "flag",
    [
        "--max-num-batched-tokens", "--kv-cache-dtype", "--quantization", "-q", "--dtype", "--load-format",
        "--block-size", "--trust-remote-code", "--chat-template", "--tool-parser-plugin",
        "--seed", "-sc", "--enable-sleep-mode", "--hf-overrides.rope_scaling",
        "--no-enable-prefix-caching", "--model-impl", "--tokenizer", "--speculative-config", "--limit-mm-per-prompt",
        "--config-format",
    ],
)  # fmt: skip
def test_every_other_flag_is_passed_on(flag: str) -> None:
    assert found(flag, "value") == found(f"{flag}=value") == []


def test_values_are_not_taken_for_flags() -> None:
    assert found("--seed", "-1", "--chat-template", "./port", "--hf-overrides", '{"--port": 1}', "--x", "-.5") == []


def test_args_begin_with_a_flag_and_hold_one_thing_each() -> None:
    assert found("Qwen/Qwen2.5-0.5B-Instruct") == [0]
    assert found("8192", "--seed") == [0]
    assert found("--kv-cache-dtype fp8", "--seed\t1", "--chat-template=a b") == [0, 1]


def test_another_engine_has_other_flags() -> None:
    assert found("--port", "1", "-tp", engine="ollama") == []
    assert found("serve", engine="ollama") == [0]


@pytest.mark.parametrize("engine", ["vllm", "triton"])
@given(st.lists(st.text(max_size=12) | st.from_regex(r"--?[a-zA-Z-]{1,9}(=.{0,3})?", fullmatch=True), max_size=5))
def test_any_arguments_are_taken_or_refused_once_each(engine: str, args: list[str]) -> None:
    indices = found(*args, engine=engine)
    assert indices == sorted(set(indices))
    assert all(0 <= index < len(args) for index in indices)


@pytest.mark.parametrize("name", managed_args.VARIABLES)
def test_a_variable_that_the_plan_owns_is_refused(name: str) -> None:
    reason = managed_args.variable(name, "x")
    assert reason
    assert reason.at_key


@pytest.mark.parametrize(
    "name", ["HF_TOKEN", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "my_token", "S3_SECRET"]
)
def test_a_secret_is_refused_and_never_shown_but_may_be_referred_to(name: str) -> None:
    reason = managed_args.variable(name, "the value")
    assert reason
    assert reason.secret
    assert "the value" not in f"{reason.what}{reason.needed}{reason.hint}"
    assert managed_args.variable(name, "${MY_TOKEN}") is None
    assert managed_args.variable(name, "") is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TOKENIZERS_PARALLELISM", "false"), ("http_proxy", "http://proxy:3128"), ("VLLM_LOGGING_LEVEL", "DEBUG"),
        ("HF_HUB_OFFLINE", "1"), ("A", "costs $5"), ("B", "${C}"), ("C", "$5"), ("_", "$"),
    ],
)  # fmt: skip
def test_any_other_variable_is_passed_on(name: str, value: str) -> None:
    assert managed_args.variable(name, value) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [("", "x"), ("A B", "x"), ("1A", "x"), ("A=B", "x"), ("A\n", "x"), ("é", "x"), ("A" * 256, "x"), ("A", "$HOME"),
     ("A", "x ${HOME}"), ("A", "${home}"), ("A", "${HOME:-x}")],
)  # fmt: skip
def test_a_wrong_name_or_half_a_reference_is_refused(name: str, value: str) -> None:
    assert managed_args.variable(name, value)


@pytest.mark.parametrize(
    "text",
    [
        "./data:/data", "./data:/data:ro", "/srv/x:/x:rw", "~/m:/m", "cache:/srv/cache", "../a b:/a b", "/var/run2:/x",
        "./a:/rooted",
    ],
)  # fmt: skip
def test_a_mount_is_taken_as_it_is(text: str) -> None:
    assert managed_args.volume(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "", "a", ":/a", "./a:", "./a:b", "./a:/b:rx", "./a:/b:", "./a:/b:ro:x", "C:\\a:/b", "a/b:/c", "-a:/b",
        "$HOME:/a", "./a:/$b", "/var/run/docker.sock:/x", "/run/docker.sock:/x:ro",
        "/run/containerd/containerd.sock:/x", "/:/host", "//:/host", "/run:/run", "/var/run/:/x", "/var/../run:/x",
        "./a:/", "./a:/root", "./a:/root/.cache", "./a:/root/.cache/huggingface/x", "./a:/models", "./a:/models/chat",
        "./a:/cache", "./a:/cache/x",
        "./a://models", "./a:/x/../tmp", "./a:/dev/shm", "./a:/proc", "./a:/sys/fs", "./a:/adapters/",
    ],
)  # fmt: skip
def test_what_is_no_mount_or_hides_or_hands_over_is_refused(text: str) -> None:
    with pytest.raises(Refused) as caught:
        managed_args.volume(text)
    assert caught.value.needed


@given(st.text(max_size=20) | st.text("a./~:ro$", max_size=12))
def test_any_text_is_a_mount_or_refused(text: str) -> None:
    try:
        assert managed_args.volume(text) == text
    except Refused as reason:
        assert reason.what

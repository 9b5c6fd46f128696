from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kit.metrics import Sample, samples, total

TEXT = """
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="chat"} 2.0
vllm:num_requests_running{engine="1",model_name="chat"} 3.0 1795991728600
up 1
odd{path="C:\\\\x \\"y\\" {z}, a=\\nb",} 1e3
inf +Inf
nan NaN
broken{ 1
word text
"""


def test_every_number_is_a_sample() -> None:
    assert samples(TEXT) == (
        Sample("vllm:num_requests_running", 2.0, {"engine": "0", "model_name": "chat"}),
        Sample("vllm:num_requests_running", 3.0, {"engine": "1", "model_name": "chat"}),
        Sample("up", 1.0),
        Sample("odd", 1000.0, {"path": 'C:\\x "y" {z}, a=\nb'}),
        Sample("inf", float("inf")),
    )


def test_series_are_summed_by_their_labels() -> None:
    found = samples(TEXT)
    assert total(found, "vllm:num_requests_running") == 5
    assert total(found, "vllm:num_requests_running", engine="1") == 3


def test_what_is_not_there_stays_unknown() -> None:
    assert total(samples(TEXT), "vllm:num_requests_waiting") is None
    assert total(samples(TEXT), "up", engine="0") is None
    assert samples("") == ()


@given(st.text() | st.text(alphabet='a{}="\\ ,1.eE+-\n#'))
def test_any_text_is_read(text: str) -> None:
    assert all(each.value == each.value for each in samples(text))


NAMES = st.from_regex(r"[a-z_:][a-z0-9_:]{0,8}", fullmatch=True)
LABELS = st.dictionaries(st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True), st.text(max_size=8), max_size=3)


def _printed(name: str, labels: dict[str, str], value: float) -> str:
    escaped = {key: text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n") for key, text in labels.items()}
    inside = ",".join(f'{key}="{text}"' for key, text in escaped.items())
    return f"{name}{{{inside}}} {value!r}"


LINE_BREAKS = "\v\f\x1c\x1d\x1e\x85\u2028\u2029\r"


@given(NAMES, LABELS, st.floats(allow_nan=False))
def test_what_an_exporter_prints_comes_back(name: str, labels: dict[str, str], value: float) -> None:
    plain = {key: "".join(c for c in text if c not in LINE_BREAKS) for key, text in labels.items()}
    assert samples(_printed(name, plain, value)) == (Sample(name, value, plain),)

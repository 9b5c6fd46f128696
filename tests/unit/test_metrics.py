from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kit.metrics import Load, connections, load, series

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
    assert series(TEXT) == {
        "vllm:num_requests_running": [2.0, 3.0],
        "up": [1.0],
        "odd": [1000.0],
        "inf": [float("inf")],
    }


def test_series_are_summed_whatever_their_labels() -> None:
    assert load(TEXT, 1.0) == Load(1.0, running=5)


def test_what_is_not_there_stays_unknown() -> None:
    assert load("up 1\n", 1.0) == load("", 1.0) == Load(1.0)
    assert series("") == {}


def test_triton_tells_the_requests_that_wait() -> None:
    text = 'nv_inference_pending_request_count{model="a"} 1\nnv_inference_pending_request_count{model="b"} 2\n'
    assert load(text, 1.0) == Load(1.0, waiting=3)


TCP = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:2CAA 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1
   1: 0300A8C0:2CAA 0400A8C0:C001 01 00000000:00000000 00:00000000 00000000     0        0 2 1
   2: 0300A8C0:2CAA 0400A8C0:C002 06 00000000:00000000 03:00000000 00000000     0        0 0 3
   3: 0100007F:2CAA 0100007F:C003 01 00000000:00000000 00:00000000 00000000     0        0 3 1
   4: 0300A8C0:C004 0400A8C0:2CAA 01 00000000:00000000 00:00000000 00000000     0        0 4 1
  sl  local_address                         remote_address                        st tx_queue rx_queue
   0: 0000000000000000FFFF00000300A8C0:2CAA 0000000000000000FFFF00000400A8C0:C005 01 00000000:00000000
   1: 0000000000000000FFFF00000100007F:2CAA 0000000000000000FFFF00000100007F:C006 01 00000000:00000000
"""


def test_open_connections_to_a_port_are_counted_and_a_health_checks_are_not() -> None:
    assert connections(TCP, 11434) == 2
    assert connections(TCP, 8000) == connections("", 11434) == 0


@given(st.text() | st.text(alphabet='a{}="\\ ,1.eE+-\n#'))
def test_any_text_is_read(text: str) -> None:
    assert all(value == value for values in series(text).values() for value in values)


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
    assert series(_printed(name, plain, value)) == {name: [value]}

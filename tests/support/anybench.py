"""Any benchmark, as hypothesis strategies: odd names, numbers that are none, and parts that are missing."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from kit.bench.results import (
    Arm,
    Bench,
    Comparison,
    Conclusion,
    Experiment,
    Figures,
    MeasuredFootprint,
    Percentiles,
    Phase,
    Run,
    TestBed,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NASTY = TEXT | st.sampled_from(
    ["<script>alert(1)</script>", "$x^2$", "_hidden", "a & b", '"', "'", "]]>", "{{ x }}", "\n"]
)
NUMBER = st.floats(0, 1e6) | st.sampled_from([0.0, 1e-9, float("inf"), float("nan")])
WHOLE = st.integers(0, 2**40)
JSON: Any = st.recursive(
    st.none() | st.booleans() | WHOLE | TEXT, lambda inner: st.lists(inner, max_size=2), max_leaves=3
)
PERCENTILES = st.builds(Percentiles, NUMBER, NUMBER, NUMBER)
FIGURES = st.builds(Figures, NUMBER, NUMBER, WHOLE, WHOLE, st.none() | NUMBER, *[st.none() | PERCENTILES] * 3)
PHASES = st.lists(st.builds(Phase, NASTY, NUMBER, NUMBER), max_size=3).map(tuple)
TEXTS = st.lists(NASTY, max_size=2).map(tuple)
RUNS = st.builds(
    Run,
    NASTY,
    WHOLE,
    NUMBER,
    NUMBER,
    st.dictionaries(NASTY, FIGURES, max_size=2),
    st.none() | FIGURES,
    PHASES,
    TEXTS,
    TEXTS,
)
ARMS = st.builds(Arm, NASTY, st.lists(RUNS, max_size=3).map(tuple), NUMBER, NUMBER, NUMBER, st.none() | NUMBER)
VERDICTS = st.builds(
    Conclusion, NASTY, st.sampled_from(["difference", "no difference", "unknown"]), NUMBER, NUMBER, NUMBER, NASTY
)
COMPARISONS = st.builds(
    Comparison,
    NASTY,
    NASTY,
    NASTY,
    st.sampled_from(["higher", "lower"]),
    st.lists(ARMS, max_size=3).map(tuple),
    st.lists(VERDICTS, max_size=2).map(tuple),
    st.sampled_from(["arms", "curve"]),
    NASTY,
)
EXPERIMENTS = st.builds(Experiment, NASTY, NASTY, NASTY, TEXTS, st.lists(COMPARISONS, max_size=2).map(tuple), TEXTS)
FOOTPRINTS = st.builds(
    MeasuredFootprint, NASTY, st.lists(st.tuples(NASTY, WHOLE), max_size=3).map(tuple), st.none() | WHOLE
)
SETUPS = st.builds(
    TestBed,
    NASTY,
    NASTY,
    st.dictionaries(TEXT, JSON, max_size=2),
    *[st.dictionaries(NASTY, NASTY, max_size=2)] * 3,
    TEXTS,
    TEXTS,
)
BENCHES = st.builds(
    Bench,
    SETUPS,
    st.lists(EXPERIMENTS, max_size=2).map(tuple),
    st.lists(FOOTPRINTS, max_size=2).map(tuple),
    NASTY,
    st.none() | NUMBER,
    st.none() | NUMBER,
)

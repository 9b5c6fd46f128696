"""Where tests find what they read."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
RECORDED = TESTS / "recorded"
GOLDEN = TESTS / "golden"
FAKES = TESTS / "fakes"
EXAMPLES = ROOT / "compose"

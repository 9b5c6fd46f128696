"""What is generated in README.md, docs/ and CONTRIBUTING.md is up to date."""

from __future__ import annotations

import subprocess
import sys

from tests.support.paths import ROOT


def test_generated_parts_are_true() -> None:
    done = subprocess.run([sys.executable, ROOT / "scripts/docs", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr

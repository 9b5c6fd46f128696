"""The documentation as a site: `mkdocs build --strict` takes it, and a browser without a network shows all of it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.docblocks import pages
from tests.support.paths import ROOT

LOADED = re.compile(r"<(?:script|img|link|iframe)\b[^>]*?\b(?:src|href)=[\"']?([^\"'\s>]+)")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    argv = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environ = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(argv, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_is_in_it_and_the_readme_is_the_first(site: Path) -> None:
    names = {Path(page).stem for page in pages()} - {"README"} | {"index", "404"}
    assert {file.stem for file in site.glob("*.html")} == names
    assert "Does it fit?" in (site / "index.html").read_text(encoding="utf-8")


def test_it_loads_nothing_from_elsewhere_and_all_that_it_loads_is_there(site: Path) -> None:
    loaded = {
        (page.name, where)
        for page in site.glob("*.html")
        for where in LOADED.findall(page.read_text(encoding="utf-8"))
        if page.name != "404.html" and not where.startswith("data:")
    }
    assert len(loaded) > 20 and any(where.endswith(".png") for _, where in loaded)
    assert [(page, where) for page, where in loaded if not (site / where.partition("?")[0]).exists()] == []
    assert "fonts.googleapis" not in "".join(file.read_text(encoding="utf-8") for file in site.glob("**/*.css"))

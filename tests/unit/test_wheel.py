"""The wheel, installed where there is no checkout: it brings its templates, and plans and prints an example.

The wheel is built and installed without an index. Its dependencies are lent from the environment that runs the tests;
that each is declared is for test_imports.py.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from kit import __version__
from tests.support.paths import ROOT

TRIO = ROOT / "compose" / "trio-16gb"


@dataclass(frozen=True)
class Elsewhere:
    """A clean environment with the wheel, and the example's folder."""

    venv: Path
    folder: Path

    def run(self, *words: str | Path) -> str:
        argv = [self.venv / "bin" / words[0], *words[1:]]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        done = subprocess.run(argv, cwd=self.folder, env=kept, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout


def run(*words: str | Path) -> None:
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder)
    return next(folder.glob("*.whl"))


def test_the_wheel_and_the_source_archive_may_be_uploaded(wheel: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", tmp_path)
    run(sys.executable, "-m", "twine", "check", "--strict", wheel, *tmp_path.iterdir())
    (archive,) = tmp_path.iterdir()
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    assert {"README.md", "CHANGELOG.md", "docs/manifest.md", "mkdocs.yml", "compose/trio-16gb/monogpu.yaml"} <= names


def test_the_version_has_a_dated_section_in_the_changelog() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## \[{re.escape(__version__)}\] - \d{{4}}-\d\d-\d\d$", text, re.MULTILINE)
    assert f'version = "{__version__}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def elsewhere(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Elsewhere:
    venv, folder = tmp_path_factory.mktemp("venv"), tmp_path_factory.mktemp("example")
    run(sys.executable, "-m", "venv", "--without-pip", venv)
    python = venv / "bin" / "python"
    options = ("--no-deps", "--no-index", "--no-compile", "--disable-pip-version-check")
    run(sys.executable, "-m", "pip", "--python", python, "install", "-q", *options, wheel)
    site = next((venv / "lib").glob("python*/site-packages"))
    # Behind the environment's own packages; .pth files in there, such as an editable kit's, are not read.
    (site / "lent.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    for name in ("monogpu.yaml", "gpu.json", "facts.json"):
        shutil.copy(TRIO / name, folder)
    return Elsewhere(venv, folder)


def test_the_wheel_holds_the_whole_kit_its_templates_and_its_licence_and_no_tests(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    files = (file.relative_to(ROOT) for file in (ROOT / "kit").rglob("*") if file.is_file())
    assert {str(file) for file in files if "__pycache__" not in file.parts} <= names
    templates = {f"kit/templates/{file.name}" for file in (ROOT / "templates").iterdir()}
    assert templates and templates <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"kit", "monogpu_kit"}


def test_the_kit_that_runs_is_the_wheel_s(elsewhere: Elsewhere) -> None:
    place = elsewhere.run("python", "-c", "import kit; print(kit.__file__)")
    assert Path(place.strip()).is_relative_to(elsewhere.venv)


def test_it_plans_and_prints_an_example_as_the_checkout_does(elsewhere: Elsewhere) -> None:
    assert "NVIDIA GeForce RTX 5080" in elsewhere.run("monogpu-kit", "plan")
    elsewhere.run("monogpu-kit", "render")
    for name in ("docker-compose.yaml", "smg/workers.json"):
        assert (elsewhere.folder / name).read_text() == (TRIO / name).read_text()

"""A live test names no image but those that `scripts/build-images` makes: it runs on a new machine."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.paths import ROOT

TAGS = (ROOT / "scripts" / "build-images").read_text().partition("tags=(")[2].partition(")\n")[0]
BUILT = set(re.findall(r"\]=(\S+)", TAGS))
# Images that exist nowhere, which is what the tests are about. Those at hosts under `.invalid` need no line here.
ABSENT = {
    "monogpu/nothing:1": "`up` names the script that builds the kit's own images",
    "monogpu/never-built:1": "the doctor tells an image that is missing from one that is here",
}
LIVE = re.compile(r"\bmark\.(docker|real|chaos)\b")
CALL = re.compile(r"\b(containers\.(run|create)|images\.(get|pull))$")
NAMED = re.compile(
    r"(?<![\w./:@-])(?:[a-z0-9][\w.-]*/)+[a-z0-9][\w.-]*:[\w…][\w.…-]*|(?<=image: )[a-z0-9][\w./-]*:[\w.…]+"
)
# A manifest that says the first without the second gets an image that is published, and not built.
DEFAULTS = {"\nmodels:": "router: {image: ", " task: rerank": "haproxy_image: ", "engine: ollama": "haproxy_image: "}
# Examples that need no card are started as they are.
STARTED = [path.parent for path in sorted(ROOT.glob("compose/*/monogpu.yaml")) if "device: none" in path.read_text()]


def texts(source: str) -> str:
    """Every text of a module, a line each; … stands for what an f-string puts in."""
    found = []
    for node in ast.walk(ast.parse(source)):
        parts = node.values if isinstance(node, ast.JoinedStr) else [node]
        found.append("".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in parts))
        if isinstance(node, ast.Call) and CALL.search(ast.unparse(node.func)):
            names = [arg.value for arg in node.args[:1] if isinstance(arg, ast.Constant)]
            found += [f"image: {name if ':' in str(name) else f'{name}:latest'}" for name in names]
    return "\n".join(found).replace("{{", "{")


def problems(text: str) -> list[str]:
    """Images that no script makes, and those left to the kit's defaults. A tag that is put in may be any."""
    named = {re.sub(":.*….*", ":…", name) for name in NAMED.findall(re.sub("image: [\"']", "image: ", text))}
    lacking = {image for image in named - BUILT - ABSENT.keys() if not image.split("/")[0].endswith(".invalid")}
    lacking -= {f"{image.partition(':')[0]}:…" for image in BUILT}
    return sorted(lacking) + [f"no {more}" for key, more in DEFAULTS.items() if key in text and more not in text]


def imported(path: Path) -> Iterator[Path]:
    """What a module of tests/ takes from there: by import, and as fixtures."""
    yield path.parent / "conftest.py"
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith("tests."):
            for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
                yield ROOT / f"{str(name).replace('.', '/')}.py"


def live() -> set[Path]:
    """The modules of live tests, and all that they import from tests/."""
    found: set[Path] = set()
    new = {path for path in (ROOT / "tests").rglob("test_*.py") if LIVE.search(path.read_text())} - {Path(__file__)}
    while new := {path for path in new - found if path.is_file()}:
        found |= new
        new = {other for path in new for other in imported(path)}
    return found


def test_live_tests_name_no_image_that_no_script_builds() -> None:
    assert len(BUILT) >= 7 and {path.name for path in live()} >= {"walks.py", "realwalk.py", "conftest.py", "stacks.py"}
    found = {str(path.relative_to(ROOT)): problems(texts(path.read_text())) for path in live()}
    assert {path: images for path, images in found.items() if images} == {}


@pytest.mark.parametrize("example", STARTED, ids=lambda folder: folder.name)
def test_examples_without_a_card_start_from_images_that_a_script_builds(example: Path) -> None:
    assert problems((example / "docker-compose.yaml").read_text()) == []


PLANTED = {
    """file = f'  router:\\n    image: "lightseekorg/smg:{version}"\\n'""": ["lightseekorg/smg:…"],
    "IMAGES = {'smg': 'monogpu/smg:1.14.0'}": ["monogpu/smg:1.14.0"],
    "client.containers.create('busybox', name='a')": ["busybox:latest"],
    "MANIFEST = 'name: a\\nmodels:\\n  - {name: chat}'": ["no router: {image: "],
    "f'monogpu/smg:{mark} registry.invalid/a:1 monogpu/base:1 http://127.0.0.1:80/a:1 ./card:/card'": [],
}


@pytest.mark.parametrize("source", PLANTED)
def test_an_image_that_no_script_builds_is_found(source: str) -> None:
    assert problems(texts(source)) == PLANTED[source]

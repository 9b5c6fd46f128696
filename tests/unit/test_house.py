"""The rules that keep kit/ in order, read from the sources. Each is shown to fail on a small tree that breaks it."""

from __future__ import annotations

from pathlib import Path

from tests.support import floors, structure
from tests.support.paths import ROOT
from tests.support.vocabulary import forbidden


def plant(root: Path, files: dict[str, str]) -> Path:
    """A tree with these files of kit/."""
    for name, text in files.items():
        path = root / "kit" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def lines(found: object) -> str:
    return "\n".join(map(str, found)) if isinstance(found, list) else str(found)


def test_there_is_something_to_look_at() -> None:
    assert len(floors.modules(ROOT)) > 100 and len(floors.imports(ROOT)) > 300


# ---- 1. the list of floors is the import order


def test_each_floor_imports_only_from_those_below() -> None:
    found = floors.back_up(floors.imports(ROOT))
    assert not found, lines(found)


def test_an_import_from_a_higher_floor_is_found(tmp_path: Path) -> None:
    late = "def f():\n    from kit.planner import plan\n"
    types = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import kit.cli\n"
    good = {"units.py": "", "planner/__init__.py": "", "planner/plan.py": "import kit.units\nimport kit.facts\n"}
    root = plant(tmp_path, {**good, "facts/__init__.py": late, "gpu.py": types, "cli.py": "from kit.facts import f\n"})
    found = [(one.module, one.target, one.line) for one in floors.back_up(floors.imports(root))]
    assert found == [("kit.facts", "kit.planner.plan", 2), ("kit.gpu", "kit.cli", 3)]


def test_no_files_import_each_other_in_a_circle() -> None:
    found = floors.circles(floors.imports(ROOT))
    assert not found, lines(found)


def test_a_circle_is_found(tmp_path: Path) -> None:
    late = "def f():\n    from . import c\n"
    files = {"a.py": "import kit.units", "b/__init__.py": "from .d import x", "b/d.py": late, "b/c.py": "import kit.b"}
    root = plant(tmp_path, {**files, "units.py": ""})
    assert floors.circles(floors.imports(root)) == [["kit.b", "kit.b.c", "kit.b.d"]]


def test_every_module_is_on_a_floor() -> None:
    found = floors.without_floor(ROOT) + structure.stray(ROOT)
    assert not found, lines(found)


def test_a_module_without_a_floor_is_found(tmp_path: Path) -> None:
    root = plant(tmp_path, {"__init__.py": "", "units.py": "", "misc/x.py": "", "planner.py": "", "facts/facts.py": ""})
    assert floors.without_floor(root) == ["kit.misc.x"]
    assert structure.stray(root) == ["planner"]


# ---- 2. a public class name is unique


def test_public_class_names_are_unique() -> None:
    found = structure.ambiguous(ROOT)
    assert not found, found


def test_a_class_name_that_is_used_twice_is_found(tmp_path: Path) -> None:
    twice = "class Row: ...\nclass _Own: ...\n"
    root = plant(tmp_path, {"units.py": twice, "facts/rows.py": twice + "class Column:\n    class Inner: ...\n"})
    plant(root, {"files.py": "Column = int | str\nLIMIT = 1\n"})
    assert structure.ambiguous(root) == {"Row": ["kit.facts.rows", "kit.units"]}
    assert structure.ambiguous(root, aliases=True) == structure.ambiguous(root) | {
        "Column": ["kit.facts.rows", "kit.files"]
    }


# ---- 3. no file and no function is too long, and no file too short


def test_no_module_is_too_long() -> None:
    found = structure.long_modules(ROOT)
    assert not found, lines(found)


def test_a_long_module_is_found(tmp_path: Path) -> None:
    root = plant(tmp_path, {"units.py": "x = 1\n" * 250, "facts/hub.py": "x = 1\n" * 251})
    assert lines(structure.long_modules(root)) == "kit/facts/hub.py: 251 lines"


def test_no_function_is_too_long() -> None:
    found = structure.long_functions(ROOT)
    assert not found, lines(found)


def test_a_long_function_is_found(tmp_path: Path) -> None:
    """The decorator does not count; a method and a coroutine do."""
    method = "class A:\n    @property\n    async def much(self):\n" + "        x = 1\n" * 46
    root = plant(tmp_path, {"units.py": "def enough():\n" + "    x = 1\n" * 45, "files.py": method})
    assert lines(structure.long_functions(root)) == "kit/files.py:3 much: 47 lines"


def test_only_plug_ins_are_short() -> None:
    found = structure.short_modules(ROOT)
    assert not found, lines(found)


def test_a_short_module_that_is_no_plug_in_is_found(tmp_path: Path) -> None:
    short = ("engines/x.py", "commands/up.py", "diagnostics/vllm_gpu.py", "facts/__init__.py", "facts/hub.py")
    root = plant(tmp_path, {**dict.fromkeys(short, "x = 1\n" * 59), "units.py": "x = 1\n" * 60})
    assert lines(structure.short_modules(root)) == "kit/facts/hub.py: 59 lines"


# ---- 4. plain words


def test_no_forbidden_word_is_used() -> None:
    found = forbidden(ROOT)
    assert not found, lines(found)


def test_forbidden_words_are_found_also_in_names_and_over_two_lines(tmp_path: Path) -> None:
    code = "no_mend = 1\nclass MendedBy: ...\nfrom kit.targets import x  # lets\n# go\nWISH = '--again'\n"
    fine = "password = reworded = amend = understood = retold\n# a stand-in; a word of its own, --again-and-again\n"
    root = plant(tmp_path, {"units.py": code, "files.py": fine})
    (root / "README.md").write_text("Nobody\nis told.\n")
    assert {(one.line, one.text) for one in forbidden(root) if one.file == "kit/units.py"} == {
        (1, "mend"), (2, "mended"), (3, "kit.targets"), (3, "lets # go"), (5, "wish"), (5, "--again"),
    }  # fmt: skip
    assert lines([one for one in forbidden(root) if one.file != "kit/units.py"]) == (
        "README.md:1: 'nobody'; write: no process, no client: name what is missing\n"
        "README.md:2: 'told'; write: estimated; reported"
    )


# ---- what scripts/house counts beside


def test_statements_do_not_depend_on_how_they_are_written(tmp_path: Path) -> None:
    text = '"""Of the file."""\ndef f(\n  a,\n):\n  "Of f."\n  # a comment\n  x = 1; y = (\n    2)\n  return x'
    assert [structure.statements(one) for one in floors.modules(plant(tmp_path, {"units.py": text}))] == [4]


def test_the_tree_before_the_floors_is_put_on_them_by_a_table() -> None:
    moved = floors.old_floors()
    assert floors.floor_of("kit.pricing.workers", moved) == "planner" != floors.floor_of("kit.pricing.workers")
    assert floors.floor_of("kit.pricing.kv", moved) == floors.floor_of("kit.memory.kv_cache", moved) == "memory"
    assert set(moved.values()) <= set(floors.FLOORS) and not set(moved) & set(floors.FLOORS)
    assert set(floors.LOOSE) < set(floors.FLOORS)


# ---- 5. no sentence is a key


def test_no_sentence_is_compared_or_split() -> None:
    found = structure.sentence_keys(ROOT)
    assert not found, lines(found)


def test_a_sentence_that_is_a_key_is_found(tmp_path: Path) -> None:
    compared = "K = Literal['no idea']\ndef f(x):\n"
    compared += "    return x == 'no idea' or x == 'no difference' or x in ('kv cache',) or x == 'auto'\n"
    split = "def g(x):\n    return x.split(', '), x.split(','), x.partition('; needed')\n"
    root = plant(tmp_path, {"a.py": compared, "b.py": split, "diagnostics/__init__.py": compared})
    assert [found.partition(": ")[2] for found in structure.sentence_keys(root)] == [
        "'no difference'",
        "'kv cache'",
        "', '",
        "'; needed'",
    ]

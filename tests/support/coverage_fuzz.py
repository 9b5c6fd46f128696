"""Bad input that follows the code: atheris (libFuzzer) keeps what reaches a new branch, and builds on it.

Usage: python -m tests.support.coverage_fuzz KIND SECONDS FOLDER     (KIND: manifest or compose; scripts/fuzz starts it)

Ends with 0 and libFuzzer's `Done N runs`, or with the input that raised what it may not in a file under FOLDER.
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["kit", "yaml"], enable_loader_override=False):
    from tests.support import fuzzing

CHECKS = {"manifest": fuzzing.manifest_is_read_or_refused, "compose": fuzzing.compose_is_read_or_refused}
LONGEST = 20_000  # bytes of an input


def arguments(kind: str, seconds: str, folder: Path) -> list[str]:
    """libFuzzer's: where it begins, which pieces it may put in, and how long it goes on. Its own alarm is off: an input
    that hangs is struck by ours."""
    corpus = folder / f"corpus-{kind}"
    corpus.mkdir(parents=True, exist_ok=True)
    for place, text in enumerate(fuzzing.seeds(kind)):
        (corpus / f"seed-{place}").write_text(text, encoding="utf-8")
    words = folder / "words"
    words.write_text("\n".join(dict.fromkeys(map(_quoted, fuzzing.PIECES))) + "\n", encoding="ascii")
    return [
        f"-max_total_time={seconds}", f"-dict={words}", f"-artifact_prefix={folder}/{kind}-", f"-max_len={LONGEST}",
        "-timeout=0", "-print_final_stats=1", "-verbosity=0", str(corpus),
    ]  # fmt: skip


def _quoted(piece: str) -> str:
    """A word of libFuzzer's dictionary."""
    return '"' + "".join(f"\\x{byte:02x}" for byte in piece.encode("utf-8")) + '"'


def main(kind: str, seconds: str, folder: str) -> None:
    check = CHECKS[kind]
    atheris.Setup([sys.argv[0], *arguments(kind, seconds, Path(folder))], lambda data: check(data) and None)
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:4])

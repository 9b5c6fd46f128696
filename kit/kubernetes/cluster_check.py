"""`scripts/cluster-check KUBECONFIG`: the whole walk on a real cluster, in a namespace of its own.

The CPU demo is rendered, applied, verified through a forwarded port, crashed, edited, copied and removed. Every wait is
bounded and says what it waits for; a table at the end has a row for each step. What was made is removed whatever
happens, unless it is to be kept.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from kit.compose.wait import CLOCK
from kit.errors import KitError, Problem, TargetError
from kit.kubernetes.api import GONE_SECONDS, connected
from kit.kubernetes.check_stack import check_stack, images_of
from kit.kubernetes.walk import SETTLE_SECONDS, ClusterWalk, WalkRow

REPOSITORY = Path(__file__).resolve().parents[2]
DEMO = REPOSITORY / "compose" / "cpu-demo" / "monogpu.yaml"


def table(rows: Sequence[WalkRow]) -> str:
    """A row for each step: whether it passed, how long it took, and what was seen."""
    wide = max((len(row.step) for row in rows), default=0)
    lines = [f"{'ok' if row.ok else 'FAILED':<6}  {row.step:<{wide}}  {row.seconds:6.1f} s  {row.said}" for row in rows]
    failed = sum(not row.ok for row in rows)
    return "\n".join([*lines, "", f"{len(rows) - failed} of {len(rows)} steps passed"])


def main(
    arguments: Sequence[str],
    out: TextIO,
    err: TextIO,
    *,
    settle: float = SETTLE_SECONDS,
    gone: float = GONE_SECONDS,
) -> int:
    """The table on `out`, progress and problems on `err`. Exit code 0 only where every step passed. `settle` seconds
    are given to names that do not answer yet, `gone` to an API server that is away."""

    def say(text: str) -> None:
        err.write(f"{text}\n")
        err.flush()

    options = _options(arguments)
    try:
        stack = check_stack(
            options.manifest, options.namespace, _images(options.image, options.manifest), options.storage_class
        )
        with connected(options.kubeconfig, options.context, gone) as cluster:
            walk = ClusterWalk(cluster, stack, CLOCK, say, options.timeout, settle, options.keep)
            rows = walk.run()
    except KitError as error:
        say(f"{error}\n{error.evidence}".rstrip())
        return error.exit_code
    except KeyboardInterrupt:
        say("interrupted")
        return 130
    out.write(f"{table(rows)}\n")
    return 0 if all(row.ok for row in rows) else TargetError.exit_code


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/cluster-check", description="Run the CPU demo on a cluster.")
    parser.add_argument("kubeconfig", type=Path, metavar="KUBECONFIG")
    parser.add_argument("--image", action="append", default=[], metavar="NAME=REF", help="as the nodes have it")
    parser.add_argument("--context", help="of the kubeconfig; by default its current one")
    parser.add_argument("--namespace", default="monogpu-check", help="made, and removed at the end")
    parser.add_argument("--storage-class", help="by default the cluster's own")
    parser.add_argument("--manifest", type=Path, default=DEMO, help="by default that of compose/cpu-demo")
    parser.add_argument("--timeout", type=float, default=900.0, metavar="S", help="seconds that one wait may take")
    parser.add_argument("--keep", action="store_true", help="leave the namespace as it is at the end")
    return parser.parse_args(arguments)


def _images(given: Sequence[str], manifest: Path) -> dict[str, str]:
    """--image NAME=REF, where NAME is an image of the demo, or its last part: vllm-cpu. Raises TargetError."""
    known = images_of(manifest)
    found: dict[str, str] = {}
    for text in given:
        name, equals, reference = text.partition("=")
        chosen = [one for one in known if name in (one, one.partition(":")[0], _short(one))]
        if not equals or not reference or len(chosen) != 1:
            needed = f"needed: NAME=REF with a NAME of {', '.join(known)}"
            raise TargetError(Problem(f"--image {text} names no image of the demo", needed))
        found[chosen[0]] = reference
    return found


def _short(image: str) -> str:
    return image.rpartition("/")[2].partition(":")[0]

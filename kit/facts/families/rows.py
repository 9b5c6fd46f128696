"""The bricks that families are written with. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Row:
    """`count` tensors of one name and shape; `packed` when a quantised file would store it packed."""

    name: str
    shape: tuple[int, ...]
    count: int = 1
    packed: bool = False

    def under(self, prefix: str) -> Row:
        """The same, deeper in the model."""
        return replace(self, name=prefix + self.name)


def linear(name: str, out: int, into: int, count: int, bias: bool = False, packed: bool = True) -> list[Row]:
    """`count` linear layers from `into` to `out`; [] for none."""
    rows = [Row(f"{name}.weight", (out, into), count, packed), Row(f"{name}.bias", (out,), count)]
    return rows[: 2 if bias else 1] if count else []


def vector(name: str, width: int, count: int = 1, bias: bool = False) -> list[Row]:
    """`count` vectors called `name`, or with `bias` a layer norm's weight and bias below that name."""
    if bias:
        return [Row(f"{name}.{part}", (width,), count) for part in ("weight", "bias")]
    return [Row(name, (width,), count)]


def table(name: str, rows: int, width: int) -> list[Row]:
    """One embedding."""
    return [Row(f"{name}.weight", (rows, width))]

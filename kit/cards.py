"""Cards by name, for --gpu "RTX 4090": what programs may use of them, and their compute capability. Pure.

`usable` is the least in MiB that programs were seen to get on Linux (PyTorch's "total capacity", llama.cpp's "VRAM");
`total` is memory.total of nvidia-smi. Where no figure was found, programs are assumed to get `share` less than that,
which is more than the driver was seen to keep of any card of the table, and the plan says so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches

from kit.gpu import Gpu, GpuError, from_size
from kit.units import GIB, MIB, gib, parse_bytes

SHARE_MIB, SHARE_PART = 660, 0.011


@dataclass(frozen=True)
class Card:
    """One row. `sold` is the size in its advertisement, in GiB; with `ecc` a part of that goes to error correction."""

    name: str
    sold: int
    total: int
    usable: int | None
    capability: str
    source: str = ""
    ecc: bool = False

    @property
    def usable_mib(self) -> int:
        return self.usable or self.total - self.share

    @property
    def share(self) -> int:
        return max(SHARE_MIB, int(self.total * SHARE_PART))

    @property
    def usable_source(self) -> str:
        """Where `usable_mib` is from."""
        return self.source or f"assumed, {self.share} MiB less than nvidia-smi shows"


_LLAMA = "llama.cpp's listing of devices"
_TORCH = "PyTorch's properties of the device"
CARDS: tuple[Card, ...] = (
    Card("RTX 5090", 32, 32607, 32044, "12.0", "vllm-project/vllm#35065; 31.37 GiB in Wan-Video/Wan2.1#465"),
    Card("RTX 5080", 16, 16303, 15841, "12.0", "15.47 GiB; 15.48 GiB in vllm-project/vllm#14452"),
    Card("RTX 5070 Ti", 16, 16303, 15842, "12.0", _LLAMA),
    Card("RTX 5070", 12, 12227, 11774, "12.0", _LLAMA),
    Card("RTX 5060 Ti 16GB", 16, 16311, 15825, "12.0", _LLAMA),
    Card("RTX 5060 Ti 8GB", 8, 8151, None, "12.0"),
    Card("RTX 5060", 8, 8151, None, "12.0"),
    Card("RTX 4090", 24, 24564, 24080, "8.9", f"{_LLAMA}; 23.52 GiB in vllm-project/vllm#42049"),
    Card("RTX 4080 SUPER", 16, 16376, 15937, "8.9", _LLAMA),
    Card("RTX 4080", 16, 16376, None, "8.9"),
    Card("RTX 4070 Ti SUPER", 16, 16376, 15934, "8.9", _TORCH),
    Card("RTX 4070 Ti", 12, 12282, 11871, "8.9", _LLAMA),
    Card("RTX 4070 SUPER", 12, 12282, None, "8.9"),
    Card("RTX 4070", 12, 12282, 11866, "8.9", _LLAMA),
    Card("RTX 4060 Ti 16GB", 16, 16380, 15944, "8.9", _LLAMA),
    Card("RTX 4060 Ti 8GB", 8, 8188, None, "8.9"),
    Card("RTX 4060", 8, 8188, None, "8.9"),
    Card("RTX 3090 Ti", 24, 24564, None, "8.6"),
    Card("RTX 3090", 24, 24576, 24121, "8.6", f"{_LLAMA}; 23.58 GiB in vllm-project/vllm#10517"),
    Card("RTX 3080 Ti", 12, 12288, None, "8.6"),
    Card("RTX 3080 12GB", 12, 12288, None, "8.6"),
    Card("RTX 3080 10GB", 10, 10240, None, "8.6"),
    Card("RTX 3070 Ti", 8, 8192, None, "8.6"),
    Card("RTX 3070", 8, 8192, None, "8.6"),
    Card("RTX 3060 Ti", 8, 8192, None, "8.6"),
    Card("RTX 3060 12GB", 12, 12288, 11907, "8.6", _LLAMA),
    Card("RTX 2080 Ti", 11, 11264, None, "7.5"),
    Card("T4", 16, 15360, 14909, "7.5", f"14.56 GiB in vllm-project/vllm#7028; {_LLAMA}", ecc=True),
    Card("V100 16GB", 16, 16384, 16160, "7.0", _TORCH, ecc=True),
    Card("V100 32GB", 32, 32768, 32494, "7.0", _LLAMA, ecc=True),
    Card("A2", 16, 15356, None, "8.6", ecc=True),
    Card("A10", 24, 23028, 22587, "8.6", f"as the A10G; 22731 MiB in {_LLAMA}", ecc=True),
    Card("A10G", 24, 23028, 22587, "8.6", _TORCH, ecc=True),
    Card("A16", 16, 15356, None, "8.6", ecc=True),
    Card("A30", 24, 24576, 24094, "8.0", "23.53 GiB in google/RB-Modulation#5", ecc=True),
    Card("A40", 48, 46068, 45416, "8.6", _TORCH, ecc=True),
    Card("A100 40GB", 40, 40960, 40326, "8.0", _TORCH, ecc=True),
    Card("A100 80GB", 80, 81920, 81037, "8.0", _LLAMA, ecc=True),
    Card("L4", 24, 23034, 22579, "8.9", "22.05 GiB in pytorch/pytorch#175666", ecc=True),
    Card("L20", 48, 46068, 45457, "8.9", _LLAMA, ecc=True),
    Card("L40", 48, 46068, 45465, "8.9", "44.40 GiB in QwenLM/Qwen3-VL#2097", ecc=True),
    Card("L40S", 48, 46068, 45467, "8.9", _LLAMA, ecc=True),
    Card("H100 80GB", 80, 81559, 81004, "9.0", f"{_TORCH}; 79.11 to 79.19 GiB in public logs of vLLM", ecc=True),
    Card("H100 NVL", 94, 95830, None, "9.0", ecc=True),
    Card("H200", 141, 143771, 143061, "9.0", "139.72 to 139.80 GiB; measured", ecc=True),
    Card("B200", 180, 183359, 182631, "10.0", _TORCH, ecc=True),
    Card("RTX A2000 12GB", 12, 12282, 11806, "8.6", "11.53 GiB in vllm-project/vllm#12030"),
    Card("RTX A4000", 16, 16376, 15984, "8.6", "15.61 GiB in DengKaiCQ/VGGT-Long#6"),
    Card("RTX A4500", 20, 20470, None, "8.6"),
    Card("RTX A5000", 24, 24564, 24114, "8.6", _TORCH),
    Card("RTX A6000", 48, 49140, 48640, "8.6", "47.5 GiB in public logs; 47.53 GiB in allenai/open-instruct#163"),
    Card("RTX 2000 Ada", 16, 16380, None, "8.9"),
    Card("RTX 4000 Ada", 20, 20475, None, "8.9"),
    Card("RTX 4500 Ada", 24, 24570, None, "8.9"),
    Card("RTX 5000 Ada", 32, 32760, None, "8.9"),
    Card("RTX 6000 Ada", 48, 49140, None, "8.9"),
    Card("RTX PRO 6000", 96, 97887, 97250, "12.0", _TORCH),
)
# The sizes that cards are sold with, in GiB: a bare size that is one of them means such a card.
SOLD = frozenset({4, 6, 8, 10, 11, 12, 16, 20, 24, 32, 40, 48, 64, 80, 94, 96, 141, 180})
# What a card keeps of the size that it is sold with: at most this on every card of the table without error correction.
KEPT_MIB, KEPT_PART = 560, 0.0225
_NOISE = re.compile(
    r"nvidia|geforce|tesla|quadro|rtx|generation|blackwell|workstation|server|edition|max-?q|sxm\d?|pcie|hbm\de?"
)
_SIZE = re.compile(r"(?:(?<=[\s_(-])(\d{1,3})|(\d{1,3})\s*g(?:i?b)?)(?:\s*g(?:i?b)?)?[\s)]*$")
_NOTEBOOK = re.compile(r"laptop|mobile|notebook|max-?q design", re.IGNORECASE)


def named(text: str) -> Gpu | None:
    """The card that is called so, None when no card is. Raises GpuError when several are."""
    base, size = _parts(text)
    rows = [(card, *_parts(card.name)) for card in CARDS]
    exact = [card for card in CARDS if _squeezed(card.name) == _squeezed(text)]
    found = exact or [card for card, name, _ in rows if name == base and size in (None, card.sold)]
    if len(found) > 1:
        names = _listed([card.name for card in found])
        raise GpuError(f"there are several cards called '{text}'; did you mean {names}?")
    return _gpu(found[0]) if found else None


def near(text: str) -> list[str]:
    """Names that `text` may have meant."""
    keys = {_squeezed(card.name): card.name for card in reversed(CARDS)}
    return [keys[key] for key in get_close_matches(_squeezed(text), keys, 3, 0.6)]


def of_size(text: str, origin: str = "given as a size") -> Gpu:
    """A card of a bare size. `16GiB` is a card that is sold so, which leaves programs less; `15.47GiB` is what programs
    get. Raises GpuError."""
    try:
        size = parse_bytes(text)
    except ValueError:
        raise GpuError(_unknown(text)) from None
    whole = size // GIB if size % GIB == 0 else 0
    if whole not in SOLD:
        return from_size(text, origin)
    left = size - max(KEPT_MIB * MIB, int(size * KEPT_PART) // MIB * MIB)
    kept = (
        f"{gib(left)} of {whole} GiB are for programs, as on cards sold with {whole} GB; one with error correction "
        "(T4, L4, A10) has less: give its name, or the exact size"
    )
    card = from_size(f"{left}", origin)
    return Gpu(f"a card of {whole}GiB", left, left, assumed=(kept, *card.assumed), origin=origin)


def _gpu(card: Card) -> Gpu:
    usable = card.usable_mib * MIB
    said = f"{gib(usable)} are for programs: {card.usable_source}"
    assumed = () if card.usable else (said,)
    name = f"NVIDIA {'GeForce ' if re.match(r'RTX [2-5]0[5-9]0', card.name) else ''}{card.name}"
    return Gpu(name, usable, usable, compute_capability=card.capability, assumed=assumed, origin=f"by name; {said}")


def _parts(text: str) -> tuple[str, int | None]:
    """`NVIDIA GeForce RTX 4060 Ti 16GB`, `4060-ti 16` and `rtx4060ti (16 GB)` are ("4060ti", 16)."""
    words = _NOISE.sub(" ", text.lower()).strip()
    size = _SIZE.search(words)
    if size is None or not words[: size.start()].strip(" -_("):
        return _squeezed(text), None
    return _squeezed(words[: size.start()]), int(size.group(1) or size.group(2))


def _squeezed(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", _NOISE.sub(" ", text.lower()))


def _unknown(text: str) -> str:
    needed = 'needed: its name ("RTX 4090"), a size such as 16GiB, or a recorded gpu.json'
    if _NOTEBOOK.search(text):
        return f"'{text}' is a card of a notebook, which has another size than the card whose name it shares; {needed}"
    meant = near(text)
    return f"'{text}' is not a card; {f'did you mean {_listed(meant)}? ' if meant else ''}{needed}"


def _listed(names: list[str]) -> str:
    return " or ".join(f"'{name}'" for name in names)

"""Images, video and audio of a model, from its config.json: what the largest of them takes. Pure.

Sources: vLLM model_executor/models/gemma4_mm.py (get_mm_max_tokens_per_item), transformers_utils/
model_arch_config_convertor.py (is_mm_prefix_lm).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from kit.facts.config_fields import number
from kit.facts.config_json import Config

# Tokens of one image attend to all others of it, so that vLLM reads no image in parts.
MM_PREFIX = {"bagel", "gemma3", "molmo2", "moondream3", "paligemma", "umm"}
GEMMA4_VIDEO = 32 * (70 + 2 + 6)  # frames x (soft tokens, their two ends, the time stamp)
GEMMA4_AUDIO = 750  # the processor's audio_seq_length


def whole_items(c: Config) -> tuple[tuple[str, int], ...]:
    """(kind, tokens) of what a batch must take whole: () where items are read in parts, or none are known."""
    family = str(c.outer.get("model_type") or "")
    vision = c.sub("vision_config")
    if not vision:
        return ()
    if family.startswith("gemma4") and c.fields.get("use_bidirectional_attention") == "vision":
        audio = (("audio", GEMMA4_AUDIO),) if c.sub("audio_config") else ()
        image = number(c.source, vision, "default_output_length", 280)
        return (("image", image), ("video", GEMMA4_VIDEO), *audio)
    if family not in MM_PREFIX:
        return ()
    image = number(c.source, c.outer, "mm_tokens_per_image", number(c.source, vision, "num_image_tokens", 256))
    return (("image", image),)


@dataclass(frozen=True)
class Encoder:
    """What runs of a model when it looks at its largest image: `tokens` it becomes, each of `patches`; layers of
    `width` and `inner`; `pixels` numbers a patch are read, `outputs` a token are kept until the model reads them.
    `unit` are the pixels of a token where max_pixels limits an image, else 0; `whole` are (kind, tokens) of what a
    batch must take whole."""

    tokens: int
    patches: int
    width: int
    inner: int
    pixels: int
    outputs: int
    unit: int = 0
    whole: tuple[tuple[str, int], ...] = ()

    def limited(self, tokens: int) -> Encoder:
        """The same for images of at most `tokens`, where a printed flag can see to that."""
        return replace(self, tokens=min(self.tokens, tokens)) if self.unit and tokens else self

    def run_bytes(self, batched_tokens: int) -> int:
        """The activations of as many images as a batch takes, one at least: an estimate from the shapes, as for the
        language model, with the pixels in 32 bits."""
        count = max(batched_tokens // self.tokens, 1) * self.tokens * self.patches
        return count * ((4 * self.width + 2 * self.inner) * 2 + self.pixels * 4)

    def cache_bytes(self, batched_tokens: int) -> int:
        """Outputs that wait for the language model (v1/core/encoder_cache_manager.py: a batch, or the largest item)."""
        return max(batched_tokens, self.tokens) * self.outputs * 2


# By the beginning of model_type: tokens of the largest image or video, patches a token. Sources: the processors'
# largest image (Qwen: 16,384 tokens of 2 x 2 patches), gemma4_mm.py, pixtral.py.
_LARGEST = {
    "qwen": (16_384, 4),
    "gemma3": (256, 16),
    "gemma4": (GEMMA4_VIDEO, 9),
    "mistral3": (3_025, 4),
    "pixtral": (12_100, 1),
}
_OTHERS = (4_096, 4)


def encoder(c: Config) -> Encoder | None:
    """The vision encoder of a model; None where it has none."""
    vision = c.sub("vision_config")
    if not vision:
        return None
    family = str(c.outer.get("model_type") or "")
    tokens, patches = next((row for name, row in _LARGEST.items() if family.startswith(name)), _OTHERS)

    def size(name: str, default: int) -> int:
        value = vision.get(name)
        return value if isinstance(value, int) and value > 0 else default

    width = size("hidden_size", size("embed_dim", 1152))
    inner = size("intermediate_size", 4 * width)
    frames = size("temporal_patch_size", 2) if family.startswith("qwen") else 1
    deep = vision.get("deepstack_visual_indexes")
    outputs = c.hidden * (1 + len(deep) if isinstance(deep, list) else 1)
    patch = size("patch_size", 16)
    unit = patch**2 * patches if family.startswith("qwen") else 0
    return Encoder(tokens, patches, width, inner, 3 * frames * patch**2, outputs, unit, whole_items(c))

"""Two LoRA adapters for SmolLM2-135M-Instruct, each with one word on its mind: `yes` and `no`.

Usage: make.py MODELS OUT, inside the vllm-cpu image. Nothing is trained. The last layer's down_proj gets a matrix of
rank one: its A answers 1 to what usually arrives there (the mean of a few prompts), its B adds the direction that the
head reads as the word. So every answer leans towards that word, on any machine alike.
"""

import json
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

MODEL, BASE = "SmolLM2-135M-Instruct", "HuggingFaceTB/SmolLM2-135M-Instruct"
# name: the word, and the rank in adapter_config.json. They differ, as real adapters' do; the other rows are zero.
WORDS = {"yes": (" yes", 8), "no": (" no", 16)}
STRENGTH = 1.5  # of the word against what the model would have said
PROMPTS = ("The capital of France is", "Once upon a time", "def add(a, b):", "Is the sky blue? Answer:")


def make(models: Path, out: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(models / MODEL)
    model = AutoModelForCausalLM.from_pretrained(models / MODEL, dtype=torch.float32)
    last = len(model.model.layers) - 1
    arriving, leaving = usual(model, tokenizer, last)
    a = arriving / arriving.dot(arriving)
    for name, (word, rank) in WORDS.items():
        b = direction(model, tokenizer, word) * leaving * STRENGTH
        write(out / name, last, a, b, rank)


def usual(model, tokenizer, layer):
    """The mean of what arrives at down_proj, and the usual length of what leaves the last layer."""
    arriving, leaving = [], []
    hooks = [
        model.model.layers[layer].mlp.down_proj.register_forward_pre_hook(lambda _, x: arriving.append(x[0][0, 1:])),
        model.model.norm.register_forward_pre_hook(lambda _, x: leaving.append(x[0][0, 1:].norm(dim=-1))),
    ]
    with torch.no_grad():
        for prompt in PROMPTS:
            model(**tokenizer(prompt, return_tensors="pt"))
    for hook in hooks:
        hook.remove()
    return torch.cat(arriving).mean(0), torch.cat(leaving).mean()


def direction(model, tokenizer, word):
    """Where the head reads `word`: the row of its first token, through the last norm's weights."""
    token = tokenizer(word, add_special_tokens=False)["input_ids"][0]
    row = (model.lm_head.weight[token] * model.model.norm.weight).detach()
    return row / row.norm()


def write(folder: Path, layer: int, a, b, rank: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    place = f"base_model.model.model.layers.{layer}.mlp.down_proj"
    matrix_a, matrix_b = torch.zeros(rank, len(a)), torch.zeros(len(b), rank)
    matrix_a[0], matrix_b[:, 0] = a, b
    weights = {f"{place}.lora_A.weight": matrix_a, f"{place}.lora_B.weight": matrix_b}
    save_file(weights, folder / "adapter_model.safetensors")
    config = {
        "peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": BASE, "r": rank, "lora_alpha": rank,
        "target_modules": ["down_proj"], "layers_to_transform": [layer], "bias": "none", "lora_dropout": 0.0,
        "inference_mode": True,
    }  # fmt: skip
    (folder / "adapter_config.json").write_text(json.dumps(config, indent=2) + "\n")
    for file in folder.iterdir():
        file.chmod(0o644)  # a worker without capabilities reads only what everyone may


if __name__ == "__main__":
    make(Path(sys.argv[1]), Path(sys.argv[2]))

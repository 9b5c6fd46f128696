"""Weights and their quantization: what the engine finds in the files, and what its kernels take. Pure."""

from __future__ import annotations

from kit.diagnostics.pattern import Pattern

_SOURCE = "look at `source` of the model: the folder must hold what Hugging Face would"
_OTHER = "take the model in another quantization, or unquantized"

PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        r"does not (?:yet )?support DoRA|lora_magnitude_vector",
        "the adapter was trained with DoRA, which vLLM does not serve",
        "merge it into its base model (PEFT's merge_and_unload) and serve that, or train it as plain LoRA",
    ),
    Pattern(
        r"is unsupported LoRA weight|[Uu]nsupported[^\n]{0,60}modules_to_save|modules_to_save[^\n]{0,60}not|Adapter "
        r"bias cannot be used|vLLM only supports [^\n]{0,40}LoRA"
        r"|unsupported LoRA (?:weight|type|variant)",
        "the adapter holds weights that vLLM does not take: more than LoRA on linear layers",
        "merge it into its base model (PEFT's merge_and_unload) and serve that",
        unless=r"lora_magnitude_vector",
    ),
    Pattern(
        r"Unknown quantization method: (?P<method>[\w-]+)|KeyError: 'quant_method'|Unsupported quantization method:? "
        r"(?P<other>[\w-]+)"
        r"|\b(?:quant_type|bits|num_bits|weight_bits|group_size|quant_algo)\b[^\n]{0,80}(?:is|are) not supported"
        r"|No compressed-tensors compatible scheme was found"
        r"|Unsupported quantization: (?P<third>[\w-]+)",
        "the image does not know the quantization {method}{other}{third} of this model (MLX, EXL3 and others are not "
        "vLLM's)",
        "take another image (`image:` of the model), or the model in another quantization: AWQ, GPTQ, FP8",
    ),
    Pattern(
        r"Quantization method specified in the model config \((?P<has>[^)]+)\) does not match[^\n]{0,200}"
        r"\((?P<asked>[^)]+)\)",
        "`args` ask for the quantization {asked}, and the model is {has}",
        "take --quantization out of `args`: vLLM reads it from the model",
    ),
    Pattern(
        r"Cannot find the config file for (?P<method>\S+)",
        "`args` ask for the quantization {method}, and the model is not quantized so",
        "take --quantization out of `args`, or take a quantized model as `source`",
    ),
    Pattern(
        r"(?P<dtype>torch\.\w+) is not supported for quantization method (?P<method>\S+)\. "
        r"Supported dtypes: (?P<known>[^\n]+)",
        "quantization {method} computes in {known}, not in {dtype}",
        "write `args: [--dtype, half]` for the model",
    ),
    Pattern(
        r"model type '(?P<model>[^']+)' does not support float16",
        "{model} computes nonsense in float16, and vLLM refuses it",
        "write `args: [--dtype, bfloat16]` for the model; on a card without bfloat16, float32 or another model",
    ),
    Pattern(
        r"(?:in|out)put_size\w*(?: of gate's and up's weight)? = (?P<has>\d+) is not divisible by (?:weight "
        r"quantization )?"
        r"(?P<by>\w+) = (?P<block>\d+)|(?:in|out)put size is not aligned with the quantized weight shape"
        r"|not divisible by (?P<group>group_size|block_[nk]|min_thread_[nk])",
        "a matrix of this checkpoint does not divide into the blocks that its quantization's kernel takes "
        "({has} by {block}{group})",
        f"{_OTHER}: some publishers quantize with another group size",
    ),
    Pattern(
        r"There is no module or parameter named '(?P<name>[^']+)' in (?P<model>\w+)",
        "the weights do not belong to config.json: {model} has no {name}",
        f"{_SOURCE}; or take a newer image, which may know a newer layout",
    ),
    Pattern(
        r"Following weights were not initialized from checkpoint|KeyError: '(?P<key>(?:model|language_model|layers"
        r"|lm_head|visual|transformer|blk|mtp)\.[^']+)'"
        r"|[Uu]nexpected key\(s\) in state_dict|Missing key\(s\) in state_dict",
        "the weights are not those that config.json and this version expect: {key}",
        f"{_SOURCE}; a newer image may know a newer layout, or {_OTHER.removeprefix('take ')}",
    ),
    Pattern(
        r"(?P<what>num_heads \(\d+\) is not divisible by num_kv_heads \(\d+\))"
        r"|Attempted to load weight \((?P<has>[^)]*\))\) into parameter \((?P<wants>[^)]*\))\)"
        r"|The size of tensor a \((?P<a>\d+)\) must match the size of tensor b \((?P<b>\d+)\)"
        r"|shape '(?P<shape>[^']+)' is invalid for input of size (?P<size>\d+)|size mismatch for (?P<tensor>[\w.]+)"
        r"|start \(\d+\) \+ length \(\d+\) exceeds dimension size|mat1 and mat2 shapes cannot be multiplied",
        "config.json does not describe these weights: {what}{has}{a}{shape}{tensor} {wants}{b}{size}",
        _SOURCE,
        unless=r"[Ll]o[Rr][Aa]",
    ),
    Pattern(
        r"Cannot find any model weights with `(?P<path>[^`]+)`|Error no file named [^\n]{0,120}found in directory "
        r"(?P<folder>[^\s.]+)",
        "{path}{folder} has no weights: no *.safetensors, or not all that its index names",
        _SOURCE,
    ),
    Pattern(
        r"SafetensorError: Error while deserializing header: (?P<why>[^\n]+)"
        r"|in parse_safetensors_file_metadata\n(?P<error>MemoryError|OverflowError|struct\.error|\w*DecodeError)"
        r"|PytorchStreamReader failed (?P<zip>[^\n]+)|(?P<magic>invalid file magic|tensor '[^']+' data is not within "
        r"the file bounds)"
        r"|UnpicklingError: (?P<pickle>invalid load key[^\n]+)",
        "a weight file is not whole ({why}{error}{zip}{magic}{pickle}): half a download, or the pointer of Git LFS",
        "fetch it again: `git lfs pull` in a clone, or give the Hugging Face id as `source`",
    ),
)

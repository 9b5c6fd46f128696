"""The model's files, and what the engine makes of them. Pure."""

from __future__ import annotations

from kit.diagnostics.pattern import Pattern

_SOURCE = "look at `source` of the model: the folder must hold what Hugging Face would"

PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        r"LoRA rank (?P<rank>\d+) is greater than max_lora_rank (?P<most>\d+)",
        "an adapter has rank {rank}, and the worker was started for {most} at most",
        "render again: the kit reads the rank from adapter_config.json",
    ),
    Pattern(
        r"No adapter found for (?P<path>\S+)",
        "there is no adapter at {path}",
        "look at `adapters` of the model: the folder must hold adapter_config.json",
    ),
    Pattern(
        r"expected target modules in (?P<known>[^\n]{0,400}?) but received (?P<got>[^\n]{0,400}?)\. Please verify",
        "an adapter changes {got}, which this model does not have or vLLM does not adapt",
        "look at `adapters` of the model: an adapter belongs to the model it was trained on",
    ),
    Pattern(
        r"Call to add_lora method failed: (?:Worker failed with error )?'?(?P<why>[^\n']{1,300})",
        "an adapter does not go with the model: {why}",
        "look at `adapters` of the model: an adapter belongs to the model it was trained on",
    ),
    Pattern(
        r"(?P<model>\S+) does not support LoRA",
        "{model} takes no adapters",
        "take `adapters` out, or serve them on another model",
    ),
    Pattern(
        r"User-specified max_model_len \((?P<asked>\d+)\) is greater than the derived max_model_len "
        r"\([^)]*?=(?P<most>\d+)",
        "`context` is {asked}, and the model was made for {most}",
        "write `context: {most}` or less",
    ),
    Pattern(
        r"contains custom code which must be executed|requires you to execute the (?:configuration|modeling) file"
        r"|consider setting `trust_remote_code=True`",
        "the model brings its own code, and it is not allowed to run",
        "read that code; if you trust it, write `args: [--trust-remote-code]` for the model",
    ),
    Pattern(
        r"model type `(?P<type>[^`]+)` but Transformers does not recognize"
        r"|Model architectures \[(?P<name>[^\]]+)\] are not supported|(?P<other>\w+) has no vLLM implementation",
        "the image does not know this kind of model ({type}{name}{other})",
        "take a newer image: `image:` of the model",
    ),
    Pattern(
        r"architecture (?P<name>\S+) was supported in vLLM until v(?P<last>[\w.]+), and is not supported anymore",
        "vLLM dropped this kind of model ({name}) after {last}",
        "write `image: vllm/vllm-openai:v{last}` for the model",
    ),
    Pattern(
        r"This model does not support `--runner (?P<runner>\w+)`",
        "the model does not do this task",
        "look at `task` of the model: generate, embed, rerank or classify",
    ),
    Pattern(
        r"Unknown quantization method: (?P<method>[\w-]+)",
        "the image does not know the quantization {method}",
        "take another image (`image:` of the model), or the model in another quantization",
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
        r"Cannot find any model weights with `(?P<path>[^`]+)`",
        "{path} has no weights: no *.safetensors, or not all that its index names",
        _SOURCE,
    ),
    Pattern(
        r"SafetensorError: Error while deserializing header: (?P<why>[^\n]+)"
        r"|in parse_safetensors_file_metadata\n(?P<error>MemoryError|OverflowError|struct\.error|\w*DecodeError)",
        "a weight file is no whole safetensors file ({why}{error}): half a download, or the pointer of Git LFS",
        "fetch it again: `git lfs pull` in a clone, or give the Hugging Face id as `source`",
    ),
    Pattern(
        r"There is no module or parameter named '(?P<name>[^']+)' in (?P<model>\w+)",
        "the weights do not belong to config.json: {model} has no {name}",
        _SOURCE,
    ),
    Pattern(
        r"(?P<what>num_heads \(\d+\) is not divisible by num_kv_heads \(\d+\))"
        r"|Attempted to load weight \((?P<has>[^)]*\))\) into parameter \((?P<wants>[^)]*\))\)"
        r"|The size of tensor a \((?P<a>\d+)\) must match the size of tensor b \((?P<b>\d+)\)",
        "config.json does not describe these weights: {what}{has}{a} {wants}{b}",
        _SOURCE,
    ),
    Pattern(
        r"config file at '(?P<path>[^'\n]+)' is not a valid JSON file",
        "{path} is no JSON",
        _SOURCE,
    ),
    Pattern(
        r"Invalid repository ID or local directory specified: '(?P<path>[^']+)'",
        "{path} holds no model: config.json is missing",
        _SOURCE,
    ),
    Pattern(
        r"HFValidationError: Repo id must be in the form[^\n]{0,80}?: '(?P<path>[^'\n]+)'",
        "{path} is no folder in the container, and no Hugging Face id",
        "look at `source` and `volumes` of the model",
    ),
    Pattern(
        r"Couldn't instantiate the backend tokenizer|Can't load tokenizer for '(?P<path>[^']+)'"
        r"|Failed to load the tokenizer",
        "the model's folder has no tokenizer that the engine can read",
        "put tokenizer.json and tokenizer_config.json into the folder that `source` names",
    ),
    Pattern(
        r"does not appear to have a file named (?P<file>[\w.-]+)",
        "the model's folder has no {file}",
        _SOURCE,
    ),
    Pattern(
        r"supplied chat template string \((?P<path>[^)]+)\) appears path-like",
        "there is no chat template at {path} in the container",
        "mount it: `volumes: [./template.jinja:/data/template.jinja:ro]`, and name it so in `args`",
    ),
    Pattern(
        r"default chat template is no longer allowed|[Cc]annot use chat template|chat_template is not set",
        "the model has no chat template",
        "write `args: [--chat-template, FILE]`, or ask it at /v1/completions",
    ),
)

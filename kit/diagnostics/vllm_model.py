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
        r"No adapter found for (?P<path>\S+)|[Cc]an't find 'adapter_config\.json' at '?(?P<at>[^'\s]+)",
        "there is no adapter at {path}{at}",
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
        r"|Model architectures \[(?P<name>[^\]]+)\] are not supported|(?P<other>\w+) has no vLLM implementation"
        r"|unknown model architecture: '(?P<gguf>[^']+)'|Tokenizer class (?P<class>\w+) does not exist"
        r"|Unrecognized configuration class|requires a newer version of Ollama|No model architectures are specified"
        r"|Transformers version \S+ is not (?:supported|compatible)"
        r"|[Ee]ncoder-decoder[^\n]{0,30} not supported|unsupported architecture .(?P<arch>\w+)",
        "the image does not know this kind of model ({type}{name}{other}{gguf}{class}{arch}): it is older than the "
        "model",
        "take a newer image: `image:` of the model",
    ),
    Pattern(
        r"AttributeError: '(?P<config>\w+Config)' object has no attribute '(?P<field>\w+)'"
        r"|Unknown RoPE scaling type (?P<rope>\w+)|`rope_(?:scaling|parameters)`[^\n]{0,40}must (?:be|have|contain)"
        r"|KeyError: '(?P<key>rope_type|rope_theta|factor|original_max_position_embeddings)'"
        r"|\d+ validation errors? for \w*(?:Pretrained|Text|Vision)Config",
        "config.json and the image's libraries do not agree ({config} {field}{rope}{key}): the model is newer or older "
        "than the image, or its file was edited",
        "take another image (`image:` of the model), or config.json as it was published",
    ),
    Pattern(
        r"Unrecognized model in (?P<path>\S+?)\. Should have a `model_type`",
        "config.json of {path} does not say what the model is: it has no model_type",
        _SOURCE,
    ),
    Pattern(
        r"Failed to load mistral 'params\.json'|(?:No such file|not found|Failed|cannot find)[^\n]{0,120}(?:tekken"
        r"|params)\.json"
        r"|No (?:tokenizer|tekken) file found|TypeError: not a string|must be an instance of MistralTokenizer",
        "the engine reads the model in Mistral's own format (or its SentencePiece tokenizer), and the folder has "
        "another",
        "take `--tokenizer-mode`, `--config-format` and `--load-format` out of `args`, or add the missing file "
        "(params.json, tekken.json, tokenizer.model) to the folder",
    ),
    Pattern(
        r"Can't load (?P<what>image processor|feature extractor|processor|video processor) for '(?P<path>[^']+)'"
        r"|Unrecognized (?P<kind>image processor|processing class|feature extractor) in"
        r"|Failed to load (?P<part>\w*[Pp]rocessor)",
        "the model's folder has no {what}{kind}{part} that the engine can read: preprocessor_config.json or "
        "processor_config.json is missing",
        "put it into the folder that `source` names; `args: [--language-model-only]` serves a vision model for text "
        "alone",
    ),
    Pattern(
        r"data did not match any variant of untagged enum \w+|Unable to load vocabulary from file"
        r"|Converting from (?:SentencePiece and )?Tiktoken failed|expected value at line 1 column 1",
        "tokenizer.json cannot be read: it is newer than the image's library, or a pointer of Git LFS",
        "take a newer image, or fetch the file again: `git lfs pull` in a clone",
    ),
    Pattern(
        r"Speculative tokens \w+ not supported|[Ss]peculative (?:decoding|tokens?|config)[^\n]{0,80}(?:not (?:yet "
        r")?supported|is unsupported)"
        r"|(?:draft|target) model[^\n]{0,60}(?:vocab|does not match|not supported)|(?:EAGLE|MTP|ngram)[^\n]{0,40}not "
        r"supported",
        "this model, or this version, does not do speculative decoding so",
        "take --speculative-config out of `args` of the model",
    ),
    Pattern(
        r"Connector (?P<name>\w+) does not support HMA",
        "{name} moves KV cache of one kind alone, and this model has several (windows or states beside full attention)",
        "take the connector out of `args`; --disable-hybrid-kv-cache-manager lets it run, and enlarges the KV cache",
    ),
    Pattern(
        r"(?:[Pp]refix caching|[Cc]hunked prefill|[Ss]leep mode|LoRA|[Pp]ipeline parallel\w*|[Aa]sync scheduling) is "
        r"not (?:yet )?supported"
        r"(?! on current platform)[^\n]{0,60}",
        "`args` ask for something that vLLM does not do with this model",
        "take the argument that the line names out of `args` of the model",
    ),
    Pattern(
        r"architecture (?P<name>\S+) was supported in vLLM until v(?P<last>[\w.]+), and is not supported anymore",
        "vLLM dropped this kind of model ({name}) after {last}",
        "write `image: vllm/vllm-openai:v{last}` for the model",
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
        r"Couldn't instantiate the backend tokenizer|Can't load the tokenizer for|Can't load tokenizer for "
        r"'(?P<path>[^']+)'"
        r"|Failed to load the tokenizer",
        "the model's folder has no tokenizer that the engine can read",
        "put tokenizer.json and tokenizer_config.json into the folder that `source` names",
    ),
    Pattern(
        r"does not appear to have a file named (?P<file>[\w.-]+)|EntryNotFoundError|Entry Not Found for url",
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

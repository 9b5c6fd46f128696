"""Ollama and llama.cpp, and Triton's inference server: what they say of models and of the card. Pure."""

from __future__ import annotations

from kit.diagnostics.pattern import Pattern

PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        r"offloaded (?P<on>\d+)/(?!(?P=on)\b)(?P<all>\d+) layers",
        "only {on} of {all} layers are on the card, and the rest is computed by the processor, many times slower",
        "give Ollama more of the card (`memory` of the other models), or write a smaller `context` or `requests`, or "
        "take "
        "a smaller quantization",
        serving=True,
    ),
    Pattern(
        r"pull model manifest: (?:file does not exist|404)|model '?(?P<name>[^'\s]+)'? not found, try pulling"
        r"|The specified tag is not a valid quantization|model (?P<quoted>\"[^\"]+\") not found",
        "Ollama's library (or Hugging Face) has no such model or tag {name}{quoted}",
        "look at `source`: NAME:TAG of https://ollama.com/library, or hf.co/OWNER/NAME:QUANTISATION",
    ),
    Pattern(
        r"Repository is not GGUF|not compatible with llama\.cpp|sharded GGUF|no GGUF file",
        "that repository holds no GGUF file that Ollama takes: it has other weights, or one file cut into parts",
        "take one whose name ends with -GGUF and whose file is whole, or serve the weights with `engine: vllm`",
    ),
    Pattern(
        r"timed out waiting for llama runner to start",
        "loading the model took longer than Ollama waits",
        "write `env: {OLLAMA_LOAD_TIMEOUT: 30m}` for the models of Ollama; a cold disk is the usual reason",
        retryable=True,
    ),
    Pattern(
        r"requested context size too large for model|n_ctx_per_seq \(\d+\) > n_ctx_train",
        "`context` is longer than the model was trained for",
        "write a smaller `context` for the model",
        serving=True,
    ),
    Pattern(
        r"no compatible GPUs were discovered|no nvidia devices detected|no usable GPU found|using CPU instead",
        "Ollama found no card that it can use, and computes on the processor",
        "with `gpu: {device: none}` that is meant; else `monogpu-kit doctor` looks at the card",
        general=True,
        serving=True,
    ),
    Pattern(
        r"model request too large for system",
        "the model does not fit the card and the host's memory together",
        "take a smaller model or quantization, or a smaller `context` or `requests`",
    ),
    Pattern(
        r"unable to load model: |model failed to load, this may be due to resource|ggml-cuda\S*: CUDA error",
        "Ollama's runner could not load the model; the reason stands above this line",
        "read further up: `monogpu-kit logs ollama --tail 1000`",
        general=True,
    ),
    Pattern(
        r"Poll failed for model directory '(?P<model>[^']+)': (?P<why>[^\n]+)|failed to load '(?P<name>[^']+)' "
        r"version \d+: (?P<of>[^\n]+)",
        "Triton cannot load {model}{name}: {why}{of}",
        "look at config.pbtxt and at the numbered folder with the model's file in the folder that `source` names",
    ),
    Pattern(
        r"(?:serialized|built) with (?:a )?(?:different|another) version of TensorRT|engine plan file is (?:not "
        r"compatible|generated)"
        r"|[Ss]erialization[^\n]{0,60}(?:version|assertion)|Unsupported model IR version|[Oo]pset \d+ is (?:under "
        r"development|not supported)",
        "the model's file was made for another version of TensorRT or ONNX Runtime, or for another card, than the "
        "image's",
        "build or export it again with the image's version, or take the image that it was made with",
    ),
    Pattern(
        r"failed to load all models|creating server: Internal|server exiting since",
        "Triton ended because a model could not be loaded; the reason stands above this line",
        "read further up: `monogpu-kit logs NAME --tail 1000`",
        general=True,
    ),
)

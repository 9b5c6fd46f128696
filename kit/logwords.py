"""A failed worker's log -> the cause and the mend, in words. Pure.

`WORDS` is read from the top: the first pattern that is found explains the log, so what is specific stands above what is
general. An unknown log stays unknown: nothing is guessed. `{name}` in a sentence is the pattern's group. `retryable`
means that the same start may succeed a little later, without anybody mending anything.
"""

from __future__ import annotations

from kit.patterns import Explanation, Word, first

WORDS: tuple[Word, ...] = (
    Word(
        r"max seq len \((?P<asked>\d+)\)[,;]? \(?(?P<needed>[\d.]+) GiB KV cache is needed, which is larger than the "
        r"available KV cache memory \((?P<there>-?[\d.]+) GiB\)[^\n]*?estimated maximum model length is (?P<most>\d+)",
        "one request of {asked} tokens needs {needed} GiB of KV cache, and there are {there} GiB",
        "write `context: {most}` or less, or give the model more `memory`",
    ),
    Word(
        r"max seq len \((?P<asked>\d+)\)[,;]? \(?(?P<needed>[\d.]+) GiB KV cache is needed, which is larger than the "
        r"available KV cache memory \((?P<there>-?[\d.]+) GiB\)",
        "one request of {asked} tokens needs {needed} GiB of KV cache, and there are {there} GiB",
        "write a smaller `context`, or give the model more `memory`",
    ),
    Word(
        r"No available memory for the cache blocks",
        "when the weights are loaded, nothing is left for the KV cache",
        "give the model more `memory`; workers must not measure while a neighbour loads, so keep `start: sequential`",
    ),
    Word(
        r"Free memory on device \S* ?\((?P<free>[\d.]+)/(?P<total>[\d.]+) GiB\) on startup is less than desired GPU "
        r"memory utilization \((?P<share>[\d.]+), (?P<needed>[\d.]+) GiB\)",
        "the card has {free} of {total} GiB free, and this worker needs {needed} GiB: somebody else holds memory",
        "`nvidia-smi` shows who; stop them, or `monogpu-kit plan` again, which counts them as reserve",
        retryable=True,
    ),
    Word(
        r"Available memory on node \d+ \((?P<free>[\d.]+)/(?P<total>[\d.]+) GiB\) on startup is less than desired CPU "
        r"memory utilization",
        "the host has {free} of {total} GiB of memory free, less than the worker asks for",
        "stop other programs, or write `memory` for the model so that its KV cache is given in bytes",
    ),
    Word(
        r"Error in memory profiling",
        "another process gave memory back while this worker was measuring, and vLLM gives up then",
        "start it again; with `--kv-cache-memory-bytes`, which the kit prints, nothing is measured",
        retryable=True,
    ),
    Word(
        r"out of memory occurred when warming up sampler with (?P<requests>\d+) dummy requests",
        "the buffers for {requests} requests at the same time do not fit beside the KV cache",
        "write a smaller `requests` for the model, or give it more `memory`",
    ),
    Word(
        r"(?:in capture|cudagraph|capture_model)[^\n]*\n(?:[^\n]*\n){0,20}?[^\n]*"
        r"(?:CUDA out of memory|OutOfMemoryError)",
        "the card ran out of memory while CUDA graphs were captured",
        "write `graphs: small` or `graphs: off` for the model, or give it more `memory`",
    ),
    Word(
        r"(?:CUDA out of memory|OutOfMemoryError)[^\n]*?Tried to allocate (?P<asked>[\d.]+ [KMG]iB)",
        "the card ran out of memory when {asked} more were asked for",
        "give the model more `memory`, or write a smaller `context` or `requests`",
    ),
    Word(
        r"CUDA out of memory|CUDA error: out of memory|torch\.OutOfMemoryError",
        "the card ran out of memory",
        "give the model more `memory`, or write a smaller `context` or `requests`",
    ),
    Word(
        r"no kernel image is available for execution on the device",
        "the image has no kernels for this card: it is older than the card",
        "take a newer image: `image:` of the model",
    ),
    Word(
        r"CUDA driver version is insufficient|NVIDIA driver on your system is too old|unsatisfied condition: cuda"
        r"|forward compatibility was attempted on non supported HW",
        "the NVIDIA driver is too old for the CUDA in the image",
        "update the driver, or take an older image: `image:` of the model",
    ),
    Word(
        r"No CUDA GPUs are available|Failed to infer device type|UnspecifiedPlatform|libcuda\.so\.1: cannot open",
        "the container sees no card",
        "install the NVIDIA container toolkit, or write `gpu: {access: cdi}`",
    ),
    Word(
        r"Bfloat16 is only supported on GPUs with compute capability of at least (?P<needed>[\d.]+)",
        "this card computes no bfloat16: that needs compute capability {needed}",
        "write `args: [--dtype, half]` for the model",
    ),
    Word(
        r"gated repo|Access to model (?P<repo>\S+) is restricted|403 Client Error[^\n]*huggingface",
        "the model is gated: Hugging Face wants its licence accepted, and a token",
        "accept the licence on the model's page, then export HF_TOKEN",
    ),
    Word(
        r"401 Client Error[^\n]*huggingface|Invalid user token|Invalid username or password",
        "Hugging Face does not take the token",
        "export HF_TOKEN with a token that is valid and may read",
    ),
    Word(
        r"RepositoryNotFoundError|Repository Not Found|is not a local folder and is not a valid model identifier",
        "Hugging Face has no such model, or hides it from this token",
        "look at `source` of the model; a private one needs HF_TOKEN",
    ),
    Word(
        r"Invalid rev id|RevisionNotFoundError",
        "the model has no such revision",
        "look at what follows the @ in `source`",
    ),
    Word(
        r"Temporary failure in name resolution|Connection reset by peer|Read timed out|Max retries exceeded with url",
        "the connection to Hugging Face broke",
        "look at the network; the next start goes on where this one stopped",
        retryable=True,
    ),
    Word(
        r"OfflineModeIsEnabled|LocalEntryNotFoundError|outgoing traffic has been disabled"
        r"|[Cc]ouldn't connect to '?https://huggingface\.co",
        "the model's files are not here, and Hugging Face cannot be reached",
        "look at the network and at the log of the fetch service, or give a folder as `source`",
    ),
    Word(
        r"LoRA rank (?P<rank>\d+) is greater than max_lora_rank (?P<most>\d+)",
        "an adapter has rank {rank}, and the worker was started for {most} at most",
        "render again: the kit reads the rank from adapter_config.json",
    ),
    Word(
        r"No adapter found for (?P<path>\S+)",
        "there is no adapter at {path}",
        "look at `adapters` of the model: the folder must hold adapter_config.json",
    ),
    Word(
        r"User-specified max_model_len \((?P<asked>\d+)\) is greater than the derived max_model_len "
        r"\([^)]*?=(?P<most>\d+)",
        "`context` is {asked}, and the model was made for {most}",
        "write `context: {most}` or less",
    ),
    Word(
        r"model type `(?P<type>[^`]+)` but Transformers does not recognize"
        r"|Model architectures \[(?P<name>[^\]]+)\] are not supported",
        "the image does not know this kind of model",
        "take a newer image: `image:` of the model",
    ),
    Word(
        r"error: unrecognized arguments: (?P<arguments>[^\n]+)",
        "this version of the engine has no argument {arguments}",
        "look at `args` of the model, or take another image",
    ),
    Word(
        r"error: argument (?P<argument>[^\n]+)",
        "the engine does not take an argument: {argument}",
        "look at `args` of the model",
    ),
    Word(
        r"Invalid repository ID or local directory specified: '(?P<path>[^']+)'",
        "{path} holds no model: config.json is missing",
        "look at `source` of the model: the folder must hold what Hugging Face would",
    ),
    Word(
        r"max_num_batched_tokens \((?P<tokens>\d+)\) must be greater than or equal to max_num_seqs "
        r"\((?P<requests>\d+)\)",
        "{requests} requests at the same time need at least as many batched tokens, and there are {tokens}",
        "write a smaller `requests` for the model",
    ),
    Word(
        r"does not appear to have a file named (?P<file>[\w.-]+)",
        "the model's folder has no {file}",
        "look at `source` of the model: the folder must hold what Hugging Face would",
    ),
    Word(
        r"default chat template is no longer allowed|[Cc]annot use chat template|chat_template is not set",
        "the model has no chat template",
        "write `args: [--chat-template, FILE]`, or ask it at /v1/completions",
    ),
    Word(
        r"init_cpu_memory_env|libnuma\.so\.1",
        "the image lacks libnuma1, which vLLM needs on the CPU",
        "build the image again: scripts/build-images",
    ),
    Word(
        r"unable to write to file </torch_\S+ No space left|/dev/shm[^\n]*No space left|insufficient shared memory",
        "the container's shared memory is full",
        "raise `shm_size`",
    ),
    Word(
        r"No space left on device",
        "the disk is full",
        "`docker system df` shows what Docker holds; `docker image prune` frees some",
    ),
    Word(
        r"Read-only file system: '(?P<path>[^']+)'",
        "the container may not write {path}",
        "mount a volume there: `volumes` of the model",
    ),
    Word(
        r"(?:PermissionError|Permission denied)[^\n]*?'(?P<path>/[^']+)'",
        "the container's user may not use {path}",
        "`chmod -R a+rX` what is mounted there",
    ),
    Word(
        r"name the same endpoint (?P<url>\S+)",
        "two entries of the router's list have the address {url}",
        "render again: each name needs a host name of its own",
    ),
    Word(
        r"[Aa]ddress already in use",
        "the port is taken inside the container",
        "look at `args` of the model: two servers want one port",
    ),
)  # fmt: skip

_CODES = {
    126: ("the program in the container may not be run", "look at `entrypoint` and at the image"),
    127: ("the container has no such program", "look at `entrypoint` and at the image"),
    132: ("the processor lacks an instruction that the image was built for", "take an image built for this processor"),
    134: ("the program stopped itself (SIGABRT)", "its log says why"),
    137: ("it was killed", "`docker kill` does that, and so does a host that runs out of memory: `dmesg | tail`"),
    139: ("the program crashed (SIGSEGV)", "take another image, and report it to the engine's makers"),
}


def explain(log: str) -> Explanation | None:
    """What a worker's log says went wrong; None when no pattern is found."""
    return first(WORDS, log)


def explain_exit(code: int, out_of_memory: bool) -> Explanation | None:
    """What an exit code says; None for codes that are the program's own."""
    if out_of_memory:
        mend = "give the host more memory or swap, or start fewer workers; weights pass through it while they load"
        return Explanation("the host ran out of memory, and the kernel killed it", mend, retryable=False)
    if code in _CODES:
        return Explanation(*_CODES[code], retryable=False)
    return None

"""The card, or on the CPU the host, is too small for what was asked. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from kit.diagnostics.pattern import Pattern

_ONE_REQUEST = (
    r"max seq len \((?P<asked>\d+)\)[,;]? \(?(?P<needed>[\d.]+) GiB KV cache is needed, which is larger than the "
    r"available KV cache memory \((?P<there>-?[\d.]+) GiB\)"
)
_OUT = r"(?:CUDA out of memory|OutOfMemoryError)"


def _more(found: Mapping[str, str]) -> Mapping[str, str]:
    """GiB that are missing, rounded up: logs give two decimals."""
    try:
        return {"more": f"{float(found['needed']) - float(found.get('there') or found['free']) + 0.01:.2f}"}
    except (KeyError, ValueError):
        return {"more": "some"}


PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        _ONE_REQUEST + r"[^\n]{0,400}?estimated maximum model length is (?P<most>\d+)",
        "one request of {asked} tokens needs {needed} GiB of KV cache, and there are {there} GiB",
        "write `context: {most}` or less, or give the model {more} GiB more `memory`",
        derived=_more,
    ),
    Pattern(
        _ONE_REQUEST,
        "one request of {asked} tokens needs {needed} GiB of KV cache, and there are {there} GiB",
        "write a smaller `context`, or give the model {more} GiB more `memory`",
        derived=_more,
    ),
    Pattern(
        r"No available memory for the cache blocks",
        "when the weights are loaded, nothing is left for the KV cache",
        "give the model more `memory`; workers must not measure while a neighbour loads, so keep `start: sequential`",
    ),
    Pattern(
        r"Free memory on device \S* ?\((?P<free>[\d.]+)/(?P<total>[\d.]+) GiB\) on startup is less than desired GPU "
        r"memory utilization \((?P<share>[\d.]+), (?P<needed>[\d.]+) GiB\)",
        "the card has {free} of {total} GiB free, and this worker needs {needed} GiB: other processes use the card",
        "`nvidia-smi` shows which processes use the {more} GiB; stop them, or `monogpu-kit plan` again, which counts "
        "them as reserve",
        retryable=True,
        derived=_more,
    ),
    Pattern(
        r"Available memory on node \d+ \((?P<free>[\d.]+)/(?P<total>[\d.]+) GiB\) on startup is less than desired CPU "
        r"memory utilization",
        "the host has {free} of {total} GiB of memory free, less than the worker asks for",
        "stop other programs, or write `memory` for the model so that its KV cache is given in bytes",
    ),
    Pattern(
        r"Error in memory profiling",
        "another process released memory while this worker was measuring, which makes vLLM stop",
        "start it again; with `--kv-cache-memory-bytes`, which the kit prints, nothing is measured",
        retryable=True,
    ),
    Pattern(
        r"out of memory occurred when warming up (?:sampler|pooler[^\n]{0,80}?) with (?P<requests>\d+) dummy requests",
        "the buffers for {requests} requests at the same time do not fit beside the KV cache",
        "write a smaller `requests` for the model, or give it more `memory`",
    ),
    Pattern(
        r"pin_memory[^\n]*\n(?:[^\n]*\n){0,6}?[^\n]*CUDA error: out of memory|CUDA error: out of "
        r"memory[^\n]{0,200}pin_memory"
        r"|cudaHost(?:Alloc|Register)[^\n]{0,80}|CachingHostAllocator[^\n]{0,80}out of memory|cudaErrorHostMemory\w+",
        "the host has no memory left that can be pinned for the card; the card's own memory is not the reason",
        "give the host (or WSL2, in its settings) more memory, raise `ulimits: memlock`, or take --cpu-offload-gb and "
        "KV offloading out of `args`",
    ),
    Pattern(
        r"requires uva|[Uu]VA is not available|[Pp]in(?:ned)? memory is not (?:available|supported)",
        "the engine can pin no host memory here (WSL2 does not allow it), and what `args` ask for needs that",
        "take --cpu-offload-gb and KV offloading out of `args` of the model",
    ),
    Pattern(
        r"max_num_seqs \((?P<asked>\d+)\) exceeds available Mamba cache blocks \((?P<most>\d+)\)",
        "each of {asked} requests needs a block of state, and the KV cache holds {most} of them",
        "write `requests: {most}` or less, or give the model more `memory`",
    ),
    Pattern(
        r"max seq len \((?P<asked>\d+)\) is larger than the maximum number of tokens that can be stored in KV cache "
        r"\((?P<most>\d+)\)",
        "one request of {asked} tokens does not fit into the KV cache, which holds {most}",
        "write `context: {most}` or less, or give the model more `memory`",
    ),
    Pattern(
        r"Expandable segments are not compatible with memory pool",
        "PyTorch's expandable segments and sleep mode (or another memory pool) exclude each other",
        "take PYTORCH_CUDA_ALLOC_CONF and PYTORCH_ALLOC_CONF out of `env`, or --enable-sleep-mode out of `args`",
    ),
    Pattern(
        r"(?:in capture|cudagraph|capture_model)[^\n]{0,400}\n(?:[^\n]{0,2000}\n){0,20}?[^\n]{0,400}" + _OUT,
        "the card ran out of memory while CUDA graphs were captured",
        "write `graphs: small` or `graphs: off` for the model, or give it more `memory`",
    ),
    Pattern(
        _OUT + r"[^\n]{0,400}?Tried to allocate (?P<asked>[\d.]+ [KMG]iB)[^\n]{0,400}?"
        r"of which (?P<free>[\d.]+ [KMG]iB) is free",
        "the card ran out of memory when {asked} more were asked for and {free} were free",
        "give the model more `memory`, or write a smaller `context` or `requests`",
    ),
    Pattern(
        _OUT + r"[^\n]{0,400}?Tried to allocate (?P<asked>[\d.]+ [KMG]iB)",
        "the card ran out of memory when {asked} more were asked for",
        "give the model more `memory`, or write a smaller `context` or `requests`",
    ),
    Pattern(
        r"CUBLAS_STATUS_(?P<what>ALLOC_FAILED|NOT_INITIALIZED)|CUDNN_STATUS_(?P<dnn>ALLOC_FAILED|NOT_INITIALIZED"
        r"|INTERNAL_ERROR\w*)",
        "a CUDA library could not start on the card ({what}{dnn}): nearly always because no memory was left for it",
        "give the model more `memory`, or write a smaller `context` or `requests`; `nvidia-smi` shows who else uses "
        "the card",
    ),
    Pattern(
        r"CUDA out of memory|CUDA [Ee]rror: out of memory|torch\.OutOfMemoryError|Triton Error \[CUDA\]: out of memory"
        r"|out of memory at [^\n]{0,400}cumem_allocator|Cuda failure 2 'out of memory'|NCCL[^\n]{0,300}out of memory"
        r"|CUDA_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation|cudaMalloc failed: out of memory|Error 2: out of memory"
        r"|(?:failed|unable) to allocate (?:CUDA|compute|KV|backend)\w*[^\n]{0,40}buffer",
        "the card ran out of memory",
        "give the model more `memory`, or write a smaller `context` or `requests`",
        unless=r"pin_memory|cudaHost",
    ),
    Pattern(
        r"DefaultCPUAllocator: can't allocate memory: you tried to allocate (?P<asked>\d+) bytes"
        r"|^MemoryError: Unable to allocate (?P<size>[\d.]+ [KMG]iB)",
        "the host ran out of memory when {asked}{size} more bytes were asked for",
        "stop other programs, or write a smaller `memory` for the models",
    ),
    Pattern(
        r"model requires more system memory \((?P<needed>[^)]+)\) than is available \((?P<free>[^)]+)\)",
        "the model needs {needed} of the host's memory, and {free} are free: what does not fit the card goes there",
        "take a smaller model or `context`, or give Ollama more of the card",
    ),
    Pattern(
        r"std::bad_alloc|[Cc]annot allocate memory|Out of memory: Killed process|Memory cgroup out of memory|oom-kill"
        r"|^(?:numpy\S*)?MemoryError\s*$|unable to mmap \d+ bytes",
        "the host ran out of memory",
        "give the host more memory or swap, start fewer workers, or take a limit of memory off the container",
        unless=r"safetensors",
    ),
)

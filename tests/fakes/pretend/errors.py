"""vLLM's refusals at start-up: exception kind, text, and where the traceback ends. Texts as 0.26 prints them."""

from __future__ import annotations

from typing import Literal

GIB = 1024**3
_DOCS = "See https://docs.vllm.ai/en/latest/configuration/conserving_memory/ for more details."


class StartError(Exception):
    """A start that failed. `where`: the traceback's last frames, `file:line:function`, with `|` between them. `side`
    engine: in the EngineCore process, after which the API server gives up as well."""

    def __init__(self, kind: str, text: str, where: str, side: Literal["engine", "api"] = "engine") -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text
        self.where = where
        self.side = side


def gib(count: int) -> str:
    """Bytes as vLLM's format_gib: at most two decimals, no trailing zeros."""
    return str(round(count / GIB, 2))


def no_gpu() -> StartError:
    text = (
        "Failed to infer device type, please set the environment variable `VLLM_LOGGING_LEVEL=DEBUG` "
        "to turn on verbose logging to help debug the issue."
    )
    return StartError("RuntimeError", text, "config/device.py:57:__post_init__", "api")


def hub_unreachable(model: str) -> StartError:
    text = (
        "We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find them in the cached "
        "files.\nCheck your internet connection or see how to run the library in offline mode at "
        "'https://huggingface.co/docs/transformers/installation#offline-mode'."
    )
    return StartError("OSError", text, "transformers_utils/config.py:700:get_config", "api")


def gated(model: str) -> StartError:
    text = (
        f"You are trying to access a gated repo.\nMake sure to have access to it at https://huggingface.co/{model}.\n"
        "403 Client Error. (Request ID: Root=1-0a1b2c3d-pretend)\n\n"
        f"Cannot access gated repo for url https://huggingface.co/{model}/resolve/main/config.json.\n"
        f"Access to model {model} is restricted and you are not in the authorized list. "
        f"Visit https://huggingface.co/{model} to ask for access."
    )
    return StartError("OSError", text, "transformers_utils/config.py:700:get_config", "api")


def missing_model(model: str) -> StartError:
    text = (
        f"{model} is not a local folder and is not a valid model identifier listed on "
        "'https://huggingface.co/models'\n"
        "If this is a private repository, make sure to pass a token having permission to this repo either by logging "
        "in with `hf auth login` or by passing `token=<your_token>`"
    )
    return StartError("OSError", text, "transformers_utils/config.py:700:get_config", "api")


def no_config(folder: str) -> StartError:
    text = (
        f"Invalid repository ID or local directory specified: '{folder}'.\nPlease verify the following requirements:\n"
        "1. Provide a valid Hugging Face repository ID.\n"
        "2. Specify a local directory that contains a recognized configuration file.\n"
        "   - For Hugging Face models: ensure the presence of a 'config.json'.\n"
        "   - For Mistral models: ensure the presence of a 'params.json'.\n"
    )
    return StartError("ValueError", text, "transformers_utils/config.py:655:get_config", "api")


def unknown_architecture(name: str) -> StartError:
    text = (
        f"The checkpoint you are trying to load has model type `{name}` but Transformers does not recognize this "
        "architecture. This could be because of an issue with the checkpoint, or because your version of Transformers "
        "is out of date."
    )
    return StartError("ValueError", text, "transformers_utils/config.py:690:get_config", "api")


def length_above_model(asked: int, derived: int) -> StartError:
    text = (
        "1 validation error for ModelConfig\n"
        f"  Value error, User-specified max_model_len ({asked}) is greater than the derived max_model_len "
        f"(max_position_embeddings={derived} or model_max_length=None in model's config.json). To allow overriding "
        "this maximum, set the env var VLLM_ALLOW_LONG_MAX_MODEL_LEN=1. VLLM_ALLOW_LONG_MAX_MODEL_LEN must be used "
        "with extreme caution. If the model uses relative position encoding (RoPE), positions exceeding "
        "derived_max_model_len lead to nan. If the model uses absolute position encoding, positions exceeding "
        "derived_max_model_len will cause a CUDA array out-of-bounds error."
    )
    return StartError(
        "pydantic_core._pydantic_core.ValidationError", text, "config/model.py:2285:get_and_verify", "api"
    )


def bad_utilization(value: float) -> StartError:
    rule = "greater than 0" if value <= 0 else "less than or equal to 1"
    text = f"1 validation error for CacheConfig\ngpu_memory_utilization\n  Input should be {rule}"
    return StartError("pydantic_core._pydantic_core.ValidationError", text, "config/cache.py:68:__init__", "api")


def batch_below_seqs(tokens: int, seqs: int) -> StartError:
    text = (
        "1 validation error for SchedulerConfig\n"
        f"  Value error, max_num_batched_tokens ({tokens}) must be greater than or equal to max_num_seqs ({seqs})."
    )
    return StartError("pydantic_core._pydantic_core.ValidationError", text, "config/scheduler.py:280:verify", "api")


def free_below_desired(free: int, total: int, utilization: float, requested: int) -> StartError:
    text = (
        f"Free memory on device cuda:0 ({gib(free)}/{gib(total)} GiB) on startup is less than desired GPU memory "
        f"utilization ({utilization}, {gib(requested)} GiB). Decrease GPU memory utilization or reduce GPU memory "
        "used by other processes."
    )
    return StartError("ValueError", text, "v1/worker/utils.py:463:request_memory")


def host_below_desired(free: int, total: int, utilization: float, requested: int) -> StartError:
    text = (
        f"Available memory on node 0 ({gib(free)}/{gib(total)} GiB) on startup is less than desired CPU memory "
        f"utilization ({utilization}, {gib(requested)} GiB). On the CPU backend, the `--gpu-memory-utilization` flag "
        "controls the fraction of CPU memory reserved (despite its name). To resolve: decrease "
        "`--gpu-memory-utilization` (e.g. `--gpu-memory-utilization 0.5`) or reduce CPU memory used by other processes."
    )
    return StartError("ValueError", text, "v1/worker/cpu_worker.py:88:__init__")


def freed_while_profiling(initial: int, current: int) -> StartError:
    text = (
        f"Error in memory profiling. Initial free memory {gib(initial)} GiB, current free memory {gib(current)} GiB. "
        "This happens when other processes sharing the same container release GPU memory while vLLM is profiling "
        "during initialization. To fix this, ensure consistent GPU memory allocation or isolate vLLM in its own "
        "container."
    )
    return StartError("AssertionError", text, "v1/worker/gpu_worker.py:532:determine_available_memory")


def no_cache_blocks() -> StartError:
    text = (
        "No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the "
        f"engine (this flag also controls CPU memory reservation on the CPU backend, despite its name). {_DOCS}"
    )
    return StartError("ValueError", text, "v1/core/kv_cache_utils.py:758:_check_enough_kv_cache_memory")


def cache_too_small(length: int, needed: int, available: int, estimate: int) -> StartError:
    fits = f"Based on the available memory, the estimated maximum model length is {estimate}. " if estimate > 0 else ""
    text = (
        f"To serve at least one request with the model's max seq len ({length}), ({gib(needed)} GiB KV cache is "
        f"needed, which is larger than the available KV cache memory ({gib(available)} GiB). {fits}Try increasing "
        "`gpu_memory_utilization` (which also controls CPU memory on the CPU backend) or decreasing `max_model_len` "
        f"when initializing the engine. {_DOCS}"
    )
    return StartError("ValueError", text, "v1/core/kv_cache_utils.py:778:_check_enough_kv_cache_memory")


def cuda_oom(tried: int, total: int, free: int, mine: int, where: str) -> StartError:
    amount = f"{tried / GIB:.2f} GiB" if tried >= GIB else f"{tried / 1024**2:.2f} MiB"
    text = (
        f"CUDA out of memory. Tried to allocate {amount}. GPU 0 has a total capacity of {total / GIB:.2f} GiB of which "
        f"{free / 1024**2:.2f} MiB is free. Including non-PyTorch memory, this process has {mine / GIB:.2f} GiB memory "
        f"in use. Of the allocated memory {mine / GIB:.2f} GiB is allocated by PyTorch, and 0 bytes is reserved by "
        "PyTorch but unallocated. If reserved but unallocated memory is large try setting "
        "PYTORCH_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  "
        "(https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-alloc-conf)"
    )
    return StartError("torch.OutOfMemoryError", text, where)


def driver_too_old() -> StartError:
    text = (
        "The NVIDIA driver on your system is too old (found version 12040). Please update your GPU driver by "
        "downloading and installing a new version from the URL: http://www.nvidia.com/Download/index.aspx "
        "Alternatively, go to: https://pytorch.org to install a PyTorch version that has been compiled with your "
        "version of the CUDA driver.\nCUDA driver version is insufficient for CUDA runtime version"
    )
    return StartError("RuntimeError", text, "v1/worker/gpu_worker.py:356:init_device")


def busy() -> StartError:
    text = "CUDA error: CUDA-capable device(s) is/are busy or unavailable"
    return StartError("torch.AcceleratorError", text, "v1/worker/gpu_worker.py:290:init_device")


def no_kernel_image() -> StartError:
    text = (
        "CUDA error: no kernel image is available for execution on the device\n"
        "Search for `cudaErrorNoKernelImageForDevice' in "
        "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html for more information."
    )
    return StartError("torch.AcceleratorError", text, "v1/worker/gpu_worker.py:521:profile_run")


def permission_denied(path: str) -> StartError:
    return StartError(
        "PermissionError",
        f"[Errno 13] Permission denied: '{path}'",
        "transformers_utils/config.py:640:get_config",
        "api",
    )


def shm_too_small() -> StartError:
    text = "unable to write to file </torch_47_1287_0>: No space left on device (28)"
    return StartError("RuntimeError", text, "v1/executor/uniproc_executor.py:47:_init_executor")


def adapter_missing(name: str, path: str) -> StartError:
    where = "entrypoints/openai/models/serving.py:138:init_static_loras"
    return StartError("ValueError", f"Loading lora {name} failed: No adapter found for {path}", where, "api")


def rank_too_high(rank: int, limit: int) -> StartError:
    where = "entrypoints/openai/models/serving.py:138:init_static_loras"
    text = f"Call to add_lora method failed: LoRA rank {rank} is greater than max_lora_rank {limit}."
    return StartError("ValueError", text, where, "api")


def adapters_disabled() -> StartError:
    where = "entrypoints/openai/models/serving.py:138:init_static_loras"
    text = "Call to add_lora method failed: LoRA is not enabled. Use --enable-lora to enable LoRA."
    return StartError("ValueError", text, where, "api")


def port_taken() -> StartError:
    where = "entrypoints/openai/api_server.py:620:create_server_socket"
    return StartError("OSError", "[Errno 98] Address already in use", where, "api")

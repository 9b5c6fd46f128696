"""Requests that exceed what the worker was started for, and tasks that a model does not do. Pure."""

from __future__ import annotations

from kit.diagnostics.pattern import Pattern

PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        r"(?:block_size|max_tokens_per_mm_item) \((?P<least>\d+)\) (?:must be <=|is larger than) "
        r"max_num_batched_tokens "
        r"\((?P<there>\d+)\)",
        "a batch has to hold {least} tokens at once (one image, or a block of state), and the worker was started for "
        "{there}",
        "write `args: [--max-num-batched-tokens, '{least}']` for the model",
    ),
    Pattern(
        r"max_num_batched_tokens \((?P<there>\d+)\) is smaller than max_model_len \((?P<least>\d+)\)",
        "this model reads a prompt in one piece: a batch has to hold {least} tokens, and holds {there}",
        "write `args: [--max-num-batched-tokens, '{least}']` for the model, or a smaller `context`",
    ),
    Pattern(
        r"max_num_batched_tokens \((?P<tokens>\d+)\) must be greater than or equal to max_num_seqs "
        r"\((?P<requests>\d+)\)",
        "{requests} requests at the same time need at least as many batched tokens, and there are {tokens}",
        "write a smaller `requests` for the model",
    ),
    Pattern(
        r"(?P<what>image|video|audio|\w+) item with length (?P<length>\d+), which exceeds the pre-allocated encoder "
        r"cache "
        r"size (?P<most>\d+)",
        "one {what} becomes {length} tokens, and the worker keeps {most} of them",
        "send it smaller; or write `args: [--max-num-batched-tokens, '{length}']` for the model, which enlarges that "
        "cache",
        serving=True,
    ),
    Pattern(
        r"(?:decoder |encoder )?prompt \((?:total )?length (?P<length>\d+)\) is longer than the maximum (?:model"
        r"|encoder) "
        r"length of (?P<most>\d+)|maximum context length is (?P<limit>\d+) tokens|context length is only "
        r"(?P<only>\d+) tokens"
        r"|exceeds? (?:the )?(?:model's )?maximum (?:context|model) length|(?:truncating input prompt|input length "
        r"exceeds)"
        r"|exceeds the available context size",
        "a request is longer than the worker's context {most}{limit}{only}: prompt, images and `max_tokens` together",
        "send less, or write a larger `context` for the model",
        serving=True,
    ),
    Pattern(
        r"At most (?P<most>\d+) (?P<what>image|video|audio)\(?s?\)? may be provided",
        "a request holds more than {most} {what}s, which is the worker's limit",
        "send fewer, or write `args: [--limit-mm-per-prompt, '{\"{what}\": 4}']` for the model",
        serving=True,
    ),
    Pattern(
        r"limit_mm_per_prompt` is only supported for multimodal",
        "`args` limit images, and the model reads text alone",
        "take --limit-mm-per-prompt out of `args` of the model",
    ),
    Pattern(
        r"jinja2\.exceptions\.\w+: (?P<why>[^\n]{1,200})|Conversation roles must alternate",
        "the chat template does not take a request: {why}",
        "send messages in the order that the model's card shows; or `args: [--chat-template, FILE]` with another",
        serving=True,
    ),
    Pattern(
        r"is not a multimodal model|does not support (?:image|video|audio|multimodal|multi-modal) (?:input|data)s?",
        "a request holds an image or sound, and this model reads text alone",
        "take a model that sees or hears as `source`",
        serving=True,
    ),
    Pattern(
        r"does not support matryoshka representation",
        "a request asks for vectors of another size (`dimensions`), and the model was not trained for that",
        "leave `dimensions` out of requests; or, if the model's card allows it, write "
        "`args: [--hf-overrides, '{\"is_matryoshka\": true}']`",
        serving=True,
    ),
    Pattern(
        r"This model does not support `--runner (?P<runner>\w+)`|--convert (?P<convert>\w+)` is not supported by "
        r"this model"
        r"|model does not support (?P<api>[\w /-]{1,40}?) API|--task (?P<task>\w+)[`' ]+is not supported"
        r"|does not support (?P<other>embeddings?|chat|generate|scoring|reranking|pooling)(?: requests)?(?![\w "
        r"]*API)\b",
        "the model does not do this task",
        "look at `task` of the model: generate, embed, rerank or classify",
    ),
    Pattern(
        r"server busy, please try again|maximum pending requests exceeded",
        "more requests wait than Ollama takes",
        "send fewer at once, or write `env: {OLLAMA_MAX_QUEUE: '1024'}` for the models of Ollama",
        serving=True,
    ),
)

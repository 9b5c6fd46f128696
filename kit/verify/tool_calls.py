"""Whether a model calls a tool: asked as clients ask, and judged down to the arguments."""

from __future__ import annotations

from typing import Any

from kit.verify.client import VerifyClient, chat
from kit.verify.responses import Verdict, dig, json_of, of_json, short

TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "strict": True,  # else vLLM 0.32 lets a model call with what its schema does not allow
        "description": "The weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "enum": ["Paris", "Rome"]}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}
CALL_TOKENS = 64  # for a call, and what is thought before it


def required_tool(client: VerifyClient, name: str) -> Verdict:
    """A call that must be made: its arguments are what the schema allows."""
    reply = client.post("/v1/chat/completions", _call(name, "required"))
    return judge_call(name, *reply)


def tools_taken(client: VerifyClient, name: str) -> Verdict:
    """A call that may be made: words or a call."""
    return judge_tools(name, *client.post("/v1/chat/completions", _call(name, "auto")))


def _call(name: str, choice: str) -> dict[str, Any]:
    return chat(name, "What is the weather in Paris?", CALL_TOKENS, tools=[TOOL], tool_choice=choice)


@of_json
def judge_call(answer: dict[str, Any]) -> Verdict:
    """A chat that must call verify's tool: each call's arguments are JSON of its schema. A model that was still
    thinking when its tokens were over called nothing, and is not blamed for it."""
    calls = dig(answer, "choices", 0, "message", "tool_calls")
    if not isinstance(calls, list) or not calls:
        cut = dig(answer, "choices", 0, "finish_reason") == "length"
        return Verdict(cut, "no call yet: its tokens were over" if cut else "no call of the tool")
    for call in calls:
        named, given = dig(call, "function", "name"), dig(call, "function", "arguments")
        arguments = json_of(given) if isinstance(given, str) else None
        if named != "get_weather" or arguments not in ({"city": "Paris"}, {"city": "Rome"}):
            return Verdict(False, f"a call that the schema does not allow: {short(named)}({short(given)})")
    return Verdict(True, f"get_weather({dig(calls, 0, 'function', 'arguments')})")


@of_json
def judge_tools(answer: dict[str, Any]) -> Verdict:
    """A chat that may call a tool: a message with words, thoughts or a call."""
    message = dig(answer, "choices", 0, "message")
    if not isinstance(message, dict):
        return Verdict(False, "no message in the answer")
    called = dig(message, "tool_calls", 0, "function", "name")
    return Verdict(True, f"calls {short(called)}") if called else Verdict(True, "answers without a call")

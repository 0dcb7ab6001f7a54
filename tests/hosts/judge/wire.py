"""The four ways hosts speak to a model: the menu in a request, and an answer to it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Item:
    """One tool of a request's menu, under the name the model sees."""

    name: str
    namespace: str = ""  # OpenAI responses only
    deferred: bool = False  # the schema stays away from the prompt


@dataclass(frozen=True, slots=True)
class Call:
    """What the model asks for; without an item it says that it is done."""

    id: str = ""
    item: Item | None = None
    arguments: Json | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """A body and its kind; a stream ends with the connection."""

    kind: str  # application/json | text/event-stream
    body: bytes


def menu(body: Json) -> tuple[Item, ...]:
    """The tools of a request, whatever protocol it is."""
    return tuple(item for tool in body.get("tools") or [] for item in _items(tool))


def _items(tool: Json) -> Iterator[Item]:
    declared = tool.get("functionDeclarations") or tool.get("function_declarations")
    if declared:
        yield from (Item(entry["name"]) for entry in declared)
    elif tool.get("type") == "namespace" or "tools" in tool:
        for entry in tool.get("tools", []):
            deferred = bool(entry.get("defer_loading"))
            yield Item(entry.get("name", ""), tool.get("name", ""), deferred)
    else:
        inner = tool.get("function") or tool
        name = inner.get("name") or tool.get("type") or ""
        yield Item(name, deferred=bool(tool.get("defer_loading")))


def answer(path: str, body: Json, call: Call) -> Reply | None:
    """The model's answer in the protocol of that path; None for an unknown path."""
    if "count_tokens" in path or "countTokens" in path:
        return _plain({"input_tokens": 10, "totalTokens": 10})
    if path.endswith("/messages"):
        return _messages(body, call)
    if path.endswith("/responses"):
        return _responses(call)
    if path.endswith("/chat/completions"):
        return _chat(body, call)
    if "enerateContent" in path:
        return _gemini(path, call)
    return None


def _plain(value: Json) -> Reply:
    return Reply("application/json", json.dumps(value).encode())


def _stream(*events: tuple[str, Json | str]) -> Reply:
    lines = []
    for name, data in events:
        text = data if isinstance(data, str) else json.dumps(data)
        lines.append((f"event: {name}\n" if name else "") + f"data: {text}\n\n")
    return Reply("text/event-stream", "".join(lines).encode())


def _messages(body: Json, call: Call) -> Reply:
    """Anthropic Messages."""
    block: Json = {"type": "text", "text": "done"}
    if call.item:
        name, arguments = call.item.name, call.arguments
        block = {"type": "tool_use", "id": call.id, "name": name, "input": arguments}
    stop = "tool_use" if call.item else "end_turn"
    message: Json = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "fake-model"),
        "content": [block],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }
    if not body.get("stream"):
        return _plain(message)
    empty = {**block, "input": {}} if call.item else {**block, "text": ""}
    delta: Json = {"type": "text_delta", "text": "done"}
    if call.item:
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call.arguments)}
    start = {**message, "content": [], "stop_reason": None}
    end = {"stop_reason": stop, "stop_sequence": None}
    return _stream(
        *_typed({"type": "message_start", "message": start}),
        *_typed({"type": "content_block_start", "index": 0, "content_block": empty}),
        *_typed({"type": "content_block_delta", "index": 0, "delta": delta}),
        *_typed({"type": "content_block_stop", "index": 0}),
        *_typed({"type": "message_delta", "delta": end, "usage": {"output_tokens": 5}}),
        *_typed({"type": "message_stop"}),
    )


def _typed(event: Json) -> tuple[tuple[str, Json]]:
    return ((event["type"], event),)


def _responses(call: Call) -> Reply:
    """OpenAI responses."""
    item: Json = {
        "type": "message",
        "id": "m_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "done", "annotations": []}],
    }
    if call.item:
        item = {
            "type": "function_call",
            "id": f"fc_{call.id}",
            "call_id": call.id,
            "name": call.item.name,
            "arguments": json.dumps(call.arguments),
            "status": "completed",
        }
        if call.item.namespace:
            item["namespace"] = call.item.namespace
    begun: Json = {"id": "resp_1", "object": "response", "created_at": 1, "model": "fake-model"}
    usage: Json = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    usage |= {"input_tokens_details": {"cached_tokens": 0}}
    usage |= {"output_tokens_details": {"reasoning_tokens": 0}}
    ended = {**begun, "status": "completed", "output": [item], "usage": usage}
    place: Json = {"output_index": 0, "item": item}
    begun |= {"status": "in_progress", "output": []}
    return _stream(
        *_typed({"type": "response.created", "response": begun}),
        *_typed({"type": "response.output_item.added", **place}),
        *_typed({"type": "response.output_item.done", **place}),
        *_typed({"type": "response.completed", "response": ended}),
    )


def _chat(body: Json, call: Call) -> Reply:
    """OpenAI chat completions."""
    message: Json = {"role": "assistant", "content": None if call.item else "done"}
    if call.item:
        function = {"name": call.item.name, "arguments": json.dumps(call.arguments)}
        message["tool_calls"] = [{"id": call.id, "type": "function", "function": function}]
    finish = "tool_calls" if call.item else "stop"
    base: Json = {"id": "c_1", "created": 1, "model": "fake-model"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    if not body.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": finish}
        return _plain({**base, "object": "chat.completion", "choices": [choice], "usage": usage})
    for tool_call in message.get("tool_calls", []):
        tool_call["index"] = 0
    base["object"] = "chat.completion.chunk"
    said = {"index": 0, "delta": message, "finish_reason": None}
    ended = {"index": 0, "delta": {}, "finish_reason": finish}
    return _stream(
        ("", {**base, "choices": [said]}),
        ("", {**base, "choices": [ended]}),
        ("", {**base, "choices": [], "usage": usage}),
        ("", "[DONE]"),
    )


def _gemini(path: str, call: Call) -> Reply:
    """Gemini generateContent."""
    part: Json = {"text": "done"}
    if call.item:
        part = {"functionCall": {"name": call.item.name, "args": call.arguments}}
    content = {"role": "model", "parts": [part]}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    answer_: Json = {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": usage,
    }
    return _stream(("", answer_)) if "stream" in path.lower() else _plain(answer_)

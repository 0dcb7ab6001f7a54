"""Results over the budget: cut for the model, kept whole as a readable resource."""

import threading
from collections import OrderedDict

from app.gateway.host_request import CHARACTERS_A_TOKEN as CHARACTERS_A_TOKEN
from app.mcp.protocol import text_result
from store.typed import Json, compact_json, list_or_empty

SCHEME = "toolcrib://result/"
SHORT_TOKENS = 500
_KEPT_CHARACTERS = 64 * 1024 * 1024  # of all results together; the oldest go first


class Results:
    """The whole texts of results that were cut, for this session only."""

    def __init__(self) -> None:
        self._texts: OrderedDict[str, str] = OrderedDict()
        self._size = 0
        self._count = 0
        self._lock = threading.Lock()

    def keep(self, text: str) -> str:
        """Keep a text; its number."""
        with self._lock:
            self._count += 1
            number = str(self._count)
            self._texts[number] = text
            self._size += len(text)
            while self._size > _KEPT_CHARACTERS and len(self._texts) > 1:
                self._size -= len(self._texts.popitem(last=False)[1])
            return number

    def read(self, number: str, offset: int = 0, most: int = 0) -> tuple[str, int] | None:
        """A piece of a kept text and the length of the whole, or None when it is gone."""
        text = self._texts.get(number)
        if text is None:
            return None
        start = max(0, offset)
        return (text[start : start + most] if most else text[start:]), len(text)


def cut(result: Json, tokens: int, results: Results) -> Json | None:
    """The result with its texts and structured content cut to `tokens`; None when it fits."""
    items = list_or_empty(result.get("content"))
    texts = [t for t in map(_text_of, items) if t is not None]
    structured = result.get("structuredContent")
    size = sum(map(len, texts))
    budget = tokens * CHARACTERS_A_TOKEN
    if structured is not None:
        whole = compact_json(structured)
        size = max(size, len(whole))  # most servers repeat it as text
        if len(whole) > budget and sum(map(len, texts)) < len(whole) // 2:
            texts = [*texts, whole]
    if size <= budget:
        return None
    number = results.keep("\n".join(texts))
    shown, left = [], budget
    for item in items:
        text = _text_of(item)
        if text is None:
            shown.append(item)
            continue
        if left > 0:
            shown.append(_with_text(item, text[:left]))
        left -= len(text)
    if left > 0 and not [t for t in map(_text_of, items) if t is not None]:
        shown.append({"type": "text", "text": texts[-1][:budget]})
    total = sum(map(len, texts))
    note = (
        f"Cut: the first {budget} of {total} characters. Kept as {SCHEME}{number}; the next part:"
        f' call_tool {{"name":"toolcrib/read_result","arguments":{{"result":"{number}",'
        f'"offset":{budget}}}}}'
    )
    shown.append({"type": "text", "text": note})
    rest = {k: v for k, v in result.items() if k not in ("content", "structuredContent")}
    return {**rest, "content": shown}


def _text_of(item: object) -> str | None:
    """The text of a content item or of the resource in it."""
    if not isinstance(item, dict):
        return None
    resource = item.get("resource")
    text = resource.get("text") if isinstance(resource, dict) else item.get("text")
    return text if isinstance(text, str) else None


def _with_text(item: Json, text: str) -> Json:
    resource = item.get("resource")
    if isinstance(resource, dict):
        return {**item, "resource": {**resource, "text": text}}
    return {**item, "text": text}


def error_result(body: Json) -> Json:
    """A refusal as the result of a call."""
    return text_result(compact_json(body), is_error=True)


def budget(detail: object, tokens: int) -> int:
    """The budget of a result: short, the profile's `tokens`, or none for full."""
    if detail == "short":
        return SHORT_TOKENS
    return 0 if detail == "full" else tokens

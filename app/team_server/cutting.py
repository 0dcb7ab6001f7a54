"""Results over the budget, cut without a memory: any replica may get the next call."""

import json

from app.gateway.menu.results import CHARACTERS_A_TOKEN
from store.typed import Json, list_or_empty


def cut(result: Json, tokens: int) -> Json:
    """The result with its texts cut to `tokens` (0: whole), and a sentence that says so."""
    room = tokens * CHARACTERS_A_TOKEN
    content = result.get("content")
    items = list_or_empty(content)
    structured = result.get("structuredContent")
    size = sum(len(_text(item)) for item in items)
    plain = json.dumps(structured, ensure_ascii=False) if structured is not None else ""
    total = max(size, len(plain))
    if not tokens or total <= room:
        return result
    if size < len(plain) // 2:
        items = [*items, {"type": "text", "text": plain}]
    shown, left = [], room
    for item in items:
        text = _text(item)
        if not text:
            shown.append(item)
        elif left > 0:
            shown.append({**item, "text": text[:left]})
            left -= len(text)
    note = f'Cut: the first {room} of {total} characters. For all of it call with "detail":"full".'
    rest = {k: v for k, v in result.items() if k not in ("content", "structuredContent")}
    return {**rest, "content": [*shown, {"type": "text", "text": note}]}


def _text(item: object) -> str:
    text = item.get("text") if isinstance(item, dict) else None
    return text if isinstance(text, str) else ""

"""Prompts in the hosts' records, each with the tools that were called after it.

The counts (app.evidence.reading) never look at a prompt. This reads them again, for labels, when
the user asks for it.
"""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

import apsw

from app.core.plain_read import open_plain
from app.evidence.formats import (
    OPENCODE,
    RecordedCall,
    RecordFormat,
    opencode_part,
    parse_line,
    parse_object,
)
from app.evidence.reading import opencode_file, record_files, whole_lines
from store.typed import list_or_empty

# what hosts put among the user's words; a command of the host and a break end what came before
_BREAKS = re.compile(r"\s*(?:<command-(?:name|message)>|\[Request interrupted)")
_INJECTED = re.compile(r"\s*<[A-Za-z][\w-]*>")


@dataclass(frozen=True, slots=True)
class PromptCalls:
    """A prompt of a record, and the calls up to the next one, as the host spells them."""

    host: str
    prompt: str
    at: float  # of the first call
    calls: tuple[RecordedCall, ...]


def read_prompts(
    home: Path,
    environ: Mapping[str, str],
    hosts: frozenset[str],
    *,
    cancel: Event | None,
    progress: Callable[[int, int], None],
) -> Iterator[PromptCalls]:
    """Prompts with calls in the records of these hosts, the newest record first; blocks.

    A record that cannot be read tells nothing.
    """
    files = [(form, path) for form, path in record_files(home, environ) if form.host in hosts]
    for done, (form, path) in enumerate(files):
        if cancel is not None and cancel.is_set():
            return
        progress(done, len(files))
        try:
            handle = open_plain(path)
        except OSError:
            continue
        with os.fdopen(handle, "rb") as file:
            lines = (line for _end, line in whole_lines(file) if line is not None)
            yield from _paired(form.host, _of_lines(form, lines))
    if OPENCODE in hosts:
        yield from _of_opencode(opencode_file(home, environ))


def _paired(host: str, parts: Iterator[str | RecordedCall]) -> Iterator[PromptCalls]:
    """Each prompt with the calls up to the next."""
    prompt, calls = "", dict[str, RecordedCall]()
    for part in parts:
        if isinstance(part, RecordedCall):
            calls.setdefault(part.call, part)
            continue
        if prompt and calls:
            yield _made(host, prompt, calls)
        prompt, calls = part, {}
    if prompt and calls:
        yield _made(host, prompt, calls)


def _made(host: str, prompt: str, calls: Mapping[str, RecordedCall]) -> PromptCalls:
    every = tuple(calls.values())
    return PromptCalls(host, prompt, every[0].at, every)


def _of_lines(form: RecordFormat, lines: Iterator[bytes]) -> Iterator[str | RecordedCall]:
    marks, words = _PROMPTS[form.host]
    for line in lines:
        if any(mark in line for mark in marks) and (value := parse_object(line)) is not None:
            yield from _prompt(words(value))
        for one in parse_line(form, line):
            if isinstance(one, RecordedCall):
                yield one


def _prompt(text: str) -> Iterator[str]:
    if _BREAKS.match(text):
        yield ""
    elif text.strip() and not _INJECTED.match(text):
        yield text.strip()


def _claude_code(line: Mapping[str, Any]) -> str:
    """Words of the user; a line of a subagent, and one that the host made, have none."""
    if line.get("type") != "user" or line.get("isMeta") or line.get("isSidechain"):
        return ""
    return _words(_inner(line, "message").get("content"))


def _codex(line: Mapping[str, Any]) -> str:
    payload = _inner(line, "payload")
    if line.get("type") != "event_msg":
        return ""
    if payload.get("type") == "user_message":  # of older versions
        return _words(payload.get("message"))
    item = _inner(payload, "item")
    if payload.get("type") == "item_completed" and item.get("type") == "UserMessage":
        return _words(item.get("content"))
    return ""


def _copilot_cli(line: Mapping[str, Any]) -> str:
    if line.get("type") != "user.message":
        return ""
    return _words(_inner(line, "data").get("content"))


def _gemini_cli(line: Mapping[str, Any]) -> str:
    return _words(line.get("content")) if line.get("type") == "user" else ""


def _qwen_code(line: Mapping[str, Any]) -> str:
    return _words(_inner(line, "message").get("parts")) if line.get("type") == "user" else ""


def _inner(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    inner = value.get(key)
    return inner if isinstance(inner, Mapping) else {}


def _words(content: object) -> str:
    """A text, or the texts among the parts of a message."""
    if isinstance(content, str):
        return content
    texts = (part.get("text") for part in list_or_empty(content) if isinstance(part, Mapping))
    return "\n".join(text for text in texts if isinstance(text, str))


_PROMPTS: Mapping[str, tuple[tuple[bytes, ...], Callable[[Mapping[str, Any]], str]]] = {
    "claude-code": ((b'"user"',), _claude_code),
    "codex": ((b"user_message", b"UserMessage"), _codex),
    "copilot-cli": ((b"user.message",), _copilot_cli),
    "gemini-cli": ((b'"user"',), _gemini_cli),
    "qwen-code": ((b'"user"',), _qwen_code),
}


def _of_opencode(path: Path) -> Iterator[PromptCalls]:
    if not path.is_file():
        return
    sessions: dict[str, list[str | RecordedCall]] = {}
    try:
        source = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        source.set_busy_timeout(1_000)
        try:
            for session, role, part, at, text in source.execute(_OPENCODE):
                parts = sessions.setdefault(str(session), [])
                if role == "user":
                    parts += _prompt(_opencode_words(str(text)))
                    continue
                records = opencode_part(str(part), float(at) / 1000, str(text))
                parts += [one for one in records if isinstance(one, RecordedCall)]
        finally:
            source.close()
    except (apsw.Error, ValueError):
        return
    for parts in sessions.values():
        yield from _paired(OPENCODE, iter(parts))


_OPENCODE = (
    "SELECT p.session_id, json_extract(m.data, '$.role'), p.id, p.time_updated, p.data"
    " FROM part p JOIN message m ON m.id = p.message_id WHERE length(p.data) < 32000000"
    ' AND (p.data LIKE \'{"type":"tool"%\' OR (p.data LIKE \'{"type":"text"%\''
    " AND json_extract(m.data, '$.role') = 'user')) ORDER BY p.time_created, p.id"
)


def _opencode_words(text: str) -> str:
    """The user's words; a command line's are in quotes."""
    try:
        value = json.loads(text)
    except ValueError:
        return ""
    if not isinstance(value, Mapping) or value.get("synthetic"):
        return ""
    return _words([value]).strip().strip('"')

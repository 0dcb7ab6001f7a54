"""Takes secret values out of what a server said, before anyone else sees it."""

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from app.discovery.checks import list_hash, tool_hash
from app.discovery.reading import Reading
from app.hosts.credentials import is_secret_name
from app.hosts.launch import LaunchSpec
from app.logs import HIDDEN, redact

_SHORTEST = 8  # in what the server offers; shorter values are words
_SHORTEST_WORD = 4
_INSTALL_KEY = b"none"  # only the values are wanted here, not the digest


def scrub(reading: Reading, launch: LaunchSpec, tokens: Iterable[str] = ()) -> Reading:
    """The reading without the values of environment, headers and arguments, and without tokens.

    Error texts lose every such value; what the server offers loses only credentials, since a
    server may well name its own folder.
    """
    _, secrets = launch.to_spec(_INSTALL_KEY)
    tokens = tuple(tokens)
    told = [*secrets.all_values(), *_bare_tokens(secrets.headers.values()), *tokens]
    credentials = [
        *(value for name, value in secrets.env.items() if is_secret_name(name)),
        *secrets.headers.values(),
        *_bare_tokens(secrets.headers.values()),
        *secrets.values,
        *tokens,
    ]
    reading = replace(
        reading, problem=_blot(reading.problem, told), stderr=_blot(reading.stderr, told)
    )
    long = sorted({v for v in credentials if len(v) >= _SHORTEST}, key=len, reverse=True)
    return _without(reading, long) if reading.read and long else reading


def _blot(text: str, values: Iterable[str]) -> str:
    """The text without the values; short ones only where they stand as a word of their own."""
    values = list(values)
    for word in values:
        if _SHORTEST_WORD <= len(word) < _SHORTEST:
            text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", HIDDEN, text)
    return redact(text, [value for value in values if len(value) >= _SHORTEST])


def _bare_tokens(headers: Iterable[str]) -> list[str]:
    return [value.split(" ", 1)[1] for value in headers if " " in value]


def _without(reading: Reading, values: list[str]) -> Reading:
    offered = [[t.raw for t in reading.tools], reading.instructions, reading.prompts]
    text = json.dumps([*offered, reading.resources, reading.templates], ensure_ascii=False)
    if not any(value in text for value in values):
        return reading
    raws = [_hide(tool.raw, values) for tool in reading.tools]
    tools = tuple(
        replace(tool, raw=raw, hash=tool_hash(raw))
        for tool, raw in zip(reading.tools, raws, strict=True)
    )
    return replace(
        reading,
        tools=tools,
        list_hash=list_hash(tools),
        instructions=_hide(reading.instructions, values),
        prompts=_hide(reading.prompts, values),
        resources=_hide(reading.resources, values),
        templates=_hide(reading.templates, values),
    )


def _hide(value: Any, values: list[str]) -> Any:
    if isinstance(value, str):
        for secret in values:
            value = value.replace(secret, HIDDEN)
        return value
    if isinstance(value, list | tuple):
        return type(value)(_hide(item, values) for item in value)
    if isinstance(value, dict):
        return {name: _hide(item, values) for name, item in value.items()}
    return value

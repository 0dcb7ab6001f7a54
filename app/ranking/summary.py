"""Summaries: what a tool is for in at most 60 tokens, made without a model."""

import math
import re

from app.ranking.text import split_name
from store.records import ToolRecord

MOST_TOKENS = 60
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|\n+")
_PIECE = re.compile(r"[A-Za-z]+|\d+|\s+|.", re.DOTALL)


def make_summary(tool: ToolRecord) -> str:
    """The split name and as much of the description as fits, at most 60 cl100k_base tokens."""
    return summarise(tool.name, tool.description)


def embedded_text(tool: ToolRecord, summary: str) -> str:
    """Text for the encoder: the server's name, which tells like tools apart, and the summary."""
    server = split_name(tool.server)
    return f"{server} {summary}" if server else summary


def summarise(name: str, description: str) -> str:
    """Name and shortened description: whole sentences first, then whole words."""
    head = split_name(name) or name.strip()
    text = " ".join(description.split())
    if not text:
        return _cut(head, MOST_TOKENS)
    head = _cut(head, MOST_TOKENS // 2)
    room = MOST_TOKENS - most_tokens(head + ": ")
    return f"{head}: {_sentences(text, room)}".rstrip(": ")


def most_tokens(text: str) -> int:
    """An upper bound of a text's cl100k_base tokens, close for English, without a tokenizer."""
    return sum(_piece_tokens(piece) for piece in _PIECE.findall(text))


def _piece_tokens(piece: str) -> int:
    if piece.isspace():
        # one blank belongs to the word behind it
        return 0 if piece == " " else 1
    if piece.isascii():
        return math.ceil(len(piece) / _letters_a_token(piece)) if piece.isalnum() else 1
    return len(piece.encode())


def _letters_a_token(piece: str) -> int:
    """Digits come in threes; words of everyday length are one to three tokens, others worse."""
    if piece.isdigit():
        return 3
    return 5 if len(piece) <= 14 else 2


def _sentences(text: str, room: int) -> str:
    taken = ""
    for sentence in _SENTENCE_END.split(text):
        longer = f"{taken} {sentence}".strip()
        if most_tokens(longer) > room:
            break
        taken = longer
    return taken or _cut(text, room)


def _cut(text: str, room: int) -> str:
    """The longest beginning in whole words, or in characters when the first word is too long."""
    taken = ""
    for word in text.split():
        longer = f"{taken} {word}".strip()
        if most_tokens(longer) > room:
            break
        taken = longer
    if taken:
        return taken
    while text and most_tokens(text) > room:
        text = text[: max(1, len(text) * 9 // 10) if len(text) > 1 else 0]
    return text

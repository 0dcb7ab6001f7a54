"""Likeness of a prompt to small talk, and to the words that only steer an agent."""

from typing import TYPE_CHECKING

from app.ranking.floor import own_chit_chat
from app.ranking.query.literals import read_literals
from app.ranking.query.reading import read_query

if TYPE_CHECKING:
    from app.ranking.dense import Encoding

KINDS = ("chit-chat", "steering")  # of resources/queries/chit_chat.jsonl; held-out ones judge


class SmallTalk:
    """The project's own small talk as vectors: encoded once, 0.3 s of CPU."""

    def __init__(self, encoder: "Encoding") -> None:
        import numpy as np

        texts = [text for kind in KINDS for text in own_chit_chat(kind)]
        rows = [encoder.encode_bytes(text, query=True) for text in texts]
        self._encoder = encoder
        self._rows = np.frombuffer(b"".join(rows), dtype=np.float32).reshape(len(rows), -1)

    def likeness(self, prompt: str) -> float:
        """The cosine of the nearest small talk."""
        import numpy as np

        reading = read_query(prompt, lambda _word: True)
        text = read_literals(reading.text)  # as the tools' cosines are made
        row = np.frombuffer(self._encoder.encode_bytes(text, query=True), dtype=np.float32)
        return float((self._rows @ row).max())

"""A host's search and its hook beside the Playground, by real processes, in seven languages."""

import pytest

from app.encoder.onnx import Encoder
from tests.bench.data.embeddings import CachedEncoder
from tests.bench.data.sets import QuerySet
from tests.bench.surfaces import FIRST, compared, report

QUERIES = [
    ("play a song by the Beatles", "short", "en"),
    ("lösche die Datei auf der Festplatte", "other", "de"),
    ("enviar un correo a mi jefe", "other", "es"),
    ("chercher un produit par prix", "other", "fr"),
    ("transferir dinheiro para uma conta", "other", "pt"),
    ("读取磁盘上的文件", "other", "zh"),
    ("近くのレストランを探して", "other", "ja"),
    (
        "why does this fail?\nTraceback (most recent call last):\n"
        '  File "/srv/app/main.py", line 12, in <module>\n    text = open(path).read()\n'
        "FileNotFoundError: [Errno 2] No such file or directory: 'notes.txt'",
        "trace",
        "en",
    ),
    (
        "HTTP/1.1 500 Internal Server Error\n2026-01-02 10:11:12 ERROR mail: message was not sent\n"
        "2026-01-02 10:11:13 ERROR files: notes.txt cannot be read\nsend the email again",
        "trace",
        "en",
    ),
    ("find shoes by price, then order them and mail Bob about it", "steps", "en"),
]


def test_a_host_gets_the_playground_s_first_tools(
    encoder: Encoder, small_set: QuerySet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLCRIB_HOOK_SECONDS", "20")  # a machine under load
    cached = CachedEncoder(encoder, None)
    rows = compared(small_set, cached, QUERIES)
    cached.close()
    assert [row.query for row in rows] == [query for query, _, _ in QUERIES]
    for row in rows:
        assert row.gateway[:FIRST] == row.window[:FIRST], row.query
        assert row.hook == row.window[: len(row.hook)], row.query
        assert row.answer_agrees, row.query
    assert sum(len(row.gateway) >= FIRST for row in rows) > len(rows) // 2
    assert all(row.hook for row in rows)
    every = report({1: rows}).as_json()["tables"][0]["rows"]
    assert {row["kind"]: row["hook %"] for row in every}["all"] == 100

"""`bench hook` over a real backend: every case, few runs."""

import pytest

from app.encoder.onnx import Encoder
from tests.bench.hooks import cost


def test_every_case_is_measured(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLCRIB_HOOK_SECONDS", "20")  # a machine under load
    made = cost.run(encoder, runs=2, cold_runs=1)
    rows = {row["case"]: row for row in made.as_json()["tables"][0]["rows"]}
    assert list(rows) == [
        "the interpreter alone", "warm backend", "warm backend, small talk",
        "warm backend, started as a program", "cold backend", "no backend",
    ]  # fmt: skip
    for row in rows.values():
        assert 0 < row["CPU ms p50"] <= row["CPU ms p95"]
        assert 0 < row["wall ms p50"] <= row["wall ms p95"]
    for silent in ("warm backend, small talk", "cold backend", "no backend"):
        assert rows[silent]["speaks %"] == 0

"""`bench languages`: a real backend, each figure once; bounds are the bench's, not the test's."""

import sys

import pytest

from app.encoder.onnx import Encoder
from tests.bench import languages


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_every_figure_is_measured(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLCRIB_HOOK_SECONDS", "20")  # a machine under load
    figures = {one.name: one for one in languages.run(encoder)}
    assert list(figures) == [
        "first query in another language", "first of each further language",
        "later queries in other languages", "dearest later one", "English after the others",
        "what the languages take",
    ]  # fmt: skip
    note = figures["first of each further language"].note
    assert "de, es, fr, pt, zh, ja, it, ru, ko, nl, pl, tr" in note
    assert figures["later queries in other languages"].value > 0

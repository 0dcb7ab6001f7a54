"""The host's own search as an anchor of the benches."""

import pytest

from app.encoder.onnx import Encoder
from tests.bench import suggest
from tests.bench.data.metrics import Gold
from tests.bench.data.sets import Labelled, QuerySet, SetTool
from tests.bench.host_search import AS_TYPED, BY_KEYWORDS, HostSearch


@pytest.fixture
def given():
    texts = {"send_mail": "Send a letter to somebody.", "list_files": "List a folder's files."}
    tools = tuple(SetTool("s", n, {"name": n, "description": d}) for n, d in texts.items())
    queries = (
        Labelled("could you send a letter to my aunt", Gold(("s/send_mail",))),
        Labelled("which files are in the folder", Gold(("s/list_files",))),
        Labelled("what is on my disk", Gold(("s/list_files",))),
    )
    return QuerySet("tiny", tools, {}, queries)


def test_it_is_asked_with_the_query_and_with_its_rarest_words(given):
    host = HostSearch(given)
    assert host.answer(given.queries[0].query, BY_KEYWORDS) == ["s/send_mail"]
    assert host.answer("what is on my disk", AS_TYPED) == ["s/list_files"]  # "is" is in "list"
    assert host.answer("what is on my disk", BY_KEYWORDS) == []
    judged = host.judge(given.queries, BY_KEYWORDS)
    assert [one.hit1 for one in judged] == [1, 1, 0]
    assert [one.active for one in judged] == [1, 1, 0]


def test_what_hooks_suggest_stands_beside_what_the_host_finds(given, encoder: Encoder, monkeypatch):
    monkeypatch.setattr(suggest, "judges", lambda _text: True)
    table = suggest.run([given], encoder).tables[0].as_json()
    assert table["rows"][0]["the host's own search, right of all %"] == pytest.approx(200 / 3)

"""The retrieval benchmark: metrics by hand, and a small set from disk to report."""

import json
import math
from pathlib import Path

import pytest

from app.core.errors import ToolcribError
from app.ranking.learning import learn
from tests.bench import judging, own_log, retrieval
from tests.bench.data.embeddings import CachedEncoder
from tests.bench.data.metrics import FIELDS, Gold, average, judge, mean
from tests.bench.data.sets import read_set, read_sets


class WordEncoder:
    """A stand-in with the attributes of app.encoder.onnx.Encoder; directions by word."""

    key, dims = "words@1", 48

    class files:  # noqa: N801
        name = "words"
        query_prompt = document_prompt = ""

    def encode(self, texts, *, query=False):
        import numpy as np

        from app.ranking.text import content_words

        rows = []
        for text in texts:
            row = np.full(self.dims, 1e-3, dtype=np.float32)
            for word in content_words(text):
                seed = int.from_bytes(word.encode()[:8].ljust(8, b"."), "big")
                row += np.random.default_rng(seed).standard_normal(self.dims).astype(np.float32)
            rows.append(row / np.linalg.norm(row))
        return np.array(rows)

    def encode_bytes(self, text, *, query=False):
        return self.encode([text])[0].tobytes()

    def encode_query(self, text):
        return self.encode_bytes(text), self.encode_bytes(f"{text} within")

    def has_word(self, word):
        return False


def test_the_figures_of_one_query():
    gold = Gold(("s/a", "s/b"))
    got = judge(["s/x", "s/a", "s/y", "s/z", "s/w", "s/b"], ["s/x", "s/a"], gold)
    assert (got.hit1, got.r5, got.r10, got.mrr, got.recall) == (0, 0.5, 1, 0.5, 0.5)
    best = 1 + 1 / math.log2(3)
    assert got.ndcg10 == pytest.approx((1 / math.log2(3) + 1 / math.log2(7)) / best)
    assert (got.active, got.empty) == (2, 0)


def test_an_equivalent_counts_once():
    gold = Gold(("s/a",), {"t/a": "s/a"})
    got = judge(["t/a", "s/a", "s/x"], [], gold)
    assert (got.hit1, got.r5, got.ndcg10, got.empty) == (1, 1, 1, 1)
    both = Gold(("s/a", "s/b"), {"t/a": "s/a"})
    # the second hit of the group is ignored, so s/b stands on the second place
    assert judge(["t/a", "s/a", "s/b"], [], both).ndcg10 == pytest.approx(1)


def test_grades_weigh_the_gain():
    gold = Gold(("s/a", "s/b"), grades={"s/a": 2, "s/b": 1})
    assert judge(["s/a", "s/b"], [], gold).ndcg10 == pytest.approx(1)
    worse = judge(["s/b", "s/a"], [], gold).ndcg10
    assert worse == pytest.approx((1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3)))


def test_means_are_in_per_cent():
    row = judge(["s/a"], ["s/a"], Gold(("s/a",)), cpu_ms=3)
    table = mean([row])
    assert tuple(table) == FIELDS
    assert (table["hit1"], table["active"], table["cpu_ms"]) == (100, 1, 3)
    assert average([table, table]) == table


TOOLS = {
    "create_issue": "Create a new issue in a repository.",
    "merge_pull_request": "Merge a pull request.",
    "read_file": "Read the contents of a file.",
    "write_file": "Write a file to disk.",
    "post_message": "Post a message to a channel.",
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "tiny"
    folder.mkdir(parents=True)
    tools = [{"server": "s", "name": n, "description": d} for n, d in TOOLS.items()]
    queries = [
        {"id": f"{n}{i}", "query": f"{d} {word}", "gold": [f"s/{n}"], "kind": "single"}
        for i, word in enumerate(["now", "today", "quickly", "again", "tomorrow", "first"] * 2)
        for n, d in TOOLS.items()
    ]
    for name, rows in (("catalogue", tools), ("queries", queries)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    return folder.parent


def test_a_report_has_every_method_for_each_set_and_over_all(data: Path, tmp_path: Path):
    report = retrieval.run(data, WordEncoder(), retrieval.Options(limit=7, cache=tmp_path / "c"))
    assert set(report["sets"]) == {"tiny"}
    assert report["sets"]["tiny"]["queries"] == 7
    for table in (report["macro"], report["sets"]["tiny"]):
        for way in ("paper", "tool_search", "tool_search_keywords", "ours"):
            assert set(FIELDS) <= set(table[way])
    assert report["macro"]["ours"]["ndcg10"] > 90
    assert report["macro"]["tool_search"]["active"] <= 5
    json.dumps(report)


def test_learning_is_judged_on_queries_that_are_not_the_log(data: Path):
    report = retrieval.run(data, WordEncoder(), retrieval.Options(own_log=24))
    assert report["own_log"] == 24
    assert report["sets"]["tiny"]["queries"] == 60 - 24
    assert set(report["macro"]) >= {"paper", "ours", "learned", "gain", "never_gain"}
    assert len(report["logs"]) == 1


def test_further_logs_are_other_queries_and_the_first_stays(data: Path, monkeypatch):
    learned, train = [], learn.train

    def noted(db, router, labels):
        learned.append(frozenset(label.query for label in labels))
        return train(db, router, labels)

    monkeypatch.setattr(learn, "train", noted)
    one = retrieval.run(data, WordEncoder(), retrieval.Options(own_log=24))
    three = retrieval.run(data, WordEncoder(), retrieval.Options(own_log=24, logs=3))
    assert three["logs"][0] == one["logs"][0] == {k: one["macro"][k] for k in one["logs"][0]}
    assert len(three["logs"]) == 3
    assert learned[0] == learned[1] and len(set(learned)) == 3


def test_sets_with_too_few_queries_are_named(data: Path):
    cached = CachedEncoder(WordEncoder(), None)
    report = own_log.run(
        read_sets(data), cached, count=31, limit=0, encoder_ms=0, progress=lambda _line: None
    )
    assert report["left_out"] == ["tiny"]
    assert not report["sets"]


def test_embeddings_are_made_once(tmp_path: Path):
    encoder = WordEncoder()
    first = CachedEncoder(encoder, tmp_path)
    rows = first.encode(["a cat", "a dog"])
    asked = first.encode_query("a bird")
    first.close()
    encoder.encode = encoder.encode_query = lambda *_a, **_k: pytest.fail("encoded again")
    second = CachedEncoder(encoder, tmp_path)
    assert (second.encode(["a cat", "a dog"]) == rows).all()
    assert second.encode_bytes("a dog") == rows[1].tobytes()
    assert second.encode_query("a bird") == asked
    assert second.encode_bytes("a bird", query=True) == asked[0]
    second.close()


def test_a_sample_is_always_the_same(data: Path):
    queries = read_set(data / "tiny").queries
    assert judging.sample(queries, 5) == judging.sample(queries, 5)
    assert judging.sample(queries, 0) == list(queries)


def test_a_folder_without_sets_is_refused(tmp_path: Path):
    with pytest.raises(ToolcribError, match="no query sets"):
        read_sets(tmp_path)


def test_a_broken_line_is_named(data: Path):
    (data / "tiny" / "queries.jsonl").write_text("{", encoding="utf-8")
    with pytest.raises(ToolcribError, match=r"queries\.jsonl"):
        read_sets(data)

"""Learning from labelled queries, with words that the tools do not use."""

import pytest

from app.ranking.learning import learn
from app.ranking.learning.past_use import PastUse
from app.ranking.learning.stored import BLOB
from store import queries
from store.records import EventRecord, LabelRecord

SLANG = {
    "slack/post_message": "ping the crew",
    "github/merge_pull_request": "land the branch",
    "files/read_file": "peek at the doc",
    "time/get_current_time": "clock please",
}
EXTRAS = ["quickly", "today", "again", "for anna", "right away", "tomorrow"]


def logged(count):
    pairs = [(f"{said} {extra}", tool) for extra in EXTRAS for tool, said in SLANG.items()]
    return [LabelRecord(0, query, (tool,), "typed") for query, tool in pairs[:count]]


def rank_of(ranked, tool_id):
    return next(tool.rank for tool in ranked.tools if tool.tool_id == tool_id)


def test_what_was_logged_is_found_better_and_says_why(make_router):
    router, db, catalog = make_router()
    assert rank_of(router.route("ping the crew soon"), "slack/post_message") > 1
    report = learn.train(db, router, logged(24))
    assert report.used
    assert report.after > report.before
    after = type(router).from_store(db, catalog, None, router.encoder).route("ping the crew soon")
    assert after.tools[0].tool_id == "slack/post_message"
    assert dict(after.tools[0].parts)["Past use"] != 0
    assert sum(v for _n, v in after.tools[0].parts) == pytest.approx(after.tools[0].score)


def test_the_limited_form_learns_alike(make_router):
    router, db, catalog = make_router()
    learn.train(db, router, logged(24))
    fresh = type(router).from_store(db, catalog, None, router.encoder)
    whole, limited = fresh.route("ping the crew soon"), fresh.route("ping the crew soon", limit=3)
    assert [t.tool_id for t in limited.tools] == [t.tool_id for t in whole.tools[:3]]
    assert [t.score for t in limited.tools] == pytest.approx(
        [t.score for t in whole.tools[:3]], abs=1e-5
    )


def test_too_few_labels_teach_nothing(make_router):
    router, db, _catalog = make_router()
    report = learn.train(db, router, logged(learn.LEAST - 1))
    assert not report.used
    assert report.reason == "Too few labelled queries to learn from: 19 of 20."
    assert queries.blob(db, BLOB) is None


def test_lessons_that_do_harm_are_dropped(make_router, monkeypatch):
    router, db, _catalog = make_router()
    learn.train(db, router, logged(24))
    monkeypatch.setattr(learn, "DOUBT", -1000.0)  # now nothing is good enough
    report = learn.train(db, router, logged(24))
    assert not report.used
    assert report.reason == "It ranks held-back queries worse, so it is not used."
    assert learn.load(db, router.encoder.key) is None


def test_without_an_encoder_nothing_is_learned(make_router):
    router, db, _catalog = make_router(encoder=False)
    assert not learn.train(db, router, logged(24)).used


def test_learning_can_be_reset_and_left_out(make_router):
    router, db, catalog = make_router()
    cold = router.route("ping the crew soon")
    learn.train(db, router, logged(24))
    fresh = type(router).from_store(db, catalog, None, router.encoder)
    left_out = fresh.judge(fresh.score("ping the crew soon", learned=False))
    assert [t.score for t in left_out.tools] == [t.score for t in cold.tools]
    learn.reset(db)
    assert learn.load(db, router.encoder.key) is None
    assert learn.lesson(db) is None


def test_another_model_gets_nothing(make_router):
    router, db, _catalog = make_router()
    learn.train(db, router, logged(24))
    assert learn.load(db, "another@1") is None


def test_what_was_learned_survives_storing(make_router):
    router, db, _catalog = make_router()
    learn.train(db, router, logged(24))
    data = queries.blob(db, BLOB)[1]
    again = PastUse.from_bytes(data)
    assert again.to_bytes() == data
    assert again.log.meanings.shape[1] == again.log.wordings.shape[1] == router.encoder.dims


def test_one_tool_needs_no_learning(make_router):
    router, db, _catalog = make_router(listed=[("slack", "post_message", "Post a message.")])
    labels = [LabelRecord(0, f"ping {n}", ("slack/post_message",), "typed") for n in range(30)]
    report = learn.train(db, router, labels)
    assert (report.used, report.reason) == (False, "One tool needs no ranking.")


@pytest.mark.parametrize("damage", ["old", "older", "cut", "empty", "text"])
def test_what_cannot_be_read_counts_as_nothing_learned(make_router, damage):
    import io

    import numpy as np

    router, db, catalog = make_router()
    learn.train(db, router, logged(24))
    mark, data = queries.blob(db, BLOB)
    older, old = io.BytesIO(), io.BytesIO()
    np.savez(older, down=np.zeros(3), up=np.zeros(3))
    with np.load(io.BytesIO(data)) as found:
        np.savez(old, **{**found, "format": np.int64(2)})
    damaged = {
        "older": older.getvalue(),
        "old": old.getvalue(),
        "cut": data[: len(data) // 2],
        "empty": b"",
        "text": b"not a zip at all",
    }[damage]
    queries.save_blob(db, BLOB, fingerprint=mark, data=damaged, at=0.0)
    assert learn.load(db, router.encoder.key) is None
    fresh = type(router).from_store(db, catalog, None, router.encoder)
    assert "Past use" not in dict(fresh.route("ping the crew soon").tools[0].parts)


def test_what_was_learned_is_stale_after_the_tools_changed(make_router):
    router, db, _catalog = make_router()
    learn.train(db, router, logged(24))
    assert learn.lesson(db) == learn.LearnedModel(24, stale=False)
    db.execute("DELETE FROM vectors WHERE tool_id = (SELECT MIN(tool_id) FROM vectors)")
    assert learn.lesson(db) == learn.LearnedModel(24, stale=True)
    assert learn.load(db, router.encoder.key) is not None


def test_what_another_version_learned_is_told_apart_and_not_used(make_router):
    router, db, _catalog = make_router()
    learn.train(db, router, logged(24))
    mark, data = queries.blob(db, BLOB)
    earlier = mark.rpartition(".")[0]  # as versions before this one marked it
    queries.save_blob(db, BLOB, fingerprint=earlier, data=data, at=0.0)
    assert learn.lesson(db) == learn.LearnedModel(24, stale=False, used=False)
    learn.train(db, router, logged(24))
    assert learn.lesson(db) == learn.LearnedModel(24, stale=False)


def test_labels_come_from_a_search_and_the_call_after_it():
    def event(at, kind, session="s", **more):
        return EventRecord(at, kind, session=session, **more)

    told = learn.labels_from_activity(
        [
            event(1, "search", query="open a bug"),
            event(2, "call", tool="github/create_issue"),
            event(3, "call", tool="files/read_file"),
            event(4, "search", session="t", query="what time"),
            event(5, "call", session="t", tool="time/now", problem="failed"),
        ]
    )
    assert [(label.query, label.expected) for label in told] == [
        ("open a bug", ("github/create_issue",))
    ]

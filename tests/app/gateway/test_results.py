"""Long results are cut for the model and kept whole."""

from app.gateway.menu.results import SCHEME, Results, cut


def texts(*values):
    return {"content": [{"type": "text", "text": value} for value in values]}


def test_what_fits_is_left_alone():
    assert cut(texts("short"), 100, Results()) is None
    assert cut({"content": []}, 1, Results()) is None
    assert cut({}, 1, Results()) is None


def test_the_budget_is_shared_by_all_texts_and_other_content_stays():
    results = Results()
    image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    given = texts("a" * 300, "b" * 300, "c" * 300)
    given["content"].insert(1, image)
    given["_meta"] = {"k": 1}
    found = cut(given, 100, results)
    assert found["_meta"] == {"k": 1}
    kinds = [(c["type"], len(c.get("text", ""))) for c in found["content"][:-1]]
    assert kinds == [("text", 300), ("image", 0), ("text", 100)]
    assert f"{SCHEME}1" in found["content"][-1]["text"]
    assert results.read("1")[0] == "\n".join(["a" * 300, "b" * 300, "c" * 300])


def test_texts_inside_embedded_resources_are_cut_too():
    resource = {"type": "resource", "resource": {"uri": "x://y", "text": "z" * 1000}}
    found = cut({"content": [resource]}, 100, Results())
    assert found["content"][0]["resource"] == {"uri": "x://y", "text": "z" * 400}


def test_structured_content_over_the_budget_is_kept_and_shown_in_part():
    results = Results()
    found = cut({"content": [], "structuredContent": {"rows": ["r" * 50] * 100}}, 100, results)
    assert "structuredContent" not in found
    assert found["content"][0]["text"].startswith('{"rows":["rrr')
    assert results.read("1")[0].endswith("]}")


def test_kept_results_are_read_in_parts_and_are_bounded(monkeypatch):
    monkeypatch.setattr("app.gateway.menu.results._KEPT_CHARACTERS", 1000)
    results = Results()
    numbers = [results.keep("x" * 400) for _ in range(4)]
    assert [results.read(n) is not None for n in numbers] == [False, False, True, True]
    assert results.read(numbers[3], 390, 100) == ("x" * 10, 400)
    big = results.keep("y" * 5000)
    assert results.read(big)[1] == 5000  # the newest is kept whatever its size

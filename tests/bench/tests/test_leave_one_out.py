"""Constants of the fusion, chosen on the sets that do not judge them."""

import json
import shutil

import pytest

from app.ranking.fuse import LONGQ, Lengths
from app.ranking.query.steps import orders
from tests.bench import leave_one_out, retrieval


@pytest.fixture
def two_sets(set_folder, tmp_path):
    for name in ("one", "two"):
        shutil.copytree(set_folder, tmp_path / name)
    return tmp_path


def test_each_set_is_judged_with_what_the_others_choose(two_sets, encoder):
    report = retrieval.run(two_sets, encoder, retrieval.Options(leave_one_out=True))
    assert set(report["sets"]) == {"one", "two"}
    # the sets are alike, so what the other one chooses cannot be worse
    for block in (*report["sets"].values(), report["macro"]):
        assert block["left_out"]["ndcg10"] >= block["shipped"]["ndcg10"] > 50
    assert Lengths(**report["sets"]["one"]["chosen"]) in leave_one_out.GRID
    json.dumps(report)


def test_the_shipped_constants_are_judged_as_the_router_is(set_folder, encoder, tmp_path):
    """But for requests of several orders, which the router answers in their order."""
    folder = tmp_path / "api-bank"
    shutil.copytree(set_folder, folder)
    lines = (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    single = [line for line in lines if not orders(json.loads(line)["query"])]
    assert len(single) == len(lines) - 1
    (folder / "queries.jsonl").write_text("\n".join(single) + "\n", encoding="utf-8")
    left = retrieval.run(folder, encoder, retrieval.Options(leave_one_out=True))
    cold = retrieval.run(folder, encoder)
    for name, value in left["macro"]["shipped"].items():
        assert value == pytest.approx(cold["macro"]["ours"][name])


def test_the_shipped_constants_are_in_the_grid():
    assert LONGQ in leave_one_out.GRID

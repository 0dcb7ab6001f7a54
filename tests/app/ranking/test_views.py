"""What a tool is embedded as."""

from dataclasses import replace

import numpy as np
import pytest

from app.core.settings import Settings
from app.ranking.views import View, mixed, views_hash, views_of
from store import tools
from store.records import Summary

LISTED = [("github", "create_issue", "Open a new issue. It may have a body."), ("a", "b", "")]


@pytest.fixture
def listed(make_router):
    _router, db, _catalog = make_router(LISTED)
    return {tool.tool_id: tool for tool in tools.tools(db)}


def of(tool, text="create issue: Open a new issue.", source="made", **weights):
    return views_of(tool, Summary(tool.id, text, source, tool.hash), **weights)


def test_a_tools_texts_come_with_their_weights_and_empty_ones_are_left_out(listed):
    views = of(listed["github/create_issue"])
    assert views == (
        View("github create issue: Open a new issue.", 1.0),
        View("create issue", 0.2),
        View("Open a new issue. It may have a body.", 0.2),
        View("github", 0.1),
    )
    assert [v.text for v in of(listed["a/b"], "b")] == ["a b", "b", "a"]


def test_a_summary_that_somebody_wrote_stands_for_the_description(listed):
    views = of(listed["github/create_issue"], "report a bug", source="user")
    assert [v.text for v in views] == ["github report a bug", "create issue", "github"]


def test_the_weights_are_settings_and_none_means_the_summary_alone(listed):
    tool = listed["github/create_issue"]
    alone = replace(
        Settings(), name_view=0.0, description_view=0.0, parameters_view=0.0, server_view=0.0
    )
    assert of(tool, weights=alone.views) == (View("github create issue: Open a new issue."),)
    assert views_hash(of(tool)) != views_hash(of(tool, weights=alone.views))


def test_the_vector_is_the_weighted_sum_and_of_unit_length():
    texts = {"x": [1.0, 0.0], "y": [0.0, 1.0]}
    asked = []

    def encode(wanted):
        asked.extend(wanted)
        return np.array([texts[text] for text in wanted], dtype=np.float32)

    both, one = mixed(encode, [(View("x"), View("y", 0.5)), (View("y"),)])
    assert np.frombuffer(both, "<f4") == pytest.approx(np.array([2, 1]) / np.sqrt(5))
    assert np.frombuffer(one, "<f4").tolist() == [0.0, 1.0]
    assert asked == ["x", "y"], "shared texts are encoded once"
    assert mixed(encode, []) == []

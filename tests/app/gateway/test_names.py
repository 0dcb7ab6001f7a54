"""Names that every host accepts, the same whatever order the tools come in."""

import re

from hypothesis import given
from hypothesis import strategies as st

from app.gateway.serving.names import LIMIT, visible, visible_names

pairs = st.lists(st.tuples(st.text(max_size=40), st.text(max_size=60)), unique=True, max_size=20)


@given(tools=pairs)
def test_names_fit_are_unique_and_do_not_depend_on_order(tools):
    found = visible_names(tools)
    assert sorted(found.values()) == sorted(tools)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,48}", name) for name in found)
    assert visible_names(tools[::-1]) == found


def test_ordinary_names_are_plain():
    assert visible("github", "create_issue") == "github__create_issue"
    assert visible("my server", "a.b/c") == "my_server__a_b_c"


def test_long_names_are_cut_with_a_hash():
    name = visible("server", "x" * 100)
    assert len(name) == LIMIT and re.search(r"_[0-9a-f]{6}$", name)


def test_two_that_would_share_a_name_both_get_a_hash():
    found = visible_names([("a b", "t"), ("a_b", "t")])
    assert len(found) == 2 and all(re.fullmatch(r"a_b__t_[0-9a-f]{6}", n) for n in found)


def test_a_name_of_our_own_is_never_given_away():
    assert "search__tools" not in visible_names([("search", "tools")], taken=["search__tools"])

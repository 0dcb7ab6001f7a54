"""Two texts of a tool: the same in another order, or another text."""

import pytest

from store.definitions import same_definition
from tests.fakes.cpu_time import CpuTime


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("summary,status,assignee", "assignee,summary,status"),
        ("Fields (default: 'a_b,c.d').", "Fields (default: 'c.d,a_b')."),
        ("One of {'a', 'b_c', 'd'}.", "One of {'d', 'a', 'b_c'}."),
        ('["a", "b"]', '["b", "a"]'),
        (["read", "write"], ["write", "read"]),
        ({"required": ["a", "b"], "x": {"enum": [1, "1", None]}}, {}),
        ("*all,comment", "comment,*all"),
    ],
)
def test_what_a_set_gave_has_no_order(one, other):
    if other == {}:
        other = {"x": {"enum": [None, "1", 1]}, "required": ["b", "a"]}
    assert same_definition(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("allow:a,deny:b", "allow:b,deny:a"),
        ("to=alice,bcc=eve", "to=eve,bcc=alice"),
        ("https://good/x,evil", "https://evil/x,good"),
        ("Send\u00a0names,\u00a0not\u00a0keys", "Send\u00a0keys,\u00a0not\u00a0names"),
        ("Read\tit,\tdelete\tnothing", "delete\tit,\tRead\tnothing"),
        ("Read\nit,\nnot\nkeys", "Read\nnot,\nit\nkeys"),
        ("read, never delete", "delete, never read"),
        ("a,b then c,d", "c,d then a,b"),
        ("'a', \"b\"", "\"b\", 'a'"),
        ("'not a', 'b'", "'b', 'not a'"),
        ("a,b", "a,b,b"),
        ("a,b", "ab,"),
        ("(a),b", "(b),a"),
        ([["rm", "a"], ["ls", "b"]], [["ls", "b"], ["rm", "a"]]),
        ({"a,b": 1}, {"b,a": 1}),
    ],
)
def test_what_has_an_order_is_another_text(one, other):
    assert not same_definition(one, other)


def test_a_hostile_megabyte_is_compared_at_once():
    with CpuTime() as cpu:
        for text in (
            "a," * 500_000,
            "a" * 1_000_000 + ",!",
            "a.-" * 300_000 + ",b!c",
            "," * 1_000_000,
            "'a'," * 250_000,
        ):
            assert not same_definition(text, text[::-1] + "x")
    assert cpu.seconds < 10

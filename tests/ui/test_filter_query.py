"""The filter line's grammar."""

import pytest

from ui.widgets.filter_query import Facts, FilterError, parse

ROW = Facts(
    server="github",
    tool="create_pull_request",
    text="create_pull_request github opens a new pull request",
    hosts="claude desktop, cursor",
    tokens=1412,
    states=frozenset({"on", "destructive"}),
    calls=6,
    unused=2.5,
)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "pull",
        "PULL",
        '"pull request"',
        "server:github,slack tokens:>1k",
        "server:git tokens:1000..1500 is:on",
        "tokens:>=1412 tokens:<=1.412k tokens:1412",
        "host:cursor -is:off -term",
        "is:off,on",
        "tool:create text:opens",
        'server:"github"',
        "-tokens:<500",
        "calls:>5 used:<7d -used:never",
    ],
)
def test_it_lets_through(line: str):
    assert parse(line).accepts(ROW)


@pytest.mark.parametrize(
    "line",
    ["issue", '"request pull"', "server:slack", "tokens:>2k", "tokens:<1k", "is:off", "-pull",
     "-server:github", "host:windsurf", "tool:merge", "pull issue", "tokens:1..5",
     "calls:0", "used:never", "used:>30d"],
)  # fmt: skip
def test_it_keeps_out(line: str):
    assert not parse(line).accepts(ROW)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("tokens:big", "tokens: needs a number such as 500, >1k or 200..800, got 'big'."),
        ("tokens:>1..5", "got '>1..5'"),
        ("calls:often", "calls: needs a number"),
        ("used:often", "used: needs never, <7d or >30d, got 'often'."),
        ("is:blue", "is: knows on, off, held"),
        ("colour:red", "There is no key colour: known are server, host"),
    ],
)
def test_what_it_cannot_understand_has_a_sentence(line: str, said: str):
    with pytest.raises(FilterError, match=r".") as caught:
        parse(line)
    assert said in caught.value.title


def test_an_open_quote_is_read_to_the_end():
    assert parse('"pull req').accepts(ROW)


def test_a_tool_without_calls_was_never_used():
    silent = Facts("github", "merge", "merge", "", 10)
    assert parse("used:never calls:0").accepts(silent) and parse("used:>30d").accepts(silent)

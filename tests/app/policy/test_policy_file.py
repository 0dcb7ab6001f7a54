"""A policy is described by one schema; an error names file, line and key."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.errors import ToolcribError
from app.policy.policy_file import Policy, find_policy, key_line, parse_policy, read_policy, schema

WHOLE = """\
version = 1
servers = ["github", "files"]

[budget]
strategy = "dynamic"
max_tools = 20
max_schema_tokens = 5000  # measured in November
warn_percent = 70
block_percent = 90
on_block = "refuse"

[budget.evidence]
accuracy = 0.92
date = 2026-11-20
tools = 120
method = "40 labelled queries"

[tools]
only = ["github/*", "files/read_*"]
off = ["github/delete_*"]
always_include = ["github/search"]
confirm = ["github/merge_*"]

[conditions]
"github/merge_*" = ["after(github/search)"]

[scopes]
"files/*" = ["role:dev"]

[routing]
cut = "theta"
theta = 0.3
"""


def error_of(text: str) -> ToolcribError:
    with pytest.raises(ToolcribError) as caught:
        parse_policy(text.encode(), "repo/.toolcrib.toml")
    return caught.value


def test_every_key_of_the_schema_is_read() -> None:
    policy = parse_policy(WHOLE.encode(), "x")
    assert policy.budget == {
        "strategy": "dynamic",
        "max_tools": 20,
        "limit": 5000,
        "warn_percent": 70,
        "block_percent": 90,
        "on_block": "refuse",
    }
    assert policy.evidence is not None
    assert policy.evidence.text == (
        "The policy names 92 % accuracy over 120 tools on 2026-11-20 (40 labelled queries)."
    )
    assert (policy.servers, policy.only) == (("github", "files"), ("github/*", "files/read_*"))
    assert (policy.off, policy.confirm) == (("github/delete_*",), ("github/merge_*",))
    assert policy.always_include == ("github/search",)
    assert policy.conditions == {"github/merge_*": ["after(github/search)"]}
    assert policy.scopes == {"files/*": ["role:dev"]}
    assert policy.routing == {"cut": "theta", "theta": 0.3}


def test_a_tool_stays_on_only_if_every_list_allows_it() -> None:
    policy = parse_policy(WHOLE.encode(), "x")
    assert policy.allows("github/search") and policy.allows("files/read_file")
    assert not policy.allows("github/delete_repository")
    assert not policy.allows("files/write_file")
    assert not policy.allows("slack/post")


@pytest.mark.parametrize(
    ("text", "title", "hint"),
    [
        ("version = 1\n[budget]\nmax_tool = 3\n", "line 3: budget.max_tool is not a key", "max_to"),
        ("version = 1\nbudgets = 1\n", "line 2: budgets is not a key of a policy", "budget"),
        ("version = 2\n", "line 1: version cannot be this", "Version of this format: 1."),
        ("[budget]\nmax_tools = 3\n", "version is missing", "version = 1"),
        ('version = 1\n[tools]\noff = ["a", 3]\n', "line 3: tools.off cannot be", "switched off"),
        ("version = 1\n[budget]\nmax_tools = -1\n", "line 3: budget.max_tools cannot", "Tools at"),
        ('version = 1\n[budget]\non_block = "no"\n', "line 3: budget.on_block cannot", "refuse"),
        (
            'version = 1\n[conditions]\n"gh/*" = ["soon"]\n',
            "line 3: conditions.gh/* cannot be used",
            "schema",
        ),
        ("version = 1\na = [\n", "Invalid value", "toml.io"),
        ("version = 1\nversion = 1\n", "Cannot overwrite", "toml.io"),
        (
            "version = 1\n[budget.evidence]\naccuracy = 1.5\ndate = 2026-01-01\n",
            "line 3: budget.evidence.accuracy cannot",
            "0 to 1",
        ),
    ],
)
def test_an_error_names_file_line_and_key(text: str, title: str, hint: str) -> None:
    error = error_of(text)
    assert error.title.startswith("repo/.toolcrib.toml") and title in error.title
    assert hint in error.hint


def test_bytes_that_are_no_text_are_refused_with_their_line() -> None:
    with pytest.raises(ToolcribError, match="line 2: not UTF-8"):
        parse_policy(b"version = 1\n# \xff\n", "p")


@given(st.binary(max_size=200))
def test_any_bytes_are_a_policy_or_one_error(data: bytes) -> None:
    try:
        assert isinstance(parse_policy(b"version = 1\n" + data, "p"), Policy)
    except ToolcribError as error:
        assert error.title.startswith("p")


def test_every_key_has_a_description() -> None:
    def bare(node: dict, path: str = "") -> list[str]:
        missing = [] if node.get("description") or not path else [path]
        for name, inner in node.get("properties", {}).items():
            missing += bare(inner, f"{path}.{name}")
        return missing

    assert bare(schema()) == []
    assert json.dumps(schema())


def test_the_nearest_file_counts_and_the_search_ends_at_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    outer, repository = tmp_path / "outer", tmp_path / "outer" / "repo"
    inner = repository / "packages" / "one"
    inner.mkdir(parents=True)
    (outer / ".toolcrib.toml").write_text("version = 1\n")
    assert find_policy(inner) == outer / ".toolcrib.toml"
    (repository / ".git").mkdir()
    assert find_policy(inner) is None
    (repository / ".toolcrib.toml").write_text("version = 1\n")
    assert find_policy(inner) == repository / ".toolcrib.toml"


def test_a_file_in_the_home_folder_is_no_policy_of_the_repositories_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".toolcrib.toml").write_text("version = 1\n")
    (tmp_path / "repo").mkdir()
    assert find_policy(tmp_path / "repo") is None


def test_a_folder_in_the_place_of_the_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / ".toolcrib.toml").mkdir()
    with pytest.raises(ToolcribError, match="cannot be read"):
        read_policy(tmp_path / ".toolcrib.toml")


def test_lines_of_keys() -> None:
    assert key_line(WHOLE, ["budget", "max_schema_tokens"]) == 7
    assert key_line(WHOLE, ["budget", "evidence", "date"]) == 14
    assert key_line(WHOLE, ["conditions", "github/merge_*"]) == 25
    assert key_line("a.b = 1\n", ["a", "b"]) == 1
    assert key_line(WHOLE, ["nothing"]) == 0

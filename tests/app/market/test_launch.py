"""Launches from entries: all arguments kept, values in their places, a choice with its reason."""

import pytest

from app.core.errors import ToolcribError
from app.market.entry import read_entry, read_item
from app.market.launch import best, choices, choose, launch_of, short_name

FULL = {
    "name": "com.example/files",
    "version": "2.1.0",
    "packages": [
        {
            "registryType": "npm",
            "identifier": "@example/files",
            "version": "2.1.0",
            "transport": {"type": "stdio"},
            "runtimeArguments": [{"type": "named", "name": "--prefer-offline"}],
            "packageArguments": [
                {"type": "positional", "value": "serve"},
                {"type": "named", "name": "--port", "default": "8080", "format": "number"},
                {"type": "named", "name": "--read-only", "description": "Write nothing"},
                {"type": "named", "name": "--mode", "choices": ["fast", "safe"],
                 "isRequired": True},
                {"type": "positional", "valueHint": "folder", "isRepeated": True,
                 "isRequired": True, "format": "filepath"},
            ],
            "environmentVariables": [
                {"name": "TOKEN", "isSecret": True, "isRequired": True},
                {"name": "REGION", "value": "eu"},
            ],
        },
        {"registryType": "oci", "identifier": "ghcr.io/example/files:2.1.0",
         "transport": {"type": "stdio"},
         "runtimeArguments": [
             {"type": "named", "name": "--mount", "value": "type=bind,src={source},dst=/data",
              "variables": {"source": {"isRequired": True, "format": "filepath"}}}],
         "environmentVariables": [{"name": "TOKEN", "isSecret": True}]},
    ],
    "remotes": [
        {"type": "streamable-http", "url": "https://{tenant}.example.com/mcp",
         "variables": {"tenant": {"isRequired": True}},
         "headers": [{"name": "Authorization", "value": "Bearer {key}",
                      "variables": {"key": {"isRequired": True, "isSecret": True}}}]}
    ],
}  # fmt: skip


def test_every_argument_is_kept_in_its_place() -> None:
    entry = read_entry(FULL)
    way = choices(entry)[0]
    values = {"mode": "safe", "folder": "/a b\n/c", "TOKEN": "t", "read-only": "true"}
    launch = launch_of(entry, way, values)
    assert (launch.command, *launch.args) == (
        "npx", "-y", "--prefer-offline", "@example/files@2.1.0",
        "serve", "--port", "8080", "--read-only", "--mode", "safe", "/a b", "/c",
    )  # fmt: skip
    assert dict(launch.env) == {"TOKEN": "t", "REGION": "eu"}


def test_an_image_gets_its_variables_and_its_mount() -> None:
    entry = read_entry(FULL)
    launch = launch_of(entry, choices(entry)[1], {"TOKEN": "t", "source": "/home/me/data"})
    assert (launch.command, *launch.args) == (
        "docker", "run", "-i", "--rm", "-e", "TOKEN", "--mount",
        "type=bind,src=/home/me/data,dst=/data", "ghcr.io/example/files:2.1.0",
    )  # fmt: skip


def test_variables_of_a_url_and_of_a_header_are_filled_in() -> None:
    entry = read_entry(FULL)
    launch = launch_of(entry, choices(entry)[2], {"tenant": "acme", "key": "k"})
    assert launch.url == "https://acme.example.com/mcp"
    assert dict(launch.headers) == {"Authorization": "Bearer k"}


def test_missing_values_are_named_with_what_to_type() -> None:
    entry = read_entry(FULL)
    with pytest.raises(ToolcribError) as caught:
        launch_of(entry, choices(entry)[0], {"mode": "fast"})
    assert "folder, TOKEN" in caught.value.title or "TOKEN, folder" in caught.value.title
    assert "--set TOKEN=VALUE" in caught.value.hint


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("mode", "slow", "one of: fast, safe"),
        ("port", "many", "a number"),
        ("prot", "1", "no input"),
    ],
)
def test_a_wrong_value_is_a_sentence(key: str, value: str, reason: str) -> None:
    entry = read_entry(FULL)
    given = {"mode": "fast", "folder": "/a", "TOKEN": "t", key: value}
    with pytest.raises(ToolcribError) as caught:
        launch_of(entry, choices(entry)[0], given)
    assert reason in f"{caught.value.title} {caught.value.hint}"


def test_the_proposal_is_a_package_whose_program_is_here() -> None:
    ways = choices(read_entry(FULL))
    assert best(ways, ["docker"])[0] is ways[1]
    chosen, reason = best(ways, ["npx", "docker"])
    assert chosen is ways[1] and "docker is here" in reason  # it needs no secret
    chosen, reason = best(ways, [])
    assert chosen is ways[2] and "elsewhere" in reason


def test_a_package_that_is_not_there_is_said() -> None:
    entry = read_entry(FULL)
    with pytest.raises(ToolcribError, match="no package 9"):
        choose(entry, choices(entry), 9, [])


def test_the_older_spelling_is_read() -> None:
    old = {
        "name": "com.example/old",
        "status": "deprecated",
        "version_detail": {"version": "0.9.0"},
        "packages": [
            {
                "registry_name": "pypi",
                "name": "old-thing",
                "version": "0.9.0",
                "package_arguments": [{"type": "positional", "value_hint": "file"}],
                "environment_variables": [{"name": "KEY", "is_secret": True, "is_required": True}],
            }
        ],
    }
    entry = read_item(old)
    assert (entry.version, entry.status) == ("0.9.0", "deprecated")
    way = choices(entry)[0]
    assert [(f.key, f.wanted, f.input.secret) for f in way.fields] == [
        ("KEY", True, True), ("file", False, False),
    ]  # fmt: skip
    launch = launch_of(entry, way, {"KEY": "k", "file": "x"})
    assert (launch.command, *launch.args) == ("uvx", "old-thing@0.9.0", "x")


def test_a_script_of_another_name_is_started_from_its_package() -> None:
    raw = {
        "name": "com.example/py",
        "packages": [
            {"registryType": "pypi", "identifier": "py-thing", "version": "1.0",
             "runtimeArguments": [{"type": "positional", "value": "--with"},
                                  {"type": "positional", "value": "mcp<2"},
                                  {"type": "named", "name": "--from", "value": "py-thing==1.0"}],
             "packageArguments": [{"type": "positional", "value": "py-serve"}]}
        ],
    }  # fmt: skip
    entry = read_entry(raw)
    launch = launch_of(entry, choices(entry)[0], {})
    assert launch.args == ("--with", "mcp<2", "--from", "py-thing==1.0", "py-serve")


def test_a_taken_name_gets_a_number() -> None:
    entry = read_entry(FULL)
    assert short_name(entry) == "files"
    assert short_name(entry, ["files", "files-2"]) == "files-3"


def test_a_package_of_the_shipped_list_is_called_without_its_scope() -> None:
    package = {"registryType": "npm", "identifier": "@them/pdf", "version": "1.0.0"}
    entry = read_entry({"name": "npm/them.pdf", "packages": [package]})
    assert short_name(entry) == "pdf"

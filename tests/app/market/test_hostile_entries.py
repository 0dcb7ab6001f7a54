"""Entries that a stranger wrote: each is refused with a sentence, or made harmless."""

from typing import Any

import apsw
import pytest

from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.market.entry import EntryError, read_entry, read_item
from app.market.guards import is_private, skeleton
from app.market.launch import choices, choose, launch_of
from app.market.records import row_of
from store import servers

Json = dict[str, Any]


def entry(**fields: Any) -> Json:
    return {"name": "io.github.them/thing", "description": "A thing", "version": "1.0.0", **fields}


def package(**fields: Any) -> Json:
    plain = {"registryType": "npm", "identifier": "thing", "version": "1.0.0"}
    return entry(packages=[{**plain, "transport": {"type": "stdio"}, **fields}])


def remote(url: str, **fields: Any) -> Json:
    return entry(remotes=[{"type": "streamable-http", "url": url, **fields}])


def flag(name: str, value: str = "") -> Json:
    return {"type": "named", "name": name, **({"value": value} if value else {})}


def word(value: str) -> Json:
    return {"type": "positional", "value": value}


def env(**fields: Any) -> Json:
    return {"environmentVariables": [{"name": "KEY", **fields}]}


PYPI = {"registryType": "pypi"}
IMAGE = {"registryType": "oci", "identifier": "ghcr.io/them/thing:1.0.0"}
BUNDLE = {"registryType": "mcpb", "identifier": "https://github.com/a/b/releases/x.mcpb"}

REFUSED: dict[str, tuple[Json, str]] = {
    "an option as a package": (package(identifier="--registry=http://evil"), "read as an option"),
    "a repository as a package": (package(identifier="them/thing"), "no name of a npm package"),
    "a git URL as a package": (package(identifier="git+https://evil/x"), "no name of a npm"),
    "a file as a package": (package(identifier="file:../../x"), "no name of a npm package"),
    "a web address as a package": (package(identifier="https://evil/x.tgz"), "no name of a npm"),
    "a parent folder as a package": (package(identifier=".."), "no name of a npm package"),
    "an alias of another package": (package(identifier="x@npm:evil"), "no name of a npm package"),
    "shell characters in a package": (package(identifier="thing;rm -rf ~"), "no name of a npm"),
    "a line break in a package": (package(identifier="thing\nevil"), "no name of a npm package"),
    "a package in other letters": (package(identifier="thіng"), "no name of a npm package"),
    "an endless package name": (package(identifier="x" * 5_000), "read as an option"),
    "a git URL as a Python package": (
        package(**PYPI, identifier="thing @ git+https://evil/x"), "no name of a pypi package",
    ),
    "a Python package with an extra index": (
        package(**PYPI, registryBaseUrl="https://evil.example/simple"), "fetched from https://evil",
    ),
    "another registry of npm": (package(registryBaseUrl="http://evil.example"), "fetched from"),
    "no version": (package(version=""), "pins no version"),
    "the latest version": (package(version="latest"), "pins no version"),
    "a range of versions": (package(version="^1.0.0"), "is no version"),
    "a URL as a version": (package(version="https://evil/x.tgz"), "is no version"),
    "a shell in a version": (package(version="1.0.0 && evil"), "is no version"),
    "an unknown kind of package": (package(registryType="cargo"), "does not know how to start"),
    "npx told to run a text": (package(runtimeArguments=[flag("-c", "evil")]), "something else"),
    "npx given another package": (package(runtimeArguments=[word("evil")]), "something else"),
    "npx given another registry": (
        package(runtimeArguments=[flag("--registry", "http://evil")]), "something else",
    ),
    "uvx given another index": (
        package(**PYPI, runtimeArguments=[flag("--index-url", "http://evil")]), "something else",
    ),
    "uvx told to fetch something else": (
        package(**PYPI, runtimeArguments=[flag("--from", "evil"), word("x")]), "instead of",
    ),
    "uvx given a repository beside it": (
        package(**PYPI, runtimeArguments=[flag("--with", "git+https://evil/x")]), "fetches",
    ),
    "an image of nowhere": (
        package(registryType="oci", identifier="evil.example/thing:1"), "no public registry",
    ),
    "an image of this machine": (
        package(registryType="oci", identifier="localhost:5000/thing:1"), "no public registry",
    ),
    "an image without a version": (
        package(registryType="oci", identifier="ghcr.io/them/thing", version=""), "pins no version",
    ),
    "a container that is the machine": (
        package(**IMAGE, runtimeArguments=[flag("--privileged")]), "something else",
    ),
    "a container with all files": (
        package(**IMAGE, runtimeArguments=[flag("-v", "/:/host")]), "the whole machine",
    ),
    "a container with all files, spelled otherwise": (
        package(**IMAGE, runtimeArguments=[flag("--volume", "//:/host")]), "the whole machine",
    ),
    "a container with Docker's socket": (
        package(**IMAGE, runtimeArguments=[
            flag("-v", "/var/run/docker.sock:/var/run/docker.sock")
        ]), "the whole machine",
    ),
    "another image before the image": (
        package(**IMAGE, runtimeArguments=[word("evil/image")]), "something else",
    ),
    "a bundle without a checksum": (package(**BUNDLE), "no checksum"),
    "a bundle of this machine": (
        package(registryType="mcpb", identifier="https://127.0.0.1/mcp.mcpb", fileSha256="a" * 64),
        "this machine",
    ),
    "a preloaded library": (
        package(environmentVariables=[{"name": "LD_PRELOAD", "value": "/tmp/x.so"}]),
        "can change what runs",
    ),
    "options of Node by default": (
        package(environmentVariables=[{"name": "NODE_OPTIONS", "default": "--require /tmp/x"}]),
        "can change what runs",
    ),
    "a variable that is no name": (
        package(environmentVariables=[{"name": "A=B C"}]), "no name of an environment variable",
    ),
    "a URL of this machine": (remote("https://127.0.0.1/mcp"), "this machine"),
    "a URL of the cloud's metadata": (remote("https://169.254.169.254/"), "this machine"),
    "a URL without encryption": (remote("http://example.com/mcp"), "without encryption"),
    "a file as a URL": (remote("file:///etc/passwd"), "no URL"),
    "a variable as the whole host": (
        remote("https://{host}/mcp", variables={"host": {"isRequired": True}}), "which host",
    ),
    "credentials in a URL": (remote("https://me:pw@example.com/"), "user name or a password"),
    "a header that is no name": (
        remote("https://example.com/", headers=[{"name": "X: a\r\nY"}]), "no name of a header",
    ),
    "a transport that nobody speaks": (
        entry(remotes=[{"type": "gopher", "url": "https://example.com/"}]), "does not speak",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_it_is_refused_by_name_and_nothing_changes(
    ctx: AppContext, db: apsw.Connection, case: str
) -> None:
    raw, reason = REFUSED[case]
    known = read_entry(raw)
    ways = choices(known)
    with pytest.raises(ToolcribError) as caught:
        launch_of(known, choose(known, ways, None, ["npx", "uvx", "docker"]), {})
    sentence = f"{caught.value.title} {caught.value.hint}"
    assert reason in sentence and known.name in sentence
    assert sentence.replace("\n", "").isprintable()
    assert servers.all_servers(db) == []


NAMES = [
    "",
    "no-slash",
    "io.github.ghоst/x",
    "a/b/c",
    "../../x",
    "a/b\n",
    "a/-;rm",
    "x" * 300,
    None,
]


@pytest.mark.parametrize("name", NAMES)
def test_an_entry_without_a_plain_name_is_left_out(name: object) -> None:
    with pytest.raises(EntryError) as caught:
        read_item({"server": {"name": name}})
    assert caught.value.title.isprintable() and len(caught.value.title) < 400


@pytest.mark.parametrize(
    "item", [None, 7, [], "x", {"server": None}, {"server": {"name": 7}, "_meta": [1]}]
)
def test_what_is_no_entry_is_left_out(item: object) -> None:
    with pytest.raises(EntryError):
        read_item(item)


def test_wrong_kinds_of_fields_count_as_missing() -> None:
    known = read_entry(
        entry(packages=[None, "x", {"registryType": ["npm"], "environmentVariables": {"a": 1}}],
              remotes="all", repository=[], title={"a": 1}, websiteUrl="javascript:alert(1)")
    )  # fmt: skip
    assert (known.title, known.website, known.remotes) == ("", "", ())
    assert known.packages[0].kind == ""


def test_a_link_to_a_file_is_no_link() -> None:
    assert read_entry(entry(websiteUrl="file://evil/share")).website == ""


def test_an_entry_of_a_megabyte_is_left_out() -> None:
    with pytest.raises(EntryError, match="over 256 kB"):
        row_of(read_entry(entry(extra="x" * 1_000_000)))


def test_an_entry_with_half_characters_is_left_out() -> None:
    with pytest.raises(EntryError, match="cannot be kept"):
        row_of(read_entry(entry(extra="\ud800")))


def test_an_endless_list_of_packages_is_cut() -> None:
    assert len(read_entry(entry(packages=[{}] * 10_000)).packages) == 60


def test_variables_inside_variables_end() -> None:
    inner: Json = {"name": "x", "value": "{x}"}
    for _ in range(200):
        inner = {"name": "x", "value": "{x}", "variables": {"x": inner}}
    known = read_entry(package(environmentVariables=[inner]))
    assert len(choices(known)[0].fields) <= 1


def test_a_value_is_never_read_as_a_place_for_another() -> None:
    raw = package(
        environmentVariables=[
            {"name": "URL", "value": "https://{a}/{b}",
             "variables": {"a": {"isRequired": True}, "b": {"isRequired": True, "isSecret": True}}}
        ]
    )  # fmt: skip
    known = read_entry(raw)
    launch = launch_of(known, choices(known)[0], {"a": "{b}", "b": "secret"})
    assert launch.env["URL"] == "https://{b}/secret"


def test_a_value_of_the_user_stays_one_word() -> None:
    known = read_entry(package(packageArguments=[{"type": "positional", "valueHint": "folder"}]))
    launch = launch_of(known, choices(known)[0], {"folder": "a b; rm -rf ~ && $(x)"})
    assert launch.args == ("-y", "thing@1.0.0", "a b; rm -rf ~ && $(x)")


def test_a_line_break_in_a_header_is_refused() -> None:
    known = read_entry(remote("https://example.com/", headers=[{"name": "X", "isRequired": True}]))
    with pytest.raises(ToolcribError, match="line break"):
        launch_of(known, choices(known)[0], {"X": "a\r\nEvil: 1"})


def test_a_variable_cannot_lead_a_url_to_this_machine() -> None:
    url = "https://{tenant}.example.com/mcp"
    known = read_entry(remote(url, variables={"tenant": {"isRequired": True}}))
    with pytest.raises(ToolcribError, match="cannot be added"):
        launch_of(known, choices(known)[0], {"tenant": "127.0.0.1/x#"})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("io.github.modelcontextprotoco1/x", "io.github.modelcontextprotocol/x"),
        ("io.github.rnicrosoft/mcp", "io.github.microsoft/mcp"),
        ("io.github.g00gle/x", "io.github.google/x"),
        ("io.github.a/file_system", "io.github.a/file-system"),
    ],
)
def test_names_that_can_be_taken_for_each_other_have_one_skeleton(one: str, other: str) -> None:
    assert skeleton(one) == skeleton(other)


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST.", "x.local", "127.1", "0x7f.1", "0177.0.0.1", "2130706433", "::1",
     "fd00::1", "fe80::1%eth0", "fec0::1", "ff0e::1", "64:ff9b:1::a00:1", "::ffff:10.0.0.1",
     "64:ff9b::7f00:1", "2002:a00:1::", "100.64.0.1", "0.0.0.0"],
)  # fmt: skip
def test_every_spelling_of_this_network_is_seen(host: str) -> None:
    assert is_private(host)


@pytest.mark.parametrize(
    "host", ["example.com", "93.184.216.34", "2606:4700::1111", "1.1.1.1", "64:ff9b::808:808"]
)
def test_public_hosts_are_not_private(host: str) -> None:
    assert not is_private(host)

"""What the documents name exists: modules, folders, verbs, tests."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.cli.export import run_restore
from app.cli.parser import make_parser
from app.hosts.facts import load_hosts
from app.policy.policy_file import parse_policy
from app.team_server import configuration
from app.team_server.sealing import KEY_VARIABLE
from app.team_server.verbs import make_parser as make_team_parser

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    page.relative_to(ROOT).as_posix()
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
    if page.name != "CHANGELOG.md"
)
LONGEST_TOGETHER = 80_000  # characters: what a newcomer reads in an evening
_PATH = re.compile(r"(?:app|ui|store|tests|resources|packaging)(?:/[\w.*-]+)*/?")
_COMMAND = re.compile(r"toolcrib(-team)? [a-z-]")
_DEFINED = re.compile(r"`(\w+)` (?:of |\()`([\w/]+\.py)`")
_CODE = re.compile(r"`([^`\n]+)`")


def code(name: str) -> list[str]:
    """What stands in backticks or in code blocks."""
    text = (ROOT / name).read_text(encoding="utf-8")
    blocks = re.findall(r"```[a-z]*\n(.*?)```", text, re.S)
    rest = re.sub(r"```.*?```", "", text, flags=re.S)
    return [*_CODE.findall(rest), *(line for block in blocks for line in block.splitlines())]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_path_in_a_document_exists(name: str) -> None:
    paths = {c for c in code(name) if _PATH.fullmatch(c) and "/" in c}
    missing = sorted(p for p in paths if not (list(ROOT.glob(p)) if "*" in p else [ROOT / p]))
    missing += sorted(p for p in paths if "*" not in p and not (ROOT / p).exists())
    assert missing == []


def test_a_name_that_a_document_puts_into_a_file_is_defined_there() -> None:
    places = [found for name in DOCUMENTS for found in _DEFINED.findall((ROOT / name).read_text())]
    assert ("VERBS", "app/cli/verbs.py") in places
    for name, file in places:
        source = (ROOT / file).read_text(encoding="utf-8")
        assert re.search(rf"^\s*(class |def |)({name})\b *[(:=]", source, re.M), (name, file)


def test_the_changelog_counts_what_is_shipped() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    (hosts,) = re.findall(r"files of more than (\d+) hosts", text)
    assert sum(1 for one in load_hosts() if one.files) > int(hosts)
    (servers,) = re.findall(r"searches (\d+) shipped servers", text)
    seed = ROOT / "resources" / "market" / "seed.jsonl"
    assert len(seed.read_text(encoding="utf-8").splitlines()) == int(servers)


def test_the_example_of_a_team_servers_variables_names_all_with_their_defaults() -> None:
    text = (ROOT / "packaging" / "team" / "team.env.example").read_text(encoding="utf-8")
    example = dict(re.findall(r"^(\w+)=(.*)$", text, re.M))
    named = {name for name in vars(configuration).values() if str(name).startswith("TOOLCRIB_")}
    assert set(example) == {*named, *configuration.LIMITS, KEY_VARIABLE}
    given = configuration.from_environ(example)
    assert given == configuration.Configuration(given.database, given.url)


def test_the_documents_stay_short() -> None:
    pages = [ROOT / name for name in (*DOCUMENTS, "CHANGELOG.md")]
    assert sum(len(page.read_text(encoding="utf-8")) for page in pages) <= LONGEST_TOGETHER
    assert len((ROOT / "README.md").read_text(encoding="utf-8")) <= 5_000


def test_every_link_between_documents_leads_to_a_file() -> None:
    broken = []
    for name in (*DOCUMENTS, "CHANGELOG.md"):
        page = ROOT / name
        for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
            if "://" not in link and not (page.parent / link).exists():
                broken.append(f"{name}: {link}")
    assert broken == []


@pytest.mark.parametrize("name", [*DOCUMENTS, "packaging/team/README.md"])
def test_every_command_in_a_document_can_be_typed(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    parsers = {"toolcrib": make_parser(), "toolcrib-team": make_team_parser()}
    wrong = []
    for line in code(name):
        plain = re.sub(r"[][]", "", line) if _COMMAND.match(line) else "-"  # [OPTION] is one, too
        program, *words = shlex.split(plain, comments=True)
        parser = parsers.get(program)
        if parser is None or words[:1] == ["pictures"]:  # the window's own
            continue
        try:
            parser.parse_args(words)
        except SystemExit as end:  # a verb alone is named in a sentence: its rest is left out
            problem = capsys.readouterr().err
            if end.code and not re.search(r"\brequired(: .*)?$", problem.strip()):
                wrong.append(problem.strip().splitlines()[-1])
    assert wrong == []


def test_the_guide_names_a_whole_command_that_takes_toolcrib_out_of_every_host() -> None:
    guide = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    (words,) = re.findall(r"`toolcrib ([^`]+)` takes Toolcrib out of every host's file", guide)
    args = make_parser().parse_args(words.split())
    assert (args.run, args.host) == (run_restore, "all")


def glossary() -> list[tuple[str, str]]:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = text.split("## Words", 1)[1].split("\n## ", 1)[0]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", section, re.M)
    return [row for row in rows if row[0] not in ("word",)]


def test_the_glossary_gives_each_word_one_meaning() -> None:
    words = [word for word, _ in glossary()]
    assert len(words) == len(set(words)) >= 25
    assert all(len(meaning.split()) >= 4 for _, meaning in glossary())


def test_the_packages_page_names_every_package() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    packages = {f"{p.parent.relative_to(ROOT)}/" for p in (ROOT / "app").glob("*/__init__.py")}
    packages |= {f"ui/{p.parent.name}/" for p in (ROOT / "ui").glob("*/__init__.py")}
    assert sorted(p for p in packages if f"`{p}`" not in text) == []


def test_every_claim_of_the_security_page_names_a_test_that_exists() -> None:
    text = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| [^|]+ \| [^|]+ \| `([^`]+)` \|$", text, re.M)
    assert len(rows) >= 20 and len(rows) == text.split("## Not")[0].count("\n| ") - 1
    missing = []
    for row in rows:
        file, _, name = row.partition("::")
        file = file if "/" in file else f"tests/attacks/{file}"
        source = (ROOT / file).read_text(encoding="utf-8")
        if name and f"def {name}(" not in source:
            missing.append(row)
    assert missing == []


def test_the_policy_page_describes_every_key_of_the_schema() -> None:
    page = (ROOT / "docs" / "policy.md").read_text(encoding="utf-8")
    schema = json.loads((ROOT / "resources" / "policy.schema.json").read_text(encoding="utf-8"))

    def keys(node: dict[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
        for name, inner in node.get("properties", {}).items():
            yield f"{path}{name}", inner["description"]
            yield from keys(inner, f"{path}{name}.")

    rows = {row[0]: row[1] for row in re.findall(r"^\| `([^`]+)` \| [^|]+ \| (.+) \|$", page, re.M)}
    assert rows == dict(keys(schema))


def test_the_example_of_the_policy_page_is_a_policy() -> None:
    page = (ROOT / "docs" / "policy.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```toml\n(.*?)```", page, re.S)
    assert parse_policy(example.encode(), "example").evidence is not None

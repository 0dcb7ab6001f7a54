"""Help, wrong usage, and arguments that cannot be used: what may follow instead."""

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from app.cli.main import run
from app.cli.parser import make_parser
from app.cli.verbs import VERBS
from app.gateway.main import main as gateway
from app.policy.policy_file import FILE_NAME
from app.team_server.verbs import make_parser as make_team_parser
from ui.main import main

Verb = Callable[..., Any]


def test_an_unknown_option_ends_with_the_usage_of_its_verb(capsys: Any) -> None:
    assert run(["hook", "install", "codex", "--yess"]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("usage: toolcrib hook install ")
    assert printed.endswith("toolcrib hook install: error: unrecognized arguments: --yess\n")


@pytest.mark.parametrize("argv", [["nonsense"], [], ["export"], ["route"]])
def test_wrong_usage_is_exit_code_2(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(argv) == 2
    assert "usage:" in capsys.readouterr().err


@pytest.mark.parametrize("group", ["profile", "team", "server", "backend", "labels"])
def test_a_verb_without_its_part_lists_them(group: str, capsys: Any) -> None:
    assert run([group]) == 2
    told = capsys.readouterr().err
    assert f"toolcrib {group}: the following arguments are required: " in told
    assert "options:" in told and len(told.splitlines()) > 10


def test_every_verb_explains_itself() -> None:
    parser = make_parser()
    (group,) = [a for a in parser._actions if getattr(a, "choices", None)]
    for name, verb in group.choices.items():
        line = VERBS[name][1]
        assert " ".join(verb.format_help().split("\n\n")[1].split()).startswith(
            f"{line[0].upper()}{line[1:]}."
        ), name
    assert "TOOLCRIB_HOME" in parser.format_help()
    assert FILE_NAME in VERBS["policy"][1]
    assert list(group.choices) == list(VERBS)  # a verb's own module is imported alone
    for name in VERBS:
        (group,) = [a for a in make_parser([name])._actions if getattr(a, "choices", None)]
        assert name in group.choices and len(group.choices) < len(VERBS)


@pytest.mark.parametrize("parser", [make_parser(), make_team_parser()], ids=lambda p: p.prog)
def test_every_argument_is_explained(parser: argparse.ArgumentParser) -> None:
    assert list(_unexplained(parser)) == []


@pytest.mark.parametrize("words", [["--help"], ["serve", "-h"], ["hook", "--help"]])
def test_the_gateway_says_what_each_of_its_forms_does(words: list[str], capsys: Any) -> None:
    gateway(words)
    forms, _, explained = capsys.readouterr().out.partition("\n\n")
    for word in ("--profile NAME", "--server NAME", "hook HOST", "reach", "serve"):
        assert word in forms and f"\n  {word}  " in explained


def _unexplained(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from _unexplained(inner)
        elif not action.help:
            yield f"{parser.prog} {action.dest}"


def test_help_version_and_a_slip_import_no_verb(capsys: pytest.CaptureFixture[str]) -> None:
    lines = {a.dest: a.help for a in _group(make_parser(["--help"]))._choices_actions}
    assert lines == {a.dest: a.help for a in _group(make_parser())._choices_actions}
    code = (
        "import sys; from app.cli.parser import make_parser; make_parser(sys.argv[1:]);"
        "print(*sorted(name for name in sys.modules if name.startswith('app.cli.')))"
    )
    for word in ("--help", "--version", "exprot"):
        done = subprocess.run(
            [sys.executable, "-c", code, word], capture_output=True, text=True, check=True
        )
        assert done.stdout.split() == ["app.cli.parser", "app.cli.verbs"]
    assert run(["exprot", "cursor"]) == 2
    assert "invalid choice: 'exprot' (choose from 'scan', 'import'" in capsys.readouterr().err


def _group(parser: argparse.ArgumentParser) -> Any:
    (group,) = [a for a in parser._actions if getattr(a, "choices", None)]
    return group


def test_a_name_that_no_server_can_have_is_refused(verb: Verb, capsys: Any) -> None:
    assert run(["add", "bad name!", "--", "run-clock"]) == 1
    words = capsys.readouterr().err
    assert "A server cannot be called “bad name!”." in words and "letters, digits" in words
    servers_now = {s["name"] for s in verb("scan", code=4)["servers"]}
    assert not any(name.startswith("bad") for name in servers_now)


@pytest.mark.parametrize("query", ["", "  "])
def test_an_empty_query_is_refused(verb: Verb, query: str, capsys: Any) -> None:
    assert run(["route", query]) == 1
    assert "The query is empty." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (("approve", "9" * 30), "A number is too large."),
        (("usage", "show", "--days", "9" * 30), "A number is too large."),
        (("check", "--profile", "\udcff"), "An argument is not UTF-8."),
        (("registry", "add", "https://h/\udcff"), "An argument is not UTF-8."),
    ],
)
def test_an_argument_that_cannot_be_used_is_a_sentence(
    verb: Verb, argv: tuple[str, ...], sentence: str, capsys: Any
) -> None:
    assert run([*argv]) == 1
    assert capsys.readouterr().err.startswith(f"toolcrib: {sentence}")


def test_a_ctrl_c_while_modules_are_imported_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    class Interrupted(ModuleType):
        def __getattr__(self, name: str) -> object:
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "app.cli.main", Interrupted("app.cli.main"))
    assert main(["footprint"]) == 130
    assert capsys.readouterr().err == "toolcrib: stopped.\n"


@pytest.mark.parametrize("option", [["--format", "junit"], ["--start"]])
def test_an_option_of_a_projects_check_is_not_passed_over(
    verb: Verb, option: list[str], capsys: Any
) -> None:
    assert run(["check", *option]) == 1
    assert "Name its folder with --project DIR." in capsys.readouterr().err

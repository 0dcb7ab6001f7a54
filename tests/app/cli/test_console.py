import io
import json

import pytest

from app.cli.console import Console, table


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def console(*, as_json: bool = False, answer: str = "", terminal: bool = False) -> Console:
    made = Terminal if terminal else io.StringIO
    return Console(as_json=as_json, out=made(), err=made(), answers=made(answer))


def test_json_is_one_document_on_stdout() -> None:
    shown = console(as_json=True)
    shown.note("beside")
    shown.progress("1 of 2")
    shown.result({"a": "≈"}, lambda: "text")
    assert json.loads(shown._out.getvalue()) == {"a": "≈"}
    assert shown._err.getvalue() == "beside\n"


def test_progress_shows_on_terminals_only() -> None:
    seen = console(terminal=True)
    seen.progress("1 of 2")
    assert "1 of 2" in seen._err.getvalue()
    seen.note("done")
    assert seen._err.getvalue().endswith("1 of 2\r\x1b[2Kdone\n")
    seen.note("and more")
    assert seen._err.getvalue().endswith("Kdone\nand more\n")


@pytest.mark.parametrize(("answer", "agreed"), [("y\n", True), ("", False), ("n\n", False)])
def test_only_yes_is_yes(answer: str, agreed: bool) -> None:
    assert console(answer=answer, terminal=True).confirm("Start?") is agreed


def test_nobody_is_asked_without_a_terminal() -> None:
    assert not console().can_ask
    assert console(terminal=True).can_ask


def test_columns_are_aligned() -> None:
    rows = [["name", "n"], ["a", "10"], ["long", "5"]]
    assert table(rows, right=frozenset({1})) == "name   n\na     10\nlong   5"


def test_a_servers_endless_name_widens_no_table() -> None:
    ids = [["tool", "n", "why"], ["x" * 5000, "10", "y" * 5000], ["a", "5", "z"]]
    header, named, other = table(ids).splitlines()
    assert named.startswith("x" * 159 + "…  10 ") and named.endswith("y" * 5000)
    assert len(header) < 180 and other.split() == ["a", "5", "z"] and len(other) < 180

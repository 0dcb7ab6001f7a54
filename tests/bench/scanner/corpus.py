"""The scanner's material from ../shared/data: sentences, real tools and specimens, by part."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from app.core.errors import ToolcribError
from app.safety.normalise import views
from app.safety.sentences import sentences
from app.safety.texts import tool_passages
from store.records import ToolRecord
from store.typed import Json
from tests.bench.scanner.split import (
    BLIND,
    DEFINITIONS,
    WRITTEN,
    fresh_part,
    server_part,
    specimen_part,
)

OFFENSIVE = "overtly_malicious_capability"
# what honest tools say too: a login asks for a password, a failure is told to the user
_SECRET = (
    r"(?:(?:master |ssh )?pass(?:word|phrase)|pin|bank login|credit card number|one-time code"
    r"|recovery code|seed phrase|social security number)"
)
_NO_ORDER = re.compile(
    r"(?:(?:inform|tell) the user that (?:the )?\w+ (?:has )?(?:failed|was refused)"
    rf"|(?:provide|enter|give|insert|type) (?:the |your |the user's )?{_SECRET} ?"
    r"(?:(?:here|to (?:continue|verify)|for access|so that the service can log in) ?)*"
    rf"|{_SECRET} of the user, (?:needed|required|used) (?:for|to) (?:verification|identity check)"
    r"|new instructions:)\W*",
    re.IGNORECASE,
)
TEXT, CAPABILITY, CODE, BENIGN = "poisoned text", "offensive capability", "bad code", "benign"


@dataclass(frozen=True, slots=True)
class Sentence:
    """One line of the corpus; an order to the model, or a sentence that only looks like one."""

    text: str
    is_order: bool
    language: str
    style: str


@dataclass(frozen=True, slots=True)
class SplitTool:
    """A tool with what is known about it, and who may read it."""

    tool: ToolRecord
    others: tuple[ToolRecord, ...]
    part: str  # of split.py
    family: str  # TEXT | CAPABILITY | CODE | BENIGN
    is_hard: bool = False  # benign, but worded like poison
    is_catalogued: bool = False  # a tool of a real server's list, not a specimen


def corpus_sentences(data: Path) -> list[Sentence]:
    """poison/sentences.jsonl, without the orders that honest tools give as well."""
    return [
        Sentence(row["text"], row["label"] == 1, row["language"], row["style"])
        for row in _rows(data / "poison" / "sentences.jsonl")
        if row["label"] == 0 or not _NO_ORDER.fullmatch(row["text"])
    ]


def real_tools(data: Path) -> list[SplitTool]:
    """The tools of both catalogues of real servers, each text once."""
    tools = [
        _tool(number, row["package"], tool)
        for row in _rows(data / "catalog" / "real_catalog.jsonl")
        for number, tool in enumerate(row["tools"])
    ]
    tools += [
        _tool(number, row["server"], row)
        for number, row in enumerate(_rows(data / "registry" / "toolsdk_tools.jsonl"))
    ]
    once = {(t.server, t.name, t.description): t for t in tools}
    return [
        SplitTool(t, (), server_part(t.server), BENIGN, is_catalogued=True) for t in once.values()
    ]


def own_tools(file: Path) -> list[SplitTool]:
    """Tools of servers that are in none of the data: a line a server, {"package", "tools"}."""
    return [
        SplitTool(
            _tool(number, row["package"], tool),
            (),
            fresh_part(row["package"]),
            BENIGN,
            is_catalogued=True,
        )
        for row in _rows(file)
        for number, tool in enumerate(row["tools"])
    ]


def specimens(file: Path) -> list[SplitTool]:
    """poison/tools.jsonl, or another file of its form."""
    return [_specimen(number, row) for number, row in enumerate(_rows(file), 1)]


def own_attacks() -> list[SplitTool]:
    """Four hundred attacks and 270 honest texts of our own, which nothing was trained on.

    Each was written before anything scored it; the honest ones are worded like orders. Blind ones
    are by three authors who had read nothing of Toolcrib.
    """
    rows = _rows(Path(__file__).parents[1] / "inputs" / "attacks.jsonl")
    return [
        SplitTool(
            _tool(number, "stranger", {"name": "help", "description": row["text"]}),
            (),
            BLIND[row["blind"] - 1] if row.get("blind") else WRITTEN,
            _kind(row),
        )
        for number, row in enumerate(rows)
    ]


def own_definitions() -> list[SplitTool]:
    """120 attacks and 120 honest tools, whole definitions with the other tools they speak of."""
    file = Path(__file__).parents[1] / "inputs" / "attack_definitions.jsonl"
    return [
        SplitTool(
            _tool(number, "stranger", row["tool"]),
            tuple(_tool(-n, p["server"], p["tool"]) for n, p in enumerate(row["peers"], 1)),
            DEFINITIONS[row["set"] - 1],
            "attacks" if row["attack"] else "honest tools",
        )
        for number, row in enumerate(_rows(file))
    ]


def _kind(row: Json) -> str:
    if row.get("honest"):
        return "honest orders"
    if row["encoding"]:
        return "attacks in encodings"
    return "attacks in English" if row["language"] == "en" else "attacks in other languages"


def tool_sentences(tools: Iterable[ToolRecord]) -> list[str]:
    """Every sentence of these tools' texts, each once."""
    all_sentences = (
        sentence
        for tool in tools
        for passage in tool_passages(tool)
        for sentence in sentences(views(passage.text)[0].text)
        if " " in sentence or not sentence.isascii()
    )
    return list(dict.fromkeys(all_sentences))


def _specimen(number: int, row: Json) -> SplitTool:
    raw = {
        "name": row["name"],
        "description": row.get("description") or "",
        "inputSchema": row.get("inputSchema") or {},
    }
    others = tuple(_tool(-n, p["server"], p["tool"]) for n, p in enumerate(row["peers"] or (), 1))
    return SplitTool(
        _tool(number, row.get("server") or "stranger", raw),
        others,
        specimen_part(raw["description"]),
        _family(row),
        bool(row.get("hard")) or row.get("category") == "hard_negative",
    )


def _family(row: Json) -> str:
    if row["label"] == "poisoned":
        return CAPABILITY if row.get("category") == OFFENSIVE else TEXT
    return BENIGN if row["label"] == "benign" else CODE


def _tool(number: int, server: str, raw: Json) -> ToolRecord:
    entry = {key: value for key, value in raw.items() if key != "server"}
    return ToolRecord(number, 1, server, str(raw["name"]), entry, hash="", trusted_hash="")


def _rows(file: Path) -> Iterator[Json]:
    try:
        with file.open(encoding="utf-8") as lines:
            yield from (json.loads(line) for line in lines if line.strip())
    except (OSError, ValueError) as error:
        raise ToolcribError(
            f"{file} cannot be read: {error}.", "See DATA in CONTRIBUTING.md."
        ) from error

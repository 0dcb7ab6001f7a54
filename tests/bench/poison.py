"""`bench poison`: how many poisoned tools the gate keeps out, measured instead of projected.

The paper (arXiv 2604.21816, 7.6) reports 46 of 50 excluded in a simulation.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.core.errors import ToolcribError
from app.encoder.onnx import Encoder
from app.ranking.summary import summarise
from app.safety.patterns import check
from app.tokens.counters import counter
from store.records import ToolRecord
from tests.bench.data.bed import PAPER_K, PAPER_THETA
from tests.bench.data.embeddings import CachedEncoder
from tests.bench.data.sets import SetTool
from tests.bench.data.testbed import read_testbed
from tests.bench.report import Cell, Column, Report, Table, label, table

OFFENSIVE = "overtly_malicious_capability"
# the first sentence of a description, before any markup: what the tool pretends to be
_COVER = re.compile(r"^[^.<\n]{3,200}")


@dataclass(frozen=True, slots=True)
class Specimen:
    """A tool description with what is known about it."""

    tool: ToolRecord
    others: tuple[ToolRecord, ...]
    label: str
    category: str

    @property
    def family(self) -> str:
        """Which row of the report it belongs to."""
        if self.label != "poisoned":
            return "benign" if self.label == "benign" else "clean text, bad code"
        return "offensive capability" if self.category == OFFENSIVE else "poisoned text"


def run(
    file: Path, encoder: Encoder, *, catalogue: Sequence[SetTool] = (), cache: Path | None = None
) -> Report:
    """What gate and safety rules do with poisoned tools placed among the testbed's 120."""
    specimens = read_specimens(file)
    cached = CachedEncoder(encoder, cache)
    try:
        gated = _gate(specimens, cached)
    finally:
        cached.close()
    return Report("poison", (gated, _rules(specimens, catalogue)), _notes())


def read_specimens(file: Path) -> list[Specimen]:
    """The specimens of a JSONL file."""
    try:
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]
        return [_specimen(number, row) for number, row in enumerate(rows, 1)]
    except (OSError, ValueError, KeyError) as error:
        raise ToolcribError(
            f"{file} cannot be read: {error!r}.",
            'Each line needs {"label", "name", "description"}.',
        ) from error


def _specimen(number: int, row: dict[str, object]) -> Specimen:
    peers = row.get("peers")
    others = [p for p in peers if isinstance(p, dict)] if isinstance(peers, list) else []
    raw = {
        "name": row["name"],
        "description": row.get("description") or "",
        "inputSchema": row.get("inputSchema") or {},
    }
    return Specimen(
        _tool(number, str(row.get("server") or "stranger"), raw),
        tuple(_tool(-n, str(p["server"]), p["tool"]) for n, p in enumerate(others, 1)),
        str(row["label"]),
        str(row.get("category") or ""),
    )


def _tool(number: int, server: str, raw: dict[str, object]) -> ToolRecord:
    return ToolRecord(number, 1, server, str(raw["name"]), raw, hash="", trusted_hash="")


def _gate(specimens: Sequence[Specimen], encoder: CachedEncoder) -> Table:
    """Each poisoned tool alone among the testbed: is it active for anyone's query?"""
    import numpy as np

    testbed = read_testbed(counter("cl100k_base"))
    own = encoder.encode([summarise(t.name, str(t.raw["description"])) for t in testbed.tools])
    queries = encoder.encode([q.query for q in testbed.queries], query=True)
    tenth = np.sort(queries @ own.T, axis=1)[:, -PAPER_K]
    rows: list[tuple[Cell, ...]] = []
    for family in ("poisoned text", "offensive capability"):
        chosen = [s for s in specimens if s.family == family]
        if not chosen:
            continue
        texts = encoder.encode([summarise(s.tool.name, s.tool.description) for s in chosen])
        scores = texts @ queries.T
        active = (scores >= PAPER_THETA) & (scores > tenth)
        covers = encoder.encode([_cover(s) for s in chosen], query=True)
        met = (texts * covers).sum(axis=1) >= PAPER_THETA
        blocked = np.array([_severity(s) == "block" for s in chosen])
        warned = np.array([_severity(s) in ("block", "warn") for s in chosen])
        never = ~active.any(axis=1)
        rows.append(
            (
                family, len(chosen), int(never.sum()), 100 * float(1 - active.mean()),
                int((~met).sum()), int((blocked | never).sum()), int((blocked | ~met).sum()),
                int((warned | ~met).sum()),
            )
        )  # fmt: skip
    columns = ("tools", "never active", "pairs kept out %", "kept out when asked for",
               "gate or held, never active", "gate or held when asked for",
               "gate, held or warned when asked for")  # fmt: skip
    title = (
        f"The paper's gate (theta {PAPER_THETA}, k {PAPER_K}) over {len(queries)} benign queries"
    )
    return table(title, [label("family"), *map(Column, columns)], rows)


def _rules(specimens: Sequence[Specimen], catalogue: Sequence[SetTool]) -> Table:
    """What the safety rules say, by family; real tools are all taken for harmless."""
    real = [
        Specimen(_tool(n, tool.server, dict(tool.raw)), (), "benign", "real")
        for n, tool in enumerate(catalogue, 1)
    ]
    rows = []
    groups = {"real catalogue": real} if real else {}
    for specimen in specimens:
        groups.setdefault(specimen.family, []).append(specimen)
    for family, members in groups.items():
        severities = [_severity(one) for one in members]
        held, warned = severities.count("block"), severities.count("warn")
        share = 100 * (held + warned) / len(members)
        rows.append((family, len(members), held, warned, share))
    names = ("tools", "held", "warned", "flagged %")
    return table("Safety rules", [label("family"), *map(Column, names)], rows)


def _severity(specimen: Specimen) -> str:
    findings = check(specimen.tool, specimen.others)
    return findings[0].severity if findings else ""


def _cover(specimen: Specimen) -> str:
    match = _COVER.match(specimen.tool.description.strip())
    return match.group() if match else specimen.tool.name


def _notes() -> tuple[str, ...]:
    return (
        "never active: for none of the benign queries; the paper's 46 of 50 is a simulation of"
        " this. asked for: the query is what the tool pretends to do, and there the gate cannot"
        " help; a rule that holds the tool back can.",
        "The rules were written with these specimens at hand: their recall on other poison is"
        " lower. The real catalogue was used to keep false alarms down as well.",
    )

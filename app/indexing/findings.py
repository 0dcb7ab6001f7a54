"""Findings against tools: their texts, their pins, their schemas."""

from collections.abc import Callable, Sequence

from app.indexing.tool_checks import schema_notes
from app.safety import patterns, pins
from app.safety.patterns import Names
from store.records import Finding, NewTool, ServerRecord, ToolRecord

SCHEMA_RULE = "SC-01"
BATCH = 200  # tools judged between two looks at whether to go on

KeepGoing = Callable[[int, int], bool]  # tools done, of how many


def findings_of_tools(chosen: Sequence[ToolRecord], among: Names) -> dict[int, tuple[Finding, ...]]:
    """Findings of the chosen tools, each seen beside all of `among`."""
    seen = patterns.check_all(chosen, among)
    return {
        tool.id: (*seen[tool.id], *pins.check(tool), *_schema_findings(tool)) for tool in chosen
    }


class TextJudge:
    """Judges a server's texts that the store does not have yet, before they are stored.

    Seen beside `stored`, the tools of all servers. May run on another thread, 1.3 ms of CPU a text.
    """

    def __init__(
        self, server: ServerRecord, new: Sequence[NewTool], stored: Sequence[ToolRecord]
    ) -> None:
        known = {tool.hash for tool in stored if tool.server_id == server.id}
        fresh = [tool for tool in new if tool.hash not in known]
        self._texts = [_unstored(server, number, tool) for number, tool in enumerate(fresh, 1)]
        self._stored = stored
        self.judged: dict[str, tuple[Finding, ...]] = {}  # by the hash of the text

    def run(self, keep_going: KeepGoing = lambda _done, _of: True) -> None:
        """Judge them, batch by batch, until `keep_going` says no; the first one always."""
        if not self._texts:
            return
        names = Names.of([*self._stored, *self._texts])
        for start in range(0, len(self._texts), BATCH):
            goes_on = keep_going(start, len(self._texts))
            if start and not goes_on:
                return
            batch = self._texts[start : start + BATCH]
            by_id = findings_of_tools(batch, names)
            self.judged |= {tool.hash: by_id[tool.id] for tool in batch}

    @property
    def left(self) -> frozenset[str]:
        """Hashes of the texts that were not judged."""
        return frozenset(tool.hash for tool in self._texts) - self.judged.keys()


def _unstored(server: ServerRecord, number: int, tool: NewTool) -> ToolRecord:
    """As a row whose id no stored tool has."""
    return ToolRecord(
        id=-number,
        server_id=server.id,
        server=server.name,
        name=tool.name,
        raw=tool.raw,
        hash=tool.hash,
        trusted_hash=tool.hash,
        problem=tool.problem,
    )


def _schema_findings(tool: ToolRecord) -> tuple[Finding, ...]:
    notes = "" if tool.problem else " ".join(schema_notes(tool.raw))
    return (Finding(0, tool.id, SCHEMA_RULE, "info", notes, tool.hash),) if notes else ()

"""Facts about a listed server before it is installed, in words: tools, tokens, trust, doubts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import apsw

from app.catalog.catalog import Catalog
from app.core.text import plural
from app.market.entry import DEPRECATED, Entry
from app.market.guards import skeleton
from app.market.launch import Choice, choices
from app.market.records import entry_of
from app.market.seed import SEED_URL
from app.market.sources import OFFICIAL, passes_on, trusts_private
from app.policy.budget import Budget, Verdict, verdict
from app.ranking.text import split_name
from app.safety.hidden import mixed_scripts
from app.safety.judgement import judge
from app.safety.texts import json_passages
from store import market
from store.market import ListedServer, MarketSource, MarketTool

_MOST_DOUBLES = 10
_REMARK = "info"


@dataclass(frozen=True, slots=True)
class Doubt:
    """A reason to distrust the entry's texts, as the scanner words it."""

    severity: str
    rule: str
    detail: str


@dataclass(frozen=True, slots=True)
class Details:
    """One listed server, and what installing it would mean here."""

    entry: Entry
    listed: ListedServer
    source: MarketSource
    ways: tuple[Choice, ...]
    tools: tuple[MarketTool, ...]
    counted: int  # tools whose tokens are known
    tokens: int  # of those
    verdict: Verdict | None  # of the profile with all of its tools; None where no token is known
    doubles: tuple[tuple[str, str], ...]  # its tool, and the installed one of the same name
    looks_like: tuple[str, ...]  # other listed servers whose names can be taken for this one
    doubts: tuple[Doubt, ...]
    proof: str
    installed: str = ""  # name of the installed server that came from this entry
    as_listed: bool = False  # its source cannot be asked for it again

    @property
    def tokens_text(self) -> str:
        """Tokens of its tools as far as they are known, a sentence."""
        if not self.tools:
            return "Its tools are not known before it is read."
        number = plural(len(self.tools), "tool")
        if not self.counted:
            return f"{number}; their tokens are known once it is read."
        if self.counted < len(self.tools):
            return f"{number}; {self.tokens:,} tokens for {self.counted} of them."
        return f"{number}, {self.tokens:,} tokens when they were last counted."

    @property
    def verdict_text(self) -> str:
        """The budget with all of its tools on, "" where it is not known."""
        if self.verdict is None:
            return ""
        sums = f"{self.verdict.tokens:,} of {self.verdict.budget.limit:,}"
        return f"{self.verdict.word}: {sums} tokens with all of its tools on."

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings to read before the server is added, worst first."""
        lines = []
        if self.entry.status == DEPRECATED:
            lines.append(f"Deprecated by its publisher. {self.entry.status_message}".strip())
        lines += [f"Its name can be taken for {name}." for name in self.looks_like]
        if mixed_scripts(self.entry.title):
            lines.append("Its title mixes alphabets, as imitations do.")
        lines += [f"{one.rule} in its texts: {one.detail}" for one in self.doubts]
        return tuple(lines)


def details(db: apsw.Connection, listed: ListedServer, catalog: Catalog) -> Details:
    """All that is known of a listed server beside this profile's tools; sends nothing."""
    entry = entry_of(listed)
    sources = {one.id: one for one in market.sources(db)}
    source = sources[listed.source_id]
    private = trusts_private(db, source)
    tools = market.tools_of(db, listed.package)
    counted = [tool.tokens for tool in tools if tool.tokens]
    return Details(
        entry=entry,
        listed=listed,
        source=replace(source, private=int(private)),
        ways=choices(entry, private=private),
        tools=tools,
        counted=len(counted),
        tokens=sum(counted),
        verdict=_with(catalog, counted, len(tools)) if counted else None,
        doubles=tuple(_doubles(tools, catalog)),
        looks_like=market.names_like(db, skeleton(entry.name), entry.name),
        doubts=doubts(entry),
        proof=proof(entry, source),
        installed=market.installed_as(db, entry.name),
        as_listed=passes_on(db, source),
    )


def doubts(entry: Entry) -> tuple[Doubt, ...]:
    """Findings of the scanner over all texts of an entry, worst first; remarks are left out."""
    sightings = judge(json_passages(entry.raw, "entry"))
    kept = [one for one in sightings if one.severity != _REMARK]
    return tuple(Doubt(one.severity, one.rule, one.detail) for one in kept)


def proof(entry: Entry, source: MarketSource) -> str:
    """Proof about the publisher that the name gives, in words; no proof of safety."""
    space = entry.name.partition("/")[0]
    if source.url == SEED_URL:
        return "From the list that ships with Toolcrib: its publisher was not checked."
    if source.url != OFFICIAL:
        return f"Listed by {source.name}; how it checks publishers is not known here."
    for prefix, site in (("io.github.", "GitHub"), ("io.gitlab.", "GitLab")):
        if space.startswith(prefix):
            user = space.removeprefix(prefix)
            return f"The publisher showed that the {site} account {user} is theirs."
    domain = ".".join(reversed(space.split(".")))
    return f"The publisher showed that the domain {domain} is theirs."


def _with(catalog: Catalog, counted: Sequence[int], tools: int) -> Verdict:
    """The profile's verdict with these tools beside those that are shown."""
    shown = catalog.shown
    budget = Budget.from_settings(catalog.settings.budget)
    tokens = sum(tool.cost for tool in shown) + sum(counted)
    return verdict(tokens, len(shown) + tools, budget)


def _doubles(tools: Iterable[MarketTool], catalog: Catalog) -> list[tuple[str, str]]:
    """Its tools that have the name of an installed one."""
    installed = {split_name(one.tool.name): one.tool.tool_id for one in reversed(catalog.tools)}
    pairs = ((tool.name, installed.get(split_name(tool.name), "")) for tool in tools)
    return [pair for pair in pairs if pair[1]][:_MOST_DOUBLES]

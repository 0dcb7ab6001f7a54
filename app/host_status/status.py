"""Status of a host: found or not, its mode, and what an export would change now."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from app.catalog.catalog import Catalog
from app.export.file_tools import file_tools
from app.export.history import added_since, is_native
from app.export.plan import Plan, plan
from app.hooks.rules import RulesStatus
from app.hooks.status import HookStatus
from app.host_status.drift import IN_SYNC, OUTSIDE, Drift, find_drift
from app.host_status.http import is_over_http
from app.host_status.recommend import Recommendation, recommend
from app.hosts.facts import HostFacts
from app.hosts.places import Places
from app.hosts.reading import HostReading, read_host
from app.policy.profiles import profile_of
from app.system.endpoint import Endpoint
from store.exports import in_force, mode_of
from store.records import AS_IS, ExportRecord

CHANGES, UNREADABLE, NOT_FOUND = "changes", "not readable", "not found"
ENDPOINT_OFF = "endpoint off"


@dataclass(frozen=True, slots=True)
class HostStatus:
    """One host of this machine; `changes` counts what writing again in its mode would change."""

    host: HostFacts
    state: str  # in sync | changes | changed outside | endpoint off | not readable | not found
    mode: str
    changes: int
    problem: str
    readings: tuple[HostReading, ...]
    recommendation: Recommendation
    catalog: Catalog  # as the profile it is held against sees it
    drift: tuple[Drift, ...] = ()
    plan: Plan | None = None  # of writing again in its mode, when it was written
    profile: str = ""  # that it gets by Toolcrib's writes
    hook: HookStatus | None = None  # None before its file was read
    http: bool = False  # in through mode: by a URL instead of a command
    native: bool = False  # its own switches hide what is off, by Toolcrib's write
    beside: frozenset[str] = frozenset()  # entries that came after those switches were written
    written: frozenset[int] = frozenset()  # records of the newest writes that its files still have
    rules: RulesStatus | None = None  # the same, and where the host's instructions are known


def _with_file(reading: HostReading) -> str:
    """The problem of a file, which is named in it."""
    name = str(reading.file)
    return reading.problem if name in reading.problem else f"{name}: {reading.problem}"


def _fitting(
    advice: Recommendation,
    facts: HostFacts,
    catalog: Catalog,
    readings: tuple[HostReading, ...],
) -> Recommendation:
    """Advice that saves no more than the model gets: files of projects and entries that are off
    give it nothing."""
    if not advice.saving:
        return advice
    gets = file_tools(facts, catalog, readings, native=False).sent.tokens
    if not gets:
        return Recommendation(AS_IS, f"The files of {facts.name} give its model no tool now.", 0)
    return replace(advice, saving=min(advice.saving, gets))


def host_status(
    places: Places,
    facts: HostFacts,
    *,
    catalog: Catalog,
    gateway_path: Path,
    history: Sequence[ExportRecord],
    endpoint: Endpoint | None = None,
) -> HostStatus:
    """The host's state; reads its files, starts and writes nothing.

    Without the `endpoint` an outdated URL in its files is not noticed.
    """
    active = [record for record in in_force(history) if record.scope != "project"]
    base = _as_found(places, facts, catalog, active)
    if not base.readings and not active:
        return replace(base, state=NOT_FOUND)
    if base.problem:
        return replace(base, state=UNREADABLE)
    held_against = endpoint if base.http else None
    lost = any(one.state != OUTSIDE or one.entries or not one.now for one in base.drift)
    if lost or base.mode == AS_IS or (base.http and held_against is None):
        return replace(base, state=OUTSIDE) if base.drift else base
    again = plan(
        places,
        facts.id,
        catalog=catalog,
        mode=base.mode,
        gateway_path=gateway_path,
        history=history,
        endpoint=held_against,
    )
    state = _state(base.drift, again, held_against)
    return replace(base, state=state, changes=len(again.changes), plan=again)


def _as_found(
    places: Places, facts: HostFacts, catalog: Catalog, active: Sequence[ExportRecord]
) -> HostStatus:
    """The host by its files and the writes in force, before a plan is compared."""
    readings = read_host(places, facts)
    advice, mode = recommend(facts, catalog), mode_of(active)
    broken = next((reading for reading in readings if reading.problem), None)
    return HostStatus(
        facts,
        IN_SYNC,
        mode,
        0,
        _with_file(broken) if broken is not None else "",
        readings,
        _fitting(advice, facts, catalog, readings) if mode == AS_IS else advice,
        catalog,
        tuple(one for one in find_drift(active) if one.state != IN_SYNC),
        profile=profile_of(active),
        http=is_over_http(active),
        native=is_native(active),
        beside=added_since(active),
    )


def _state(drift: Sequence[Drift], again: Plan, endpoint: Endpoint | None) -> str:
    """The state by the plan of writing again."""
    if drift and (again.files or again.refusal):
        return OUTSIDE  # else only keys changed that are nothing to Toolcrib
    if again.files:
        return CHANGES
    return ENDPOINT_OFF if endpoint is not None and not endpoint.answers else IN_SYNC

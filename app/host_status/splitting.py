"""A profile split into several: profiles, hosts' files and projects' policies, as one step.

Everything is planned before, so that it can be shown; when a part fails, all of it is taken back.
"""

import hashlib
import json
import os
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import apsw

from app.catalog.catalog import Catalog, CatalogTool
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.safe_write import make_file
from app.evidence.projects import project_folder
from app.export import apply as writes
from app.export.plan import Plan
from app.host_status.overview import prepare, survey
from app.host_status.status import HostStatus
from app.hosts.places import Places
from app.policy import profiles as profile_names
from app.policy.budget import Budget
from app.policy.clusters import NewProfile, SplitPlan, plan_split
from app.policy.policy_file import FILE_NAME, find_policy
from app.policy.project_policy import put_back, trust_file
from app.policy.sessions import HOST, Owner, read_sessions
from app.policy.usage import DAY
from app.system.endpoint import Endpoint
from store import exports, profiles, splits
from store.connection import transaction
from store.errors import StoreError
from store.records import PRUNED, THROUGH, PolicyTrust, SplitRecord
from store.typed import Json

EVIDENCE_DAYS = 30
_WRITTEN = (THROUGH, PRUNED)  # ways in which a host gets a profile


@dataclass(frozen=True, slots=True)
class Assignment:
    """An owner that a profile is for, and how it gets it; `refusal` says why it cannot."""

    owner: Owner
    title: str  # of the host, or the project's folder
    profile: str
    calls: int
    kept: int
    host_plan: Plan | None = None
    policy: Path | None = None  # file to be made
    text: str = ""  # of that file
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Split:
    """A plan with what it would write."""

    plan: SplitPlan
    assignments: tuple[Assignment, ...]

    def require_several(self) -> None:
        """Raise ToolcribError where one profile holds every tool."""
        if len(self.plan.profiles) < 2:
            raise ToolcribError("There is nothing to split: one profile holds every tool.")

    @property
    def possible(self) -> tuple[Assignment, ...]:
        """Those that can be made."""
        return tuple(one for one in self.assignments if not one.refusal)


@dataclass(frozen=True, slots=True)
class UndoneSplit:
    """Outcome of taking a split back; `notes` are sentences on what stayed."""

    profile: str
    profiles: tuple[str, ...]
    notes: tuple[str, ...] = ()


def look_at_split(
    db: apsw.Connection,
    places: Places,
    catalog: Catalog,
    budget: Budget,
    now: float,
    *,
    endpoint: Endpoint | None = None,
) -> Split:
    """The split of a catalogue's profile by the last month's calls; changes nothing.

    `endpoint` is the URL of hosts that were written as one.
    """
    sessions = read_sessions(db, now - EVIDENCE_DAYS * DAY)
    known = profile_names.names(db)
    plan = plan_split(catalog.profile.name, catalog.tools, budget, sessions, known)
    statuses = {s.host.id: s for s in survey(db, places, catalog, endpoint=endpoint)}
    made: list[Assignment] = []
    for profile in plan.profiles:
        for served in profile.served:
            blank = Assignment(
                served.owner, served.owner.key, profile.name, served.calls, kept=served.kept
            )
            if served.owner.kind == HOST:
                status = statuses.get(served.owner.key)
                made.append(_of_host(db, places, catalog, profile, blank, status, endpoint))
            else:
                made.append(_of_project(profile, blank, now))
    return Split(plan, tuple(made))


def _of_host(
    db: apsw.Connection,
    places: Places,
    catalog: Catalog,
    profile: NewProfile,
    blank: Assignment,
    status: HostStatus | None,
    endpoint: Endpoint | None,
) -> Assignment:
    """A host by its file; one that gets no profile yet is left as it is."""
    if status is None:
        return replace(blank, refusal=f"{blank.title} is no host that Toolcrib knows.")
    named = replace(blank, title=status.host.name)
    if status.mode not in _WRITTEN or status.profile != catalog.profile.name:
        gets = f"does not get the profile {catalog.profile.name}"
        return replace(named, refusal=f"{named.title} {gets}; write its config in Hosts first.")
    plan = prepare(
        db,
        places,
        as_profile(catalog, profile),
        host_id=status.host.id,
        mode=status.mode,
        endpoint=endpoint if status.http else None,
    )
    return replace(named, host_plan=plan, refusal=plan.refusal or "")


def _of_project(profile: NewProfile, blank: Assignment, now: float) -> Assignment:
    """A project by a policy file of its own; one that is there is left as it is."""
    folder = project_folder(blank.owner.key)
    if folder is None:
        return replace(blank, refusal="Its folder is not known; use the profile by its name.")
    named = replace(blank, title=str(folder))
    if known := find_policy(folder):
        return replace(named, refusal=f"It has a policy, {known}; edit that one.")
    if folder == Path.home() or not os.access(folder, os.W_OK):
        return replace(named, refusal="No policy can be made in this folder.")
    return replace(named, policy=folder / FILE_NAME, text=policy_text(profile, now))


def policy_text(profile: NewProfile, now: float) -> str:
    """A policy file that leaves on the tools of a profile."""
    day = time.strftime("%Y-%m-%d", time.localtime(now))
    tools = "".join(f"  {json.dumps(t.tool.tool_id)},\n" for t in profile.tools)
    return (
        f"# Made by Toolcrib on {day}: the tools that sessions in this folder use.\n"
        f"version = 1\n\n[tools]\nonly = [\n{tools}]\n"
    )


def as_profile(catalog: Catalog, profile: NewProfile) -> Catalog:
    """The catalogue as a profile will see it that is not made yet."""
    inside = {tool.tool.id for tool in profile.tools}

    def row(tool: CatalogTool) -> CatalogTool:
        return replace(tool, on=tool.on and (not tool.shown or tool.tool.id in inside))

    record = replace(catalog.profile, id=0, name=profile.name)
    return replace(catalog, profile=record, tools=tuple(map(row, catalog.tools)))


def make_split(
    ctx: AppContext,
    db: apsw.Connection,
    catalog: Catalog,
    split: Split,
    owners: Collection[Owner],
    *,
    insist: bool = False,
) -> SplitRecord:
    """Make the profiles, and give each of these owners its own; all of it or nothing.

    ToolcribError where something is not as it was shown.
    """
    split.require_several()
    chosen = [one for one in split.possible if one.owner in owners]
    with transaction(db):
        made = [_make_profile(db, catalog, profile) for profile in split.plan.profiles]
        detail: Json = {"profiles": made, "exports": [], "policies": {}}
        split_id = splits.add(db, ctx.clock(), catalog.profile.name, detail)
    try:
        for one in chosen:
            _assign(ctx, db, one, detail, insist=insist)
            with transaction(db):
                splits.save_detail(db, split_id, detail)
    except BaseException:
        with suppress(ToolcribError, StoreError, apsw.Error, OSError):
            with transaction(db):
                splits.save_detail(db, split_id, detail)
            undo_split(ctx, db, split_id)
        raise
    record = splits.one(db, split_id)
    if record is None:
        raise ToolcribError("The split was taken back meanwhile.")
    return record


def _make_profile(db: apsw.Connection, catalog: Catalog, profile: NewProfile) -> str:
    """A copy of the profile with all other tools off; its name."""
    if problem := profile_names.name_problem(profile.name, profile_names.names(db)):
        raise ToolcribError(problem, "Look at the split again.")
    copy = profiles.create(db, profile.name, copy_of=catalog.profile.id)
    inside = {tool.tool.id for tool in profile.tools}
    profiles.set_on(
        db, copy.id, [t.tool.id for t in catalog.shown if t.tool.id not in inside], False
    )
    return profile.name


def _assign(
    ctx: AppContext, db: apsw.Connection, one: Assignment, detail: Json, *, insist: bool
) -> None:
    """Write a host's files or a project's policy, and note it for the undoing."""
    if one.host_plan is not None:
        if one.host_plan.files:
            done = writes.apply(one.host_plan, ctx, db, insist=insist)
            detail["exports"] = [*(record.id for record in done), *detail["exports"]]
    elif one.policy is not None:
        data = one.text.encode()
        try:
            make_file(one.policy, data, mode=0o644)
        except OSError as error:
            raise ToolcribError(
                f"{one.policy} was not made: {error.strerror}.", "Leave this project out."
            ) from error
        detail["policies"][str(one.policy)] = hashlib.sha256(data).hexdigest()
        trust_file(db, one.policy, ctx.clock())


def undo_split(ctx: AppContext, db: apsw.Connection, split_id: int | None = None) -> UndoneSplit:
    """Take a split back, the newest by default: hosts' files, policies, then profiles."""
    record = splits.newest(db) if split_id is None else splits.one(db, split_id)
    if record is None or record.undone:
        raise ToolcribError("There is no split to undo.")
    ids = [number for number in record.detail.get("exports", ()) if isinstance(number, int)]
    to_undo = [number for number in ids if not _is_undone(db, number)]
    if to_undo:
        writes.undo_writes(to_undo, ctx, db)
    notes = list(_without_policies(db, record.detail.get("policies", {}), ctx.clock()))
    gone: list[str] = []
    for name in record.detail.get("profiles", ()):
        if profiles.by_name(db, name) is None:
            continue
        try:
            profile_names.forget(db, name)
        except ToolcribError as error:  # a host got it by another write
            notes.append(error.text)
        else:
            gone.append(name)
    with transaction(db):
        splits.mark_undone(db, record.id, ctx.clock())
    return UndoneSplit(record.profile, tuple(gone), tuple(notes))


def _is_undone(db: apsw.Connection, export_id: int) -> bool:
    record = exports.one(db, export_id)
    return record is None or bool(record.undone_at)


def _without_policies(db: apsw.Connection, made: Json, now: float) -> Iterator[str]:
    """Remove the policy files that are as they were made; a sentence for each that stays."""
    for name, digest in made.items():
        path = Path(name)
        try:
            present = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
            if present == digest:
                path.unlink()
                put_back(db, name, PolicyTrust(), now)
            elif present:
                yield f"{path} was changed since, and stays."
        except OSError as error:
            yield f"{path} stays: {error.strerror}."


def owners_of(split: Split, names: Sequence[str]) -> list[Owner]:
    """The owners that these words name: a host's id, a folder, or `all`; raises ToolcribError."""
    owners: list[Owner] = []
    for name in names:
        hits = [
            one
            for one in split.assignments
            if name == "all" or name in (one.owner.key, one.title) or _same_path(one.policy, name)
        ]
        if not hits and name != "all":
            known = ", ".join(one.title for one in split.assignments) or "none"
            raise ToolcribError(f"No calls of {name} are known.", f"Known are: {known}.")
        refused = next((one for one in hits if one.refusal), None)
        if refused is not None and name != "all":
            raise ToolcribError(f"{refused.title} gets no profile. {refused.refusal}")
        owners += [one.owner for one in hits if not one.refusal]
    return list(dict.fromkeys(owners))


def _same_path(policy: Path | None, name: str) -> bool:
    return policy is not None and policy.parent == Path(name).expanduser().absolute()

"""Sending an editor's draft to the team, with whom it concerns; and taking that back."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import apsw

from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.team import drafts, membership
from app.team.client import ChangedMeanwhileError, OfflineError, TeamClient
from app.team.drafts import Edit
from store.typed import Json


@dataclass(frozen=True, slots=True)
class Prepared:
    """A draft's changes, and the members who get them."""

    profile: str  # the draft
    organisation: str
    edit: Edit
    members: Sequence[tuple[str, str]]  # name, role


@dataclass(frozen=True, slots=True)
class Published:
    """A sent draft: what undo needs."""

    profile: str
    name: str  # of the team profile
    before: Json
    version: int  # that it has since


def prepare(
    ctx: AppContext,
    db: apsw.Connection,
    profile: str,
    *,
    progress: membership.Progress = membership.silent,
    keep_going: membership.KeepGoing = lambda: True,
) -> Prepared:
    """Synchronise, then say what a draft changes and for whom. Raises ToolcribError."""
    team = membership.synchronise(ctx, db, progress=progress, keep_going=keep_going).team
    edit = drafts.edit_of(db, profile)
    with TeamClient(team.url, membership.token_of(ctx, team)) as client:
        members = client.concerned(edit.name)
    return Prepared(profile, team.organisation, edit, members)


def publish(ctx: AppContext, db: apsw.Connection, prepared: Prepared) -> Published:
    """Save the team profile as it was shown.

    Raises ChangedMeanwhileError where another editor was faster, and other ToolcribErrors; the
    draft stays as it is then.
    """
    edit = prepared.edit
    if not edit.lines:
        raise ToolcribError("The draft changes nothing.", "Change it, then send it.")
    version = _save(ctx, db, edit.name, edit.after)
    drafts.rebase(db, prepared.profile)
    return Published(prepared.profile, edit.name, edit.before, version)


def take_back(ctx: AppContext, db: apsw.Connection, published: Published) -> None:
    """Save the team profile as it was before. Raises ToolcribError where it changed since."""
    body = {key: published.before.get(key) for key in ("settings", "ticks")}
    try:
        _save(ctx, db, published.name, {**body, "version": published.version})
    except ChangedMeanwhileError as error:
        raise ToolcribError(
            f"{published.name} was changed again in the team, so nothing was taken back.",
            "Edit it anew.",
        ) from error
    drafts.rebase(db, published.profile)


def _save(ctx: AppContext, db: apsw.Connection, name: str, body: Json) -> int:
    team = membership.current(db)
    with TeamClient(team.url, membership.token_of(ctx, team)) as client:
        version = client.save_profile(name, body).get("version")
    with suppress(OfflineError):  # it is saved; the next synchronisation brings it
        membership.synchronise(ctx, db)
    return version if type(version) is int else 0

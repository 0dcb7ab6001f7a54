"""Verbs of toolcrib-team for the team's profiles and policies, as the operator."""

import argparse
from dataclasses import replace

from app.core.text import plural
from app.policy.policy_file import parse_policy, policy_bytes
from app.team_server.administration import granted, operated, present, say, seen_by
from store.team import policies, profiles
from store.team.connecting import Connection
from store.team.records import TEAM_POLICY, Organisation, Policy, Profile


def run_profile_list(args: argparse.Namespace) -> int:
    """`toolcrib-team profile list`."""
    with operated(args) as (db, organisation):
        rows = profiles.every(db, organisation.id)
    for row in rows:
        off = sum(not tick.on for tick in row.ticks)
        say(f"{row.name}  version {row.version}  {plural(off, 'tool')} off  {seen_by(row.grants)}")
    if not rows:
        say("The team has no profile. Copy a catalogue's with: toolcrib-team import")
    return 0


def run_profile_change(args: argparse.Namespace) -> int:
    """`toolcrib-team profile change`: who gets it."""
    with operated(args) as (db, organisation):
        row = _profile(db, organisation, args.name)
        row = replace(row, grants=granted(args.group))
        profiles.save(
            db, organisation.id, row.name, row.settings, row.ticks,
            grants=row.grants, version=row.version,
        )  # fmt: skip
    say(f"{row.name} is seen by {seen_by(row.grants)}.")
    return 0


def run_profile_remove(args: argparse.Namespace) -> int:
    """`toolcrib-team profile remove`."""
    with operated(args) as (db, organisation):
        profiles.delete(db, organisation.id, _profile(db, organisation, args.name).id)
    say(f"{args.name} was removed.")
    return 0


def run_policy_list(args: argparse.Namespace) -> int:
    """`toolcrib-team policy list`: each with its text."""
    with operated(args) as (db, organisation):
        rows = policies.every(db, organisation.id)
    for row in rows:
        say(_counts(row.name))
        for line in row.text.splitlines():
            say(f"  {line}")
    if not rows:
        say("The team has no policy.")
    return 0


def run_policy_save(args: argparse.Namespace) -> int:
    """`toolcrib-team policy save`: checked first; it counts from the next request on."""
    text = policy_bytes(args.file)
    parse_policy(text, str(args.file))
    with operated(args) as (db, organisation):
        if args.name != TEAM_POLICY:
            _profile(db, organisation, args.name)
        policies.save(db, organisation.id, args.name, text.decode())
    say(_counts(args.name))
    return 0


def run_policy_remove(args: argparse.Namespace) -> int:
    """`toolcrib-team policy remove`."""
    with operated(args) as (db, organisation):
        policies.delete(db, organisation.id, _policy(db, organisation, args.name).id)
    say(f"The policy {args.name} counts no more.")
    return 0


def _counts(name: str) -> str:
    where = "in every profile" if name == TEAM_POLICY else f"in the profile {name}"
    return f"The policy {name} counts {where}."


def _profile(db: Connection, organisation: Organisation, name: str) -> Profile:
    hint = f"See: toolcrib-team profile list --organisation {organisation.name}"
    return present(profiles.named(db, organisation.id, name), f"profile {name}", hint)


def _policy(db: Connection, organisation: Organisation, name: str) -> Policy:
    hint = f"See: toolcrib-team policy list --organisation {organisation.name}"
    return present(policies.named(db, organisation.id, name), f"policy {name}", hint)

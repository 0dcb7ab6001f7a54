"""`toolcrib add --from NAME`: a listed server, shown with what it would mean, then registered."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from app.catalog.catalog import load_catalog
from app.cli.console import Console
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.text import visible
from app.hosts.display import launch_text
from app.market.details import Details, details
from app.market.launch import (
    Choice,
    best,
    choices,
    choose,
    launch_of,
    runtimes,
    shown_command,
)
from app.market.seed import take_seed
from app.registry import installing
from app.system.quoting import quoted
from store import servers
from store.typed import Json

_NONE: Mapping[str, str] = {}


class _Listed(argparse.Action):
    """Takes a listed server, which makes the positional arguments optional."""

    def __init__(self, *args: Any, optional: Sequence[argparse.Action], **options: Any) -> None:
        super().__init__(*args, **options)
        self._optional = optional

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002 - argparse's own signature
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,  # noqa: ARG002
    ) -> None:
        setattr(namespace, self.dest, values)
        for one in self._optional:
            one.required = False


def add_arguments(parser: argparse.ArgumentParser, optional: Sequence[argparse.Action]) -> None:
    """Add --from and what belongs to it; with it the `optional` arguments may be missing."""
    parser.add_argument(
        "--from", dest="listed", default="", metavar="NAME[@VERSION]",
        action=_Listed, optional=optional,
        help="a listed server, as `toolcrib find` names it, or the package's own name",
    )  # fmt: skip
    parser.add_argument("--source", default="", metavar="NAME", help="the list, if several have it")
    parser.add_argument("--package", type=int, metavar="N", help="the package, if it has several")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", dest="values",
        help="a value that the server needs; KEY alone asks for it, unseen",
    )  # fmt: skip
    parser.add_argument(
        "--for", dest="purpose", default="", metavar="TEXT",
        help="what it is added for: toolcrib profile fit ticks the tools that do it",
    )  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="show the effect, change nothing")


def run_add_listed(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Show the listed server and register it; starts nothing."""
    wanted, version = split_version(args.listed)
    with ctx.store() as db:
        take_seed(db, ctx.clock)
        listed = installing.listed_server(db, wanted, args.source)
        known = details(db, listed, load_catalog(db, encoding=ctx.settings.encoding))
        if args.dry_run:
            console.result(details_json(known), lambda: "\n".join(details_lines(known, version)))
            return 0
        for line in known.warnings:
            console.note(f"Warning: {line}")
        entry = installing.current(ctx, known, version)
        private = bool(known.source.private)
        choice = choose(entry, choices(entry, private=private), args.package, runtimes())
        choice = installing.ready(ctx, entry, choice, private=private)
        values = given_values(args.values, choice, console)
        launch = launch_of(entry, choice, values, private=private)
        before = servers.launches(db)
        done = installing.install(
            ctx, db, entry, choice, launch, source=known.source, name=args.name or "",
            values=values, query=args.purpose,
        )  # fmt: skip
    name, text = done.names[0], launch_text(launch)
    is_new = done.registered.server_ids[0] not in before
    result = {
        "added": name, "state": "added" if is_new else "same", "from": entry.name,
        "version": entry.version, "command": text.command,
    }  # fmt: skip
    console.result(
        result, lambda: "\n".join([*text.under(name), *_next_lines(quoted(name), is_new)])
    )
    return 0


def _next_lines(name: str, is_new: bool) -> list[str]:
    fit = f"See which of them fit in the budget: toolcrib profile fit {name}"
    if not is_new:
        return [f"It was there already, called {name}. Its tools stay as they are.", fit]
    return [
        f"Added. Nothing was started. Read its tools: toolcrib scan {name}",
        f"They are held until you approve them: toolcrib trust {name}",
        fit,
    ]


def split_version(wanted: str) -> tuple[str, str]:
    """Name and version of `NAME@VERSION`; a scope's own @ is none of a version."""
    name, at, version = wanted.rpartition("@")
    return (name, version) if at and name else (wanted, "")


def given_values(
    given: Sequence[str], choice: Choice, console: Console, known: Mapping[str, str] = _NONE
) -> dict[str, str]:
    """The values of --set; a key without one is asked for. Repeated keys are several values.

    What is `known` already is not asked for.
    """
    values: dict[str, str] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not key:
            raise ToolcribError(f"{text or '='} is not of the form KEY=VALUE.")
        if not equals:
            value = console.ask_secret(key)
        values[key] = f"{values[key]}\n{value}" if key in values else value
    for field in choice.fields:
        if field.wanted and not {**known, **values}.get(field.key) and console.can_ask:
            values[field.key] = console.ask_secret(f"{field.key} ({field.input.description})")
    return values


def details_json(known: Details) -> Json:
    """Details of a listed server before it is installed, as JSON."""
    proposed, reason = best(known.ways, runtimes())
    return {
        "name": known.entry.name,
        "version": known.entry.version,
        "description": known.entry.description,
        "source": known.source.name,
        "proof": known.proof,
        "licence": known.entry.licence,
        "repository": known.entry.repository,
        "website": known.entry.website,
        "updated": known.entry.updated_at,
        "status": known.entry.status,
        "tools": [{"name": tool.name, "tokens": tool.tokens} for tool in known.tools],
        "tokens": known.tokens_text,
        "budget": known.verdict_text,
        "doubles": [{"tool": mine, "installed": other} for mine, other in known.doubles],
        "warnings": list(known.warnings),
        "packages": [_way_json(known, way) for way in known.ways],
        "proposed": proposed.number if proposed else None,
        "reason": reason,
        "installed": known.installed,
    }


def _way_json(known: Details, way: Choice) -> Json:
    command = problem = ""
    try:
        command = shown_command(known.entry, way, private=bool(known.source.private))
    except ToolcribError as error:
        problem = error.title
    return {
        "number": way.number,
        "title": way.title,
        "problem": problem,
        "command": command,
        "inputs": [
            {
                "key": field.key,
                "required": field.wanted,
                "secret": field.input.secret,
                "description": field.input.description,
                "default": field.input.default,
                "choices": list(field.input.choices),
            }
            for field in way.fields
        ],
    }


def details_lines(known: Details, version: str = "") -> list[str]:
    """The same as text."""
    value = details_json(known)
    title = f"{value['name']} {version or value['version']}".rstrip()
    lines = [
        visible(title),
        *([f"  {visible(value['description'])}"] if value["description"] else []),
    ]
    facts = {
        "List": value["source"],
        "Publisher": value["proof"],
        "Licence": value["licence"] or "not stated",
        "Repository": value["repository"],
        "Website": value["website"],
        "Updated": value["updated"][:10] or "not stated",
        "Tools": value["tokens"],
        "Budget": value["budget"],
        "Doubles": ", ".join(f"{d['tool']} ({d['installed']})" for d in value["doubles"]),
        "Installed": value["installed"],
    }
    lines += [f"  {key + ':':<12}{visible(text)}" for key, text in facts.items() if text]
    lines += [f"  Warning:    {visible(text)}" for text in value["warnings"]]
    for way in value["packages"]:
        mark = "*" if way["number"] == value["proposed"] else " "
        lines.append(f"{mark} {way['number']}  {visible(way['title'])}")
        lines += [f"     {visible(text)}" for text in (way["problem"], way["command"]) if text]
        for one in way["inputs"]:
            need = "required" if one["required"] else "optional"
            secret = ", secret" if one["secret"] else ""
            about = visible(one["description"][:80])
            lines.append(f"     --set {visible(one['key'])}=…  {need}{secret}  {about}".rstrip())
    lines.append(f"  {value['reason']}")
    return lines

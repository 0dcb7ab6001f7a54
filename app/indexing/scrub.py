"""Takes secret values out of every answer of a server that is read."""

import os
from collections.abc import Iterable
from dataclasses import replace

from app.core.logs import redact
from app.core.scrubber import Scrubber
from app.hosts.launch import LaunchSpec, inherited_secrets
from app.indexing.raw_tools import stored_forms
from app.indexing.reading import Reading
from app.indexing.tool_checks import list_hash
from store.records import NewTool

_LONGEST_MESSAGE = 20_000  # characters that are kept of a message, cut when no secret is in it


def scrub(reading: Reading, launch: LaunchSpec, tokens: Iterable[str] = ()) -> Reading:
    """The reading without the secret values that the server was given, in any field or encoding.

    `tokens` are those of a sign-in. `launch` must have its variables filled in, or their values
    are not known.
    """
    scrubber = Scrubber((*launch.secret_values(), *inherited_secrets(os.environ), *tokens))
    tools = tuple(_hidden(tool, scrubber) for tool in reading.tools)
    return replace(
        reading,
        problem=redact(scrubber.text(reading.problem)),
        stderr=redact(scrubber.text(reading.stderr)),
        messages=tuple(
            (at, sent, redact(scrubber.text(line))[:_LONGEST_MESSAGE])
            for at, sent, line in reading.messages
        ),
        tools=tools,
        list_hash=list_hash(tools) if reading.list_hash else "",
        server_info=scrubber.json(reading.server_info),
        capabilities=scrubber.json(reading.capabilities),
        instructions=scrubber.text(reading.instructions),
        prompts=scrubber.json(reading.prompts),
        resources=scrubber.json(reading.resources),
        templates=scrubber.json(reading.templates),
        taken_with=scrubber.json(reading.taken_with),
    )


def _hidden(tool: NewTool, scrubber: Scrubber) -> NewTool:
    """The tool in the form that a running server's list is compared with."""
    (form,) = stored_forms([tool.raw], scrubber)
    if form.raw == tool.raw:
        return tool
    name = form.name if tool.raw.get("name") == tool.name else scrubber.text(tool.name)
    return NewTool(name, form.raw, form.hash, tool.problem or form.problem)

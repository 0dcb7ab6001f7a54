"""Links by which a host adds Toolcrib's one entry itself, after a question to its user."""

from base64 import b64encode
from dataclasses import replace
from urllib.parse import quote

from app.export.wrapping import GatewayCall, through_entry
from app.hosts.entries import THROUGH_NAME
from app.hosts.facts import HostFacts
from store.typed import Json, compact_json

LONGEST = 2_000  # characters of a link that every browser and system passes on whole
TOKEN = "TOKEN"  # in the place of a secret
_INPUT = "toolcrib-token"
_ASKED = "Output of: toolcrib backend http token"


def install_link(host: HostFacts, call: GatewayCall) -> str:
    """Return the link; "" where the host takes none, or where it would be too long.

    It holds no secret: VS Code asks for the token of a URL, for others its place holds TOKEN.
    """
    asks = "{json}" in host.link
    if call.address is not None:
        token = f"${{input:{_INPUT}}}" if asks else TOKEN
        call = replace(call, address=replace(call.address, token=token))
    entry = through_entry(host.style, call, THROUGH_NAME)
    named: Json = {"name": THROUGH_NAME, **entry}
    if asks and call.address is not None:
        wanted = {"type": "promptString", "id": _INPUT, "description": _ASKED, "password": True}
        named["inputs"] = [wanted]
    link = host.link.format(
        name=THROUGH_NAME,
        base64=quote(b64encode(compact_json(entry).encode()), safe=""),
        json=quote(compact_json(named), safe=""),
    )
    return link if len(link) <= LONGEST else ""


def link_note(host: HostFacts, *, over_http: bool) -> str:
    """Return what to do with the link."""
    note = f"Open it on this computer. {host.name} shows the entry and asks before it adds it."
    if not over_http:
        return note
    if "{json}" in host.link:
        return f"{note} It asks for a token, too: the output of `toolcrib backend http token`."
    return f"{note} Then put the output of `toolcrib backend http token` in the place of {TOKEN}."

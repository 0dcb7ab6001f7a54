"""Install links: what a host decodes is the entry that an export would write, without a secret."""

import json
from base64 import b64decode
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest

from app.catalog.catalog import load_catalog
from app.export.links import LONGEST, TOKEN, install_link
from app.export.plan import Plan, plan
from app.export.wrapping import GatewayCall
from app.hosts.facts import host, load_hosts
from app.system.endpoint import Address, Endpoint
from store.records import NATIVE, THROUGH

GATEWAY = Path("/opt/tool crib/ü/toolcrib-gateway")
STUB = {"command": "python", "args": ["stub.py"], "env": {"KEY": "ghp_neverShownAnywhere123"}}
FILES = {"cursor": (".cursor/mcp.json", "mcpServers"),
         "vscode": (".config/Code/User/mcp.json", "servers")}  # fmt: skip


def decoded(link: str) -> tuple[str, dict]:
    """Name and entry, as the host's documentation says that it reads them."""
    if link.startswith("cursor:"):
        parts = urlsplit(link)
        assert (parts.netloc, parts.path) == ("anysphere.cursor-deeplink", "/mcp/install")
        fields = dict(parse_qsl(parts.query, strict_parsing=True))
        assert set(fields) == {"name", "config"}
        return fields["name"], json.loads(b64decode(fields["config"], validate=True))
    start, _, query = link.partition("?")
    assert start == "vscode:mcp/install"
    entry = json.loads(unquote(query))
    return entry.pop("name"), entry


def planned(world, host_id: str, mode: str = THROUGH, **more) -> Plan:
    return plan(
        world.places,
        host_id,
        catalog=load_catalog(world.db),
        mode=mode,
        gateway_path=GATEWAY,
        **more,
    )


@pytest.fixture
def stocked(world):
    """Both hosts have the same server."""
    for file, key in FILES.values():
        world.write(file, {key: {"stub": STUB}})
    world.learn()
    return world


@pytest.mark.parametrize("host_id", FILES)
def test_the_link_decodes_to_the_entry_that_the_export_writes(stocked, host_id) -> None:
    made = planned(stocked, host_id)
    (file,) = made.files
    written = json.loads(file.after or b"")[FILES[host_id][1]]["toolcrib"]
    assert decoded(made.link) == ("toolcrib", written)
    assert written["command"] == str(GATEWAY)
    assert made.link.isascii() and len(made.link) <= LONGEST
    assert not set(made.link) & set(" \"'<>`{}"), "a mail or a shell would cut it"


@pytest.mark.parametrize("host_id", FILES)
def test_a_file_that_cannot_be_read_still_has_a_link_to_its_known_servers(stocked, host_id) -> None:
    before = planned(stocked, host_id).link
    (stocked.home / FILES[host_id][0]).write_text("{ broken")
    made = planned(stocked, host_id)
    assert made.refusal and not made.files
    assert decoded(made.link) == decoded(before)


@pytest.mark.parametrize("host_id", FILES)
def test_a_link_to_a_url_names_the_place_of_its_token_and_holds_none(stocked, ctx, host_id) -> None:
    ctx.paths.create()
    ctx.keep(http=True)
    endpoint = Endpoint(ctx.paths, on=True, port=41380)
    made = planned(stocked, host_id, endpoint=endpoint)
    assert made.address is not None
    _, entry = decoded(made.link)
    assert entry["url"] == made.address.url
    assert made.address.token not in json.dumps(entry)
    if host_id == "cursor":
        assert entry["headers"] == {"Authorization": f"Bearer {TOKEN}"}
        return
    (wanted,) = entry["inputs"]
    assert wanted["type"] == "promptString" and wanted["password"] is True
    assert entry["headers"] == {"Authorization": f"Bearer ${{input:{wanted['id']}}}"}


@pytest.mark.parametrize("host_id", FILES)
def test_no_value_of_a_server_is_in_a_link_whatever_address_it_is_made_of(host_id) -> None:
    address = Address("http://127.0.0.1:1/mcp/default", "5ec7e7" * 10)
    link = install_link(host(host_id), GatewayCall("/g", "default", "", address, ("stub",)))
    assert "5ec7e7" not in link and "5ec7e7" not in json.dumps(decoded(link))


def test_only_through_mode_of_no_project_has_a_link(stocked, tmp_path) -> None:
    assert not planned(stocked, "cursor", NATIVE).link
    stocked.places = replace(stocked.places, project=tmp_path)
    assert not planned(stocked, "cursor").link
    assert {facts.id for facts in load_hosts() if facts.link} == set(FILES)


def test_a_link_that_would_be_cut_is_none() -> None:
    servers = tuple(f"server-{number}" for number in range(400))
    for host_id in FILES:
        call = GatewayCall("/g", "default", behind=servers)
        assert install_link(host(host_id), call) == ""

"""Real hosts take the URL that Toolcrib wrote into their file, and find and call a tool by it."""

import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "hosts"))
sys.path.insert(0, str(Path(__file__).parents[1] / "fakes"))
from judge.fake_model import FakeModel
from judge.journey import Household, script
from judge.real import RealHost, chosen, real_host
from judge.trial import program
from web_client import free_port

from app.export.apply import undo_host
from app.gateway.backend import client
from app.gateway.backend.http_access import endpoint, http_state, listening
from app.gateway.backend.rendezvous import STOP, Place
from app.hosts.facts import host as facts_of
from store.records import THROUGH

pytestmark = [
    pytest.mark.hosts,
    pytest.mark.timeout(400),
    pytest.mark.skipif(sys.platform == "win32", reason="there is no backend"),
]
EVERYDAY = [host.id for host in chosen(os.environ) if facts_of(host.id).http]


@pytest.fixture(params=EVERYDAY)
def house(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Household]:
    host: RealHost = real_host(request.param)
    if not (program(host).is_file() and shutil.which("node")):
        missing = f"run: python tests/hosts/install.py {host.id}"
        pytest.fail(missing) if os.environ.get("CI") else pytest.skip(missing)
    monkeypatch.delenv("TOOLCRIB_STANDALONE")
    monkeypatch.setenv("HOME", str(tmp_path))
    made = Household(host, tmp_path)
    own = made.ctx.paths.home
    (own / "backend.off").unlink()
    monkeypatch.setenv("TOOLCRIB_HOME", str(own))
    made.ctx.keep(http_port=free_port())
    yield made
    place = Place(str(own))
    client.request(place, STOP)
    limit = time.monotonic() + 30
    while Path(place.socket).exists():
        assert time.monotonic() < limit, "the backend did not end"
        time.sleep(0.05)


def test_a_real_host_finds_and_calls_a_tool_by_the_url_in_its_file(house: Household) -> None:
    ctx, delay = house.ctx, house.host.delay
    with FakeModel(script(THROUGH), delay=delay) as model:
        house.set_up(model.port)
        before = {p: p.read_bytes() for p in house.home.rglob("*") if p.is_file()}
        with listening(ctx):
            (record,) = house.export(THROUGH, endpoint=endpoint(ctx))
        written = Path(record.file)
        text = written.read_text(encoding="utf-8")
        assert endpoint(ctx).url("default") in text and "toolcrib-gateway" not in text
        outcome = house.talk(model, mode=THROUGH)
        seen = f"{outcome.asked} {outcome.ended.out[-800:]}{outcome.ended.err[-800:]}"
        assert outcome.offered == {"search_tools", "call_tool"}, seen
        assert outcome.answered, seen
        assert outcome.called == ("alpha_get",)
        assert http_state(ctx).answers
    if written.read_bytes() == text.encode():  # else the host wrote into it meanwhile
        db = ctx.open_store()
        undo_host(house.host.id, ctx, db)
        db.close()
        assert written.read_bytes() == before[written]

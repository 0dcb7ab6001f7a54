"""Real hosts write their records: the counts read from them are those of the gateway's journal,
and their prompts become labels."""

import os
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "hosts"))
from judge.fake_model import FakeModel
from judge.journey import Household, script
from judge.real import HOSTS, PROMPT, chosen, real_host
from judge.trial import program

from app.catalog.catalog import change_settings
from app.core.settings import GatewaySettings
from app.evidence.formats import FORMATS, OPENCODE
from app.evidence.reading import read_records
from app.evidence.use import host_use
from app.gateway.journal_tail import take_left
from app.hooks.record_labels import labels_from_records
from store import events
from store.records import PRUNED

pytestmark = [pytest.mark.hosts, pytest.mark.timeout(300)]
RECORDED = {form.host for form in FORMATS} | {OPENCODE}
EVERYDAY = {host.id for host in chosen(os.environ)}


@pytest.mark.parametrize("host_id", [host.id for host in HOSTS if host.id in RECORDED])
def test_the_record_of_a_host_and_the_journal_behind_it_agree(host_id: str, tmp_path: Path) -> None:
    if host_id not in EVERYDAY:
        pytest.skip("set TOOLCRIB_ALL_HOSTS=1")
    host = real_host(host_id)
    if not program(host).is_file():
        pytest.skip(f"run: python tests/hosts/install.py {host_id}")
    household = Household(host, tmp_path / "home")
    with FakeModel(script(PRUNED), delay=host.delay) as model:
        household.set_up(model.port)
        household.export(PRUNED)
        outcome = household.talk(model, mode=PRUNED)
    assert outcome.called == ("alpha_get",), outcome.ended.err
    now = time.time()
    with closing(household.ctx.open_store()) as db:
        report = read_records(db, household.home, {}, now)
        use = host_use(db, now - 3_600)
        take_left(db, str(household.ctx.paths.home))  # Codex kills its servers at once
        journal = {tool: calls for tool, (calls, _last) in events.usage(db, now - 3_600).items()}
        change_settings(db, "default", {"gateway": GatewaySettings(keep_prompts=True)})
        (label,) = labels_from_records(
            db, household.ctx.paths, household.home, {}, "default", agreed=True
        )
    assert (label.query, label.expected) == (PROMPT, ("stub/alpha_get",))
    assert label.source == f"record:{host_id}"
    assert report.notes == ()
    assert use.calls == journal == {"stub/alpha_get": 1}
    assert use.requests[host_id] >= 2

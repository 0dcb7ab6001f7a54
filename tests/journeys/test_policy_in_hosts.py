"""A real host in a folder with a trusted policy gets the narrowed set; in another it does not."""

import os
import sys
from contextlib import closing
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "hosts"))
from judge.fake_model import FakeModel
from judge.journey import KEPT, Household, Outcome, script
from judge.real import chosen, real_host
from judge.trial import program

from app.catalog.catalog import load_catalog
from app.policy.policy_effect import effect_on
from app.policy.policy_file import FILE_NAME
from app.policy.project_policy import trust_file
from store.records import PRUNED

pytestmark = [pytest.mark.hosts, pytest.mark.timeout(400)]
EVERYDAY = {host.id for host in chosen(os.environ)}
POLICY = """version = 1
servers = ["stub", "elsewhere"]

[tools]
off = ["stub/res*", "stub/alpha_list"]
"""
LEFT = frozenset({"alpha_get", "gamma-dash.dot"})


def conversation(household: Household) -> Outcome:
    with FakeModel(script(PRUNED), delay=household.host.delay) as model:
        household.set_up(model.port)
        household.export(PRUNED)
        return household.talk(model, mode=PRUNED)


@pytest.mark.parametrize(
    "host_id", ["codex", pytest.param("opencode", marks=pytest.mark.exhaustive)]
)
def test_a_host_follows_the_policy_of_the_folder_it_works_in(host_id: str, tmp_path: Path) -> None:
    host = real_host(host_id)
    if host_id not in EVERYDAY or not program(host).is_file():
        pytest.skip(f"run: python tests/hosts/install.py {host_id}")
    shown = {}
    for place in ("project", "another"):  # the host works in the first
        household = Household(host, tmp_path / place)
        folder = household.home / place
        folder.mkdir()
        (folder / ".git").mkdir()
        (folder / FILE_NAME).write_text(POLICY)
        household.ctx.paths.create()
        with closing(household.ctx.open_store()) as db:
            trusted = trust_file(db, folder / FILE_NAME, 1.0)
        outcome = conversation(household)
        assert outcome.called == ("alpha_get",), outcome.ended.err
        shown[place] = outcome.shown
    assert shown == {"project": LEFT, "another": frozenset(KEPT)}
    with closing(household.ctx.open_store()) as db:
        refused = effect_on(load_catalog(db), trusted.policy).refused
    assert refused == ("elsewhere: the profile does not have this server.",)

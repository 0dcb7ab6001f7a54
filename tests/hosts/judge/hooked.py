"""A real host whose hook asks a real backend before its prompt reaches the model."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from app.catalog.catalog import load_catalog
from app.catalog.menu_tools import SUGGEST
from app.export.apply import apply
from app.export.plan import plan
from app.export.wrapping import GatewayCall
from app.gateway.backend.client import request
from app.gateway.backend.rendezvous import STOP, Place
from app.hooks import files as hooks
from app.hooks.entries import LIST, words_of
from app.hooks.rules import rules_plan, rules_state
from app.hooks.status import HookStatus, hook_status
from app.hosts.facts import host as facts_of
from app.hosts.reading import read_hosts
from app.registry.register import register, targets
from app.registry.scan import ScanOptions, scan
from judge.fake_model import FakeModel
from judge.journey import GATEWAY, Household
from judge.real import PROMPT, RealHost
from judge.trial import LIMIT, Ended, run_program
from store import exports
from store.records import THROUGH

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fakes"))
from raw_host import RawHost, text

FEW = 15  # tools besides the probes, three times what a hint names; encoding all takes a second
HINT = "Toolcrib: tools that may fit this request."


class HookedHousehold(Household):
    """A home in which hosts share a backend, with the encoder that tests share."""

    def __init__(self, host: RealHost, home: Path, models: Path, *, whole: bool = False) -> None:
        super().__init__(host, home)
        if not whole:
            self.more = FEW
        (self.ctx.paths.home / "backend.off").unlink()
        self.ctx.paths.models.symlink_to(models)

    def read(self, *, encode: bool = True) -> None:
        """Read the host's file and its server; with the encoder, as its hook needs it."""
        if not encode:
            self.ctx.paths.models.unlink()
        self.ctx.paths.create()
        with closing(self.ctx.open_store()) as db:
            found = register(self.ctx, db, read_hosts(self.places))
            scan(self.ctx, targets(self.ctx, db, found), ScanOptions(prepare_encoder=False))

    def write(self, mode: str) -> None:
        """Export to the host in that mode."""
        with closing(self.ctx.open_store()) as db:
            made = plan(
                self.places,
                self.host.id,
                catalog=load_catalog(db),
                mode=mode,
                gateway_path=GATEWAY,
                history=exports.for_host(db, self.host.id),
            )
            apply(made, self.ctx, db)

    def install(self, form: str) -> None:
        """Write the hook."""
        facts = facts_of(self.host.id)
        with closing(self.ctx.open_store()) as db:
            made = hooks.install_plan(
                self.places, facts, profile="default", gateway_path=GATEWAY, form=form
            )
            hooks.install(made, self.ctx, db)

    def remove(self) -> None:
        """Take the hook out."""
        facts = facts_of(self.host.id)
        with closing(self.ctx.open_store()) as db:
            hooks.remove(facts, hooks.hook_state(self.places, facts).path, self.ctx, db)

    def warm(self) -> None:
        """Start the backend outside of the host, and wait until it can suggest."""
        environ = {"TOOLCRIB_HOME": str(self.ctx.paths.home), "TOOLCRIB_STANDALONE": ""}
        host = RawHost([str(GATEWAY), "--profile", "default"], environ)
        try:
            host.initialize()
            given = {"prompt": "probe the tool alpha get", "host": "warming"}
            host.until(lambda: text(host.call(SUGGEST, given)) != "{}", LIMIT)
        finally:
            host.close()

    def warm_list(self, prompt: str) -> None:
        """Wait until the command in the plugin's list form answers as it does in the host."""
        call = GatewayCall.here(GATEWAY, "default", self.places)
        words = words_of(facts_of(self.host.id), call, LIST)
        environ = {
            **os.environ,
            "TOOLCRIB_HOME": str(self.ctx.paths.home),
            "TOOLCRIB_HOOK_SECONDS": "4",
        }
        limit, given = time.monotonic() + LIMIT, json.dumps({"prompt": prompt}).encode()
        while not subprocess.run(
            words, input=given, env=environ, capture_output=True, timeout=LIMIT, check=True
        ).stdout:
            assert time.monotonic() < limit, "the backend did not become ready"

    def say(self, prompt: str, model: FakeModel, more: Sequence[str] = ()) -> Ended:
        """Let the host answer this prompt."""
        words = tuple(prompt if word == PROMPT else word for word in self.host.arguments)
        environ = {**self.host.environ(model.port), "TOOLCRIB_HOOK_SECONDS": "4"}
        host = replace(self.host, arguments=(*words, *more))
        if host.before:
            run_program(host, self.home, host.before(model.port))
        return run_program(host, self.home, host.arguments, environ=environ)

    def write_rules(self) -> None:
        """Put the words on the menu into the host's own instructions."""
        facts = facts_of(self.host.id)
        with closing(self.ctx.open_store()) as db:
            made = rules_plan(self.places, facts, profile="default", mode=THROUGH)
            apply(made, self.ctx, db)

    def remove_rules(self) -> None:
        """Take them out."""
        facts = facts_of(self.host.id)
        with closing(self.ctx.open_store()) as db:
            hooks.remove(facts, rules_state(self.places, facts).path, self.ctx, db)

    def status(self) -> HookStatus:
        """How Toolcrib says that the hook stands."""
        facts = facts_of(self.host.id)
        return hook_status(self.places, facts, mode=THROUGH, here=True)

    def stop(self) -> None:
        """End the backend that the host started."""
        request(Place(str(self.ctx.paths.home)), STOP)

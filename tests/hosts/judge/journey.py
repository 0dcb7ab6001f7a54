"""From a host's own file, by way of Toolcrib's export, to what reaches the model."""

import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from app.catalog.catalog import load_catalog, match_tools, set_on, set_pinned
from app.core.context import AppContext
from app.core.paths import Paths
from app.core.settings import Settings
from app.export.apply import apply
from app.export.plan import plan
from app.host_status.sizes import HostSize, measure
from app.hosts.places import Places
from app.hosts.reading import read_hosts
from app.registry.register import register, targets
from app.registry.scan import ScanOptions, scan
from app.system.endpoint import Endpoint
from judge.fake_model import CALL, SEARCH, FakeModel, Request, Script
from judge.real import RealHost, Stub
from judge.trial import Ended, run_host, write_files
from store import exports
from store.records import AS_IS, THROUGH, ExportRecord

SERVER = Path(__file__).resolve().parents[1] / "stub_server.py"
GATEWAY = Path(sys.executable).with_name("toolcrib-gateway")
MORE = 55  # tools of the stub besides its probes
PROBES = ("alpha_get", "alpha_list", "beta_delete", "gamma-dash.dot", "zeta-dash.dot")
ALL = (*PROBES, *(f"res{number}_action" for number in range(MORE)))
# one name that hosts respell is kept and one is not, so a list in the wrong spelling shows
KEPT = ("alpha_get", "alpha_list", "gamma-dash.dot", *(f"res{n}_action" for n in range(7)))
LATE = "delta_new"
ANSWER = "ok from alpha_get"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run of a host showed."""

    host: str
    mode: str  # as-is | native | pruned | through
    variant: str
    size: int  # bytes of the first request with a menu
    tools_size: int  # bytes of its tools, as JSON
    menu: int  # tools in that menu
    loaded: int  # bytes of the request that the model answered by asking for a tool
    named: frozenset[str]  # the stub's tools named anywhere in the requests before a call
    late: bool  # whether the tool that the stub adds after a call was named later
    offered: frozenset[str]  # search_tools, call_tool, where the model was offered them
    first: frozenset[str]  # the same of its first request alone
    shown: frozenset[str]  # the stub's tools whose schema stands in the first request
    asked: tuple[str, ...]
    called: tuple[str, ...]  # calls that reached the stub
    answered: bool  # whether the answer reached the model
    ended: Ended
    promised: HostSize | None = None  # by every page and the command line, of a whole trip


class Household:
    """A throwaway home with one host's own files, and Toolcrib's in it."""

    more = MORE

    def __init__(self, host: RealHost, home: Path, *, folder: str = "") -> None:
        self.host = host
        self.home = home
        self.log = home / "stub.log"
        own = home / (folder or ".local/share/toolcrib")  # where a gateway looks by itself
        own.mkdir(parents=True)
        (own / "backend.off").touch()  # hosts do not pass TOOLCRIB_STANDALONE on
        moved = {"TOOLCRIB_HOME": str(own)}
        self.ctx = AppContext(Paths.default(moved), Settings())
        self.places = Places(home, moved if folder else {}, "linux")

    def set_up(self, port: int) -> None:
        """The host's own files, naming the stub."""
        stub = Stub(
            sys.executable, (str(SERVER), "stub", str(self.more)), {"STUB_LOG": str(self.log)}
        )
        write_files(self.home, self.host.files(stub, port))

    def export(
        self, mode: str, kept: Sequence[str] = KEPT, *, endpoint: Endpoint | None = None
    ) -> tuple[ExportRecord, ...]:
        """Read the host's file and its server, keep these tools on, write the file in that mode.

        With an `endpoint` as its URL.
        """
        self.ctx.paths.create()
        with closing(self.ctx.open_store()) as db:
            found = register(self.ctx, db, read_hosts(self.places))
            scan(self.ctx, targets(self.ctx, db, found), ScanOptions(prepare_encoder=False))
            off = match_tools(load_catalog(db), [f"stub/{t}" for t in ALL if t not in kept])
            set_on(db, "default", [row.tool.id for row in off], False)
            made = plan(
                self.places,
                self.host.id,
                catalog=load_catalog(db),
                mode=mode,
                gateway_path=GATEWAY,
                history=exports.for_host(db, self.host.id),
                endpoint=endpoint,
            )
            return apply(made, self.ctx, db)

    def pin(self, *patterns: str) -> None:
        """Pin tools, as the user would after the export."""
        with closing(self.ctx.open_store()) as db:
            rows = match_tools(load_catalog(db), list(patterns))
            set_pinned(db, "default", [row.tool.id for row in rows], True)

    def promised(self) -> HostSize | None:
        """What every page and the command line say that the model gets; None without a tool."""
        with closing(self.ctx.open_store()) as db:
            catalog = load_catalog(db)
            sizes = measure(db, self.places, catalog)
            return next((size for size in sizes if size.facts.id == self.host.id), None)

    def talk(self, model: FakeModel, *, mode: str, variant: str = "") -> Outcome:
        """Let the host speak to the model, and tell what happened."""
        ended = run_host(self.host, self.home, model, variant=variant)
        heard = model.conversation
        first = heard.requests[0] if heard.requests else None
        before = [one for one in heard.requests if not one.begun]
        called = self.log.read_text(encoding="utf-8").split() if self.log.exists() else []
        return Outcome(
            self.host.id,
            mode,
            variant,
            size=first.size if first else 0,
            tools_size=first.tools_size if first else 0,
            menu=len(first.menu) if first else 0,
            loaded=before[-1].size if before else 0,
            named=frozenset(name for one in before for name in one.named),
            late=any(LATE in one.named for one in heard.requests),
            offered=_offered(heard.requests),
            first=_offered(heard.requests[:1]),
            shown=shown_tools(first) if first else frozenset(),
            asked=tuple(heard.asked),
            called=tuple(called),
            answered=any(ANSWER in one.results for one in heard.requests),
            ended=ended,
        )


def travel(
    host: RealHost, home: Path, *, mode: str, variant: str = "", kept: Sequence[str] = KEPT
) -> Outcome:
    """A fresh home, the export, one conversation, and the size that Toolcrib says."""
    household = Household(host, home)
    with FakeModel(script(mode), delay=host.delay) as model:
        household.set_up(model.port)
        if mode != AS_IS:
            household.export(mode, kept)
        outcome = household.talk(model, mode=mode, variant=variant)
    if mode == AS_IS:
        written = household.export(AS_IS, kept)
        assert not written, "the host's own files are not what it started from"
    return replace(outcome, promised=household.promised())


def script(mode: str) -> Script:
    """What the model wants in that mode."""
    return Script(
        "stub/alpha_get",
        {"q": "x"},
        query="probe tool alpha get",
        through=mode == THROUGH,
        watch=(*ALL, LATE),
        answers=(ANSWER,),
    )


def shown_tools(request: Request) -> frozenset[str]:
    """The stub's tools whose schema it holds, by letters and digits: hosts respell names."""
    names = ["".join(filter(str.isalnum, i.name)) for i in request.menu if not i.deferred]
    return frozenset(
        tool for tool in ALL if any(n.endswith("".join(filter(str.isalnum, tool))) for n in names)
    )


def _offered(requests: list[Request]) -> frozenset[str]:
    names = {item.name for one in requests for item in one.menu}
    return frozenset(own for own in (SEARCH, CALL) if any(name.endswith(own) for name in names))

"""What every test gets: a home of its own, no network, and nothing left behind."""

import gc
import os
import shutil
import signal
import threading
import uuid
from collections.abc import Generator, Iterator
from pathlib import Path

import apsw
import psutil
import pytest
from filelock import FileLock
from hypothesis import HealthCheck, settings
from xdist.remote import Producer

from app.core.context import AppContext
from app.core.paths import Paths
from app.core.settings import Settings
from app.encoder.onnx import Encoder
from app.encoder.runtime import opt_out
from app.encoder.weights import ModelFiles, ensure_model, packaged_weights
from tests.fakes.verbs import Verbs
from tests.fakes.work_units import FilesTogether

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell starts it behind
MARKER = "TOOLCRIB_TEST_RUN"
os.environ[MARKER] = uuid.uuid4().hex  # of this process: each worker has its own
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ["TOOLCRIB_STANDALONE"] = "1"  # tests of the backend take it out
# how long an example takes depends on what else the machine does
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")
opt_out()  # before any test file imports onnxruntime by itself
os.environ.setdefault("TOOLCRIB_MODELS", str(Path(__file__).parents[1] / ".venv" / "models"))
MODELS = Path(os.environ["TOOLCRIB_MODELS"])
_IN_MEMORY, _ROOM = Path("/dev/shm"), 8 << 30  # bytes
# syncing is not what is tested, and takes a disk a fifth of the time of tests that write
if _IN_MEMORY.is_dir() and shutil.disk_usage(_IN_MEMORY).free >= _ROOM:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_IN_MEMORY))


_PROCESSES = (  # folders whose tests start processes, or run whole experiments
    "bench", "app/cli", "app/registry", "app/encoder", "app/gateway", "app/mcp", "attacks",
    "contracts", "hosts", "journeys", "packaging", "quality",
)  # fmt: skip
_LONG = {"hosts", "servers", "slow"}
_ENCODER = {"encoder", "encoder_at_hand", "model", "stock"}  # fixtures that export it


def pytest_configure(config: pytest.Config) -> None:
    """Export the encoder once for all workers; the fast run does without."""
    is_worker = hasattr(config, "workerinput")
    if not is_worker and "encoder" not in (config.getoption("markexpr") or ""):
        models = Path(os.environ["TOOLCRIB_MODELS"])
        ensure_model(Paths(models.parent, models))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the collector off every module and test: a third of the time of collecting them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> FilesTogether | None:
    """With `--dist loadfile`, make what several files share once and not in every worker."""
    return FilesTogether(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what `make test-fast` leaves out by its folder and what it uses; long files first.

    Workers take whole files in this order: no long one is left for one of them at the end.
    """
    root = Path(__file__).parent
    for item in items:
        place = item.path.relative_to(root).as_posix()
        if place.startswith(_PROCESSES) and "test_structure" not in place:
            item.add_marker("processes")
        if _ENCODER & set(getattr(item, "fixturenames", ())):
            item.add_marker("encoder")
    of_file: dict[Path, set[str]] = {}
    for item in items:
        of_file.setdefault(item.path, set()).update(mark.name for mark in item.iter_markers())
    items.sort(key=lambda item: _length(of_file[item.path]))


def _length(marks: set[str]) -> int:
    """Rank of a file: real hosts and servers, then other processes, then the rest."""
    return 0 if _LONG & marks else 1 if "processes" in marks else 2


@pytest.fixture(scope="session")
def own_model() -> ModelFiles:
    """The default encoder's weights as a user's own model folder: exported once for all workers."""
    with FileLock(MODELS / "own.lock"):
        return ensure_model(Paths(MODELS.parent, MODELS), str(packaged_weights()))


@pytest.fixture(autouse=True, scope="session")
def one_encoder() -> Iterator[None]:
    """Load each exported encoder once a process; one whose files changed is loaded anew."""
    real = Encoder.load.__func__  # type: ignore[attr-defined]
    loaded: dict[tuple[object, ...], Encoder] = {}

    def load(cls: type[Encoder], files: ModelFiles, threads: int = 1) -> Encoder:
        if MODELS not in files.onnx.parents:
            return real(cls, files, threads)
        states = [(s.st_mtime_ns, s.st_size) for s in (files.onnx.stat(), files.tokenizer.stat())]
        key = (files, threads, *states)
        if key not in loaded:
            loaded[key] = real(cls, files, threads)
        return loaded[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Encoder, "load", classmethod(load))
        yield


@pytest.fixture
def ctx(tmp_path: Path) -> AppContext:
    """A context whose files are all below tmp_path; the exported encoder is shared."""
    paths = Paths(tmp_path / "toolcrib", Path(os.environ["TOOLCRIB_MODELS"]))
    return AppContext(paths, Settings())


@pytest.fixture
def db(ctx: AppContext) -> Iterator[apsw.Connection]:
    """A fresh store."""
    connection = ctx.open_store()
    yield connection
    connection.close()


@pytest.fixture(autouse=True)
def no_thread_left_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail the test that leaves a thread running; a shared window looks after its own."""
    before = set(threading.enumerate())
    yield
    if "shared_window" in request.fixturenames:
        return
    left = [t for t in threading.enumerate() if t not in before and not t.daemon]
    for thread in left:
        thread.join(5)
    still = [t.name for t in left if t.is_alive()]
    assert not still, f"the test left these threads running: {still}; join them before it ends"


@pytest.fixture(autouse=True, scope="session")
def no_process_left_behind() -> Iterator[None]:
    """Fail the run that leaves a child process, even one that escaped its process group."""
    yield
    left = [p for p in psutil.process_iter(["pid", "environ", "cmdline"]) if _is_mine(p)]
    _, alive = psutil.wait_procs(left, timeout=30)  # as long as a loaded machine takes
    names = [" ".join(p.info["cmdline"] or [])[:200] for p in alive]
    for process in alive:
        process.kill()
    assert not names, f"the tests left these processes running: {names}"


@pytest.fixture(scope="session")
def verbs(no_process_left_behind: None) -> Iterator[Verbs]:
    """Runs verbs in processes of their own, without the time that their imports take."""
    made = Verbs()
    yield made
    made.stop()


def _is_mine(process: psutil.Process) -> bool:
    environ = process.info["environ"] or {}
    return environ.get(MARKER) == os.environ[MARKER] and process.info["pid"] != os.getpid()

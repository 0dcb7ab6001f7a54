"""What each process loads, proven in fresh interpreters, and the import rules themselves."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINT = Path(sys.executable).with_name("lint-imports")
HEAVY = ("torch", "sentence_transformers", "transformers", "onnx", "pandas", "sklearn")


def loaded(code: str, tmp_path: Path) -> set[str]:
    """The top-level modules that a fresh interpreter has after running `code`."""
    show = "import sys; print('MODULES', *sorted({m.split('.')[0] for m in sys.modules}))"
    result = subprocess.run(
        [sys.executable, "-c", f"{code}\n{show}"],
        cwd=ROOT,
        env={**os.environ, "TOOLCRIB_HOME": str(tmp_path), "QT_QPA_PLATFORM": "offscreen"},
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    line = next(x for x in result.stdout.splitlines() if x.startswith("MODULES"))
    return set(line.split()[1:])


def test_verbs_that_score_and_fetch_nothing_load_nothing_for_it(tmp_path: Path) -> None:
    found = loaded("import app.cli.backend, app.cli.profile, app.cli.export", tmp_path)
    assert not found & {"numpy", "httpx2", "onnxruntime", "mcp"}
    assert "httpx2" not in loaded("import app.cli.scan, app.registry.scan", tmp_path)


def test_the_gateway_starts_without_anything_heavy(tmp_path: Path) -> None:
    found = loaded("import app.gateway.main", tmp_path)
    forbidden = {"PySide6", "numpy", "onnxruntime", "pydantic", "mcp", "mcp_types", "anyio"}
    assert not found & {
        *forbidden,
        *HEAVY,
        "jsonschema",
        "jsonschema_rs",
        "psutil",
        "asyncio",
        "opentelemetry",
    }
    slow = {"typing", "pathlib", "urllib", "dataclasses", "tempfile", "orjson"}  # milliseconds each
    assert not found & slow


def test_both_ways_of_serving_are_there_without_what_is_slow_to_load(tmp_path: Path) -> None:
    modes = "app.gateway.serving.pruned, app.gateway.serving.through"
    found = loaded(f"import app.gateway.standalone, {modes}", tmp_path)
    assert not found & {"dataclasses", "inspect", "pathlib", "tempfile", "orjson"}


def test_opening_the_store_at_a_gateways_start_loads_no_record_classes(tmp_path: Path) -> None:
    found = loaded(
        "from store import policies; from store.connection import open_store;"
        f" db = open_store({str(tmp_path / 's.db')!r}); policies.all_policies(db); db.close()",
        tmp_path,
    )
    assert not found & {"dataclasses", "inspect"}


def test_the_gateways_first_search_waits_for_no_more_than_it_needs(tmp_path: Path) -> None:
    found = loaded(
        "import app.gateway.menu.handler, app.catalog.catalog, app.ranking.router", tmp_path
    )
    assert not found & {"pathlib", "urllib", "orjson", "numpy", "platformdirs"}


@pytest.mark.skipif(sys.platform == "win32", reason="commands have other names there")
def test_a_gateway_starts_a_server_without_what_only_archives_need(tmp_path: Path) -> None:
    start = "from app.system.processes import prepare; prepare('sh', [])"
    found = loaded(f"import app.mcp.stdio, app.gateway.launching; {start}", tmp_path)
    assert not found & {"shutil", "bz2", "lzma", "platformdirs"}


def test_the_backend_knows_nothing_of_http_until_it_is_switched_on(tmp_path: Path) -> None:
    found = loaded("import app.gateway.backend.server, app.gateway.backend.switch", tmp_path)
    assert not found & {"uvicorn", "h11", "asyncio", "starlette", "pydantic", "mcp"}
    on = loaded("import app.gateway.backend.web.server", tmp_path)
    assert "uvicorn" in on and not on & {"starlette", "pydantic", "mcp", "anyio"}


def test_the_command_lines_parser_starts_light(tmp_path: Path) -> None:
    found = loaded("from app.cli.parser import make_parser; make_parser()", tmp_path)
    assert not found & {"PySide6", "onnxruntime", "mcp", *HEAVY}


def test_the_windows_start_loads_neither_torch_nor_plots(tmp_path: Path) -> None:
    code = """
from app.core.context import AppContext
from ui.application import make_application, make_window
app = make_application(["toolcrib"])
window = make_window(app, AppContext.default())
window.show()
app.processEvents()
window.close()
app.processEvents()
"""
    found = loaded(code, tmp_path)
    assert "PySide6" in found
    assert not found & {"pyqtgraph", "numpy", "onnxruntime", "mcp", "pydantic", *HEAVY}


def test_app_and_store_know_no_qt(tmp_path: Path) -> None:
    code = """
import importlib, pkgutil, app, store
for package in (app, store):
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if found.name not in ("app.encoder.export", "app.system.windows"):
            importlib.import_module(found.name)
"""
    assert not loaded(code, tmp_path) & {"PySide6", "shiboken6", "pyqtgraph", "torch"}


def lint(root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [LINT, "--no-cache", "--config", "pyproject.toml"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def copied(tmp_path: Path) -> Path:
    root = tmp_path / "copy"
    for name in ("app", "store", "ui"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", root)
    return root


@pytest.mark.parametrize(
    ("file", "line", "rule"),
    [
        ("store/tools.py", "import app.core.errors", "ui over app over store"),
        ("app/catalog/catalog.py", "import PySide6.QtCore", "app and store know no Qt"),
        ("ui/look/theme.py", "import store.tools", "ui takes records and errors"),
        ("app/gateway/main.py", "import app.export.plan", "the gateway reaches neither"),
        ("app/tokens/counters.py", "import app.ranking.router", "layers inside app"),
    ],
)
def test_the_import_rules_notice_when_they_are_broken(
    tmp_path: Path, file: str, line: str, rule: str
) -> None:
    root = copied(tmp_path)
    broken = root / file
    text = broken.read_text(encoding="utf-8")
    broken.write_text(f"{text}\n{line}\n", encoding="utf-8")
    result = lint(root)
    assert result.returncode == 1, result.stdout
    kept = [x for x in result.stdout.splitlines() if rule in x]
    assert any("BROKEN" in x for x in kept), result.stdout


def test_packaging_is_no_package() -> None:
    assert not (ROOT / "packaging" / "__init__.py").exists()

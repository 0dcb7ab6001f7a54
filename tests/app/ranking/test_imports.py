"""What routing loads: numpy only for a matrix or for learning."""

import subprocess
import sys

MODULES = ["router", "gates", "ranked", "summary", "fuse", "keyword"]
MODULES += ["learning.learn", "meaning", "tiers"]


def test_importing_the_router_loads_no_numpy():
    lines = [*(f"import app.ranking.{name}" for name in MODULES), "import sys"]
    lines.append("print([m for m in ('numpy', 'onnxruntime', 'torch') if m in sys.modules])")
    done = subprocess.run(
        [sys.executable, "-c", "; ".join(lines)],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stdout.strip() == "[]"


def test_a_search_by_words_loads_no_numpy(make_router, tmp_path):
    make_router(encoder=False)
    code = (
        "import sys; from pathlib import Path\n"
        "from app.catalog.catalog import load_catalog; from app.ranking.router import Router\n"
        "from store.connection import open_store\n"
        "db = open_store(Path(sys.argv[1]))\n"
        "ranked = Router.from_store(db, load_catalog(db)).route('create an issue', limit=3)\n"
        "print(ranked.tools[0].tool_id, 'numpy' in sys.modules)\n"
        "db.close()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "0.db")],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stdout.split() == ["github/create_issue", "False"]

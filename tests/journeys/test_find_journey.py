"""The journey of find_journey.py, on the command line and in the window."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from find_journey import missing

pytestmark = [pytest.mark.servers, pytest.mark.hosts, pytest.mark.timeout(400)]


def figures_of(how: str) -> dict[str, Any]:
    """The figures of one journey."""
    why = missing()
    if why and os.environ.get("CI"):
        pytest.fail(why)
    if why:
        pytest.skip(why)
    script = Path(__file__).with_name("find_journey.py")
    done = subprocess.run(
        [sys.executable, script, how], capture_output=True, text=True, timeout=380, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("how", ["cli", "window"])
def test_from_a_search_to_a_real_host_that_calls_real_packages(how: str) -> None:
    figures = figures_of(how)
    assert figures.get("ticked", figures.get("benspdf", {}).get("ticked")) == 8


def test_a_real_package_goes_to_its_next_version_and_back() -> None:
    assert figures_of("update")["new"] == ["pdf_extract_text"]

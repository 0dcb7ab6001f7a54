"""`make run`: the window; without a display the same path on the command line, with pictures."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
TOOLCRIB = Path(sys.executable).with_name("toolcrib")


def main() -> int:
    """Open the window if there is a display; else walk the path on the command line."""
    if has_display():
        return subprocess.call([TOOLCRIB])
    print("No display found, so here is the same path on the command line, over sample servers.")
    return walk()


def has_display() -> bool:
    """Whether a window can be opened here."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def walk() -> int:
    """Scan, cost, route, export over the sample servers, all below one throwaway folder."""
    from resources.sample.config import write_sample_home

    base = Path(tempfile.mkdtemp(prefix="toolcrib-run-"))
    home = write_sample_home(base / "home")
    env = {**os.environ, "HOME": str(home), "TOOLCRIB_HOME": str(base / "toolcrib")}
    pictures = ROOT / "build" / "pictures"
    for verb in (
        ["scan", "--yes"],
        ["footprint"],
        ["profile", "off", "tracker"],
        ["footprint"],
        ["route", "what will the weather be tomorrow"],
        ["export", "claude-desktop", "--mode", "through", "--dry-run"],
        ["export", "cursor", "--mode", "pruned"],
        ["restore", "cursor"],
        ["pictures", str(pictures), "--query", "what will the weather be tomorrow"],
    ):
        print(f"\n$ toolcrib {' '.join(verb)}", flush=True)
        code = subprocess.call([TOOLCRIB, *verb], env=env)
        if code:
            return code
    print(f"\nPictures of the window are in {pictures}; everything else is below {base}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())

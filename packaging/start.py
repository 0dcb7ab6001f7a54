"""Entry points of an installed Toolcrib; becomes toolcrib/start.py in a wheel.

Our packages have common names (app, ui, store). A wheel carries them below toolcrib/_lib, which
comes first on the path here: no other project's `app` is imported, and none imports ours.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "_lib"))  # noqa: PTH100, PTH118, PTH120 - pathlib costs the gateway 5 ms


def toolcrib() -> int:
    """Run the command line, or the window where there are no arguments."""
    from ui.main import main

    return main()


def command_line() -> int:
    """Run the command line: what toolcrib-core has, which is without a window."""
    from app.cli.program import main

    return main(sys.argv[1:])


def gateway() -> None:
    """Run toolcrib-gateway."""
    from app.gateway.main import main

    main()


def team() -> int:
    """Run toolcrib-team, or name the extra that it needs."""
    from app.team_server.program import main

    try:
        return main()
    except ModuleNotFoundError as missing:
        if str(missing.name).partition(".")[0] in ("app", "store"):
            raise  # a fault of ours, no package to install
        sys.stderr.write(
            f"toolcrib-team: {missing.name} is not installed.\n"
            "  Install it: pip install 'toolcrib[team]'\n"
        )
        return 1

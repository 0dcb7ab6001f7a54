"""Entry of the bundle's one executable: its file's name says which program it is."""

import sys
from pathlib import PurePath

if PurePath(sys.executable).stem == "toolcrib-gateway":
    from app.gateway.main import main
else:
    import types

    # pyqtgraph imports it for a way of painting that is off; it is 10 MB
    sys.modules["PySide6.QtOpenGL"] = types.ModuleType("PySide6.QtOpenGL")
    from ui.main import main

sys.exit(main())

"""Entry of the bundle's one executable: its file's name says which program it is."""

import sys
from pathlib import PurePath

if PurePath(sys.executable).stem == "toolcrib-gateway":
    from app.gateway.main import main
else:
    import types

    # pyqtgraph imports them for a way of painting that is off; they are 10 MB
    for name in ("PySide6.QtOpenGL", "PySide6.QtOpenGLWidgets"):
        sys.modules[name] = types.ModuleType(name)
    vars(sys.modules["PySide6.QtOpenGLWidgets"])["QOpenGLWidget"] = object  # a base class
    from ui.main import main

sys.exit(main())

"""Process around a gateway, as the gateway sees it: surroundings, servers, the encoder."""

import os
import threading
import time

from app.core.scrubber import Scrubber
from app.gateway.outgoing import ResultHistory
from app.system.threads import start_thread
from store.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    import apsw

    from app.core.paths import Paths
    from app.encoder.onnx import Encoder
    from app.hooks.small_talk import SmallTalk
    from app.indexing.kept_secrets import KeptSecrets
    from app.mcp.requests import UpstreamEvents
    from app.mcp.session import Upstream
    from store.serving import ServerRow


class GatewayEnvironment:
    """Surroundings of a gateway that is a process of its own; the backend gives sessions another.

    `environ` and `folder` are the host's: its servers are started in them.
    """

    tag = ""  # tells backends apart in ids that hosts answer

    def __init__(
        self,
        environ: "Mapping[str, str]" = os.environ,
        folder: str = "",
        clock: "Callable[[], float]" = time.monotonic,
    ) -> None:
        self._noted: set[tuple[str, str]] = set()
        self.environ = environ
        self.folder = folder
        self.clock = clock
        self.scrubber = Scrubber()  # knows the secret values of every server started so far
        self._kept: KeptSecrets | None = None  # of every server, started or not
        self._making = threading.Lock()
        self.seen = ResultHistory()

    @property
    def project_folder(self) -> str:
        """The folder that the host works in, "" where it is not known."""
        try:
            return self.folder or os.getcwd()
        except OSError:  # a folder that is gone
            return ""

    @property
    def database(self) -> str:
        """The store's file."""
        from app.core.home import DATABASE, home_folder

        return os.path.join(home_folder(), DATABASE)

    def paths(self) -> "Paths":
        """Toolcrib's own files."""
        from app.core.paths import Paths

        return Paths.default()

    def upstream(
        self,
        name: str,
        row: "ServerRow | None",
        command: "Sequence[str]",
        events: "UpstreamEvents",
        *,
        modern: bool,
    ) -> "Upstream":
        """The server of that name for one gateway; nothing is started yet."""
        from app.mcp.session import Upstream

        return Upstream(name, self.launcher(row, command), events, modern=modern, clock=self.clock)

    def launcher(self, row: "ServerRow | None", command: "Sequence[str]") -> "Callable":  # type: ignore[type-arg]
        """Return the function that starts a server."""
        from app.gateway.launching import launcher

        return launcher(row, command, self.paths, self.scrubber, self.environ, self.folder)

    def hide_all(self, db: "apsw.Connection", value: "Any") -> "Any":
        """The JSON value without any secret that Toolcrib keeps, of servers not started too.

        Raises ToolcribError where the secrets cannot be read; the keychain takes its time.
        """
        from app.indexing.kept_secrets import KeptSecrets

        with self._making:
            self._kept = self._kept or KeptSecrets(self.scrubber, self.paths(), self.environ)
        self._kept.learn(db)
        return self.scrubber.json(value)

    def note_request(self, server: str, method: str) -> None:
        """Remember that a server asked something of a host, which sharing depends on."""
        if (server, method) in self._noted:
            return
        self._noted.add((server, method))
        from app.gateway.stored_sharing import note_request

        noted = (self.database, server, method)
        start_thread(note_request, *noted)

    def loaded_encoder(self) -> "Encoder | None":
        """The encoder that other sessions of this process have loaded already; there are none."""
        return None

    def load_encoder(self) -> "Encoder | None":
        """The encoder, loaded and warm; None where it is not prepared.

        Raises ToolcribError or OSError for one that cannot be loaded.
        """
        from app.core.settings import Settings
        from app.encoder.onnx import Encoder
        from app.encoder.weights import find_model

        paths = self.paths()
        files = find_model(paths, Settings.load(paths.settings_file).model)
        if files is None:
            return None
        encoder = Encoder.load(files)
        encoder.encode_bytes("warm", query=True)
        return encoder

    def load_small_talk(self, encoder: "Encoder") -> "SmallTalk":
        """Prompts on which suggestions keep silent, encoded by this encoder."""
        from app.hooks.small_talk import SmallTalk

        return SmallTalk(encoder)

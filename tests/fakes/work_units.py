"""What one worker runs: a file, or files that share what is made once a worker and dear."""

from xdist.scheduler import LoadFileScheduling

# Postgres and a team server; the built wheels; the published encoder and the world's vectors
_SHARED = ("tests/bench/", "tests/packaging/", "team")


class FilesTogether(LoadFileScheduling):
    """A file a unit, and those with one of these words in their path as one."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return next((word for word in _SHARED if word in file), file)

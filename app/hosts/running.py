"""Test if a host runs, by the names of its processes."""

from app.hosts.facts import HostFacts


def is_running(host: HostFacts) -> bool:
    """True if a process of this host is alive; False when its names are not known."""
    if not host.processes:
        return False
    import psutil

    names = set(host.processes)
    return any(process.info["name"] in names for process in psutil.process_iter(["name"]))

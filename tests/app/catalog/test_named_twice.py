"""One launch under two names that a host reads together is flagged; apart it is not."""

from app.catalog.named_twice import named_twice
from store.records import EntryRecord, ServerRecord, ServerSpec


def server(*entries, disabled=False):
    rows = tuple(EntryRecord(*entry) for entry in entries)
    spec = ServerSpec("stdio", "k", "uvx")
    return ServerRecord(1, "time", spec, True, "read", "", rows, disabled=disabled)


def names(one):
    return [[entry.name for entry in twice.entries] for twice in named_twice(one)]


def test_two_names_in_one_file_and_in_two_files_of_one_host_count():
    assert names(server(("cursor", "user", "/a", "clock"), ("cursor", "user", "/a", "time"))) == [
        ["time", "clock"]
    ]
    both = server(("cursor", "user", "/a", "time"), ("cursor", "project", "/p/a", "clock"))
    assert names(both) == [["time", "clock"]]
    assert "names it twice, as time and clock" in named_twice(both)[0].text("Cursor")


def test_two_hosts_two_projects_one_name_and_what_is_off_do_not():
    assert not names(server(("cursor", "user", "/a", "time"), ("kiro", "user", "/b", "clock")))
    assert not names(
        server(("cursor", "project", "/p/a", "time"), ("cursor", "project", "/q/a", "clock"))
    )
    assert not names(server(("cursor", "user", "/a", "time"), ("cursor", "project", "/b", "time")))
    pair = ("cursor", "user", "/a", "time"), ("cursor", "user", "/a", "clock")
    assert not names(server(*pair, disabled=True))
    assert not names(server(pair[0], (*pair[1], 0, True)))

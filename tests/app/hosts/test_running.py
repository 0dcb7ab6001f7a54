import subprocess

from app.hosts.facts import host
from app.hosts.running import is_running


def test_a_host_is_known_by_the_name_of_its_process(tmp_path):
    program = tmp_path / "claude-desktop"
    program.symlink_to("/bin/sleep")
    assert not is_running(host("claude-desktop"))
    process = subprocess.Popen([program, "60"])
    try:
        assert is_running(host("claude-desktop"))
    finally:
        process.kill()
        process.wait(10)
    assert not is_running(host("cursor"))

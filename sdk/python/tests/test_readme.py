"""The README's program has the types that it says. tests/test_live.py runs it."""

import pathlib
import subprocess
import sys

from .readme import FILE, program


def test_the_types_of_the_readme(tmp_path: pathlib.Path) -> None:
    source = tmp_path / "readme.py"
    source.write_text(program(), "utf-8")
    package = FILE.parent
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file", "", "--cache-dir", str(tmp_path / "cache"), str(source)],
        cwd=package / "src",
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr

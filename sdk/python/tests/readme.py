"""The program of the README: its snippets, in their order."""

import pathlib
import re

FILE = pathlib.Path(__file__).resolve().parents[1] / "README.md"


def program() -> str:
    return "\n".join(re.findall(r"(?s)```python\n(.*?)```", FILE.read_text("utf-8")))

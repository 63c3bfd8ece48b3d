"""The wire kit (sdk/kit), which every SDK must pass."""

import json
import pathlib
from typing import Any

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "kit"


def load(name: str) -> Any:
    return json.loads((FOLDER / name).read_text("utf-8"))


def cases(name: str, member: str = "cases") -> list[Any]:
    return [*load(name)[member]]


def name_of(case: Any) -> str:
    return str(case["name"])

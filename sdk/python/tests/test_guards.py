"""For each guard of a proof in the kit: without it in this package, a case of the kit fails. tools/guards removes those of the other files."""

import importlib.util
import json
import pathlib
import sys
from types import ModuleType
from typing import Any

import httpx
import pytest

import countersign
from countersign import CountersignError, Expect, KeySet

from .test_kit import PROOFS

SOURCE = pathlib.Path(countersign.__file__).parent
TABLE = json.loads(pathlib.Path(__file__).with_name("guards.json").read_text("utf-8"))["proofs"]
REMOVED = {guard: edit for guard, edit in TABLE.items() if isinstance(edit, list)}  # others are inherent

UNUSED = httpx.Client()  # making one for each case takes most of the time


def without(guard: str) -> ModuleType:
    name, text, replacement = REMOVED[guard]
    path = SOURCE / name
    source = path.read_text("utf-8")
    assert text in source, guard
    spec = importlib.util.spec_from_loader(f"countersign._without_{guard}", loader=None)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    module.__package__ = "countersign"
    sys.modules[spec.name] = module
    exec(compile(source.replace(text, replacement, 1), str(path), "exec"), module.__dict__)
    return module


def passes(module: Any, case: Any) -> bool:
    def now() -> float:
        return float(case.get("now", PROOFS["now"]))

    class Fixed(KeySet):
        def find(self, kid: str) -> Any:
            found = module.import_keys(case.get("jwks", PROOFS["jwks"])["keys"]).get(kid)
            if found is None:
                raise countersign.ProofError("proof_key_unknown", "no key")
            return found

    verifier = module.ProofVerifier(
        base_url="x",
        issuer=PROOFS["issuer"],
        environment=PROOFS["environment"],
        audience=PROOFS["audience"],
        leeway=case.get("leeway", 0),
        keys=Fixed("http://x", "i", http=UNUSED),
        now=now,
    )
    try:
        verifier.verify(case["proof"], Expect(**{**PROOFS["expect"], **case.get("expect", {})}))
    except CountersignError as error:
        return error.code in case.get("code", "").split("|")
    except Exception:  # what is behind a guard may not withstand what it keeps out
        return False
    return not case.get("code")


@pytest.mark.parametrize("guard", REMOVED)
def test_the_kit_fails_without(guard: str) -> None:
    module = without(guard)
    assert not all(passes(module, case) for case in PROOFS["cases"]), "no case of the kit needs this guard"

"""For each guard of the kit: without it in this package, a case of the kit fails. A guard is removed in the source."""

import importlib.util
import pathlib
import sys
from types import ModuleType
from typing import Any

import httpx
import pytest

import countersign
from countersign import CountersignError, Expect, KeySet

from . import kit
from .test_kit import PROOFS

SOURCE = pathlib.Path(countersign.__file__).parent

UNUSED = httpx.Client()  # making one for each case takes most of the time

# guard: (module, what is in the source, what replaces it)
REMOVED = {
    "form": ("proof", "not _FORM.fullmatch(proof)", "False"),
    "length": ("proof", "len(proof) > LONGEST", "False"),
    "canonical": ("proof", '.rstrip(b"=").decode() != text', '.rstrip(b"=").decode() == 0'),
    "signature_size": ("proof", "len(parts[2]) != 64", "False"),
    "alg": ("proof", 'header.get("alg") != "ES256"', "False"),
    "members": ("proof", 'set(header) - {"alg", "kid", "typ"}', "False"),
    "typ": ("proof", 'header.get("typ") != "poa+jwt"', "False"),
    "duplicates": ("proof", "len({name for name, _ in pairs}) != len(pairs)", "False"),
    "key_use": ("proof", 'k.get("use", "sig") != "sig"', "False"),
    "key_ops": ("proof", '"verify" not in operations', "False"),
    "private_key": ("proof", '"d" in k', "False"),
    "coordinates": ("proof", "len(c) != 32", "False"),
    "signature": ("proof", "except InvalidSignature:\n        raise", "except InvalidSignature:\n        return\n        raise"),
    "claims": ("proof", 'if not texts or not times or c["exp"] <= c["nbf"]', "if False"),
    "iss": ("proof", '("iss", self.issuer', '("iss", None'),
    "env": ("proof", '("env", self.environment', '("env", None'),
    "aud": ("proof", '("aud", self.audience', '("aud", None'),
    "action": ("proof", '("act.key", x.action', '("act.key", None'),
    "subject": ("proof", '("sub", x.subject', '("sub", None'),
    "nonce": ("proof", '("nonce", x.nonce', '("nonce", None'),
    "context": ("proof", "None if x.context is None else context_digest(x.context)", "None"),
    "resource": ("proof", "x.resource and resource_digest(x.resource)", "None"),
    "nbf": ("proof", 'now < c["nbf"] - self._leeway', "False"),
    "exp": ("proof", 'now >= c["exp"] + self._leeway', "False"),
    "leeway": ("proof", "min(max(leeway, 0.0), _MOST_LEEWAY)", "leeway"),
}


def without(guard: str) -> ModuleType:
    name, text, replacement = REMOVED[guard]
    path = SOURCE / f"{name}.py"
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


def test_every_guard_of_a_proof_is_removed_once() -> None:
    # curve and key_type: the library refuses such points, and a key of another type has no such members; json and kid: parsing needs them
    inherent = {"none", "json", "kid", "kid_known", "key_type", "curve"}
    assert {case["guard"] for case in kit.cases("proofs.json")} - inherent == set(REMOVED)

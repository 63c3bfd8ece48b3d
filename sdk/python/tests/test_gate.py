import asyncio
import base64
import json
import time
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.hashes import SHA256

from countersign import (
    AsyncCountersign,
    Countersign,
    CountersignError,
    KeySet,
    ProofVerifier,
    context_digest,
    decide,
    decide_async,
    failure_for,
    resource_digest,
)
from countersign.gate import Ask, AsyncGate, Gate, Outcome, answer

ISSUER, AUDIENCE = "https://countersign.example", "bank.example"
KEY, FORGER = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
TRANSFER = Ask("user-1", {"type": "account", "id": "acc-1"}, {"amount": 19})


def b64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


class Service:
    """A service that decides as told and signs the proofs of its allows."""

    def __init__(self, decision: str = "allow", mode: str = "enforce", alter: Any = None, key: Any = KEY, status: int = 200) -> None:
        self.decision, self.mode, self.alter, self.key, self.status = decision, mode, alter or {}, key, status
        self.consumed: set[str] = set()
        self.fail_verify = 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if self.status != 200:
            return httpx.Response(self.status, headers={"Content-Type": "application/problem+json"}, content=b'{"code":"some_code"}')
        if request.url.path.endswith("keys.json"):
            assert dict(request.url.params) == {"issuer": ISSUER}
            n = KEY.public_key().public_numbers()
            point = {name: b64(v.to_bytes(32, "big")) for name, v in (("x", n.x), ("y", n.y))}
            return httpx.Response(200, json={"keys": [{"kty": "EC", "crv": "P-256", "kid": "k1", **point}]})
        body = json.loads(request.content)
        return self.authorize(body) if request.url.path.endswith("authorize") else self.verify(body)

    def authorize(self, ask: Any) -> httpx.Response:
        proven = self.decision == "allow" and self.mode == "enforce"
        at = "2026-11-21T09:30:00.000Z"
        challenge = {"id": "chl_1", "methods": ["passkey"], "expires_at": at}
        return httpx.Response(
            200,
            json={
                "id": "azn_1", "decision": self.decision, "mode": self.mode, "action": ask["action"], "action_hash": "sha256:" + "0" * 64,
                "environment": "env_1", "policy_version": 1, "reason_codes": [], "human_readable": {"status": "s", "detail": "Please confirm."},
                "trace_id": "t", "decided_at": at, "latency_ms": 1, "proof": self.sign(ask) if proven else None,
                "proof_id": "prf_1" if proven else None,
                "challenge": challenge if self.decision == "challenge" and self.mode != "shadow" else None,
                "assurance": {"id": "prl_1", "subject": ask["subject"], "assessed_at": at, "model_version": "m", "rule_version": "r",
                              "feature_schema_version": "f", "claims": [], "coverage": "none", "insufficient_evidence": True},
            },
        )  # fmt: skip

    def sign(self, ask: Any) -> str:
        now = int(time.time())
        claims = {
            "iss": ISSUER, "sub": ask["subject"], "aud": ask["audience"], "iat": now, "nbf": now, "exp": now + 300, "jti": "prf_1",
            "nonce": ask["nonce"], "env": "env_1", "env_kind": "sandbox", "mode": "enforce", "azn": "azn_1",
            "act": {"key": ask["action"], "hash": "sha256:0", "policy_version": 1, "content_hash": "sha256:c"},
            "res": {"type": ask["resource"]["type"], "digest": resource_digest(ask["resource"])}, "ctx": context_digest(ask["context"]),
            "assurance": {"coverage": "none", "freshness_ms": None, "claims": {}}, "amr": [], **self.alter,
        }  # fmt: skip
        self.claims = claims
        text = b64(b'{"alg":"ES256","kid":"k1","typ":"poa+jwt"}') + "." + b64(json.dumps(claims).encode())
        r, s = utils.decode_dss_signature(self.key.sign(text.encode(), ec.ECDSA(SHA256())))
        return text + "." + b64(r.to_bytes(32, "big") + s.to_bytes(32, "big"))

    def verify(self, ask: Any) -> httpx.Response:
        if self.fail_verify:
            return httpx.Response(self.fail_verify, headers={"Content-Type": "application/problem+json"}, content=b'{"code":"some_code"}')
        again = ask["proof"] in self.consumed
        self.consumed.add(ask["proof"])
        told = {"valid": not again, "status": "consumed", "reason_codes": ["proof_consumed"] if again else [], "claims": self.claims}
        return httpx.Response(200, json=told)


def check(service: Service, proof: str | None = None, kind: str = "sync", **options: Any) -> Outcome:
    keys = KeySet(ISSUER, ISSUER, http=httpx.Client(transport=httpx.MockTransport(service)))
    verifier = ProofVerifier(base_url=ISSUER, issuer=ISSUER, environment="env_1", audience=AUDIENCE, keys=keys)
    if kind == "sync":
        client = Countersign(ISSUER, "sk_test_x", retries=0, http=httpx.Client(transport=httpx.MockTransport(service)))
        return Gate(verifier, "payments.transfer", client=client, **options).check(TRANSFER, proof)

    async def run() -> Outcome:
        client = AsyncCountersign(ISSUER, "sk_test_x", retries=0, http=httpx.AsyncClient(transport=httpx.MockTransport(service)))
        return await AsyncGate(verifier, "payments.transfer", client=client, **options).check(TRANSFER, proof)

    return asyncio.run(run())


both = pytest.mark.parametrize("kind", ["sync", "async"])


@both
def test_an_allow_goes_through_by_its_proof_once(kind: str) -> None:
    service = Service()
    outcome = check(service, kind=kind)
    assert outcome.allowed
    assert outcome.claims is not None
    assert outcome.claims["sub"] == "user-1"
    assert outcome.decision is not None
    again = check(service, outcome.decision["proof"], kind=kind)
    assert again.refusal is not None
    assert again.refusal.code == "proof_consumed"
    assert answer(again).status == 403


REFUSED: dict[str, tuple[Callable[[], Service], str]] = {
    "signed by no one": (lambda: Service(key=FORGER), "proof_signature_invalid"),
    "for another amount": (lambda: Service(alter={"ctx": context_digest({"amount": 99999})}), "proof_action_mismatch"),
    "for another subject": (lambda: Service(alter={"sub": "mallory"}), "proof_action_mismatch"),
    "for another request": (lambda: Service(alter={"nonce": "fedcba9876543210"}), "proof_nonce_mismatch"),
    "of another environment": (lambda: Service(alter={"env": "env_2"}), "proof_environment_mismatch"),
}


@both
@pytest.mark.parametrize("name", REFUSED)
def test_an_allow_with_a_proof_for_something_else_is_refused(name: str, kind: str) -> None:
    make, code = REFUSED[name]
    service = make()
    outcome = check(service, kind=kind, failure="open")
    assert not outcome.allowed
    assert outcome.refusal is not None
    assert outcome.refusal.code == code
    assert not service.consumed


@both
@pytest.mark.parametrize(("decision", "status"), [("challenge", 401), ("hold", 403), ("deny", 403)])
def test_other_decisions_do_not_go_through(decision: str, status: int, kind: str) -> None:
    outcome = check(Service(decision), kind=kind, failure="open")
    assert not outcome.allowed
    told = answer(outcome)
    assert told.status == status
    assert told.body["decision"] == decision


@both
@pytest.mark.parametrize(("mode", "decision", "allowed"), [("shadow", "deny", True), ("test", "allow", True), ("test", "deny", False)])
def test_modes_without_proofs(mode: str, decision: str, allowed: bool, kind: str) -> None:
    assert check(Service(decision, mode), kind=kind).allowed is allowed
    strict = check(Service(decision, mode), kind=kind, require_proof=True)
    assert not strict.allowed
    assert answer(strict).status == 403


@both
def test_without_a_decision_the_failure_mode_applies(kind: str) -> None:
    assert not check(Service(status=503), kind=kind).allowed
    assert check(Service(status=503), kind=kind, failure="open").allowed
    assert answer(check(Service(status=503), kind=kind)).status == 503
    assert not check(Service(status=429), kind=kind, failure="open").allowed
    assert not check(Service(status=503), "a.b.c", kind=kind, failure="open").allowed
    undone = Service()
    undone.fail_verify = 503
    assert not check(undone, kind=kind).allowed
    with pytest.raises(CountersignError):
        check(Service(status=404), kind=kind, failure="open")


def test_decide_never_allows_by_mistake() -> None:
    def client(service: Service) -> Countersign:
        return Countersign(ISSUER, "sk_test_x", retries=0, http=httpx.Client(transport=httpx.MockTransport(service)))

    ask = {"subject": "user-1", "action": "a", "audience": AUDIENCE, "resource": {"type": "account", "id": "1"}, "context": {}}
    assert decide(client(Service()), ask, "closed").allowed
    assert not decide(client(Service("deny")), ask, "open").allowed
    assert not decide(client(Service(status=503)), ask, "closed").allowed
    assert decide(client(Service(status=503)), ask, "open").allowed
    assert not decide(client(Service(status=429)), ask, "open").allowed
    with pytest.raises(CountersignError):
        decide(client(Service(status=404)), ask, "open")


def test_keys_are_not_printed() -> None:
    client = Countersign("https://countersign.example", "sk_test_secret")
    assert "sk_test_secret" not in f"{client!r} {client.__dict__}"


WRONG: Any = "opened"
MISSPELT: dict[str, Callable[[Countersign, ProofVerifier], Any]] = {
    "decide": lambda client, _: decide(client, {}, WRONG),
    "decide_async": lambda _client, _: asyncio.run(decide_async(AsyncCountersign(ISSUER, "sk_test_x"), {}, WRONG)),
    "gate": lambda client, verifier: Gate(verifier, "payments.transfer", failure=WRONG, client=client),
    "risk class": lambda _client, _: failure_for(WRONG),
}


@pytest.mark.parametrize("name", MISSPELT)
def test_a_misspelt_mode_is_refused_before_anything_is_sent(name: str) -> None:
    client = Countersign(ISSUER, "sk_test_x", http=httpx.Client(transport=httpx.MockTransport(never)))
    verifier = ProofVerifier(base_url=ISSUER, issuer=ISSUER, environment="env_1", audience=AUDIENCE)
    with pytest.raises(ValueError, match=r"(failure|risk_class) is 'opened', and must be one of '"):
        MISSPELT[name](client, verifier)


def never(request: httpx.Request) -> httpx.Response:
    raise AssertionError("a request was sent")


@pytest.mark.parametrize("call", [("listSubject", {}), ("createSubject", {}), ("listSubjects", {"limits": 1}), ("listPasskeys", {})])
def test_lists_that_the_contract_does_not_have_are_not_requested(call: Any) -> None:
    client = Countersign(ISSUER, "sk_test_x", http=httpx.Client(transport=httpx.MockTransport(never)))
    with pytest.raises(ValueError, match=r"list operation|has no parameter|needs subject_id"):
        list(client.each(*call))


@pytest.mark.parametrize("amount", [Decimal("250.00"), Decimal("0.1"), Decimal("1E+3"), Decimal(2**53 - 1), Decimal("-0"), 0.1, 2**53 - 1])
def test_an_exact_number_is_authorized_as_it_is(amount: Any) -> None:
    context = {"lines": [{"amount": amount}]}
    sent: Any = json.loads(json.dumps(Ask("user-1", TRANSFER.resource, context).context))
    assert Decimal(repr(sent["lines"][0]["amount"])) == Decimal(repr(amount) if isinstance(amount, float) else amount)
    assert context_digest(sent) == context_digest(context)


@pytest.mark.parametrize(
    ("amount", "why"),
    [
        *((Decimal(text), "exact") for text in ("NaN", "sNaN", "Infinity", "9007199254740992", "1E+9999")),
        *((Decimal(text), "more digits") for text in ("0.12345678901234567890", "9007199254740990.1", "1E-9999")),
        (2**53, "exact"),
        (float("nan"), "no JSON"),
        ({1, 2}, "no JSON"),
        ({1: "one"}, "not a text"),
        ("\ud800", "Unicode"),
    ],
)
def test_what_has_no_exact_json_is_named(amount: Any, why: str) -> None:
    context = {"lines": [{"amount": amount}]}
    with pytest.raises(ValueError, match=rf"^context\.lines\[0\]\.amount .*{why}"):
        Ask("user-1", TRANSFER.resource, context)
    client = Countersign(ISSUER, "sk_test_x", http=httpx.Client(transport=httpx.MockTransport(never)))
    with pytest.raises(ValueError, match=rf"^authorize\.context\.lines\[0\]\.amount .*{why}"):
        decide(client, {"context": context}, "open")
    with pytest.raises(ValueError, match="subject"):
        Ask("", TRANSFER.resource)

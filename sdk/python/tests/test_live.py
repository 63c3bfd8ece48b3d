"""Against a running sandbox, by the fixtures of this package; skipped without COUNTERSIGN_URL and COUNTERSIGN_KEY."""

from contextlib import closing
from typing import Any

from countersign import Countersign, Expect, ProofVerifier, complete
from countersign.gate import Ask, Gate

ACCOUNT: Any = {"type": "account", "id": "acc-1"}


def test_the_proof_of_a_step_up_goes_through_once(
    countersign_sandbox: Countersign, countersign_verifier: ProofVerifier, countersign_subject: str, countersign_action: str
) -> None:
    gate = Gate(countersign_verifier, countersign_action, client=countersign_sandbox)
    ask = Ask(countersign_subject, ACCOUNT, {"amount": 120.5, "payee": "Jürgen Groß"})
    first = gate.check(ask)
    assert not first.allowed
    assert first.decision is not None
    assert first.decision["decision"] == "challenge"
    challenge = first.decision["challenge"]
    assert challenge is not None
    receipt = countersign_sandbox.complete_challenge(challenge["id"], {"method": "sandbox_confirm"})
    followed = countersign_sandbox.get_authorization(receipt["authorization"] or "")
    proof: Any = followed.get("proof")
    countersign_verifier.verify(proof["compact"], Expect(countersign_action, subject=countersign_subject, resource=ACCOUNT, context=ask.context))
    other = gate.check(Ask(countersign_subject, ACCOUNT, {"amount": 99999, "payee": "Mallory"}), proof["compact"])
    assert other.refusal is not None
    assert gate.check(ask, proof["compact"]).allowed
    assert not gate.check(ask, proof["compact"]).allowed


def test_events_are_followed_from_one_on(countersign_sandbox: Countersign, countersign_subject: str, countersign_action: str) -> None:
    request: Any = {"action": countersign_action, "subject": countersign_subject, "resource": ACCOUNT, "audience": "tests"}
    entries = []
    for _ in range(2):
        countersign_sandbox.authorize(complete(request))
        entries += countersign_sandbox.list_activity(type="authorization.decided", limit=1)
    with closing(countersign_sandbox.events(type="authorization.decided", last_event_id=entries[0]["id"])) as events:
        event = next(events)
    assert (event.id, event.type, event.data) == (entries[1]["id"], "authorization.decided", entries[1])


def test_pages_are_followed(countersign_sandbox: Countersign) -> None:
    made = [countersign_sandbox.create_subject({})["id"] for _ in range(3)]
    listed = [s["id"] for s in countersign_sandbox.each("listSubjects", {"limit": 2})]
    assert set(made) <= set(listed)

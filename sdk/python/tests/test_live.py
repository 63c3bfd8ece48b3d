"""Against a running sandbox, by the fixtures of this package; skipped without COUNTERSIGN_URL and COUNTERSIGN_KEY."""

import asyncio
import base64
import hmac
import json
import pathlib
import runpy
import time
import uuid
from contextlib import closing
from typing import Any

import httpx
import pytest

from countersign import Countersign, Expect, ProofVerifier, complete
from countersign.gate import Ask, Gate

from .readme import program

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


def test_the_program_of_the_readme(
    countersign_sandbox: Countersign, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    action, subject = f"tests.t{uuid.uuid4().hex}", f"user-{uuid.uuid4().hex}"
    monkeypatch.setenv("WEBHOOK_SECRET", "whsec_" + base64.b64encode(bytes(24)).decode())
    countersign_sandbox.update_environment({"return_origins": ["https://shop.example"]})
    source = tmp_path / "readme.py"
    source.write_text(program().replace("payments.transfer", action).replace("user-1", subject), "utf-8")
    readme = runpy.run_path(str(source))
    assert capsys.readouterr().out == "used True\n"

    async def signed_in(scope: Any, receive: Any, send: Any) -> None:
        await readme["app"]({**scope, "session": {"user": subject}}, receive, send)

    async def transfers(*requests: tuple[Any, str]) -> list[httpx.Response]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(signed_in), base_url="http://app") as client:
            return [await client.post("/transfer", json=body, headers={"Countersign-Proof": proof} if proof else {}) for body, proof in requests]

    payment = {"to": "acc-2", "amount": 12.5}

    def confirmed(authorization: str) -> str:
        assert "/challenge/" in readme["confirmation"](subject, authorization)["confirm"]
        challenge: Any = countersign_sandbox.get_authorization(authorization).get("challenge")
        countersign_sandbox.complete_challenge(challenge["id"], {"method": "sandbox_confirm"})
        with pytest.raises(PermissionError):
            readme["confirmation"]("mallory", authorization)
        return str(readme["confirmation"](subject, authorization)["proof"])

    async def check() -> None:
        first, second = await transfers((payment, ""), (payment, ""))
        assert (first.status_code, second.status_code) == (401, 401)
        wrong, huge = await transfers(({**payment, "amount": "much"}, ""), ({**payment, "amount": "1e99"}, ""))
        assert (wrong.status_code, huge.status_code) == (400, 400)
        assert "context.amount" in huge.text
        proofs = [confirmed(r.json()["detail"]["authorization"]) for r in (second, first)]  # two decisions wait at the same time
        used = await transfers((payment, proofs[0]), (payment, proofs[1]), (payment, proofs[1]))
        assert [r.status_code for r in used] == [200, 200, 403]

    asyncio.run(check())
    body = json.dumps({"type": "hold.approved", "timestamp": "2026-11-21T09:30:00Z", "data": {}}).encode()
    stamp = str(int(time.time()))
    signature = base64.b64encode(hmac.new(bytes(24), f"evt_1.{stamp}.".encode() + body, "sha256").digest()).decode()
    headers = {"webhook-id": "evt_1", "webhook-timestamp": stamp, "webhook-signature": f"v1,{signature}"}
    assert readme["receive"](body, headers) == 204
    assert readme["receive"](body + b" ", headers) == 400

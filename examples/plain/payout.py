"""Countersign from Python 3.9 or later, with the standard library only.

    BASE=http://localhost:8080 KEY=sk_test_... python3 payout.py SUBJECT ACTION
"""
import json, os, secrets, sys, time, urllib.error, urllib.request

BASE, KEY = os.environ["BASE"], os.environ["KEY"]


class NoDecision(Exception):
    """The service refused or did not respond: do not perform the action."""


def call(method, path, body=None):
    """Sends a request, and repeats it with the same keys while the service is busy or unavailable."""
    headers = {"Authorization": "Bearer " + KEY, "Content-Type": "application/json", "Accept": "application/problem+json",
               "Idempotency-Key": secrets.token_hex(16)}
    data = None if body is None else json.dumps(body).encode()
    for pause in (0.5, 1, 2, None):
        try:
            with urllib.request.urlopen(urllib.request.Request(BASE + path, data, headers, method=method), timeout=10) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            problem = json.load(error)
            if error.code not in (429, 503) or pause is None:
                raise NoDecision(f"{error.code} {problem['code']}: {problem.get('errors', problem['title'])}") from error
            pause = max(pause, float(error.headers.get("Retry-After", 0)))
        except OSError as error:  # no connection, or no response in time
            if pause is None:
                raise NoDecision(str(error)) from error
        time.sleep(pause)


def authorize(subject, action, account, amount):
    """Returns the decision and the nonce that its proof must have."""
    nonce = secrets.token_hex(16)
    return call("POST", "/api/v1/authorize", {
        "subject": subject, "action": action, "audience": "payments", "resource": {"type": "account", "id": account},
        "context": {"amount": amount}, "requested_at": int(time.time()), "nonce": nonce, "idempotency_key": secrets.token_hex(16)}), nonce


def confirm(challenge):
    """Completes a challenge in the sandbox. In live, redirect the user to the url of POST /api/v1/challenges/{id}/link."""
    receipt = call("POST", f"/api/v1/challenges/{challenge}/complete", {"method": "sandbox_confirm"})
    return call("GET", "/api/v1/authorizations/" + receipt["authorization"])


def pay(proof, action, account, nonce):
    """Verifies the proof for exactly this payout and uses it up, then pays."""
    result = call("POST", "/api/v1/verify", {"proof": proof, "audience": "payments", "action": action, "nonce": nonce,
                                             "resource": {"type": "account", "id": account}, "consume": True})
    if not result["valid"]:
        raise NoDecision(f"the proof is refused: {result['reason_codes']}")
    print("paid to", account)


if __name__ == "__main__":
    subject, action = sys.argv[1:]
    decision, nonce = authorize(subject, action, "acc-1", 120.5)
    proof = decision.get("proof")
    if decision["decision"] == "challenge":
        proof = confirm(decision["challenge"]["id"])["proof"]["compact"]
    elif decision["decision"] != "allow":  # hold: wait for the event hold.approved or hold.rejected
        sys.exit(f"{decision['decision']}: {decision['reason_codes']}")
    pay(proof, action, "acc-1", nonce)

"""Countersign from Python 3.9 or later, with the standard library only.

    BASE=http://localhost:8080 KEY=sk_test_... python3 payout.py SUBJECT ACTION
"""
import email.utils, http.client, json, os, secrets, sys, time, urllib.error, urllib.request

BASE, KEY = os.environ["BASE"], os.environ["KEY"]


class NoDecision(Exception):
    """The service refused or did not respond: do not perform the action."""


def explained(error):
    """Returns what a problem document says. A proxy before the service may have sent anything else."""
    try:
        problem = json.load(error)
        return f"{problem['code']}: {problem.get('errors', problem['title'])}"
    except (ValueError, LookupError, TypeError, OSError, http.client.HTTPException):
        return str(error.reason)


def wait(retry_after):
    """Returns the seconds of a Retry-After header, which has two forms: seconds, or a date."""
    if (retry_after or "").isdecimal():
        return min(float(retry_after), 60)
    try:
        return min(max(email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time(), 0), 60)
    except (TypeError, ValueError, AttributeError, OverflowError):
        return 0


def call(method, path, body=None):
    """Sends a request, and repeats it with the same keys while the service is busy or unavailable."""
    headers = {"Authorization": "Bearer " + KEY, "Content-Type": "application/json", "Accept": "application/problem+json",
               "Idempotency-Key": secrets.token_hex(16)}
    data = None if body is None else json.dumps(body).encode()
    for pause in (0.5, 1, 2, None):
        try:
            with urllib.request.urlopen(urllib.request.Request(BASE + path, data, headers, method=method), timeout=10) as response:
                return dict(json.load(response))
        except urllib.error.HTTPError as error:
            if error.code not in (429, 503) or pause is None:
                raise NoDecision(f"{error.code} {explained(error)}") from error
            pause = max(pause, wait(error.headers.get("Retry-After")))
        except (OSError, ValueError, TypeError, http.client.HTTPException) as error:  # no connection, no response in time, or one that is no JSON object
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


def pay(proof, subject, action, account, amount, nonce):
    """Verifies the proof for exactly this payout and uses it up, then pays."""
    result = call("POST", "/api/v1/verify", {
        "proof": proof, "audience": "payments", "action": action, "subject": subject, "resource": {"type": "account", "id": account},
        "context": {"amount": amount}, "nonce": nonce, "consume": True})
    if not result["valid"]:
        raise NoDecision(f"the proof is refused: {result['reason_codes']}")
    print("paid to", account)


if __name__ == "__main__":
    subject, action = sys.argv[1:]
    decision, nonce = authorize(subject, action, "acc-1", 120.5)
    proof, decided = decision.get("proof"), decision["id"]
    if decision["decision"] == "challenge":
        followed = confirm(decision["challenge"]["id"])
        proof, decided = followed["proof"]["compact"], followed["id"]
    elif decision["decision"] != "allow":  # hold: wait for the event hold.approved or hold.rejected
        sys.exit(f"{decision['decision']}: {decision['reason_codes']}")
    pay(proof, subject, action, "acc-1", 120.5, nonce)
    call("POST", f"/api/v1/authorizations/{decided}/outcome", {"outcome": "executed"})  # limits and evaluations rest on it

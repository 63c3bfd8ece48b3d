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


def call(method, path, body=None, key=None):
    """Sends a request, and repeats it while the service is busy or unavailable. By the caller's key what is repeated is carried out once."""
    headers = {"Authorization": "Bearer " + KEY, "Content-Type": "application/json", "Accept": "application/problem+json"}
    if key:
        headers["Idempotency-Key"] = key
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


def request_for(subject, action, account, amount):
    """Returns a request for a decision. Store it with the payout before you send it: sent again, also after a crash, it returns the same decision."""
    return {"subject": subject, "action": action, "audience": "payments", "resource": {"type": "account", "id": account}, "context": {"amount": amount},
            "requested_at": int(time.time()), "nonce": secrets.token_hex(16), "idempotency_key": secrets.token_hex(16)}


def confirm(challenge, key):
    """Completes a challenge in the sandbox. In live, redirect the user to the url of POST /api/v1/challenges/{id}/link."""
    receipt = call("POST", f"/api/v1/challenges/{challenge}/complete", {"method": "sandbox_confirm"}, key + "-confirm")
    return call("GET", "/api/v1/authorizations/" + receipt["authorization"])


def pay(proof, request):
    """Verifies the proof for exactly this payout and uses it up, then pays."""
    payout = {name: request[name] for name in ("subject", "action", "audience", "resource", "context", "nonce")}
    result = call("POST", "/api/v1/verify", {**payout, "proof": proof, "consume": True})
    if not result["valid"]:
        raise NoDecision(f"the proof is refused: {result['reason_codes']}")
    print("paid to", request["resource"]["id"])


if __name__ == "__main__":
    request = request_for(sys.argv[1], sys.argv[2], "acc-1", 120.5)
    decision = call("POST", "/api/v1/authorize", request)
    proof, decided = decision.get("proof"), decision["id"]
    if decision["decision"] == "challenge":
        followed = confirm(decision["challenge"]["id"], request["idempotency_key"])
        proof, decided = followed["proof"]["compact"], followed["id"]
    elif decision["decision"] != "allow":  # hold: wait for the event hold.approved or hold.rejected
        sys.exit(f"{decision['decision']}: {decision['reason_codes']}")
    pay(proof, request)
    # Limits and evaluations rest on the outcome.
    call("POST", f"/api/v1/authorizations/{decided}/outcome", {"outcome": "executed"}, request["idempotency_key"] + "-outcome")

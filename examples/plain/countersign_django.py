"""A Django middleware that asks Countersign before a view runs. Add it to MIDDLEWARE after the sessions, and mark the views:

    @countersigned("payout.release", "payments", lambda request: (request.user.username, {"type": "account", "id": ...}, {"amount": ...}))
    def payout(request): ...

The page repeats a request that got 409 with the same content once the user has confirmed it, or a reviewer has approved it.
"""
import secrets, time

from django.http import JsonResponse

from payout import NoDecision, call


def countersigned(action, audience, describe):
    """Marks a view. `describe` returns the subject, the resource and the context of a request: from the session and the body, never from what only the page claims about its user."""
    def mark(view):
        view.countersigned = action, audience, describe
        return view
    return mark


class Countersign:
    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        response = self.get_response(request)
        if hasattr(request, "countersigned"):
            try:  # limits and evaluations rest on what became of a decision; the response is the view's, whatever becomes of the report
                call("POST", f"/api/v1/authorizations/{request.countersigned}/outcome", {"outcome": "executed" if response.status_code < 400 else "not_executed"})
            except NoDecision:
                pass
        return response

    def process_view(self, request, view, args, kwargs):
        if not hasattr(view, "countersigned"):
            return None
        action, audience, describe = view.countersigned
        subject, resource, context = describe(request)
        ask = {"subject": subject, "action": action, "audience": audience, "resource": resource, "context": context}
        try:
            return self.refusal(request, ask)
        except NoDecision as error:
            return JsonResponse({"decision": "unavailable", "message": str(error)}, status=503)

    def refusal(self, request, ask):
        """None if the view may run: a proof of exactly this request is verified and used up."""
        session = request.session
        waiting = session.pop("countersign", None)
        if waiting and waiting["ask"] == ask:
            decision = call("GET", "/api/v1/authorizations/" + waiting["id"])
            if decision["child_authorization"]:  # confirmed by the user, or approved by a reviewer
                decision = call("GET", "/api/v1/authorizations/" + decision["child_authorization"])
            proof = (decision["proof"] or {}).get("compact")
        else:
            waiting = {"ask": ask, "nonce": secrets.token_hex(16)}
            decision = call("POST", "/api/v1/authorize", {
                **ask, "requested_at": int(time.time()), "nonce": waiting["nonce"], "idempotency_key": secrets.token_hex(16)})
            waiting["id"], proof = decision["id"], decision["proof"]
        if decision["mode"] == "shadow":
            return None
        body = {"authorization": waiting["id"], "decision": decision["decision"], "reason_codes": decision["reason_codes"]}
        if proof:
            result = call("POST", "/api/v1/verify", {**ask, "proof": proof, "nonce": waiting["nonce"], "consume": True})
            if result["valid"]:
                request.countersigned = decision["id"]
                return None
            body |= {"decision": "deny", "reason_codes": result["reason_codes"]}
        elif decision["decision"] == "challenge":
            body["challenge"] = decision["challenge"]["id"]
            body["url"] = call("POST", f"/api/v1/challenges/{body['challenge']}/link", {})["url"]
            session["countersign"] = waiting
        elif decision["decision"] == "hold" and decision.get("review_status") not in ("rejected", "expired"):
            session["countersign"] = waiting
        return JsonResponse(body, status=409 if "countersign" in session else 403)

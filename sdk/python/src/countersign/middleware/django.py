"""A decorator for Django views."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponseBase, JsonResponse

from ..errors import CountersignError
from ..gate import PROOF_HEADER, Answer, Ask, Gate, answer, mistaken

View = Callable[..., HttpResponseBase]


def countersigned(gate: Gate, describe: Callable[..., Ask]) -> Callable[[View], View]:
    """Runs the view only on a consumed proof. ``describe`` receives what the view receives; a ValueError of it is the request's fault: 400
    with its text. The outcome is ``request.countersign``."""

    def decorate(view: View) -> View:
        @functools.wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            try:
                ask = describe(request, *args, **kwargs)
            except ValueError as error:
                return _respond(Answer(400, {"decision": "refused", "message": str(error)}, {}))
            try:
                outcome = gate.check(ask, request.headers.get(PROOF_HEADER))
            except CountersignError as error:
                logging.getLogger("countersign").error("a request was not authorized: %s", error)
                return _respond(mistaken(error))
            if not outcome.allowed:
                return _respond(answer(outcome))
            request.countersign = outcome  # type: ignore[attr-defined]
            return view(request, *args, **kwargs)

        return guarded

    return decorate


def _respond(a: Answer) -> JsonResponse:
    return JsonResponse(a.body, status=a.status, headers=a.headers)

"""The errors of this package. Nothing here quotes a key, a proof or a body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """One broken rule of the contract in a request (422)."""

    loc: tuple[str | int, ...]
    msg: str
    type: str


class CountersignError(Exception):
    """A call that returned no result.

    ``status`` is the HTTP status, 0 if no response was received. ``code`` is a stable name of the service's catalogue; it is
    empty if the response is not of the service. ``retry_after`` is in seconds.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        code: str = "",
        request_id: str = "",
        retry_after: float = 0.0,
        faults: Sequence[Fault] = (),
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.request_id = request_id
        self.retry_after = retry_after
        self.faults = tuple(faults)

    @property
    def rate_limited(self) -> bool:
        """A quota or rate limit refused the call. Refuse the request: an attacker who can cause requests can use up a quota."""
        return self.status == 429

    @property
    def unavailable(self) -> bool:
        """There is no decision: what to do then is the caller's policy (``decide``). A refusal is not unavailability."""
        return not self.rate_limited and not 400 <= self.status < 500


class RefusedError(CountersignError):
    """The service refused the call; ``code`` says why."""


class ProtocolError(CountersignError):
    """The response violates the contract: a portal's page, a truncated body, an allow without its proof. It is never a decision."""


class UnreachableError(CountersignError):
    """No response was received, so that it is unknown whether the operation was carried out."""


class ApprovalRequiredError(CountersignError):
    """The change was not made: the environment requires a second approver, and the change ``change`` waits."""

    def __init__(self, message: str, *, status: int, change: dict[str, object]) -> None:
        super().__init__(message, status=status, code="approval_required")
        self.change = change


class ProofError(CountersignError):
    """A refused proof; ``code`` is a reason code of kind proof."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}", code=code)

    @property
    def unavailable(self) -> bool:
        return False


class WebhookError(CountersignError):
    """A delivery that is not of the service or not recent: respond with 400."""

    @property
    def unavailable(self) -> bool:
        return False

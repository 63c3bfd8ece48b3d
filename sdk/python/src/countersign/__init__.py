"""Countersign for relying parties: decisions, proofs and webhooks."""

from .canonical import action_hash, canonical, context_digest, digest, resource_digest
from .client import AsyncCountersign, Countersign, complete
from .decide import Decision, Failure, decide, decide_async, failure_for
from .errors import (
    ApprovalRequiredError,
    CountersignError,
    Fault,
    ProofError,
    ProtocolError,
    RefusedError,
    UnreachableError,
    WebhookError,
)
from .gate import Ask, AsyncGate, Gate, Outcome
from .proof import Expect, KeySet, ProofVerifier, Resource
from .stream import StreamedEvent
from .webhooks import Event, verify_webhook

__all__ = [
    "ApprovalRequiredError",
    "Ask",
    "AsyncCountersign",
    "AsyncGate",
    "Countersign",
    "CountersignError",
    "Decision",
    "Event",
    "Expect",
    "Failure",
    "Fault",
    "Gate",
    "KeySet",
    "Outcome",
    "ProofError",
    "ProofVerifier",
    "ProtocolError",
    "RefusedError",
    "Resource",
    "StreamedEvent",
    "UnreachableError",
    "WebhookError",
    "action_hash",
    "canonical",
    "complete",
    "context_digest",
    "decide",
    "decide_async",
    "digest",
    "failure_for",
    "resource_digest",
    "verify_webhook",
]

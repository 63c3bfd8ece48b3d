"""Generated from the contract by scripts/generate.py. Do not edit."""

# ruff: noqa
from __future__ import annotations

from typing import Any, Literal, TypedDict, Union

from typing_extensions import NotRequired


class AccessAction(TypedDict):
    """The action."""

    name: str
    properties: NotRequired[dict[str, Any]]


class AccessContext(TypedDict):
    """Details of the action. All members but `countersign` belong to the context that the action's `context_schema` describes."""

    countersign: NotRequired[AccessOptions]


class AccessDecisionContext(TypedDict):
    """What led to the decision and what would change it: the decision's record, or `error` alone."""

    authorization: NotRequired[str]
    decision: NotRequired[Decision]
    mode: NotRequired[Mode]
    reason_codes: NotRequired[list[str]]
    reason_user: NotRequired[AccessReason]
    proof: NotRequired[str]
    proof_id: NotRequired[str]
    step_up: NotRequired[AccessStepUp]
    review: NotRequired[AccessReview]
    error: NotRequired[AccessError]


class AccessError(TypedDict):
    """Why there is no decision. Nothing was recorded."""

    status: int
    code: str
    message: str


class AccessEvaluation(TypedDict):
    """One evaluation. `decision` is true only for `allow`."""

    decision: bool
    context: AccessDecisionContext


class AccessEvaluationRequest(TypedDict):
    """The request to decide whether the subject may perform the action on the resource. Unknown members are ignored."""

    subject: AccessSubject
    action: AccessAction
    resource: AccessResource
    context: NotRequired[AccessContext]


class AccessEvaluations(TypedDict):
    """The results in the order of the request."""

    evaluations: list[AccessEvaluation]


class AccessEvaluationsOptions(TypedDict):
    """How the evaluations are executed. Unknown members are ignored."""

    evaluations_semantic: NotRequired[Literal['execute_all', 'deny_on_first_deny', 'permit_on_first_permit']]


class AccessEvaluationsRequest(TypedDict):
    """Several evaluations. The members outside of `evaluations` are defaults for each of them; without `evaluations` they are a single evaluation."""

    subject: NotRequired[dict[str, Any]]
    action: NotRequired[dict[str, Any]]
    resource: NotRequired[dict[str, Any]]
    context: NotRequired[dict[str, Any]]
    evaluations: NotRequired[list[dict[str, Any]]]
    options: NotRequired[AccessEvaluationsOptions]


class AccessMetadata(TypedDict):
    """The endpoints of the OpenID Authorization API 1.0 that this service supports."""

    policy_decision_point: str
    access_evaluation_endpoint: str
    access_evaluations_endpoint: str


class AccessOptions(TypedDict):
    """What the Authorization API has no field for."""

    audience: NotRequired[str]
    nonce: NotRequired[str]
    session: NotRequired[str]
    authorization: NotRequired[str]


class AccessReason(TypedDict):
    """A text by language."""

    en: str


class AccessResource(TypedDict):
    """The resource of the action."""

    type: str
    id: str
    properties: NotRequired[dict[str, Any]]


class AccessReview(TypedDict):
    """The review that the decision waits for."""

    status: Literal['pending']
    url: str


class AccessStepUp(TypedDict):
    """What the user can do to be allowed."""

    challenge: str
    url: NotRequired[str]
    methods: list[ChallengeMethod]
    expires_at: Timestamp


class AccessSubject(TypedDict):
    """The person whose access is evaluated."""

    type: str
    id: str
    properties: NotRequired[dict[str, Any]]


class ActionCreate(TypedDict):
    """A new action. It starts in mode `test` and without an active policy version."""

    key: str
    name: str
    consequence: str
    labels: NotRequired[dict[str, ActionText]]
    allowed_audiences: list[str]
    allowed_callers: NotRequired[list[str]]
    context_schema: NotRequired[dict[str, Any]]
    proof_ttl_seconds: NotRequired[int]
    resource_type: NotRequired[str]
    risk_class: NotRequired[Literal['low', 'elevated', 'high', 'critical']]


class ActionText(TypedDict):
    """The name and the consequence of an action in a language."""

    name: str
    consequence: str


class ActionUpdate(TypedDict):
    """The fields to change. An omitted or null field keeps its value."""

    name: NotRequired[str | None]
    consequence: NotRequired[str | None]
    labels: NotRequired[dict[str, ActionText] | None]
    mode: NotRequired[Literal['test', 'shadow', 'enforce', None]]


class ActivityEntry(TypedDict):
    """One entry of the event log."""

    id: str
    type: str
    at: Timestamp
    subject: str | None
    action: str | None
    authorization: str | None
    data: dict[str, Any]


class Actor(TypedDict):
    """The actor who performs the action."""

    id: str
    type: NotRequired[Literal['human']]


class AdaptationFreeze(TypedDict):
    """Freezes or unfreezes the adaptation of the template."""

    frozen: NotRequired[bool]
    reason: NotRequired[str]


class AfterReview(TypedDict):
    """The review of a break-glass."""

    authorization: str
    action: str
    broken_by: str
    team: str
    reason: str | None
    status: Literal['open', 'justified', 'not_justified']
    opened_at: Timestamp
    due_at: Timestamp
    overdue: bool
    closed_at: TimestampOrNull
    approvals: int
    verdicts: list[AfterReviewVerdictGiven]


class AfterReviewVerdict(TypedDict):
    """A verdict about a break-glass."""

    verdict: Literal['justified', 'not_justified']
    note: str


class AfterReviewVerdictGiven(TypedDict):
    """The verdict of one reviewer."""

    reviewer: str
    verdict: Literal['justified', 'not_justified']
    note: str | None
    at: Timestamp


class AssuranceClaim(TypedDict):
    """One claim about the subject."""

    claim: str
    status: ClaimStatus
    coverage: Coverage
    evidence_refs: NotRequired[list[str]]
    limitations: NotRequired[list[str]]
    reason_codes: NotRequired[list[str]]
    freshness_ms: NotRequired[int | None]


class AssuranceProfile(TypedDict):
    """The assessment of the person who uses a session: claims with coverage and freshness."""

    id: str
    subject: str
    session: NotRequired[str | None]
    assessed_at: Timestamp
    model_version: str
    rule_version: str
    feature_schema_version: str
    claims: list[AssuranceClaim]
    coverage: Coverage
    insufficient_evidence: bool
    evidence_windows: NotRequired[int]
    active_seconds: NotRequired[float]
    modalities_present: NotRequired[list[str]]
    freshness_ms: NotRequired[int | None]
    limitations: NotRequired[list[str]]


class AuditEntry(TypedDict):
    """One change, chained by hash to the previous entry."""

    id: str
    sequence: int
    at: Timestamp
    actor: str
    kind: str
    target: str | None
    before: str | None
    after: str | None
    request_id: str | None
    workflow_id: str | None
    previous_hash: str
    hash: str


class AuditHead(TypedDict):
    """The newest entry of the chain, signed by the environment's key."""

    environment: str
    sequence: int
    hash: str
    at: Timestamp
    signature: str


class AuthenticationResponseJSON(TypedDict):
    """WebAuthn Level 3, AuthenticationResponseJSON, as `PublicKeyCredential.toJSON()` gives it."""

    id: NotRequired[str]
    rawId: NotRequired[str]
    type: NotRequired[str]
    response: NotRequired[dict[str, Any]]


class AuthorizationTrace(TypedDict):
    """The stored record of a decision. Resource and context are stored as digests."""

    id: str
    action: str
    subject: str
    actor: str
    actor_type: Literal['human']
    resource_type: str
    resource_digest: Digest
    context_digest: Digest
    action_hash: Digest
    audience: str
    requested_at: Timestamp
    decided_at: Timestamp
    mode: Mode
    decision: Decision
    reason_codes: list[str]
    assurance: AssuranceProfile
    latency_ms: int
    challenge: NotRequired[ChallengeTrace | None]
    proof: NotRequired[ProofTrace | None]
    proof_id: NotRequired[str | None]
    parent: NotRequired[str | None]
    child_authorization: NotRequired[str | None]
    outcome: NotRequired[str | None]
    outcome_reported_at: NotRequired[TimestampOrNull]
    review_authorization_id: NotRequired[str | None]
    review_status: NotRequired[Literal['pending', 'approved', 'rejected', 'expired', 'withdrawn', None]]
    reviewed_at: NotRequired[TimestampOrNull]
    reviewed_by: NotRequired[str | None]
    policy_version: NotRequired[int | None]
    standing_approval: NotRequired[str]
    explanation: NotRequired[list[ExplainedRequirement]]
    display: NotRequired[DisplayedDetails | None]


class AuthorizeRequest(TypedDict):
    """The request to decide whether this subject may perform this action on this resource for this audience."""

    subject: str
    action: str
    resource: Resource
    audience: str
    requested_at: int
    nonce: str
    idempotency_key: str
    actor: NotRequired[Actor | None]
    context: NotRequired[dict[str, Any]]
    session: NotRequired[str | None]
    mandate_ref: NotRequired[None]


class AuthorizeResponse(TypedDict):
    """One decision."""

    id: str
    decision: Decision
    mode: Mode
    action: str
    action_hash: Digest
    environment: str
    policy_version: int
    reason_codes: list[str]
    human_readable: HumanReadable
    assurance: AssuranceProfile
    trace_id: str
    decided_at: Timestamp
    latency_ms: int
    challenge: NotRequired[ChallengeDescriptor | None]
    proof: NotRequired[str | None]
    proof_id: NotRequired[str | None]
    hold: NotRequired[HoldDescriptor]
    standing_approval: NotRequired[str]


class Background(TypedDict):
    """A background model of the population that a person is compared with."""

    version: str
    modality: str
    data: str
    licence: str
    non_commercial: bool
    local: bool
    people: int


class Brand(TypedDict):
    """The look of the environment's hosted pages. What is not set is empty. Nothing of it is part of what a passkey signs."""

    name: str
    accent: str
    language: str
    logo: str


class BrandUpdate(TypedDict):
    """Changes to the look of the hosted pages. Omitted fields keep their value, an empty text removes the setting."""

    name: NotRequired[str]
    accent: NotRequired[str]
    language: NotRequired[str]
    logo: NotRequired[str]


class ChallengeBinding(TypedDict):
    """What the WebAuthn challenge of a step-up is the digest of."""

    random: str
    challenge: str
    action_hash: Digest
    display_digest: Digest


class ChallengeCancelled(TypedDict):
    """The challenge is cancelled."""

    id: str
    status: Literal['cancelled']


class ChallengeCompleteRequest(TypedDict):
    """The completed step-up. A passkey requires its assertion."""

    method: Literal['passkey', 'sandbox_confirm']
    assertion: NotRequired[AuthenticationResponseJSON | None]


class ChallengeCompletionReceipt(TypedDict):
    """The challenge is completed. Safe for a browser; the relying party's backend reads the decision of `authorization` itself."""

    challenge: str
    status: Literal['completed']
    authorization: str
    method: ChallengeMethod


class ChallengeDescriptor(TypedDict):
    """A step-up that the subject can complete."""

    id: str
    methods: list[ChallengeMethod]
    expires_at: Timestamp


class ChallengeDisplay(TypedDict):
    """What is being authorized. The passkey signs its digest."""

    action_key: str
    action: str
    consequence: str
    resource_type: str
    resource_digest: Digest
    context_digest: Digest
    audience: str
    requesting_application: str
    details: NotRequired[list[DisplayDetail]]
    details_digest: NotRequired[Digest]
    labels: NotRequired[dict[str, ActionText]]


class ChallengeLink(TypedDict):
    """A short-lived URL that opens this challenge in a browser."""

    url: str
    expires_at: Timestamp


ChallengeLinkRequest = TypedDict('ChallengeLinkRequest', {'return_url': 'NotRequired[str]', 'for': "NotRequired[Literal['client']]"})


class ChallengePublicView(TypedDict):
    """The challenge as the user sees it before confirming."""

    id: str
    status: ChallengeStatus
    methods: list[ChallengeMethod]
    expires_at: Timestamp
    display: ChallengeDisplay
    child_authorization: NotRequired[str | None]


class ChallengeTrace(TypedDict):
    """A challenge in the record of an authorization."""

    id: str
    status: str
    expires_at: Timestamp
    completed_at: NotRequired[TimestampOrNull]
    method_used: NotRequired[str | None]
    strength: NotRequired[str | None]


class ChangeDifference(TypedDict):
    """A field that a change gives a different value."""

    field: str
    before: Any
    after: Any


class ChangeReason(TypedDict):
    """Why a change is requested or settled. A policy version's own reason is that of the request to activate it unless another is given."""

    reason: NotRequired[str]


class ChangeRequest(TypedDict):
    """A change of the configuration that waits, or waited, for a second approver."""

    id: str
    kind: ChangeKind
    status: ChangeStatus
    action_id: str | None
    action: str | None
    policy_version: int | None
    team: str | None
    endpoint: str | None
    list: str | None
    subject: NotRequired[str | None]
    differences: list[ChangeDifference]
    requested_by: str
    requested_at: Timestamp
    expires_at: Timestamp
    resolved_by: str | None
    resolved_at: TimestampOrNull
    reason: str
    resolution_reason: str
    approvable: bool
    applies: bool | None
    simulation: PolicySimulation | None


class ClaimInfo(TypedDict):
    """A claim and the statuses it can have."""

    claim: str
    statuses: list[ClaimStatus]
    description: str


class ClientTokenCreate(TypedDict):
    """A browser credential for one subject and one origin."""

    subject: str
    origin: str
    ttl_seconds: NotRequired[int]
    purposes: NotRequired[list[Literal['score', 'enroll']]]
    session: NotRequired[str]


class ClientTokenCreated(TypedDict):
    """The token, which is shown only once."""

    client_token: str
    expires_at: float
    ttl_seconds: int
    origin: str
    purposes: NotRequired[list[Literal['score', 'enroll']]]
    session: NotRequired[str | None]


class Credential(TypedDict):
    """A credential without its secret."""

    id: str
    scope: CredentialScope
    permissions: list[Permission] | None
    name: str | None
    preview: str
    rate_limit: NotRequired[int | None]
    created_at: Timestamp
    issued_by: str
    principal: str
    expires_at: TimestampOrNull
    lapses_at: TimestampOrNull
    last_used_at: TimestampOrNull
    revoked_at: TimestampOrNull


class CredentialCreate(TypedDict):
    """A new key for this environment."""

    scope: Literal['client', 'server', 'admin']
    permissions: NotRequired[list[Literal['decide', 'decisions.read', 'proofs.read', 'challenges', 'review', 'verify', 'evidence', 'enroll', 'subjects', 'passkeys', 'policy.write', 'policy.activate', 'evaluations', 'events', 'config.read', 'config', 'webhooks', 'credentials', 'audit']]]
    name: NotRequired[str]
    rate_limit: NotRequired[int]
    expires_at: NotRequired[str]


class CredentialIdentity(TypedDict):
    """The calling credential, without its secret."""

    credential: str
    tenant: str
    environment: str
    environment_kind: Literal['sandbox', 'live']
    scope: CredentialScope
    permissions: NotRequired[list[Permission] | None]
    mode: Literal['test', 'live']
    proof_issuer: str


class CredentialWithKey(TypedDict):
    """A credential with its secret, which is shown only once."""

    id: str
    scope: CredentialScope
    permissions: list[Permission] | None
    name: str | None
    preview: str
    key: str
    rate_limit: NotRequired[int | None]
    created_at: Timestamp
    issued_by: str
    principal: str
    expires_at: TimestampOrNull
    lapses_at: TimestampOrNull
    last_used_at: TimestampOrNull
    revoked_at: TimestampOrNull


class Destination(TypedDict):
    """A system to which the sealed log is pushed."""

    id: str
    name: DestinationName
    kind: DestinationKind
    url: str
    encoding: str | None
    header: str | None
    ca: str | None
    since: str | None
    has_credentials: bool
    position: int
    behind: int
    oldest_behind: str | None
    sent_at: str | None
    failing_since: str | None
    last_error: str | None
    created_at: Timestamp
    updated_at: Timestamp


class DestinationCredentials(TypedDict):
    """What a destination of the log is authenticated with."""

    header: NotRequired[str]
    certificate: NotRequired[str]
    key: NotRequired[str]


class DestinationSet(TypedDict):
    """The settings of a destination of the log."""

    kind: DestinationKind
    url: str
    encoding: NotRequired[Literal['protobuf', 'json', 'lines', 'array']]
    header: NotRequired[str]
    ca: NotRequired[str]
    since: NotRequired[str]


class DisplayDetail(TypedDict):
    """One line of what a person is shown of a request. The hosted page writes it in the reader's language."""

    label: str
    value: str
    format: Literal['text', 'money', 'number', 'date', 'datetime', 'account', 'masked', 'standing']
    canonical: NotRequired[str]
    labels: NotRequired[dict[str, str]]
    title: NotRequired[bool]


class DisplayedDetails(TypedDict):
    """The details of a request that a person is shown."""

    details: list[DisplayDetail]


class Enrollment(TypedDict):
    """One training of a subject's template."""

    id: str
    subject: str
    anchor: str
    status: Literal['pending', 'completed', 'failed']
    windows_accepted: int
    created_at: Timestamp
    completed_at: NotRequired[TimestampOrNull]
    limitations: NotRequired[list[str]]
    refused_sessions: NotRequired[list[RefusedSession]]


class EnrollmentComplete(TypedDict):
    """Trains the template with the collected evidence."""

    session: str
    force: NotRequired[bool]


class Environment(TypedDict):
    """The caller's environment and its settings."""

    id: str
    tenant: str
    kind: Literal['sandbox', 'live']
    rp_id: str
    rp_name: str
    origins: list[str]
    research_enabled: bool
    page_origin: str | None
    return_origins: list[str]
    frame_ancestors: list[str]
    created_at: Timestamp
    case_link: str
    working_zone: str
    working_hours: list[str]
    holidays: list[str]
    brand: Brand
    background: BackgroundChoice
    passkeys: PasskeyRules
    challenge_ttl_seconds: int
    hold_ttl_seconds: int
    change_ttl_seconds: int
    resource_reservation_seconds: int
    bar_self_review: bool
    second_approver_required: bool
    review_notes: bool
    enrollment_grant_required: bool
    key_expiry_required: bool
    federated_key_days: int


class EnvironmentUpdate(TypedDict):
    """Settings to change. Omitted settings keep their value. Changes apply to new challenges and holds."""

    rp_name: NotRequired[str]
    origins: NotRequired[list[str]]
    brand: NotRequired[BrandUpdate]
    passkeys: NotRequired[PasskeyRulesUpdate]
    page_origin: NotRequired[str]
    return_origins: NotRequired[list[str]]
    frame_ancestors: NotRequired[list[str]]
    case_link: NotRequired[str]
    working_zone: NotRequired[str]
    working_hours: NotRequired[list[str]]
    holidays: NotRequired[list[str]]
    holidays_file: NotRequired[str]
    background: NotRequired[Literal['prior', 'own', 'shared']]
    challenge_ttl_seconds: NotRequired[int]
    hold_ttl_seconds: NotRequired[int]
    change_ttl_seconds: NotRequired[int]
    resource_reservation_seconds: NotRequired[int]
    bar_self_review: NotRequired[bool]
    second_approver_required: NotRequired[bool]
    review_notes: NotRequired[bool]
    enrollment_grant_required: NotRequired[bool]
    key_expiry_required: NotRequired[bool]
    federated_key_days: NotRequired[int]


class ErasureReceipt(TypedDict):
    """The erasure has begun. The subject is not found by other requests."""

    subject: str
    erasure: str
    status: Literal['erasing']
    requested_at: Timestamp


class Evaluation(TypedDict):
    """An evaluation."""

    id: str
    name: str
    action_keys: list[str]
    success_criteria: EvaluationCriteria
    status: EvaluationStatus
    starts_at: Timestamp
    ends_at: NotRequired[TimestampOrNull]
    created_at: Timestamp


class EvaluationCreate(TypedDict):
    """A new evaluation."""

    name: str
    action_keys: list[str]
    starts_at: NotRequired[str | None]
    ends_at: NotRequired[str | None]
    success_criteria: NotRequired[EvaluationCriteria]


class EvaluationCriteria(TypedDict):
    """The success criteria of an evaluation."""

    min_shadow_decisions: NotRequired[int]
    min_outcome_coverage: NotRequired[float]
    max_abstention_rate: NotRequired[float]


class EvaluationMetrics(TypedDict):
    """The metrics."""

    decisions: int
    by_decision: dict[str, int]
    by_mode: dict[str, int]
    coverage_distribution: dict[str, int]
    outcomes: dict[str, int]
    experimental_operator_change_indicators: int
    challenges: int
    outcome_coverage: float
    decision_latency_ms: dict[str, int | None]
    note: str
    abstention_rate: NotRequired[float | None]
    false_challenge_proxy: NotRequired[float | None]


class EvaluationReport(TypedDict):
    """An evaluation with its results."""

    id: str
    name: str
    action_keys: list[str]
    success_criteria: EvaluationCriteria
    status: EvaluationStatus
    starts_at: Timestamp
    ends_at: NotRequired[TimestampOrNull]
    created_at: Timestamp
    metrics: EvaluationMetrics
    checks: dict[str, bool]
    result: Literal['in_progress', 'passed', 'failed']


class EventTypeInfo(TypedDict):
    """A type of event, its schema and an example."""

    type: str
    description: str
    payload_schema: dict[str, Any]
    payload_example: dict[str, Any]


class EvidenceAck(TypedDict):
    """The result of a frame."""

    status: Literal['accepted', 'neutral', 'rejected']
    coverage: Coverage
    evidence_windows: int
    active_seconds: float
    enrollment_ready: NotRequired[bool]
    modalities_present: NotRequired[list[str]]
    reason_codes: NotRequired[list[str]]


class ExplainedRequirement(TypedDict):
    """One requirement of the policy with its result."""

    requirement: str
    wanted: str
    found: str
    passed: bool
    effect: Literal['allow', 'challenge', 'hold', 'deny']
    compensated_by: NotRequired[Literal['passkey', 'sandbox_confirm', 'hold_approved', 'standing_approval']]
    shown: NotRequired[list[ShownDetail]]


class FeatureFrameRequest(TypedDict):
    """One frame of derived features. It never contains what was typed, shown or filmed."""

    frame_id: str
    timestamp: float
    duration_ms: float
    features: dict[str, Any]
    purpose: NotRequired[Literal['score', 'enroll']]
    research_optin: NotRequired[bool]
    window_start: NotRequired[float | None]
    window_end: NotRequired[float | None]


class HTTPValidationError(TypedDict):
    """Every violation of a request that does not match the API contract."""

    detail: list[ValidationError]


class HeldReview(TypedDict):
    """A hold in the queue of reviewers."""

    authorization: str
    action: str
    subject: str
    risk_class: RiskClass
    reason_codes: list[str]
    opened_at: Timestamp
    due_at: Timestamp
    review_status: ReviewStatus
    reminded_at: TimestampOrNull
    approvals: ReviewApprovals
    self_review: Literal['allowed', 'barred']
    your_resolution: Literal['approve', 'reject', 'break_glass', None]
    reviewable: bool
    approvable: NotRequired[bool]
    assigned_to: NotRequired[str | None]
    teams: NotRequired[list[WantedTeam]]
    steps: NotRequired[list[HoldStep]]
    display: NotRequired[DisplayedDetails | None]


class HoldDescriptor(TypedDict):
    """What the person who waits for reviewers may be given."""

    status_url: str


class HoldStep(TypedDict):
    """A step of a hold."""

    name: str
    state: Literal['approved', 'open', 'waiting']
    approvals: ReviewApprovals
    opened_at: TimestampOrNull
    due_at: TimestampOrNull


class HumanReadable(TypedDict):
    """The decision as text."""

    status: str
    detail: str


class JWK(TypedDict):
    """A public key for ES256."""

    kty: Literal['EC']
    crv: Literal['P-256']
    kid: str
    use: NotRequired[Literal['sig']]
    alg: Literal['ES256']
    x: str
    y: str


class JWKSet(TypedDict):
    """Public keys (RFC 7517)."""

    keys: list[JWK]


class KeyedCount(TypedDict):
    """One part of a count."""

    key: str
    count: int


class LegacyAuth(TypedDict):
    """A timing sample to compare."""

    user_id: str
    reaction_times: LegacyTimings
    keystroke_intervals: LegacyTimings


class LegacyAuthResult(TypedDict):
    """The result of the comparison."""

    ok: bool
    confidence: float
    decision: Literal['accept', 'challenge', 'reject']
    reason_codes: list[str]
    mode: LegacyMode


class LegacyEnrol(TypedDict):
    """A timing sample of a user."""

    user_id: str
    reaction_times: LegacyTimings
    keystroke_intervals: LegacyTimings
    consent: NotRequired[bool]


class LegacyEnrolled(TypedDict):
    """The sample is added."""

    user_id: str
    samples: int
    enrolled: bool
    mode: LegacyMode


class LegacyFrame(TypedDict):
    """A frame. Its features are in `features` or next to `ts`."""

    ts: int
    duration_ms: NotRequired[float]
    purpose: NotRequired[Literal['score', 'enroll']]
    features: NotRequired[dict[str, Any]]


class LegacyIngest(TypedDict):
    """Frames of a session."""

    session_id: str
    frames: list[LegacyFrame]


class LegacyIngested(TypedDict):
    """The result of the frames."""

    accepted: int
    rejected: int
    state: TrustState
    mode: LegacyMode


class LegacySessionEnd(TypedDict):
    """End a session."""

    session_id: str


class LegacySessionEnded(TypedDict):
    """The session's final trust record."""

    session_id: str
    score: float
    state: TrustState
    mode: LegacyMode


class LegacySessionStart(TypedDict):
    """Start a continuous trust session after the user logged in."""

    user_id: str
    device_id: str


class LegacySessionStarted(TypedDict):
    """The session has started."""

    session_id: str
    state: TrustState
    mode: LegacyMode


class LegacyTrust(TypedDict):
    """The session's score and state."""

    score: float
    state: TrustState
    reason_codes: list[str]
    mode: LegacyMode


class ManualReviewRequest(TypedDict):
    """A review of a hold."""

    resolution: Literal['approve', 'reject', 'break_glass']
    note: NotRequired[str | None]
    step: NotRequired[str | None]


class Meta(TypedDict):
    """The capabilities of this deployment."""

    service: str
    version: str
    contract_version: str
    capabilities: dict[str, CapabilityState]
    reason_codes: list[ReasonCode]
    claims: list[ClaimInfo]
    modalities: list[str]
    feature_schema: dict[str, Any]
    limits: dict[str, Any]
    legacy_states: list[str]
    evaluation_metrics: NotRequired[list[MetricDefinition]]
    backgrounds: NotRequired[list[Background]]


class MetricDefinition(TypedDict):
    """Definition of a metric or check of an evaluation's report."""

    metric: str
    kind: Literal['count', 'distribution', 'share', 'milliseconds', 'check', 'text']
    definition: str


class NamedApprover(TypedDict):
    """The person whom a request names as an approver."""

    named_by: str
    person: str | None
    reason: str | None


class NamedList(TypedDict):
    """A list of values that rules read by `X in list('NAME')`. Values are compared without regard to case and white space."""

    id: str
    name: NamedListName
    kind: NamedListKind
    personal: bool
    description: str
    version: int
    entries: int
    created_at: Timestamp
    created_by: str


class NamedListAdded(TypedDict):
    """A value to add."""

    value: str
    reason: str
    expires_at: NotRequired[str | None]


class NamedListChange(TypedDict):
    """Entries to add and to remove."""

    add: NotRequired[list[NamedListAdded]]
    remove: NotRequired[list[NamedListRemoved]]


class NamedListCreate(TypedDict):
    """A new list."""

    name: NamedListName
    kind: NamedListKind
    personal: NotRequired[bool]
    description: NotRequired[str]


class NamedListEntry(TypedDict):
    """A value of a list."""

    id: str
    value: str | None
    reason: str
    expires_at: TimestampOrNull
    added_at: Timestamp
    added_by: str


class NamedListRemoved(TypedDict):
    """An entry to remove, by its id or by its value: exactly one of the two."""

    id: NotRequired[str]
    value: NotRequired[str]


class OpenAPIDocument(TypedDict):
    """An OpenAPI 3.1 document."""

    openapi: str
    info: dict[str, Any]
    paths: dict[str, Any]
    components: NotRequired[dict[str, Any]]


class OutcomeReceipt(TypedDict):
    """The outcome is recorded."""

    authorization: str
    outcome: str
    reported_at: Timestamp


class OutcomeReport(TypedDict):
    """The outcome of the action."""

    outcome: Literal['executed', 'not_executed', 'manually_approved', 'manually_rejected', 'confirmed_attack', 'false_challenge', 'customer_override', 'unknown']
    note: NotRequired[str | None]


class Passkey(TypedDict):
    """A registered passkey."""

    id: str
    aaguid: NotRequired[str | None]
    backup_eligible: NotRequired[bool]
    backed_up: NotRequired[bool]
    transports: NotRequired[list[str]]
    rp_id: NotRequired[str | None]
    created_at: Timestamp
    last_used_at: TimestampOrNull
    revoked_at: NotRequired[TimestampOrNull]


class PasskeyAssertionOptions(TypedDict):
    """The argument of `navigator.credentials.get`."""

    publicKey: PublicKeyCredentialRequestOptionsJSON
    binding: NotRequired[ChallengeBinding]


class PasskeyAssertionOptionsRequest(TypedDict):
    """Where the ceremony takes place."""

    rp_id: NotRequired[str]


class PasskeyImport(TypedDict):
    """A passkey that another WebAuthn server registered under one of the environment's RP IDs."""

    credential_id: str
    public_key: str
    counter: int
    flags: PasskeyImportFlags
    transports: NotRequired[list[str]]
    aaguid: NotRequired[str]
    rp_id: NotRequired[str]


class PasskeyImportFlags(TypedDict):
    """Flags of the authenticator data at the registration, or of the newest assertion."""

    user_verified: NotRequired[bool]
    backup_eligible: bool
    backed_up: bool


class PasskeyRegistered(TypedDict):
    """The passkey is registered."""

    id: str
    created_at: Timestamp


class PasskeyRegistrationComplete(TypedDict):
    """The passkey that the browser created."""

    registration_grant: str
    credential: RegistrationResponseJSON


class PasskeyRegistrationGrant(TypedDict):
    """A one-time permission to register a passkey."""

    token: str
    expires_at: Timestamp


class PasskeyRegistrationOptions(TypedDict):
    """The argument of `navigator.credentials.create`."""

    publicKey: PublicKeyCredentialCreationOptionsJSON


class PasskeyRegistrationOptionsRequest(TypedDict):
    """Exchange a grant for registration options."""

    registration_grant: str
    rp_id: NotRequired[str]


class PasskeyRules(TypedDict):
    """The rules of passkeys beside `rp_id` and `origins` (`docs/passkeys.md`)."""

    rp_ids: list[str]
    related_origins: list[str]
    attestation: Literal['none', 'required']
    attestation_roots: list[str]
    aaguids: list[str]


class PasskeyRulesUpdate(TypedDict):
    """Changes to the rules of passkeys. Omitted fields keep their value, an empty list removes the rule. Registered passkeys are kept; those of a removed RP ID cannot be used."""

    rp_ids: NotRequired[list[str]]
    related_origins: NotRequired[list[str]]
    attestation: NotRequired[Literal['none', 'required']]
    attestation_roots: NotRequired[list[str]]
    aaguids: NotRequired[list[str]]


class PasskeySummary(TypedDict):
    """Summary of a passkey."""

    id: str
    created_at: Timestamp
    last_used_at: TimestampOrNull


class PersonManager(TypedDict):
    """A member of staff and their manager."""

    person: str
    manager: str | None


class PersonManagerUpdate(TypedDict):
    """Who manages a member of staff."""

    manager: str | None


class PolicyAfterReview(TypedDict):
    """Extension: the review that follows a break-glass."""

    approvals: int
    within_seconds: int


class PolicyBreakGlass(TypedDict):
    """Extension: a member of the team may approve a hold alone, with a note that says why. It satisfies nothing that denies, and is never for one's own request."""

    group: TeamKey
    after_review: PolicyAfterReview


class PolicyRequirements(TypedDict):
    """What a decision requires."""

    claims: NotRequired[dict[str, ClaimStatus]]
    coverage_min: NotRequired[Literal['none', 'sparse', 'partial', 'sufficient']]
    freshness_max_ms: NotRequired[int]
    insufficient_evidence: NotRequired[Literal['challenge', 'hold', 'deny']]
    max_challenges: NotRequired[int]
    explicit_approval_required: NotRequired[bool]
    challenge_methods: NotRequired[list[ChallengeMethod]]
    challenge_compensates: NotRequired[list[Literal['operator_continuity', 'human_presence', 'coverage', 'freshness']]]
    deny_on: NotRequired[list[str]]
    hold_on: NotRequired[list[str]]
    approvals_required: NotRequired[int]
    self_review: NotRequired[Literal['allowed', 'barred']]
    approval_compensates: NotRequired[list[Literal['operator_continuity', 'human_presence', 'coverage', 'freshness', 'explicit_approval']]]
    review: NotRequired[list[TeamReview] | ReviewSteps]
    repeat_approvers: NotRequired[bool]
    hours: NotRequired[Literal['working', 'all']]
    break_glass: NotRequired[PolicyBreakGlass]
    standing: NotRequired[PolicyStanding]
    passkey_aaguids: NotRequired[list[str]]
    rules: NotRequired[list[PolicyRule]]


class PolicyRule(TypedDict):
    """Extension: requirements that apply if a condition is true of a request. They never make a decision looser."""

    name: str
    when: str
    requirements: PolicyRuleRequirements
    reason: str
    reserve: NotRequired[bool]


class PolicyRuleRequirements(TypedDict):
    """Extension: the requirements that a rule adds, at least one. An omitted field adds none."""

    claims: NotRequired[dict[str, ClaimStatus]]
    coverage_min: NotRequired[Literal['none', 'sparse', 'partial', 'sufficient']]
    freshness_max_ms: NotRequired[int]
    insufficient_evidence: NotRequired[Literal['challenge', 'hold', 'deny']]
    max_challenges: NotRequired[int]
    explicit_approval_required: NotRequired[bool]
    challenge_methods: NotRequired[list[ChallengeMethod]]
    challenge_compensates: NotRequired[list[Literal['operator_continuity', 'human_presence', 'coverage', 'freshness']]]
    deny_on: NotRequired[list[str]]
    hold_on: NotRequired[list[str]]
    approvals_required: NotRequired[int]
    self_review: NotRequired[Literal['allowed', 'barred']]
    approval_compensates: NotRequired[list[Literal['operator_continuity', 'human_presence', 'coverage', 'freshness', 'explicit_approval']]]
    review: NotRequired[list[TeamReview] | ReviewSteps]


class PolicySimulation(TypedDict):
    """The result of a simulation. Nothing is changed."""

    action: str
    version: int
    decisions: int
    changed: int
    before: dict[str, int]
    after: dict[str, int]
    transitions: list[SimulatedTransition]
    reasons: list[SimulatedReason]
    moves: NotRequired[list[SimulatedMove]]
    not_decidable: NotRequired[int]
    undecided: NotRequired[list[SimulatedUndecided]]
    lists: NotRequired[list[SimulatedList]]


class PolicySimulationRequest(TypedDict):
    """The stored decisions of the action to re-evaluate under this version."""

    last: NotRequired[int]
    since: NotRequired[str]
    until: NotRequired[str]
    list: NotRequired[int]


class PolicyStanding(TypedDict):
    """Extension: an approval given once may allow several requests. One by the subject satisfies `explicit_approval_required`; one by reviewers satisfies `hold_on`, `insufficient_evidence: hold`, and the subject's approval if `approval_compensates` lists it. Nothing that denies is satisfied, nor what evidence shows of automation or replay."""

    by: list[Literal['passkey', 'review']]
    max_uses: int
    max_amount: NotRequired[PolicyStandingAmount]
    max_duration_seconds: int
    resource: NotRequired[Literal['same', 'any'] | PolicyStandingPrefix]
    agent: NotRequired[Literal['named', 'any']]


class PolicyStandingAmount(TypedDict):
    """Extension: all uses of a standing approval together come to at most an amount, which it states."""

    field: str
    limit: str


class PolicyStandingPrefix(TypedDict):
    """Extension: the ids of resources that a standing approval covers."""

    prefix: str


class PolicyVersion(TypedDict):
    """One immutable decision contract of an action."""

    id: str
    action: str
    version: int
    status: Literal['draft', 'active', 'retired']
    requirements: PolicyRequirements
    context_schema: dict[str, Any]
    allowed_audiences: list[str]
    allowed_callers: list[str]
    proof_ttl_seconds: int
    content_hash: Digest
    created_at: Timestamp
    activated_at: NotRequired[TimestampOrNull]
    retired_at: NotRequired[TimestampOrNull]
    reason: NotRequired[str]
    warnings: NotRequired[list[PolicyWarning]]


class PolicyVersionCreate(TypedDict):
    """One immutable decision contract. Omitted or null fields are copied from the active version, or from the action if there is none."""

    requirements: PolicyRequirements
    allowed_audiences: NotRequired[list[str] | None]
    allowed_callers: NotRequired[list[str] | None]
    context_schema: NotRequired[dict[str, Any] | None]
    proof_ttl_seconds: NotRequired[int | None]
    reason: NotRequired[str]


class PolicyWarning(TypedDict):
    """Extension: a hint about a policy that is valid, but may not decide as its author expects."""

    code: str
    message: str
    loc: list[str]


class Problem(TypedDict):
    """A problem document (RFC 9457). `code` is stable."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    request_id: str


class ProofClaims(TypedDict):
    """The claims of a Proof of Agency."""

    iss: str
    sub: str
    aud: str
    iat: float
    nbf: float
    exp: float
    jti: str
    nonce: NotRequired[str]
    env: NotRequired[str]
    env_kind: NotRequired[Literal['sandbox', 'live']]
    mode: NotRequired[str]
    azn: NotRequired[str]
    act: NotRequired[dict[str, Any]]
    res: NotRequired[dict[str, Any]]
    ctx: NotRequired[str]
    assurance: NotRequired[dict[str, Any]]
    amr: NotRequired[list[str]]
    grant: NotRequired[str]


class ProofStatus(TypedDict):
    """The status of a proof."""

    jti: str
    status: ProofState
    expires_at: NotRequired[TimestampOrNull]
    revoked_at: NotRequired[TimestampOrNull]


class ProofTrace(TypedDict):
    """A proof in the record of an authorization."""

    id: str
    status: str
    compact: NotRequired[str | None]
    expires_at: NotRequired[TimestampOrNull]


class ProofVerification(TypedDict):
    """The result of the verification."""

    valid: bool
    status: ProofState
    reason_codes: list[str]
    unchecked: NotRequired[list[Literal['subject', 'context']]]
    claims: ProofClaims | None


class ProofVerifyRequest(TypedDict):
    """A proof and its expected values."""

    proof: str
    audience: NotRequired[str]
    action: NotRequired[str]
    resource: NotRequired[Resource]
    nonce: NotRequired[str]
    subject: NotRequired[str]
    context: NotRequired[dict[str, Any]]
    consume: NotRequired[bool]


class ProtectedAction(TypedDict):
    """An action that needs an authorization before it may be performed."""

    id: str
    environment: str
    key: str
    name: str
    consequence: str
    labels: NotRequired[dict[str, ActionText]]
    risk_class: RiskClass
    resource_type: str
    context_schema: dict[str, Any]
    mode: Mode
    allowed_audiences: list[str]
    allowed_callers: list[str]
    proof_ttl_seconds: int
    active_policy_version: NotRequired[int | None]
    created_at: Timestamp
    updated_at: Timestamp


class PublicKeyCredentialCreationOptionsJSON(TypedDict):
    """WebAuthn Level 3, PublicKeyCredentialCreationOptionsJSON."""

    rp: dict[str, Any]
    user: dict[str, Any]
    challenge: str
    pubKeyCredParams: list[dict[str, Any]]


class PublicKeyCredentialRequestOptionsJSON(TypedDict):
    """WebAuthn Level 3, PublicKeyCredentialRequestOptionsJSON."""

    challenge: str
    rpId: NotRequired[str]
    allowCredentials: NotRequired[list[dict[str, Any]]]
    userVerification: NotRequired[str]


class Reason(TypedDict):
    """An optional reason, stored in the audit log."""

    reason: NotRequired[str]


class ReasonCode(TypedDict):
    """One entry of the catalogue."""

    code: str
    kind: str
    description: str
    remedy: str


class Recovery(TypedDict):
    """A recovery of a subject."""

    id: str
    subject: str
    status: Literal['pending', 'cooling_down', 'ready', 'completed', 'expired']
    anchor: Literal['none', 'customer_session', 'idp', 'passkey', 'verified_identity']
    created_at: Timestamp
    ready_at: TimestampOrNull
    expires_at: TimestampOrNull
    limitations: list[str]
    reference: NotRequired[str]


class RecoveryBegin(TypedDict):
    """Resets a subject whose template can no longer be trusted."""

    anchor: Literal['none', 'customer_session', 'idp', 'passkey', 'verified_identity']
    anchor_evidence_ref: NotRequired[str | None]
    reference: NotRequired[str]


class RefusedSession(TypedDict):
    """A session that an enrollment did not use."""

    session: str
    reason: str


class RegistrationResponseJSON(TypedDict):
    """WebAuthn Level 3, RegistrationResponseJSON, as `PublicKeyCredential.toJSON()` gives it."""

    id: NotRequired[str]
    rawId: NotRequired[str]
    type: NotRequired[str]
    response: NotRequired[dict[str, Any]]


class RelatedOrigins(TypedDict):
    """The sites that may use the passkeys of a host (WebAuthn Level 3, section 5.11)."""

    origins: list[str]


class ResearchConsentRecord(TypedDict):
    """The recorded consent."""

    subject: str
    consented: bool
    recorded_at: Timestamp


class ResearchConsentRequest(TypedDict):
    """The subject's consent to research use."""

    consented: bool


class Resource(TypedDict):
    """The resource of the action."""

    type: str
    id: str


class ReviewApprovals(TypedDict):
    """Approvals given and required."""

    given: int
    required: int


class ReviewApprovedReceipt(TypedDict):
    """The hold is approved; `decision` is the follow-up decision."""

    authorization: str
    resolution: Literal['approve']
    decision: AuthorizeResponse
    break_glass: NotRequired[Literal[True]]
    self_reviewed: NotRequired[Literal[True]]


class ReviewAssign(TypedDict):
    """Whom the hold is taken from."""

    previous: NotRequired[str | None]


class ReviewAssignment(TypedDict):
    """Who works on a hold."""

    authorization: str
    assigned_to: str | None
    assigned_at: TimestampOrNull


class ReviewCounts(TypedDict):
    """Counts of pending holds."""

    as_of: Timestamp
    pending: int
    due: ReviewsDue
    reminded: int
    partly_approved: int
    oldest_opened_at: TimestampOrNull
    next_due_at: TimestampOrNull
    by_risk_class: list[KeyedCount]
    by_action: list[KeyedCount]


class ReviewEntry(TypedDict):
    """Extension: approvals of a step: of members of a team, of a person whom the request names, or, with neither `group` nor `approver`, of any reviewer."""

    group: NotRequired[TeamKey]
    approver: NotRequired[str]
    fallback: NotRequired[TeamKey]
    approvals: NotRequired[int]
    escalate: NotRequired[ReviewEscalation]


class ReviewEscalation(TypedDict):
    """Extension: from some time after the opening of the hold on, members of a second team may give the approvals as well. It approves nothing."""

    after_seconds: int
    group: TeamKey


class ReviewPending(TypedDict):
    """The review is recorded and the hold is still pending, for further approvals or for its workflow to finish."""

    authorization: str
    resolution: Literal['approve', 'reject', 'break_glass']
    review_status: ReviewStatus
    approvals: ReviewApprovals
    teams: NotRequired[list[WantedTeam]]
    steps: NotRequired[list[HoldStep]]


class ReviewRejectedReceipt(TypedDict):
    """The hold is rejected."""

    authorization: str
    resolution: Literal['reject']
    outcome: OutcomeReceipt


class ReviewStep(TypedDict):
    """Extension: one step of a review."""

    name: str
    entries: list[ReviewEntry]
    within_seconds: NotRequired[int]
    on_timeout: NotRequired[Literal['expire'] | ReviewTimeout]


class ReviewSteps(TypedDict):
    """Extension: the steps of a review. A step opens when the previous one has its approvals; one rejection in any step rejects the hold."""

    steps: list[ReviewStep]


class ReviewTimeout(TypedDict):
    """Extension: the team that may approve a step as well once its time is over."""

    group: TeamKey


class ReviewWithdrawal(TypedDict):
    """The request is withdrawn."""

    authorization: str
    review_status: Literal['withdrawn']
    withdrawn_at: Timestamp


class ReviewsDue(TypedDict):
    """Pending holds by remaining time. Each is counted once."""

    within_1h: int
    within_24h: int
    later: int


class RotateRequest(TypedDict):
    """How long the old secret remains valid."""

    overlap_seconds: NotRequired[int]


class Session(TypedDict):
    """An observation session."""

    id: str
    subject: str
    environment: str
    device_class: DeviceClass
    status: SessionState
    started_at: Timestamp
    ended_at: TimestampOrNull
    last_evidence_at: TimestampOrNull


class SessionCreate(TypedDict):
    """A new observation session."""

    subject: str
    device_class: NotRequired[Literal['desktop', 'mobile', 'tablet', 'unknown']]


class SessionStatus(TypedDict):
    """A session and how much evidence it has."""

    id: str
    subject: str
    environment: str
    device_class: DeviceClass
    status: SessionState
    started_at: Timestamp
    ended_at: TimestampOrNull
    last_evidence_at: TimestampOrNull
    coverage: Coverage
    evidence_windows: int
    active_seconds: float
    modalities_present: list[str]
    enrollment_ready: bool


class ShownDetail(TypedDict):
    """A detail of the request that the user is shown."""

    label: str
    value: NotRequired[str]


class SigningKey(TypedDict):
    """A proof-signing key of the environment. The private half never leaves the service."""

    kid: str
    alg: Literal['ES256']
    status: Literal['next', 'active', 'retiring', 'retired']
    created_at: Timestamp
    activated_at: TimestampOrNull
    retires_at: TimestampOrNull


class SimulatedList(TypedDict):
    """A list that the rules of a simulated version read."""

    name: str
    version: int


SimulatedMove = TypedDict('SimulatedMove', {'authorization': 'str', 'decided_at': 'str', 'from': 'Decision', 'to': 'Decision', 'rules': 'list[str]'})


class SimulatedReason(TypedDict):
    """Frequency of a reason code before and after."""

    code: str
    before: int
    after: int


SimulatedTransition = TypedDict('SimulatedTransition', {'from': 'Decision', 'to': 'Decision', 'count': 'int'})


class SimulatedUndecided(TypedDict):
    """A decision that a rule could change depending on a value that is not stored."""

    authorization: str
    decided_at: str
    decision: Decision
    rules: list[SimulatedUndecidedRule]


class SimulatedUndecidedRule(TypedDict):
    """A rule with the values that it reads and that are not stored."""

    rule: str
    unknown: list[str]


class StandingAmount(TypedDict):
    """The most that all uses of a standing approval together may come to."""

    amount: str
    currency: NotRequired[str | None]


class StandingApproval(TypedDict):
    """An approval that allows several requests."""

    id: str
    subject: str
    action: str
    policy_version: int
    by: Literal['passkey', 'review']
    status: Literal['pending', 'not_approved', 'active', 'used_up', 'ended']
    sentence: str
    audience: str
    resource: StandingResource
    agent: str | None
    max_uses: int
    uses: int
    max_amount: StandingAmount | None
    amount_used: str | None
    ends_at: Timestamp
    created_at: Timestamp
    created_by: str
    begun_at: TimestampOrNull
    ended_at: TimestampOrNull
    ended_by: str | None
    end_reason: str | None
    authorization: str


class StandingApprovalCreate(TypedDict):
    """A request for a standing approval, within what the policy permits."""

    subject: str
    action: str
    audience: str
    by: Literal['passkey', 'review']
    resource_id: NotRequired[str | None]
    agent: NotRequired[str | None]
    max_uses: int
    max_amount: NotRequired[StandingAmount | None]
    ends_at: str


class StandingApprovalOpened(TypedDict):
    """A standing approval that waits, with what it waits for."""

    standing_approval: StandingApproval
    challenge: ChallengeDescriptor | None
    hold: HoldDescriptor | None


class StandingLink(TypedDict):
    """A short-lived URL that opens the page of a subject's standing approvals."""

    url: str
    expires_at: Timestamp


class StandingResource(TypedDict):
    """On which resources a standing approval allows the action."""

    type: str
    id: str | None
    pattern: Literal['same', 'prefix', 'any']
    prefix: str | None


class StoredAlias(TypedDict):
    """A name of a subject, of which the format alone is shown."""

    format: Literal['iss_sub', 'opaque', 'email']
    created_at: Timestamp


class Subject(TypedDict):
    """A person whose sessions are assessed."""

    id: str
    environment: str
    status: SubjectStatus
    enrollment: EnrollmentState
    adaptation_frozen: bool
    research_consent: bool
    passkeys: list[PasskeySummary]
    created_at: Timestamp
    updated_at: Timestamp
    revoked_at: TimestampOrNull


class SubjectAlias(TypedDict):
    """A name of a subject in security events: a subject identifier of RFC 9493."""

    format: Literal['iss_sub', 'opaque', 'email']
    iss: NotRequired[str]
    sub: NotRequired[str]
    id: NotRequired[str]
    email: NotRequired[str]


class SubjectAliases(TypedDict):
    """What is stored of the names of a subject."""

    subject: str
    aliases: list[StoredAlias]


class SubjectAliasesUpdate(TypedDict):
    """All names of a subject. Names that are left out are removed."""

    aliases: list[SubjectAlias]


class SubjectCreate(TypedDict):
    """A new subject. The service assigns an id if none is sent."""

    id: NotRequired[str]


class SubjectExport(TypedDict):
    """All stored data of a subject."""

    subject: str
    generated_at: Timestamp
    schema_version: str
    digest: Digest
    data: dict[str, Any]


class SubjectReinstate(TypedDict):
    """A request to end a revocation."""

    reason: str


class Team(TypedDict):
    """A group of reviewers, which policies name by its key."""

    id: str
    key: TeamKey
    name: str
    members: list[TeamMember]
    created_at: Timestamp


class TeamCreate(TypedDict):
    """A new team."""

    key: TeamKey
    name: str
    members: NotRequired[list[str]]


class TeamMember(TypedDict):
    """A member of a team."""

    member: str
    reviews: bool
    deputy: str | None


class TeamReview(TypedDict):
    """Extension: approvals of a hold by members of one team."""

    group: TeamKey
    approvals: int
    escalate: NotRequired[ReviewEscalation]


class TeamUpdate(TypedDict):
    """The fields to change. An omitted or null field keeps its value."""

    name: NotRequired[str | None]
    members: NotRequired[list[str] | None]


class Template(TypedDict):
    """One version of a subject's template for a modality and a class of device."""

    id: str
    modality: Literal['keystroke', 'pointer']
    device_class: DeviceClass
    version: int
    status: Literal['active', 'superseded', 'retired']
    origin: Literal['enrollment', 'adaptation', 'retraining']
    model_version: str
    provisional: bool
    limitations: list[str]
    created_at: Timestamp
    updated_at: Timestamp


class TemplateRollback(TypedDict):
    """The template to roll back."""

    modality: Literal['keystroke', 'pointer']
    device_class: DeviceClass
    version: NotRequired[int | None]


class ValidationError(TypedDict):
    """One violation with its location and rule."""

    loc: list[str | int]
    msg: str
    type: str


class ValidationProblem(TypedDict):
    """Every violation as a problem document (RFC 9457), for clients that accept `application/problem+json`."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    request_id: str
    errors: list[ValidationError]


class WantedTeam(TypedDict):
    """Approvals that a hold requires of one team. A person counts once in the whole hold."""

    group: TeamKey
    approvals: int
    given: int
    escalates_to: str | None
    escalates_at: TimestampOrNull
    escalated: bool
    approver: NotRequired[NamedApprover]


class WebhookAttempt(TypedDict):
    """One attempt to deliver an event."""

    id: str
    endpoint: str
    event: str
    type: str
    attempt: int
    status: AttemptStatus
    at: TimestampOrNull
    status_code: int | None
    latency_ms: int | None
    response_digest: str | None
    error: str | None
    next_attempt_at: TimestampOrNull


class WebhookEndpoint(TypedDict):
    """A URL that receives events."""

    id: str
    url: str
    events: list[str]
    description: str | None
    status: Literal['enabled', 'disabled']
    disabled_reason: NotRequired[str | None]
    include_details: NotRequired[bool]
    created_at: Timestamp
    updated_at: NotRequired[Timestamp]


class WebhookEndpointCreate(TypedDict):
    """A URL that receives events."""

    url: str
    events: NotRequired[list[EventTypePattern]]
    description: NotRequired[str]
    include_details: NotRequired[bool]


class WebhookEndpointUpdate(TypedDict):
    """The fields to change. An omitted field keeps its value."""

    url: NotRequired[str]
    events: NotRequired[list[EventTypePattern]]
    description: NotRequired[str | None]
    include_details: NotRequired[bool]
    status: NotRequired[Literal['enabled', 'disabled']]


class WebhookEndpointWithSecret(TypedDict):
    """An endpoint with its signing secret, which is shown only once."""

    id: str
    url: str
    events: list[str]
    description: str | None
    status: Literal['enabled', 'disabled']
    disabled_reason: NotRequired[str | None]
    include_details: NotRequired[bool]
    secret: str
    created_at: Timestamp
    updated_at: NotRequired[Timestamp]


class WebhookReplay(TypedDict):
    """The scheduled deliveries."""

    endpoint: str
    scheduled: int


class WebhookReplayRequest(TypedDict):
    """The deliveries to repeat; all failed ones by default."""

    since: NotRequired[str]
    until: NotRequired[str]
    status: NotRequired[Literal['failed', 'succeeded', 'all']]
    event: NotRequired[str]


class WebhookTestResult(TypedDict):
    """The result of a `webhook.test` event."""

    event: str
    delivered: bool
    status_code: int | None
    latency_ms: int
    error: str | None


AccessEvaluationsResponse = Union['AccessEvaluations', 'AccessEvaluation']

AttemptStatus = Literal['pending', 'succeeded', 'failed']

BackgroundChoice = Literal['prior', 'own', 'shared']

CapabilityState = Literal['available', 'degraded', 'unavailable', 'unsupported']

ChallengeMethod = Literal['passkey', 'sandbox_confirm']

ChallengeStatus = Literal['open', 'completed', 'cancelled', 'expired', 'failed']

ChangeKind = Literal['policy.activate', 'action.mode', 'environment.settings', 'team.create', 'team.update', 'team.delete', 'webhook.create', 'webhook.update', 'list.entries', 'list.delete', 'subject.reinstate', 'person.manager', 'signals.set', 'signals.remove', 'destination.set', 'destination.remove']

ChangeStatus = Literal['pending', 'approved', 'rejected', 'withdrawn', 'superseded', 'expired']

ClaimStatus = Literal['confirmed', 'likely', 'uncertain', 'not_confirmed', 'detected', 'not_detected', 'not_present', 'insufficient_evidence', 'unsupported']

Coverage = Literal['none', 'sparse', 'partial', 'sufficient']

CredentialScope = Literal['client', 'server', 'admin']

Decision = Literal['allow', 'challenge', 'hold', 'deny']

DestinationKind = Literal['otlp', 'https', 'syslog']

DestinationName = str

DeviceClass = Literal['desktop', 'mobile', 'tablet', 'unknown']

Digest = str

EnrollmentState = Literal['none', 'collecting', 'enrolled']

EvaluationStatus = Literal['open', 'closed']

EventTypePattern = str

LegacyMode = Literal['test', 'live']

LegacyTimings = list[float]

ManualReviewReceipt = Union['ReviewApprovedReceipt', 'ReviewRejectedReceipt']

MetricsSummary = dict[str, Any]

Mode = Literal['test', 'shadow', 'enforce']

NamedListKind = Literal['text', 'country', 'iban_prefix']

NamedListName = str

PathId = str

Permission = Literal['decide', 'decisions.read', 'proofs.read', 'challenges', 'review', 'verify', 'evidence', 'enroll', 'subjects', 'passkeys', 'policy.write', 'policy.activate', 'evaluations', 'events', 'config.read', 'config', 'webhooks', 'credentials', 'audit']

ProofState = Literal['active', 'consumed', 'revoked', 'expired', 'unknown']

ReviewStatus = Literal['pending', 'approved', 'rejected', 'expired', 'withdrawn']

RiskClass = Literal['low', 'elevated', 'high', 'critical']

SessionState = Literal['active', 'ended', 'expired']

SubjectId = str

SubjectStatus = Literal['active', 'revoked']

TeamKey = str

Timestamp = str

TimestampOrNull = Union[str, None]

TrustState = Literal['LEARNING', 'STABLE', 'WATCH', 'DEGRADED', 'BROKEN', 'ENDED']

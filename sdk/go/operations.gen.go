// Code generated from the contract by tools/gosdk; DO NOT EDIT.

package countersign

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// GetAccessMetadata: Metadata of the policy decision point.
//
// GET /.well-known/authzen-configuration
func (c *Client) GetAccessMetadata(ctx context.Context, options ...RequestOption) (*AccessMetadata, error) {
	return one[AccessMetadata](ctx, c, request{operation: "getAccessMetadata", method: http.MethodGet, path: path("/.well-known/authzen-configuration")}, options)
}

// GetProofKeysParams is the query of GetProofKeys. Zero values are not sent.
type GetProofKeysParams struct {
	// Only the keys of this issuer: the `iss` of a proof, the `proof_issuer` of a credential. An extension.
	Issuer string
}

func (p GetProofKeysParams) query() url.Values {
	q := url.Values{}
	set(q, "issuer", p.Issuer)
	return q
}

// GetProofKeys: Public keys that verify proofs.
//
// GET /.well-known/service-proof-keys.json
func (c *Client) GetProofKeys(ctx context.Context, params GetProofKeysParams, options ...RequestOption) (*JWKSet, error) {
	return one[JWKSet](ctx, c, request{operation: "getProofKeys", method: http.MethodGet, path: path("/.well-known/service-proof-keys.json"), query: params.query()}, options)
}

// GetRelatedOrigins: List the sites that may use the passkeys of this host. Browsers read it at
// https://RP_ID/.well-known/webauthn (WebAuthn Level 3, section 5.11). The host of the request is the RP ID. 404 if
// its environments have no `related_origins`, or if several tenants have the RP ID.
//
// GET /.well-known/webauthn
func (c *Client) GetRelatedOrigins(ctx context.Context, options ...RequestOption) (*RelatedOrigins, error) {
	return one[RelatedOrigins](ctx, c, request{operation: "getRelatedOrigins", method: http.MethodGet, path: path("/.well-known/webauthn")}, options)
}

// EvaluateAccess: Evaluate one access request. The decision of `authorize` in the form of the OpenID Authorization API
// 1.0. `decision` is true only for `allow`. A decision that cannot be made, for example because the subject is
// unknown, is false with `context.error`. A malformed request is 400. Permission: `decide`.
//
// POST /access/v1/evaluation
func (c *Client) EvaluateAccess(ctx context.Context, body AccessEvaluationRequest, options ...RequestOption) (*AccessEvaluation, error) {
	return one[AccessEvaluation](ctx, c, request{operation: "evaluateAccess", method: http.MethodPost, path: path("/access/v1/evaluation"), keyed: true, body: body}, options)
}

// EvaluateAccessBatch: Evaluate several access requests. At most 50 evaluations, in order. Each is a decision of its
// own, with its own proof, challenge or hold. Permission: `decide`.
//
// POST /access/v1/evaluations
func (c *Client) EvaluateAccessBatch(ctx context.Context, body AccessEvaluationsRequest, options ...RequestOption) (*AccessEvaluationsResponse, error) {
	return one[AccessEvaluationsResponse](ctx, c, request{operation: "evaluateAccessBatch", method: http.MethodPost, path: path("/access/v1/evaluations"), keyed: true, body: body}, options)
}

// ListActionsParams is the query of ListActions. Zero values are not sent.
type ListActionsParams struct {
	// Only the action with this key.
	Key string
	// Only entries of this mode.
	Mode Mode
	// Entries on a page.
	Limit int64
	// Cursor of the next page from the `Link` header.
	Cursor string
}

func (p ListActionsParams) query() url.Values {
	q := url.Values{}
	set(q, "key", p.Key)
	set(q, "mode", p.Mode)
	set(q, "limit", p.Limit)
	set(q, "cursor", p.Cursor)
	return q
}

// ListActions: List protected actions. Permission: `config.read`.
//
// GET /api/v1/actions
func (c *Client) ListActions(ctx context.Context, params ListActionsParams, options ...RequestOption) (*Page[ProtectedAction], error) {
	return page[ProtectedAction](ctx, c, request{operation: "listActions", method: http.MethodGet, path: path("/api/v1/actions"), query: params.query()}, options)
}

// AllActions iterates over all pages of ListActions, newest first. It ends with the first error.
func (c *Client) AllActions(ctx context.Context, params ListActionsParams, options ...RequestOption) iter.Seq2[ProtectedAction, error] {
	return pages(params.Cursor, func(cursor string) (*Page[ProtectedAction], error) {
		params.Cursor = cursor
		return c.ListActions(ctx, params, options...)
	})
}

// CreateAction: Register a protected action. Permission: `policy.write`.
//
// POST /api/v1/actions
func (c *Client) CreateAction(ctx context.Context, body ActionCreate, options ...RequestOption) (*ProtectedAction, error) {
	return one[ProtectedAction](ctx, c, request{operation: "createAction", method: http.MethodPost, path: path("/api/v1/actions"), keyed: true, body: body}, options)
}

// ArchiveAction: Archive a protected action. Permission: `policy.activate`.
//
// DELETE /api/v1/actions/{action_id}
func (c *Client) ArchiveAction(ctx context.Context, actionID string, options ...RequestOption) error {
	_, err := c.do(ctx, request{operation: "archiveAction", method: http.MethodDelete, path: path("/api/v1/actions/{action_id}", actionID)}, nil, options)
	return err
}

// GetAction: Read a protected action. Permission: `config.read`.
//
// GET /api/v1/actions/{action_id}
func (c *Client) GetAction(ctx context.Context, actionID string, options ...RequestOption) (*ProtectedAction, error) {
	return one[ProtectedAction](ctx, c, request{operation: "getAction", method: http.MethodGet, path: path("/api/v1/actions/{action_id}", actionID)}, options)
}

// UpdateAction: Change a protected action. 202 with a change request if the mode changes and the environment requires
// a second approver. Permission: `policy.activate`.
//
// PATCH /api/v1/actions/{action_id}
func (c *Client) UpdateAction(ctx context.Context, actionID string, body ActionUpdate, options ...RequestOption) (*ProtectedAction, error) {
	return one[ProtectedAction](ctx, c, request{operation: "updateAction", method: http.MethodPatch, path: path("/api/v1/actions/{action_id}", actionID), body: body}, options)
}

// ListPolicyVersionsParams is the query of ListPolicyVersions. Zero values are not sent.
type ListPolicyVersionsParams struct {
	// Entries on a page.
	Limit int64
	// Cursor of the next page from the `Link` header.
	Cursor string
}

func (p ListPolicyVersionsParams) query() url.Values {
	q := url.Values{}
	set(q, "limit", p.Limit)
	set(q, "cursor", p.Cursor)
	return q
}

// ListPolicyVersions: List an action's policy versions. Permission: `config.read`.
//
// GET /api/v1/actions/{action_id}/policy-versions
func (c *Client) ListPolicyVersions(ctx context.Context, actionID string, params ListPolicyVersionsParams, options ...RequestOption) (*Page[PolicyVersion], error) {
	return page[PolicyVersion](ctx, c, request{operation: "listPolicyVersions", method: http.MethodGet, path: path("/api/v1/actions/{action_id}/policy-versions", actionID), query: params.query()}, options)
}

// AllPolicyVersions iterates over all pages of ListPolicyVersions, newest first. It ends with the first error.
func (c *Client) AllPolicyVersions(ctx context.Context, actionID string, params ListPolicyVersionsParams, options ...RequestOption) iter.Seq2[PolicyVersion, error] {
	return pages(params.Cursor, func(cursor string) (*Page[PolicyVersion], error) {
		params.Cursor = cursor
		return c.ListPolicyVersions(ctx, actionID, params, options...)
	})
}

// CreatePolicyVersion: Add a policy version. It is a draft until it is activated. Permission: `policy.write`.
//
// POST /api/v1/actions/{action_id}/policy-versions
func (c *Client) CreatePolicyVersion(ctx context.Context, actionID string, body PolicyVersionCreate, options ...RequestOption) (*PolicyVersion, error) {
	return one[PolicyVersion](ctx, c, request{operation: "createPolicyVersion", method: http.MethodPost, path: path("/api/v1/actions/{action_id}/policy-versions", actionID), keyed: true, body: body}, options)
}

// GetPolicyVersion: Read a policy version. Permission: `config.read`.
//
// GET /api/v1/actions/{action_id}/policy-versions/{version}
func (c *Client) GetPolicyVersion(ctx context.Context, actionID string, version int64, options ...RequestOption) (*PolicyVersion, error) {
	return one[PolicyVersion](ctx, c, request{operation: "getPolicyVersion", method: http.MethodGet, path: path("/api/v1/actions/{action_id}/policy-versions/{version}", actionID, version)}, options)
}

// ActivatePolicyVersion: Activate a policy version. The version that was active before is retired. 202 with a change
// request if the environment requires a second approver. Permission: `policy.activate`.
//
// POST /api/v1/actions/{action_id}/policy-versions/{version}/activate
func (c *Client) ActivatePolicyVersion(ctx context.Context, actionID string, version int64, options ...RequestOption) (*PolicyVersion, error) {
	return one[PolicyVersion](ctx, c, request{operation: "activatePolicyVersion", method: http.MethodPost, path: path("/api/v1/actions/{action_id}/policy-versions/{version}/activate", actionID, version), keyed: true}, options)
}

// SimulatePolicyVersion: Re-evaluate stored decisions under this version. Nothing is changed. Permission:
// `config.read`.
//
// POST /api/v1/actions/{action_id}/policy-versions/{version}/simulate
func (c *Client) SimulatePolicyVersion(ctx context.Context, actionID string, version int64, body *PolicySimulationRequest, options ...RequestOption) (*PolicySimulation, error) {
	return one[PolicySimulation](ctx, c, request{operation: "simulatePolicyVersion", method: http.MethodPost, path: path("/api/v1/actions/{action_id}/policy-versions/{version}/simulate", actionID, version), body: optional(body)}, options)
}

// ListActivityParams is the query of ListActivity. Zero values are not sent.
type ListActivityParams struct {
	// Only events of this type, or of a family such as `hold.*`.
	Type string
	// Only entries of this subject.
	Subject string
	// Only entries of this action key.
	Action string
	// Only entries with this decision.
	Decision Decision
	// Only entries at or after this time (RFC 3339).
	Since time.Time
	// Only entries before this time (RFC 3339).
	Until time.Time
	// Entries on a page.
	Limit int64
	// Cursor of the next page from the `Link` header.
	Cursor string
}

func (p ListActivityParams) query() url.Values {
	q := url.Values{}
	set(q, "type", p.Type)
	set(q, "subject", p.Subject)
	set(q, "action", p.Action)
	set(q, "decision", p.Decision)
	set(q, "since", p.Since)
	set(q, "until", p.Until)
	set(q, "limit", p.Limit)
	set(q, "cursor", p.Cursor)
	return q
}

// ListActivity: Read the event log. Permission: `events`.
//
// GET /api/v1/activity
func (c *Client) ListActivity(ctx context.Context, params ListActivityParams, options ...RequestOption) (*Page[ActivityEntry], error) {
	return page[ActivityEntry](ctx, c, request{operation: "listActivity", method: http.MethodGet, path: path("/api/v1/activity"), query: params.query()}, options)
}

// AllActivity iterates over all pages of ListActivity, newest first. It ends with the first error.
func (c *Client) AllActivity(ctx context.Context, params ListActivityParams, options ...RequestOption) iter.Seq2[ActivityEntry, error] {
	return pages(params.Cursor, func(cursor string) (*Page[ActivityEntry], error) {
		params.Cursor = cursor
		return c.ListActivity(ctx, params, options...)
	})
}

// ListAfterReviewsParams is the query of ListAfterReviews. Zero values are not sent.
type ListAfterReviewsParams struct {
	// Only those with this status.
	Status string
	// Entries on a page.
	Limit int64
	// Cursor of the next page from the `Link` header.
	Cursor string
}

func (p ListAfterReviewsParams) query() url.Values {
	q := url.Values{}
	set(q, "status", p.Status)
	set(q, "limit", p.Limit)
	set(q, "cursor", p.Cursor)
	return q
}

// ListAfterReviews: List the reviews of break-glasses. Newest first. While one is open, the person who broke the glass
// cannot break it again in the environment; once it is overdue, no one can break that of its policy. Permission:
// `decisions.read`.
//
// GET /api/v1/after-reviews
func (c *Client) ListAfterReviews(ctx context.Context, params ListAfterReviewsParams, options ...RequestOption) (*Page[AfterReview], error) {
	return page[AfterReview](ctx, c, request{operation: "listAfterReviews", method: http.MethodGet, path: path("/api/v1/after-reviews"), query: params.query()}, options)
}

// AllAfterReviews iterates over all pages of ListAfterReviews, newest first. It ends with the first error.
func (c *Client) AllAfterReviews(ctx context.Context, params ListAfterReviewsParams, options ...RequestOption) iter.Seq2[AfterReview, error] {
	return pages(params.Cursor, func(cursor string) (*Page[AfterReview], error) {
		params.Cursor = cursor
		return c.ListAfterReviews(ctx, params, options...)
	})
}

// GiveAfterReview: Say whether a break-glass was justified. Neither the person who broke the glass nor the one who
// requested the action may. The last verdict that the policy asks for closes the review: as justified if all verdicts
// are. A verdict is final; repeating it changes nothing. Permission: `review`.
//
// POST /api/v1/after-reviews/{authorization_id}/verdict
func (c *Client) GiveAfterReview(ctx context.Context, authorizationID string, body AfterReviewVerdict, options ...RequestOption) (*AfterReview, error) {
	return one[AfterReview](ctx, c, request{operation: "giveAfterReview", method: http.MethodPost, path: path("/api/v1/after-reviews/{authorization_id}/verdict", authorizationID), keyed: true, body: body}, options)
}

// ListAuditParams is the query of ListAudit. Zero values are not sent.
type ListAuditParams struct {
	// Only changes made by this actor (a credential, a reviewer, a workflow).
	Actor string
	// Only changes of this kind.
	Kind string
	// Only entries at or after this time (RFC 3339).
	Since time.Time
	// Only entries before this time (RFC 3339).
	Until time.Time
	// Entries on a page.
	Limit int64
	// Cursor of the next page from the `Link` header.
	Cursor string
}

func (p ListAuditParams) query() url.Values {
	q := url.Values{}
	set(q, "actor", p.Actor)
	set(q, "kind", p.Kind)
	set(q, "since", p.Since)
	set(q, "until", p.Until)
	set(q, "limit", p.Limit)
	set(q, "cursor", p.Cursor)
	return q
}

// ListAudit: Read the audit log. Permission: `audit`.
//
// GET /api/v1/audit
func (c *Client) ListAudit(ctx context.Context, params ListAuditParams, options ...RequestOption) (*Page[AuditEntry], error) {
	return page[AuditEntry](ctx, c, request{operation: "listAudit", method: http.MethodGet, path: path("/api/v1/audit"), query: params.query()}, options)
}

// AllAudit iterates over all pages of ListAudit, newest first. It ends with the first error.
func (c *Client) AllAudit(ctx context.Context, params ListAuditParams, options ...RequestOption) iter.Seq2[AuditEntry, error] {
	return pages(params.Cursor, func(cursor string) (*Page[AuditEntry], error) {
		params.Cursor = cursor
		return c.ListAudit(ctx, params, options...)
	})
}

// GetAuditHead: The signed head of the audit log. Permission: `audit`.
//
// GET /api/v1/audit/head
func (c *Client) GetAuditHead(ctx context.Context, options ...RequestOption) (*AuditHead, error) {
	return one[AuditHead](ctx, c, request{operation: "getAuditHead", method: http.MethodGet, path: path("/api/v1/audit/head")}, options)
}

// ListAuthorizationsParams is the query of ListAuthorizations. Zero values are not sent.
type ListAuthorizationsParams struct {
	// Only entries of this subject.
	Subject string
	// Only entries of this action key.
	Action string
	// Only entries with this decision.
	Decision Decision
	// Only entries of this mode.
	Mode Mode
	// Only authorizations with this review status.
	ReviewStatus ReviewStatus
	// Only the follow-up decision of this authorization.
	Parent string
	// Only entries at or after this time (RFC 3339).
	Since time.Time
	// Only entries before this time (RFC 3339).
	Until time.Time
	// Entries on a page.
	Limit int64
	// Cursor of the next page from the `Link` header.
	Cursor string
}

func (p ListAuthorizationsParams) query() url.Values {
	q := url.Values{}
	set(q, "subject", p.Subject)
	set(q, "action", p.Action)
	set(q, "decision", p.Decision)
	set(q, "mode", p.Mode)
	set(q, "review_status", p.ReviewStatus)
	set(q, "parent", p.Parent)
	set(q, "since", p.Since)
	set(q, "until", p.Until)
	set(q, "limit", p.Limit)
	set(q, "cursor", p.Cursor)
	return q
}

// ListAuthorizations: List stored decisions. Permission: `decisions.read`.
//
// GET /api/v1/authorizations
func (c *Client) ListAuthorizations(ctx context.Context, params ListAuthorizationsParams, options ...RequestOption) (*Page[AuthorizationTrace], error) {
	return page[AuthorizationTrace](ctx, c, request{operation: "listAuthorizations", method: http.MethodGet, path: path("/api/v1/authorizations"), query: params.query()}, options)
}

// AllAuthorizations iterates over all pages of ListAuthorizations, newest first. It ends with the first error.
func (c *Client) AllAuthorizations(ctx context.Context, params ListAuthorizationsParams, options ...RequestOption) iter.Seq2[AuthorizationTrace, error] {
	return pages(params.Cursor, func(cursor string) (*Page[AuthorizationTrace], error) {
		params.Cursor = cursor
		return c.ListAuthorizations(ctx, params, options...)
	})
}

// GetAuthorization: Read a stored decision. Permission: `decisions.read`.
//
// GET /api/v1/authorizations/{authorization_id}
func (c *Client) GetAuthorization(ctx context.Context, authorizationID string, options ...RequestOption) (*AuthorizationTrace, error) {
	return one[AuthorizationTrace](ctx, c, request{operation: "getAuthorization", method: http.MethodGet, path: path("/api/v1/authorizations/{authorization_id}", authorizationID)}, options)
}

// UnassignReview: Release a hold. Only the reviewer who has it releases it. Permission: `review`.
//
// DELETE /api/v1/authorizations/{authorization_id}/assignment
func (c *Client) UnassignReview(ctx context.Context, authorizationID string, options ...RequestOption) (*ReviewAssignment, error) {
	return one[ReviewAssignment](ctx, c, request{operation: "unassignReview", method: http.MethodDelete, path: path("/api/v1/authorizations/{authorization_id}/assignment", authorizationID)}, options)
}

// AssignReview: Take a hold. Shows others who works on it and limits no one. To take it from a different reviewer,
// name that reviewer as `previous`: 409 if someone else has it. Permission: `review`.
//
// POST /api/v1/authorizations/{authorization_id}/assignment
func (c *Client) AssignReview(ctx context.Context, authorizationID string, body *ReviewAssign, options ...RequestOption) (*ReviewAssignment, error) {
	return one[ReviewAssignment](ctx, c, request{operation: "assignReview", method: http.MethodPost, path: path("/api/v1/authorizations/{authorization_id}/assignment", authorizationID), keyed: true, body: optional(body)}, options)
}

// ReportOutcome: Report the outcome of the action. Permission: `decide`.
//
// POST /api/v1/authorizations/{authorization_id}/outcome
func (c *Client) ReportOutcome(ctx context.Context, authorizationID string, body OutcomeReport, options ...RequestOption) (*OutcomeReceipt, error) {
	return one[OutcomeReceipt](ctx, c, request{operation: "reportOutcome", method: http.MethodPost, path: path("/api/v1/authorizations/{authorization_id}/outcome", authorizationID), keyed: true, body: body}, options)
}

// ReviewAuthorization: Approve or reject a hold. An approval assesses the subject again and makes a follow-up
// decision. Repeating the resolution returns the stored receipt; any other review of a hold that is resolved, or of an
// authorization that is not held, is 409. `break_glass` (extension) approves it alone if the policy's `break_glass`
// names a team of the reviewer, who is not the requester and has no break-glass that waits for its review. 202 if more
// approvals are required or the workflow has not finished in time. Permission: `review`.
//
// POST /api/v1/authorizations/{authorization_id}/review
func (c *Client) ReviewAuthorization(ctx context.Context, authorizationID string, body ManualReviewRequest, options ...RequestOption) (*ManualReviewReceipt, error) {
	return one[ManualReviewReceipt](ctx, c, request{operation: "reviewAuthorization", method: http.MethodPost, path: path("/api/v1/authorizations/{authorization_id}/review", authorizationID), keyed: true, body: body}, options)
}

// WithdrawAuthorization: Withdraw a request that waits for reviewers. Ends the hold: it cannot be approved any more,
// what the request reserved of limits is given back, and no outcome is recorded. Repeating it returns the same
// receipt; a hold that was approved, rejected or has expired is 409. Permission: `decide`.
//
// POST /api/v1/authorizations/{authorization_id}/withdraw
func (c *Client) WithdrawAuthorization(ctx context.Context, authorizationID string, options ...RequestOption) (*ReviewWithdrawal, error) {
	return one[ReviewWithdrawal](ctx, c, request{operation: "withdrawAuthorization", method: http.MethodPost, path: path("/api/v1/authorizations/{authorization_id}/withdraw", authorizationID), keyed: true}, options)
}

// Authorize: Make a decision. A repeated request with the same `idempotency_key` and body gets the stored response,
// byte for byte. In addition to the schema, `requested_at` must be within 300 seconds of the service's clock
// (`stale_request`), `resource.type` must be the action's (`resource_type_mismatch`), and `context` must follow the
// action's `context_schema` (at most 20 violations are listed; `context_too_complex` if checking would cost too much);
// all of these are 422. An unknown subject, action or session is 404. Permission: `decide`.
//
// POST /api/v1/authorize
func (c *Client) Authorize(ctx context.Context, body AuthorizeRequest, options ...RequestOption) (*AuthorizeResponse, error) {
	return one[AuthorizeResponse](ctx, c, request{operation: "authorize", method: http.MethodPost, path: path("/api/v1/authorize"), body: body}, options)
}

// GetChallenge: Read a challenge. Permission: `challenges`.
//
// GET /api/v1/challenges/{challenge_id}
func (c *Client) GetChallenge(ctx context.Context, challengeID string, options ...RequestOption) (*ChallengePublicView, error) {
	return one[ChallengePublicView](ctx, c, request{operation: "getChallenge", method: http.MethodGet, path: path("/api/v1/challenges/{challenge_id}", challengeID)}, options)
}

// CancelChallenge: Cancel a challenge. Permission: `challenges`.
//
// POST /api/v1/challenges/{challenge_id}/cancel
func (c *Client) CancelChallenge(ctx context.Context, challengeID string, options ...RequestOption) (*ChallengeCancelled, error) {
	return one[ChallengeCancelled](ctx, c, request{operation: "cancelChallenge", method: http.MethodPost, path: path("/api/v1/challenges/{challenge_id}/cancel", challengeID), keyed: true}, options)
}

// CompleteChallenge: Complete a challenge. Assesses the subject again and makes a follow-up decision, which the
// receipt names. Repeating the same assertion returns the stored receipt; any other request on a settled challenge is
// 409. After five failed assertions the challenge fails. Permission: `challenges`.
//
// POST /api/v1/challenges/{challenge_id}/complete
func (c *Client) CompleteChallenge(ctx context.Context, challengeID string, body ChallengeCompleteRequest, options ...RequestOption) (*ChallengeCompletionReceipt, error) {
	return one[ChallengeCompletionReceipt](ctx, c, request{operation: "completeChallenge", method: http.MethodPost, path: path("/api/v1/challenges/{challenge_id}/complete", challengeID), keyed: true, body: body}, options)
}

// CreateChallengeLink: Create a link that opens this challenge in a browser. Permission: `challenges`.
//
// POST /api/v1/challenges/{challenge_id}/link
func (c *Client) CreateChallengeLink(ctx context.Context, challengeID string, body *ChallengeLinkRequest, options ...RequestOption) (*ChallengeLink, error) {
	return one[ChallengeLink](ctx, c, request{operation: "createChallengeLink", method: http.MethodPost, path: path("/api/v1/challenges/{challenge_id}/link", challengeID), keyed: true, body: optional(body)}, options)
}

// ChallengePasskeyOptions: Begin the passkey step-up. Permission: `challenges`.
//
// POST /api/v1/challenges/{challenge_id}/passkey/options
func (c *Client) ChallengePasskeyOptions(ctx context.Context, challengeID string, body *PasskeyAssertionOptionsRequest, options ...RequestOption) (*PasskeyAssertionOptions, error) {
	return one[PasskeyAssertionOptions](ctx, c, request{operation: "challengePasskeyOptions", method: http.MethodPost, path: path("/api/v1/challenges/{challenge_id}/passkey/options", challengeID), keyed: true, body: optional(body)}, options)
}

// ListChangesParams is the query of ListChanges. Zero values are not sent.
type ListChangesParams struct {
	// Only change requests with this status.
	Status ChangeStatus
	// Only change requests of this kind.
	Kind ChangeKind
	// Entries on a page.
	Limit int64
	// Cursor of the next page from the `Link` header.
	Cursor string
}

func (p ListChangesParams) query() url.Values {
	q := url.Values{}
	set(q, "status", p.Status)
	set(q, "kind", p.Kind)
	set(q, "limit", p.Limit)
	set(q, "cursor", p.Cursor)
	return q
}

// ListChanges: List change requests. Those about settings of the environment are listed for admin keys only.
// Permission: `config.read`.
//
// GET /api/v1/changes
func (c *Client) ListChanges(ctx context.Context, params ListChangesParams, options ...RequestOption) (*Page[ChangeRequest], error) {
	return page[ChangeRequest](ctx, c, request{operation: "listChanges", method: http.MethodGet, path: path("/api/v1/changes"), query: params.query()}, options)
}

// AllChanges iterates over all pages of ListChanges, newest first. It ends with the first error.
func (c *Client) AllChanges(ctx context.Context, params ListChangesParams, options ...RequestOption) iter.Seq2[ChangeRequest, error] {
	return pages(params.Cursor, func(cursor string) (*Page[ChangeRequest], error) {
		params.Cursor = cursor
		return c.ListChanges(ctx, params, options...)
	})
}

// GetChange: Read a change request, with its simulation. Permission: `config.read`.
//
// GET /api/v1/changes/{change_id}
func (c *Client) GetChange(ctx context.Context, changeID string, options ...RequestOption) (*ChangeRequest, error) {
	return one[ChangeRequest](ctx, c, request{operation: "getChange", method: http.MethodGet, path: path("/api/v1/changes/{change_id}", changeID)}, options)
}

// ExplainChange: Say why a change is requested. Sets the reason that its approvers read. Only its requester may, while
// it is pending. Permission: `policy.activate`.
//
// PATCH /api/v1/changes/{change_id}
func (c *Client) ExplainChange(ctx context.Context, changeID string, body ChangeReason, options ...RequestOption) (*ChangeRequest, error) {
	return one[ChangeRequest](ctx, c, request{operation: "explainChange", method: http.MethodPatch, path: path("/api/v1/changes/{change_id}", changeID), body: body}, options)
}

// ApproveChange: Approve a change request. The change is in force when this returns. The approver must be a principal
// other than the requester; keys that one key issued are one principal. Settings of the environment require the
// permission `config` as well. Repeating the approval returns the change request. Permission: `policy.activate`.
//
// POST /api/v1/changes/{change_id}/approve
func (c *Client) ApproveChange(ctx context.Context, changeID string, body *ChangeReason, options ...RequestOption) (*ChangeRequest, error) {
	return one[ChangeRequest](ctx, c, request{operation: "approveChange", method: http.MethodPost, path: path("/api/v1/changes/{change_id}/approve", changeID), keyed: true, body: optional(body)}, options)
}

// RejectChange: Reject a change request. Nothing is changed. The requester withdraws it instead. Settings of the
// environment require the permission `config` as well. Permission: `policy.activate`.
//
// POST /api/v1/changes/{change_id}/reject
func (c *Client) RejectChange(ctx context.Context, changeID string, body *ChangeReason, options ...RequestOption) (*ChangeRequest, error) {
	return one[ChangeRequest](ctx, c, request{operation: "rejectChange", method: http.MethodPost, path: path("/api/v1/changes/{change_id}/reject", changeID), keyed: true, body: optional(body)}, options)
}

// WithdrawChange: Withdraw a change request. Only its requester may withdraw it. Permission: `policy.activate`.
//
// POST /api/v1/changes/{change_id}/withdraw
func (c *Client) WithdrawChange(ctx context.Context, changeID string, body *ChangeReason, options ...RequestOption) (*ChangeRequest, error) {
	return one[ChangeRequest](ctx, c, request{operation: "withdrawChange", method: http.MethodPost, path: path("/api/v1/changes/{change_id}/withdraw", changeID), keyed: true, body: optional(body)}, options)
}

// CreateClientToken: Create a browser credential. An unknown subject is 404, and so is a `session` that is not the
// subject's. Permission: `evidence`.
//
// POST /api/v1/client-tokens
func (c *Client) CreateClientToken(ctx context.Context, body ClientTokenCreate, options ...RequestOption) (*ClientTokenCreated, error) {
	return one[ClientTokenCreated](ctx, c, request{operation: "createClientToken", method: http.MethodPost, path: path("/api/v1/client-tokens"), keyed: true, body: body}, options)
}

// GetCredential: Read the calling credential.
//
// GET /api/v1/credential
func (c *Client) GetCredential(ctx context.Context, options ...RequestOption) (*CredentialIdentity, error) {
	return one[CredentialIdentity](ctx, c, request{operation: "getCredential", method: http.MethodGet, path: path("/api/v1/credential")}, options)
}

// ListCredentialsParams is the query of ListCredentials. Zero values are not sent.
type ListCredentialsParams struct {
	// Entries on a page.
	Limit int64
	// Cursor of the next page from the `Link` header.
	Cursor string
}

func (p ListCredentialsParams) query() url.Values {
	q := url.Values{}
	set(q, "limit", p.Limit)
	set(q, "cursor", p.Cursor)
	return q
}

// ListCredentials: List the environment's keys. Permission: `config.read`.
//
// GET /api/v1/credentials
func (c *Client) ListCredentials(ctx context.Context, params ListCredentialsParams, options ...RequestOption) (*Page[Credential], error) {
	return page[Credential](ctx, c, request{operation: "listCredentials", method: http.MethodGet, path: path("/api/v1/credentials"), query: params.query()}, options)
}

// AllCredentials iterates over all pages of ListCredentials, newest first. It ends with the first error.
func (c *Client) AllCredentials(ctx context.Context, params ListCredentialsParams, options ...RequestOption) iter.Seq2[Credential, error] {
	return pages(params.Cursor, func(cursor string) (*Page[Credential], error) {
		params.Cursor = cursor
		return c.ListCredentials(ctx, params, options...)
	})
}

// CreateCredential: Issue a key. The key is returned only in this response. It ends with the calling key: it expires
// no later, and is revoked with it. Permission: `credentials`.
//
// POST /api/v1/credentials
func (c *Client) CreateCredential(ctx context.Context, body CredentialCreate, options ...RequestOption) (*CredentialWithKey, error) {
	return one[CredentialWithKey](ctx, c, request{operation: "createCredential", method: http.MethodPost, path: path("/api/v1/credentials"), keyed: true, body: body}, options)
}

// RevokeCredentialParams is the query of RevokeCredential. Zero values are not sent.
type RevokeCredentialParams struct {
	// The admin key that is given the keys that rest on the revoked one. It must have their permissions, expire no
	// earlier and be of the caller's principal or of the revoked key's. They count as its principal from then on; without
	// it they are revoked too.
	ChildrenTo string
}

func (p RevokeCredentialParams) query() url.Values {
	q := url.Values{}
	set(q, "children_to", p.ChildrenTo)
	return q
}

// RevokeCredential: Revoke a key. Ends the key with what it issued (client tokens, registration grants, challenge
// links) and the keys that rest on it, unless `children_to` names a key that they are given to. Permission:
// `credentials`.
//
// DELETE /api/v1/credentials/{credential_id}
func (c *Client) RevokeCredential(ctx context.Context, credentialID string, options ...RequestOption) error {
	return c.RevokeCredentialWith(ctx, credentialID, RevokeCredentialParams{}, options...)
}

// RevokeCredentialWith is RevokeCredential with a query.
func (c *Client) RevokeCredentialWith(ctx context.Context, credentialID string, params RevokeCredentialParams, options ...RequestOption) error {
	_, err := c.do(ctx, request{operation: "revokeCredential", method: http.MethodDelete, path: path("/api/v1/credentials/{credential_id}", credentialID), query: params.query()}, nil, options)
	return err
}

// RotateCredential: Replace a key. The old key remains valid during the overlap. A key is rotated by itself, by a key
// of its chain of issue or by the person at its root; a publishable key by any admin key. Permission: `credentials`.
//
// POST /api/v1/credentials/{credential_id}/rotate
func (c *Client) RotateCredential(ctx context.Context, credentialID string, body *RotateRequest, options ...RequestOption) (*CredentialWithKey, error) {
	return one[CredentialWithKey](ctx, c, request{operation: "rotateCredential", method: http.MethodPost, path: path("/api/v1/credentials/{credential_id}/rotate", credentialID), keyed: true, body: optional(body)}, options)
}

// ListDestinationsParams is the query of ListDestinations. Zero values are not sent.
type ListDestinationsParams struct {
	// Entries on a page.
	Limit int64
	// Cursor of the next page from the `Link` header.
	Cursor string
}

func (p ListDestinationsParams) query() url.Values {
	q := url.Values{}
	set(q, "limit", p.Limit)
	set(q, "cursor", p.Cursor)
	return q
}

// ListDestinations: List the destinations of the log. The systems to which the sealed log is pushed, by name: all on
// one page. Each with how far it is behind, and its last error. Permission: `config.read`.
//
// GET /api/v1/destinations
func (c *Client) ListDestinations(ctx context.Context, params ListDestinationsParams, options ...RequestOption) (*Page[Destination], error) {
	return page[Destination](ctx, c, request{operation: "listDestinations", method: http.MethodGet, path: path("/api/v1/destinations"), query: params.query()}, options)
}

// AllDestinations iterates over all pages of ListDestinations, newest first. It ends with the first error.
func (c *Client) AllDestinations(ctx context.Context, params ListDestinationsParams, options ...RequestOption) iter.Seq2[Destination, error] {
	return pages(params.Cursor, func(cursor string) (*Page[Destination], error) {
		params.Cursor = cursor
		return c.ListDestinations(ctx, params, options...)
	})
}

// RemoveDestination: Remove a destination of the log. Its position and its credentials end with it. 202 with a change
// request if the environment requires a second approver. Permission: `config`.
//
// DELETE /api/v1/destinations/{destination_name}
func (c *Client) RemoveDestination(ctx context.Context, destinationName string, options ...RequestOption) error {
	_, err := c.do(ctx, request{operation: "removeDestination", method: http.MethodDelete, path: path("/api/v1/destinations/{destination_name}", destinationName)}, nil, options)
	return err
}

// GetDestination: Read a destination of the log. Permission: `config.read`.
//
// GET /api/v1/destinations/{destination_name}
func (c *Client) GetDestination(ctx context.Context, destinationName string, options ...RequestOption) (*Destination, error) {
	return one[Destination](ctx, c, request{operation: "getDestination", method: http.MethodGet, path: path("/api/v1/destinations/{destination_name}", destinationName)}, options)
}

// SetDestination: Set up a destination of the log. Creates it, or replaces its settings: the position stays, and the
// credentials end if the address, the kind or the header is a different one. Addresses are public and https, or
// `tls://HOST:PORT` of a syslog server, unless the operator of the service permits networks. 202 with a change request
// if the environment requires a second approver; 409 if the environment has 10 destinations. Permission: `config`.
//
// PUT /api/v1/destinations/{destination_name}
func (c *Client) SetDestination(ctx context.Context, destinationName string, body DestinationSet, options ...RequestOption) (*Destination, error) {
	return one[Destination](ctx, c, request{operation: "setDestination", method: http.MethodPut, path: path("/api/v1/destinations/{destination_name}", destinationName), body: body}, options)
}

// SetDestinationCredentials: Replace the credentials of a destination. They are stored sealed and never returned.
// Those that are omitted are removed. Permission: `config`.
//
// PUT /api/v1/destinations/{destination_name}/credentials
func (c *Client) SetDestinationCredentials(ctx context.Context, destinationName string, body DestinationCredentials, options ...RequestOption) (*Destination, error) {
	return one[Destination](ctx, c, request{operation: "setDestinationCredentials", method: http.MethodPut, path: path("/api/v1/destinations/{destination_name}/credentials", destinationName), body: body}, options)
}

// GetEnvironment: Read the environment's settings. Permission: `config.read`.
//
// GET /api/v1/environment
func (c *Client) GetEnvironment(ctx context.Context, options ...RequestOption) (*Environment, error) {
	return one[Environment](ctx, c, request{operation: "getEnvironment", method: http.MethodGet, path: path("/api/v1/environment")}, options)
}

// UpdateEnvironment: Change the environment's settings. 202 with a change request if a setting changes and the
// environment requires a second approver. 409 if `passkeys.rp_ids` has an RP ID that the operator has not given to the
// tenant. Host names and origins are stored in the form in which browsers write them: lower case, `xn--` labels, no
// default port. Permission: `config`.
//
// PATCH /api/v1/environment
func (c *Client) UpdateEnvironment(ctx context.Context, body EnvironmentUpdate, options ...RequestOption) (*Environment, error) {
	return one[Environment](ctx, c, request{operation: "updateEnvironment", method: http.MethodPatch, path: path("/api/v1/environment"), body: body}, options)
}

// ListEvaluationsParams is the query of ListEvaluations. Zero values are not sent.
type ListEvaluationsParams struct {
	// Only evaluations with this status.
	Status EvaluationStatus
	// Entries on a page.
	Limit int64
	// Cursor of the next page from the `Link` header.
	Cursor string
}

func (p ListEvaluationsParams) query() url.Values {
	q := url.Values{}
	set(q, "status", p.Status)
	set(q, "limit", p.Limit)
	set(q, "cursor", p.Cursor)
	return q
}

// ListEvaluations: List evaluations. Permission: `config.read`.
//
// GET /api/v1/evaluations
func (c *Client) ListEvaluations(ctx context.Context, params ListEvaluationsParams, options ...RequestOption) (*Page[Evaluation], error) {
	return page[Evaluation](ctx, c, request{operation: "listEvaluations", method: http.MethodGet, path: path("/api/v1/evaluations"), query: params.query()}, options)
}

// AllEvaluations iterates over all pages of ListEvaluations, newest first. It ends with the first error.
func (c *Client) AllEvaluations(ctx context.Context, params ListEvaluationsParams, options ...RequestOption) iter.Seq2[Evaluation, error] {
	return pages(params.Cursor, func(cursor string) (*Page[Evaluation], error) {
		params.Cursor = cursor
		return c.ListEvaluations(ctx, params, options...)
	})
}

// CreateEvaluation: Open an evaluation. An unknown or repeated key in `action_keys` is 422. Permission: `evaluations`.
//
// POST /api/v1/evaluations
func (c *Client) CreateEvaluation(ctx context.Context, body EvaluationCreate, options ...RequestOption) (*Evaluation, error) {
	return one[Evaluation](ctx, c, request{operation: "createEvaluation", method: http.MethodPost, path: path("/api/v1/evaluations"), keyed: true, body: body}, options)
}

// GetEvaluation: Read an evaluation. Permission: `config.read`.
//
// GET /api/v1/evaluations/{evaluation_id}
func (c *Client) GetEvaluation(ctx context.Context, evaluationID string, options ...RequestOption) (*Evaluation, error) {
	return one[Evaluation](ctx, c, request{operation: "getEvaluation", method: http.MethodGet, path: path("/api/v1/evaluations/{evaluation_id}", evaluationID)}, options)
}

// CloseEvaluation: Close an evaluation. Permission: `evaluations`.
//
// POST /api/v1/evaluations/{evaluation_id}/close
func (c *Client) CloseEvaluation(ctx context.Context, evaluationID string, options ...RequestOption) (*Evaluation, error) {
	return one[Evaluation](ctx, c, request{operation: "closeEvaluation", method: http.MethodPost, path: path("/api/v1/evaluations/{evaluation_id}/close", evaluationID), keyed: true}, options)
}

// GetEvaluationReport: Read an evaluation's report. Permission: `config.read`.
//
// GET /api/v1/evaluations/{evaluation_id}/report
func (c *Client) GetEvaluationReport(ctx context.Context, evaluationID string, options ...RequestOption) (*EvaluationReport, error) {
	return one[EvaluationReport](ctx, c, request{operation: "getEvaluationReport", method: http.MethodGet, path: path("/api/v1/evaluations/{evaluation_id}/report", evaluationID)}, options)
}

// ListEventTypes: List the event types with schema and example. Permission: `events`.
//
// GET /api/v1/event-types
func (c *Client) ListEventTypes(ctx context.Context, options ...RequestOption) ([]EventTypeInfo, error) {
	var out []EventTypeInfo
	_, err := c.do(ctx, request{operation: "listEventTypes", method: http.MethodGet, path: path("/api/v1/event-types")}, &out, options)
	return out, err
}

// ListListsParams is the query of ListLists. Zero values are not sent.
type ListListsParams struct {
	// Entries on a page.
	Limit int64
	// Cursor of the next page from the `Link` header.
	Cursor string
}

func (p ListListsParams) query() url.Values {
	q := url.Values{}
	set(q, "limit", p.Limit)
	set(q, "cursor", p.Cursor)
	return q
}

// ListLists: List the lists. Permission: `config.read`.
//
// GET /api/v1/lists
func (c *Client) ListLists(ctx context.Context, params ListListsParams, options ...RequestOption) (*Page[NamedList], error) {
	return page[NamedList](ctx, c, request{operation: "listLists", method: http.MethodGet, path: path("/api/v1/lists"), query: params.query()}, options)
}

// AllLists iterates over all pages of ListLists, newest first. It ends with the first error.
func (c *Client) AllLists(ctx context.Context, params ListListsParams, options ...RequestOption) iter.Seq2[NamedList, error] {
	return pages(params.Cursor, func(cursor string) (*Page[NamedList], error) {
		params.Cursor = cursor
		return c.ListLists(ctx, params, options...)
	})
}

// CreateList: Create a list. It has no entries, and rules can read it. An environment has at most 100 lists.
// Permission: `policy.activate`.
//
// POST /api/v1/lists
func (c *Client) CreateList(ctx context.Context, body NamedListCreate, options ...RequestOption) (*NamedList, error) {
	return one[NamedList](ctx, c, request{operation: "createList", method: http.MethodPost, path: path("/api/v1/lists"), keyed: true, body: body}, options)
}

// DeleteList: Delete a list with its entries. A list that an active policy version reads is not deleted. 202 with a
// change request if the environment requires a second approver. Permission: `policy.activate`.
//
// DELETE /api/v1/lists/{list_id}
func (c *Client) DeleteList(ctx context.Context, listID string, options ...RequestOption) error {
	_, err := c.do(ctx, request{operation: "deleteList", method: http.MethodDelete, path: path("/api/v1/lists/{list_id}", listID)}, nil, options)
	return err
}

// GetList: Read a list. Permission: `config.read`.
//
// GET /api/v1/lists/{list_id}
func (c *Client) GetList(ctx context.Context, listID string, options ...RequestOption) (*NamedList, error) {
	return one[NamedList](ctx, c, request{operation: "getList", method: http.MethodGet, path: path("/api/v1/lists/{list_id}", listID)}, options)
}

// ListListEntriesParams is the query of ListListEntries. Zero values are not sent.
type ListListEntriesParams struct {
	// Only entries that have this value and, of a list that is not personal, those that contain it.
	Value string
	// Entries on a page.
	Limit int64
	// Cursor of the next page from the `Link` header.
	Cursor string
}

func (p ListListEntriesParams) query() url.Values {
	q := url.Values{}
	set(q, "value", p.Value)
	set(q, "limit", p.Limit)
	set(q, "cursor", p.Cursor)
	return q
}

// ListListEntries: List the entries of a list. Permission: `config.read`.
//
// GET /api/v1/lists/{list_id}/entries
func (c *Client) ListListEntries(ctx context.Context, listID string, params ListListEntriesParams, options ...RequestOption) (*Page[NamedListEntry], error) {
	return page[NamedListEntry](ctx, c, request{operation: "listListEntries", method: http.MethodGet, path: path("/api/v1/lists/{list_id}/entries", listID), query: params.query()}, options)
}

// AllListEntries iterates over all pages of ListListEntries, newest first. It ends with the first error.
func (c *Client) AllListEntries(ctx context.Context, listID string, params ListListEntriesParams, options ...RequestOption) iter.Seq2[NamedListEntry, error] {
	return pages(params.Cursor, func(cursor string) (*Page[NamedListEntry], error) {
		params.Cursor = cursor
		return c.ListListEntries(ctx, listID, params, options...)
	})
}

// ChangeListEntries: Add and remove entries of a list. All of the change is made, or none. Entries are removed first.
// A value that the list has gets the reason and the expiry; removing what it does not have changes nothing. A list has
// at most 100,000 entries. 202 with a change request if something changes and the environment requires a second
// approver. Permission: `policy.activate`.
//
// POST /api/v1/lists/{list_id}/entries
func (c *Client) ChangeListEntries(ctx context.Context, listID string, body NamedListChange, options ...RequestOption) (*NamedList, error) {
	return one[NamedList](ctx, c, request{operation: "changeListEntries", method: http.MethodPost, path: path("/api/v1/lists/{list_id}/entries", listID), keyed: true, body: body}, options)
}

// GetMeta: Capability states and reason codes.
//
// GET /api/v1/meta
func (c *Client) GetMeta(ctx context.Context, options ...RequestOption) (*Meta, error) {
	return one[Meta](ctx, c, request{operation: "getMeta", method: http.MethodGet, path: path("/api/v1/meta")}, options)
}

// SetManager: Record who manages a member of staff. Policies name the manager of the requester as an approver. It
// counts in every environment of the tenant. 202 with a change request if something changes and the environment
// requires a second approver; 409 if a different environment of the tenant does and this one does not. Permission:
// `config`.
//
// PUT /api/v1/people/{person_id}/manager
func (c *Client) SetManager(ctx context.Context, personID string, body PersonManagerUpdate, options ...RequestOption) (*PersonManager, error) {
	return one[PersonManager](ctx, c, request{operation: "setManager", method: http.MethodPut, path: path("/api/v1/people/{person_id}/manager", personID), body: body}, options)
}

// GetProofStatus: Read a proof's status. An unknown jti has status `unknown`. Reading does not consume the proof.
// Permission: `verify`.
//
// GET /api/v1/proofs/{jti}/status
func (c *Client) GetProofStatus(ctx context.Context, jti string, options ...RequestOption) (*ProofStatus, error) {
	return one[ProofStatus](ctx, c, request{operation: "getProofStatus", method: http.MethodGet, path: path("/api/v1/proofs/{jti}/status", jti)}, options)
}

// ListReviewsParams is the query of ListReviews. Zero values are not sent.
type ListReviewsParams struct {
	// Only reviews with this status.
	Status string
	// Only entries of this subject.
	Subject string
	// Only entries of this action key.
	Action string
	// Only actions of this risk class.
	RiskClass RiskClass
	// Only holds that were opened before this time (RFC 3339).
	OpenedBefore time.Time
	// Only holds that are due before this time (RFC 3339).
	DueBefore time.Time
	// `newest` first, soonest `due` first, or by the first `amount` among the displayed details: by currency, and the
	// largest of each first.
	Order string
	// Only holds whose subject or authorization begins with it, or whose action or displayed details contain it, whatever
	// the case, accents, spaces and separators.
	Q string
	// Only holds that this reviewer has taken: `me` for the calling credential, or as `assigned_to` of a hold shows it.
	AssignedTo string
	// Entries on a page.
	Limit int64
	// Cursor of the next page from the `Link` header.
	Cursor string
}

func (p ListReviewsParams) query() url.Values {
	q := url.Values{}
	set(q, "status", p.Status)
	set(q, "subject", p.Subject)
	set(q, "action", p.Action)
	set(q, "risk_class", p.RiskClass)
	set(q, "opened_before", p.OpenedBefore)
	set(q, "due_before", p.DueBefore)
	set(q, "order", p.Order)
	set(q, "q", p.Q)
	set(q, "assigned_to", p.AssignedTo)
	set(q, "limit", p.Limit)
	set(q, "cursor", p.Cursor)
	return q
}

// ListReviews: List holds for reviewers. Newest first; with `order=due` soonest due first. `q` and `order=amount` read
// the details of each hold, which are sealed: 422 if the other parameters leave more than 1000 holds. Holds that are
// settled meanwhile move the pages of such a list. Permission: `decisions.read`.
//
// GET /api/v1/reviews
func (c *Client) ListReviews(ctx context.Context, params ListReviewsParams, options ...RequestOption) (*Page[HeldReview], error) {
	return page[HeldReview](ctx, c, request{operation: "listReviews", method: http.MethodGet, path: path("/api/v1/reviews"), query: params.query()}, options)
}

// AllReviews iterates over all pages of ListReviews, newest first. It ends with the first error.
func (c *Client) AllReviews(ctx context.Context, params ListReviewsParams, options ...RequestOption) iter.Seq2[HeldReview, error] {
	return pages(params.Cursor, func(cursor string) (*Page[HeldReview], error) {
		params.Cursor = cursor
		return c.ListReviews(ctx, params, options...)
	})
}

// CountReviewsParams is the query of CountReviews. Zero values are not sent.
type CountReviewsParams struct {
	// Only entries of this action key.
	Action string
	// Only actions of this risk class.
	RiskClass RiskClass
}

func (p CountReviewsParams) query() url.Values {
	q := url.Values{}
	set(q, "action", p.Action)
	set(q, "risk_class", p.RiskClass)
	return q
}

// CountReviews: Count pending holds. Permission: `decisions.read`.
//
// GET /api/v1/reviews/counts
func (c *Client) CountReviews(ctx context.Context, params CountReviewsParams, options ...RequestOption) (*ReviewCounts, error) {
	return one[ReviewCounts](ctx, c, request{operation: "countReviews", method: http.MethodGet, path: path("/api/v1/reviews/counts"), query: params.query()}, options)
}

// ListSessionsParams is the query of ListSessions. Zero values are not sent.
type ListSessionsParams struct {
	// Only entries of this subject.
	Subject string
	// Only sessions with this status.
	Status SessionState
	// Entries on a page.
	Limit int64
	// Cursor of the next page from the `Link` header.
	Cursor string
}

func (p ListSessionsParams) query() url.Values {
	q := url.Values{}
	set(q, "subject", p.Subject)
	set(q, "status", p.Status)
	set(q, "limit", p.Limit)
	set(q, "cursor", p.Cursor)
	return q
}

// ListSessions: List sessions. Permission: `evidence`.
//
// GET /api/v1/sessions
func (c *Client) ListSessions(ctx context.Context, params ListSessionsParams, options ...RequestOption) (*Page[Session], error) {
	return page[Session](ctx, c, request{operation: "listSessions", method: http.MethodGet, path: path("/api/v1/sessions"), query: params.query()}, options)
}

// AllSessions iterates over all pages of ListSessions, newest first. It ends with the first error.
func (c *Client) AllSessions(ctx context.Context, params ListSessionsParams, options ...RequestOption) iter.Seq2[Session, error] {
	return pages(params.Cursor, func(cursor string) (*Page[Session], error) {
		params.Cursor = cursor
		return c.ListSessions(ctx, params, options...)
	})
}

// CreateSession: Start an observation session. An unknown subject is 404. Permission: `evidence`.
//
// POST /api/v1/sessions
func (c *Client) CreateSession(ctx context.Context, body SessionCreate, options ...RequestOption) (*Session, error) {
	return one[Session](ctx, c, request{operation: "createSession", method: http.MethodPost, path: path("/api/v1/sessions"), keyed: true, body: body}, options)
}

// GetSession: Read a session. Permission: `evidence`.
//
// GET /api/v1/sessions/{session_id}
func (c *Client) GetSession(ctx context.Context, sessionID string, options ...RequestOption) (*Session, error) {
	return one[Session](ctx, c, request{operation: "getSession", method: http.MethodGet, path: path("/api/v1/sessions/{session_id}", sessionID)}, options)
}

// GetSessionAssessment: Assess a session. Permission: `evidence`.
//
// GET /api/v1/sessions/{session_id}/assessment
func (c *Client) GetSessionAssessment(ctx context.Context, sessionID string, options ...RequestOption) (*AssuranceProfile, error) {
	return one[AssuranceProfile](ctx, c, request{operation: "getSessionAssessment", method: http.MethodGet, path: path("/api/v1/sessions/{session_id}/assessment", sessionID)}, options)
}

// EndSession: End a session. Permission: `evidence`.
//
// POST /api/v1/sessions/{session_id}/end
func (c *Client) EndSession(ctx context.Context, sessionID string, options ...RequestOption) (*Session, error) {
	return one[Session](ctx, c, request{operation: "endSession", method: http.MethodPost, path: path("/api/v1/sessions/{session_id}/end", sessionID), keyed: true}, options)
}

// SubmitEvidence: Submit a frame of evidence. The limit of the raw body is 256 KiB unless the deployment sets another.
// Implausible content gets a 200 with status `rejected` and reason codes. With a client token the `Origin` must be the
// token's. A session of a different subject, or a session other than the token's, is 404. A `purpose` that the token
// does not grant is 403 `purpose_not_granted`. Permission: `evidence`.
//
// POST /api/v1/sessions/{session_id}/evidence
func (c *Client) SubmitEvidence(ctx context.Context, sessionID string, body FeatureFrameRequest, options ...RequestOption) (*EvidenceAck, error) {
	return one[EvidenceAck](ctx, c, request{operation: "submitEvidence", method: http.MethodPost, path: path("/api/v1/sessions/{session_id}/evidence", sessionID), body: body}, options)
}

// GetSessionStatus: Read a session and how much evidence it has. Permission: `evidence`.
//
// GET /api/v1/sessions/{session_id}/status
func (c *Client) GetSessionStatus(ctx context.Context, sessionID string, options ...RequestOption) (*SessionStatus, error) {
	return one[SessionStatus](ctx, c, request{operation: "getSessionStatus", method: http.MethodGet, path: path("/api/v1/sessions/{session_id}/status", sessionID)}, options)
}

// ListSigningKeysParams is the query of ListSigningKeys. Zero values are not sent.
type ListSigningKeysParams struct {
	// Entries on a page.
	Limit int64
	// Cursor of the next page from the `Link` header.
	Cursor string
}

func (p ListSigningKeysParams) query() url.Values {
	q := url.Values{}
	set(q, "limit", p.Limit)
	set(q, "cursor", p.Cursor)
	return q
}

// ListSigningKeys: List the environment's signing keys. Permission: `config.read`.
//
// GET /api/v1/signing-keys
func (c *Client) ListSigningKeys(ctx context.Context, params ListSigningKeysParams, options ...RequestOption) (*Page[SigningKey], error) {
	return page[SigningKey](ctx, c, request{operation: "listSigningKeys", method: http.MethodGet, path: path("/api/v1/signing-keys"), query: params.query()}, options)
}

// AllSigningKeys iterates over all pages of ListSigningKeys, newest first. It ends with the first error.
func (c *Client) AllSigningKeys(ctx context.Context, params ListSigningKeysParams, options ...RequestOption) iter.Seq2[SigningKey, error] {
	return pages(params.Cursor, func(cursor string) (*Page[SigningKey], error) {
		params.Cursor = cursor
		return c.ListSigningKeys(ctx, params, options...)
	})
}

// RotateSigningKey: Activate the next signing key. The previous key verifies until its last proof expires, and a new
// next key is published. A next key that cannot be decrypted is replaced and not used, and a rotation that waited for
// another is not made: 409 `rotation_in_progress`. Permission: `config`.
//
// POST /api/v1/signing-keys/rotate
func (c *Client) RotateSigningKey(ctx context.Context, options ...RequestOption) (*SigningKey, error) {
	return one[SigningKey](ctx, c, request{operation: "rotateSigningKey", method: http.MethodPost, path: path("/api/v1/signing-keys/rotate"), keyed: true}, options)
}

// ListStandingApprovalsParams is the query of ListStandingApprovals. Zero values are not sent.
type ListStandingApprovalsParams struct {
	// Only entries of this subject.
	Subject string
	// Entries on a page.
	Limit int64
	// Cursor of the next page from the `Link` header.
	Cursor string
}

func (p ListStandingApprovalsParams) query() url.Values {
	q := url.Values{}
	set(q, "subject", p.Subject)
	set(q, "limit", p.Limit)
	set(q, "cursor", p.Cursor)
	return q
}

// ListStandingApprovals: List standing approvals. Permission: `decisions.read`.
//
// GET /api/v1/standing-approvals
func (c *Client) ListStandingApprovals(ctx context.Context, params ListStandingApprovalsParams, options ...RequestOption) (*Page[StandingApproval], error) {
	return page[StandingApproval](ctx, c, request{operation: "listStandingApprovals", method: http.MethodGet, path: path("/api/v1/standing-approvals"), query: params.query()}, options)
}

// AllStandingApprovals iterates over all pages of ListStandingApprovals, newest first. It ends with the first error.
func (c *Client) AllStandingApprovals(ctx context.Context, params ListStandingApprovalsParams, options ...RequestOption) iter.Seq2[StandingApproval, error] {
	return pages(params.Cursor, func(cursor string) (*Page[StandingApproval], error) {
		params.Cursor = cursor
		return c.ListStandingApprovals(ctx, params, options...)
	})
}

// CreateStandingApproval: Ask for a standing approval. Asks the subject by a challenge, or reviewers by a hold, for an
// approval that allows several requests, within what `standing` of the action's active policy permits. The display is
// one sentence that says what will be allowed. The standing approval begins when the challenge is completed or the
// hold approved; the decision that follows has no proof. At most 100 of a subject are in force or wait: 409.
// Permission: `decide`.
//
// POST /api/v1/standing-approvals
func (c *Client) CreateStandingApproval(ctx context.Context, body StandingApprovalCreate, options ...RequestOption) (*StandingApprovalOpened, error) {
	return one[StandingApprovalOpened](ctx, c, request{operation: "createStandingApproval", method: http.MethodPost, path: path("/api/v1/standing-approvals"), keyed: true, body: body}, options)
}

// GetStandingApproval: Read a standing approval. Permission: `decisions.read`.
//
// GET /api/v1/standing-approvals/{standing_approval_id}
func (c *Client) GetStandingApproval(ctx context.Context, standingApprovalID string, options ...RequestOption) (*StandingApproval, error) {
	return one[StandingApproval](ctx, c, request{operation: "getStandingApproval", method: http.MethodGet, path: path("/api/v1/standing-approvals/{standing_approval_id}", standingApprovalID)}, options)
}

// RevokeStandingApproval: Revoke a standing approval. It allows nothing from then on. Revoking one that has ended
// changes nothing. Permission: `decide`.
//
// POST /api/v1/standing-approvals/{standing_approval_id}/revoke
func (c *Client) RevokeStandingApproval(ctx context.Context, standingApprovalID string, options ...RequestOption) (*StandingApproval, error) {
	return one[StandingApproval](ctx, c, request{operation: "revokeStandingApproval", method: http.MethodPost, path: path("/api/v1/standing-approvals/{standing_approval_id}/revoke", standingApprovalID), keyed: true}, options)
}

// ListSubjectsParams is the query of ListSubjects. Zero values are not sent.
type ListSubjectsParams struct {
	// Only subjects with this status.
	Status SubjectStatus
	// Only subjects in this state of enrollment.
	Enrollment EnrollmentState
	// Entries on a page.
	Limit int64
	// Cursor of the next page from the `Link` header.
	Cursor string
}

func (p ListSubjectsParams) query() url.Values {
	q := url.Values{}
	set(q, "status", p.Status)
	set(q, "enrollment", p.Enrollment)
	set(q, "limit", p.Limit)
	set(q, "cursor", p.Cursor)
	return q
}

// ListSubjects: List subjects. Permission: `subjects`.
//
// GET /api/v1/subjects
func (c *Client) ListSubjects(ctx context.Context, params ListSubjectsParams, options ...RequestOption) (*Page[Subject], error) {
	return page[Subject](ctx, c, request{operation: "listSubjects", method: http.MethodGet, path: path("/api/v1/subjects"), query: params.query()}, options)
}

// AllSubjects iterates over all pages of ListSubjects, newest first. It ends with the first error.
func (c *Client) AllSubjects(ctx context.Context, params ListSubjectsParams, options ...RequestOption) iter.Seq2[Subject, error] {
	return pages(params.Cursor, func(cursor string) (*Page[Subject], error) {
		params.Cursor = cursor
		return c.ListSubjects(ctx, params, options...)
	})
}

// CreateSubject: Create a subject. Permission: `subjects`.
//
// POST /api/v1/subjects
func (c *Client) CreateSubject(ctx context.Context, body *SubjectCreate, options ...RequestOption) (*Subject, error) {
	return one[Subject](ctx, c, request{operation: "createSubject", method: http.MethodPost, path: path("/api/v1/subjects"), keyed: true, body: optional(body)}, options)
}

// DeleteSubject: Erase a subject. Deletes rows, templates, frames, passkeys and histories; a receipt remains. The id
// can be used again for a new subject. Permission: `subjects`.
//
// DELETE /api/v1/subjects/{subject_id}
func (c *Client) DeleteSubject(ctx context.Context, subjectID string, options ...RequestOption) (*ErasureReceipt, error) {
	return one[ErasureReceipt](ctx, c, request{operation: "deleteSubject", method: http.MethodDelete, path: path("/api/v1/subjects/{subject_id}", subjectID)}, options)
}

// GetSubject: Read a subject. Permission: `subjects`.
//
// GET /api/v1/subjects/{subject_id}
func (c *Client) GetSubject(ctx context.Context, subjectID string, options ...RequestOption) (*Subject, error) {
	return one[Subject](ctx, c, request{operation: "getSubject", method: http.MethodGet, path: path("/api/v1/subjects/{subject_id}", subjectID)}, options)
}

// FreezeAdaptation: Freeze or unfreeze adaptation. Permission: `subjects`.
//
// POST /api/v1/subjects/{subject_id}/adaptation/freeze
func (c *Client) FreezeAdaptation(ctx context.Context, subjectID string, body *AdaptationFreeze, options ...RequestOption) (*Subject, error) {
	return one[Subject](ctx, c, request{operation: "freezeAdaptation", method: http.MethodPost, path: path("/api/v1/subjects/{subject_id}/adaptation/freeze", subjectID), keyed: true, body: optional(body)}, options)
}

// ListSubjectAliases: List a subject's names in security events. The formats of the names; the names themselves are
// stored as keyed digests. Permission: `subjects`.
//
// GET /api/v1/subjects/{subject_id}/aliases
func (c *Client) ListSubjectAliases(ctx context.Context, subjectID string, options ...RequestOption) (*SubjectAliases, error) {
	return one[SubjectAliases](ctx, c, request{operation: "listSubjectAliases", method: http.MethodGet, path: path("/api/v1/subjects/{subject_id}/aliases", subjectID)}, options)
}

// SetSubjectAliases: Replace a subject's names in security events. The names by which your identity provider's
// security events (shared signals) know the subject. Without one, no event matches. 409 if one is a name of a
// different subject of the environment. Permission: `subjects`.
//
// PUT /api/v1/subjects/{subject_id}/aliases
func (c *Client) SetSubjectAliases(ctx context.Context, subjectID string, body SubjectAliasesUpdate, options ...RequestOption) (*SubjectAliases, error) {
	return one[SubjectAliases](ctx, c, request{operation: "setSubjectAliases", method: http.MethodPut, path: path("/api/v1/subjects/{subject_id}/aliases", subjectID), body: body}, options)
}

// ListEnrollmentsParams is the query of ListEnrollments. Zero values are not sent.
type ListEnrollmentsParams struct {
	// Entries on a page.
	Limit int64
	// Cursor of the next page from the `Link` header.
	Cursor string
}

func (p ListEnrollmentsParams) query() url.Values {
	q := url.Values{}
	set(q, "limit", p.Limit)
	set(q, "cursor", p.Cursor)
	return q
}

// ListEnrollments: List a subject's enrollments. Permission: `enroll`.
//
// GET /api/v1/subjects/{subject_id}/enrollments
func (c *Client) ListEnrollments(ctx context.Context, subjectID string, params ListEnrollmentsParams, options ...RequestOption) (*Page[Enrollment], error) {
	return page[Enrollment](ctx, c, request{operation: "listEnrollments", method: http.MethodGet, path: path("/api/v1/subjects/{subject_id}/enrollments", subjectID), query: params.query()}, options)
}

// AllEnrollments iterates over all pages of ListEnrollments, newest first. It ends with the first error.
func (c *Client) AllEnrollments(ctx context.Context, subjectID string, params ListEnrollmentsParams, options ...RequestOption) iter.Seq2[Enrollment, error] {
	return pages(params.Cursor, func(cursor string) (*Page[Enrollment], error) {
		params.Cursor = cursor
		return c.ListEnrollments(ctx, subjectID, params, options...)
	})
}

// CompleteEnrollment: Train the template with the collected evidence. Too little evidence without `force` is status
// `failed` with the limitation. Sessions that are inconsistent with the others are not used and are listed in
// `refused_sessions`. 202 with status `pending` if the training has not finished in time. Permission: `enroll`.
//
// POST /api/v1/subjects/{subject_id}/enrollments/complete
func (c *Client) CompleteEnrollment(ctx context.Context, subjectID string, body EnrollmentComplete, options ...RequestOption) (*Enrollment, error) {
	return one[Enrollment](ctx, c, request{operation: "completeEnrollment", method: http.MethodPost, path: path("/api/v1/subjects/{subject_id}/enrollments/complete", subjectID), keyed: true, body: body}, options)
}

// ExportSubject: Export all stored data of a subject. Permission: `subjects`.
//
// POST /api/v1/subjects/{subject_id}/export
func (c *Client) ExportSubject(ctx context.Context, subjectID string, options ...RequestOption) (*SubjectExport, error) {
	return one[SubjectExport](ctx, c, request{operation: "exportSubject", method: http.MethodPost, path: path("/api/v1/subjects/{subject_id}/export", subjectID), keyed: true}, options)
}

// ListPasskeysParams is the query of ListPasskeys. Zero values are not sent.
type ListPasskeysParams struct {
	// Entries on a page.
	Limit int64
	// Cursor of the next page from the `Link` header.
	Cursor string
}

func (p ListPasskeysParams) query() url.Values {
	q := url.Values{}
	set(q, "limit", p.Limit)
	set(q, "cursor", p.Cursor)
	return q
}

// ListPasskeys: List a subject's passkeys. Permission: `passkeys`.
//
// GET /api/v1/subjects/{subject_id}/passkeys
func (c *Client) ListPasskeys(ctx context.Context, subjectID string, params ListPasskeysParams, options ...RequestOption) (*Page[Passkey], error) {
	return page[Passkey](ctx, c, request{operation: "listPasskeys", method: http.MethodGet, path: path("/api/v1/subjects/{subject_id}/passkeys", subjectID), query: params.query()}, options)
}

// AllPasskeys iterates over all pages of ListPasskeys, newest first. It ends with the first error.
func (c *Client) AllPasskeys(ctx context.Context, subjectID string, params ListPasskeysParams, options ...RequestOption) iter.Seq2[Passkey, error] {
	return pages(params.Cursor, func(cursor string) (*Page[Passkey], error) {
		params.Cursor = cursor
		return c.ListPasskeys(ctx, subjectID, params, options...)
	})
}

// ImportPasskey: Import a passkey of another server. The passkey works once the person makes an assertion with it. An
// environment that requires attestation refuses it. Permission: `passkeys`.
//
// POST /api/v1/subjects/{subject_id}/passkeys/import
func (c *Client) ImportPasskey(ctx context.Context, subjectID string, body PasskeyImport, options ...RequestOption) (*PasskeyRegistered, error) {
	return one[PasskeyRegistered](ctx, c, request{operation: "importPasskey", method: http.MethodPost, path: path("/api/v1/subjects/{subject_id}/passkeys/import", subjectID), keyed: true, body: body}, options)
}

// PasskeyRegisterComplete: Register the passkey. Permission: `passkeys`.
//
// POST /api/v1/subjects/{subject_id}/passkeys/register/complete
func (c *Client) PasskeyRegisterComplete(ctx context.Context, subjectID string, body PasskeyRegistrationComplete, options ...RequestOption) (*PasskeyRegistered, error) {
	return one[PasskeyRegistered](ctx, c, request{operation: "passkeyRegisterComplete", method: http.MethodPost, path: path("/api/v1/subjects/{subject_id}/passkeys/register/complete", subjectID), keyed: true, body: body}, options)
}

// PasskeyRegisterOptions: Exchange a grant for registration options. Permission: `passkeys`.
//
// POST /api/v1/subjects/{subject_id}/passkeys/register/options
func (c *Client) PasskeyRegisterOptions(ctx context.Context, subjectID string, body PasskeyRegistrationOptionsRequest, options ...RequestOption) (*PasskeyRegistrationOptions, error) {
	return one[PasskeyRegistrationOptions](ctx, c, request{operation: "passkeyRegisterOptions", method: http.MethodPost, path: path("/api/v1/subjects/{subject_id}/passkeys/register/options", subjectID), keyed: true, body: body}, options)
}

// CreatePasskeyGrant: Permit the registration of one passkey. Permission: `passkeys`.
//
// POST /api/v1/subjects/{subject_id}/passkeys/registration-grants
func (c *Client) CreatePasskeyGrant(ctx context.Context, subjectID string, options ...RequestOption) (*PasskeyRegistrationGrant, error) {
	return one[PasskeyRegistrationGrant](ctx, c, request{operation: "createPasskeyGrant", method: http.MethodPost, path: path("/api/v1/subjects/{subject_id}/passkeys/registration-grants", subjectID), keyed: true}, options)
}

// RevokePasskey: Revoke a passkey. Permission: `passkeys`.
//
// DELETE /api/v1/subjects/{subject_id}/passkeys/{passkey_id}
func (c *Client) RevokePasskey(ctx context.Context, subjectID string, passkeyID string, options ...RequestOption) error {
	_, err := c.do(ctx, request{operation: "revokePasskey", method: http.MethodDelete, path: path("/api/v1/subjects/{subject_id}/passkeys/{passkey_id}", subjectID, passkeyID)}, nil, options)
	return err
}

// GetRecovery: Read a subject's newest recovery. Permission: `subjects`.
//
// GET /api/v1/subjects/{subject_id}/recovery
func (c *Client) GetRecovery(ctx context.Context, subjectID string, options ...RequestOption) (*Recovery, error) {
	return one[Recovery](ctx, c, request{operation: "getRecovery", method: http.MethodGet, path: path("/api/v1/subjects/{subject_id}/recovery", subjectID)}, options)
}

// BeginRecovery: Begin a recovery. Voids open challenges and proofs and resets the template; completed by a new
// enrollment after the cool-down. Permission: `subjects`.
//
// POST /api/v1/subjects/{subject_id}/recovery
func (c *Client) BeginRecovery(ctx context.Context, subjectID string, body RecoveryBegin, options ...RequestOption) (*Recovery, error) {
	return one[Recovery](ctx, c, request{operation: "beginRecovery", method: http.MethodPost, path: path("/api/v1/subjects/{subject_id}/recovery", subjectID), keyed: true, body: body}, options)
}

// ReinstateSubject: Request the end of a revocation. Always a change request, which a second principal approves with
// the permission `subjects`, whatever `second_approver_required` says. What the revocation voided stays void.
// Permission: `subjects`.
//
// POST /api/v1/subjects/{subject_id}/reinstate
func (c *Client) ReinstateSubject(ctx context.Context, subjectID string, body SubjectReinstate, options ...RequestOption) (*ChangeRequest, error) {
	return one[ChangeRequest](ctx, c, request{operation: "reinstateSubject", method: http.MethodPost, path: path("/api/v1/subjects/{subject_id}/reinstate", subjectID), keyed: true, body: body}, options)
}

// SetResearchConsent: Record the consent to research use. Withdrawal deletes the stored vectors. Permission:
// `subjects`.
//
// POST /api/v1/subjects/{subject_id}/research-consent
func (c *Client) SetResearchConsent(ctx context.Context, subjectID string, body ResearchConsentRequest, options ...RequestOption) (*ResearchConsentRecord, error) {
	return one[ResearchConsentRecord](ctx, c, request{operation: "setResearchConsent", method: http.MethodPost, path: path("/api/v1/subjects/{subject_id}/research-consent", subjectID), keyed: true, body: body}, options)
}

// RevokeSubject: Revoke a subject. Open proofs are revoked; every later decision is deny with `subject_revoked`.
// Permission: `subjects`.
//
// POST /api/v1/subjects/{subject_id}/revoke
func (c *Client) RevokeSubject(ctx context.Context, subjectID string, body *Reason, options ...RequestOption) (*Subject, error) {
	return one[Subject](ctx, c, request{operation: "revokeSubject", method: http.MethodPost, path: path("/api/v1/subjects/{subject_id}/revoke", subjectID), keyed: true, body: optional(body)}, options)
}

// CreateStandingLink: Create a link to the subject's standing approvals. Opens a hosted page on which the subject sees
// the standing approvals in force and revokes them. It shows nothing until a passkey of the subject opens it, for the
// browser in which it was used. Five refused attempts end the link. Permission: `decide`.
//
// POST /api/v1/subjects/{subject_id}/standing-approvals/link
func (c *Client) CreateStandingLink(ctx context.Context, subjectID string, options ...RequestOption) (*StandingLink, error) {
	return one[StandingLink](ctx, c, request{operation: "createStandingLink", method: http.MethodPost, path: path("/api/v1/subjects/{subject_id}/standing-approvals/link", subjectID), keyed: true}, options)
}

// ListTemplatesParams is the query of ListTemplates. Zero values are not sent.
type ListTemplatesParams struct {
	// Entries on a page.
	Limit int64
	// Cursor of the next page from the `Link` header.
	Cursor string
}

func (p ListTemplatesParams) query() url.Values {
	q := url.Values{}
	set(q, "limit", p.Limit)
	set(q, "cursor", p.Cursor)
	return q
}

// ListTemplates: List the versions of a subject's templates. The versions by modality and class of device. The trained
// parameters are in the export only. Permission: `enroll`.
//
// GET /api/v1/subjects/{subject_id}/templates
func (c *Client) ListTemplates(ctx context.Context, subjectID string, params ListTemplatesParams, options ...RequestOption) (*Page[Template], error) {
	return page[Template](ctx, c, request{operation: "listTemplates", method: http.MethodGet, path: path("/api/v1/subjects/{subject_id}/templates", subjectID), query: params.query()}, options)
}

// AllTemplates iterates over all pages of ListTemplates, newest first. It ends with the first error.
func (c *Client) AllTemplates(ctx context.Context, subjectID string, params ListTemplatesParams, options ...RequestOption) iter.Seq2[Template, error] {
	return pages(params.Cursor, func(cursor string) (*Page[Template], error) {
		params.Cursor = cursor
		return c.ListTemplates(ctx, subjectID, params, options...)
	})
}

// RollbackTemplate: Roll back to an earlier version of a template. The active version is retired. Freeze adaptation
// first if you do not trust it. Permission: `enroll`.
//
// POST /api/v1/subjects/{subject_id}/templates/rollback
func (c *Client) RollbackTemplate(ctx context.Context, subjectID string, body TemplateRollback, options ...RequestOption) (*Template, error) {
	return one[Template](ctx, c, request{operation: "rollbackTemplate", method: http.MethodPost, path: path("/api/v1/subjects/{subject_id}/templates/rollback", subjectID), keyed: true, body: body}, options)
}

// ListTeamsParams is the query of ListTeams. Zero values are not sent.
type ListTeamsParams struct {
	// Entries on a page.
	Limit int64
	// Cursor of the next page from the `Link` header.
	Cursor string
}

func (p ListTeamsParams) query() url.Values {
	q := url.Values{}
	set(q, "limit", p.Limit)
	set(q, "cursor", p.Cursor)
	return q
}

// ListTeams: List the teams of reviewers. Permission: `config.read`.
//
// GET /api/v1/teams
func (c *Client) ListTeams(ctx context.Context, params ListTeamsParams, options ...RequestOption) (*Page[Team], error) {
	return page[Team](ctx, c, request{operation: "listTeams", method: http.MethodGet, path: path("/api/v1/teams"), query: params.query()}, options)
}

// AllTeams iterates over all pages of ListTeams, newest first. It ends with the first error.
func (c *Client) AllTeams(ctx context.Context, params ListTeamsParams, options ...RequestOption) iter.Seq2[Team, error] {
	return pages(params.Cursor, func(cursor string) (*Page[Team], error) {
		params.Cursor = cursor
		return c.ListTeams(ctx, params, options...)
	})
}

// CreateTeam: Create a team. 202 with a change request if the environment requires a second approver. Permission:
// `policy.activate`.
//
// POST /api/v1/teams
func (c *Client) CreateTeam(ctx context.Context, body TeamCreate, options ...RequestOption) (*Team, error) {
	return one[Team](ctx, c, request{operation: "createTeam", method: http.MethodPost, path: path("/api/v1/teams"), keyed: true, body: body}, options)
}

// DeleteTeam: Delete a team. A team that an active policy version or a pending hold requires is not deleted. 202 with
// a change request if the environment requires a second approver. Permission: `policy.activate`.
//
// DELETE /api/v1/teams/{team_id}
func (c *Client) DeleteTeam(ctx context.Context, teamID string, options ...RequestOption) error {
	_, err := c.do(ctx, request{operation: "deleteTeam", method: http.MethodDelete, path: path("/api/v1/teams/{team_id}", teamID)}, nil, options)
	return err
}

// GetTeam: Read a team. Permission: `config.read`.
//
// GET /api/v1/teams/{team_id}
func (c *Client) GetTeam(ctx context.Context, teamID string, options ...RequestOption) (*Team, error) {
	return one[Team](ctx, c, request{operation: "getTeam", method: http.MethodGet, path: path("/api/v1/teams/{team_id}", teamID)}, options)
}

// UpdateTeam: Change the name or the members of a team. The members count when the approvals of a hold are counted,
// those of pending holds included. 202 with a change request if something changes and the environment requires a
// second approver. Permission: `policy.activate`.
//
// PATCH /api/v1/teams/{team_id}
func (c *Client) UpdateTeam(ctx context.Context, teamID string, body TeamUpdate, options ...RequestOption) (*Team, error) {
	return one[Team](ctx, c, request{operation: "updateTeam", method: http.MethodPatch, path: path("/api/v1/teams/{team_id}", teamID), body: body}, options)
}

// VerifyProof: Verify and optionally consume a proof. A proof that cannot be parsed is `valid: false` with status
// `unknown`. Consuming is atomic: of concurrent callers exactly one succeeds. An `Idempotency-Key` is ignored: a
// repeated `consume` returns `consumed`, never `valid` again. Permission: `verify`.
//
// POST /api/v1/verify
func (c *Client) VerifyProof(ctx context.Context, body ProofVerifyRequest, options ...RequestOption) (*ProofVerification, error) {
	return one[ProofVerification](ctx, c, request{operation: "verifyProof", method: http.MethodPost, path: path("/api/v1/verify"), body: body}, options)
}

// ListWebhookEndpointsParams is the query of ListWebhookEndpoints. Zero values are not sent.
type ListWebhookEndpointsParams struct {
	// Entries on a page.
	Limit int64
	// Cursor of the next page from the `Link` header.
	Cursor string
}

func (p ListWebhookEndpointsParams) query() url.Values {
	q := url.Values{}
	set(q, "limit", p.Limit)
	set(q, "cursor", p.Cursor)
	return q
}

// ListWebhookEndpoints: List webhook endpoints. Permission: `config.read`.
//
// GET /api/v1/webhook-endpoints
func (c *Client) ListWebhookEndpoints(ctx context.Context, params ListWebhookEndpointsParams, options ...RequestOption) (*Page[WebhookEndpoint], error) {
	return page[WebhookEndpoint](ctx, c, request{operation: "listWebhookEndpoints", method: http.MethodGet, path: path("/api/v1/webhook-endpoints"), query: params.query()}, options)
}

// AllWebhookEndpoints iterates over all pages of ListWebhookEndpoints, newest first. It ends with the first error.
func (c *Client) AllWebhookEndpoints(ctx context.Context, params ListWebhookEndpointsParams, options ...RequestOption) iter.Seq2[WebhookEndpoint, error] {
	return pages(params.Cursor, func(cursor string) (*Page[WebhookEndpoint], error) {
		params.Cursor = cursor
		return c.ListWebhookEndpoints(ctx, params, options...)
	})
}

// CreateWebhookEndpoint: Add a webhook endpoint. The secret is returned only in this response. 202 with a change
// request if the environment requires a second approver; rotate the secret after the approval to receive one.
// Permission: `webhooks`.
//
// POST /api/v1/webhook-endpoints
func (c *Client) CreateWebhookEndpoint(ctx context.Context, body WebhookEndpointCreate, options ...RequestOption) (*WebhookEndpointWithSecret, error) {
	return one[WebhookEndpointWithSecret](ctx, c, request{operation: "createWebhookEndpoint", method: http.MethodPost, path: path("/api/v1/webhook-endpoints"), keyed: true, body: body}, options)
}

// DeleteWebhookEndpoint: Remove a webhook endpoint. Permission: `webhooks`.
//
// DELETE /api/v1/webhook-endpoints/{endpoint_id}
func (c *Client) DeleteWebhookEndpoint(ctx context.Context, endpointID string, options ...RequestOption) error {
	_, err := c.do(ctx, request{operation: "deleteWebhookEndpoint", method: http.MethodDelete, path: path("/api/v1/webhook-endpoints/{endpoint_id}", endpointID)}, nil, options)
	return err
}

// GetWebhookEndpoint: Read a webhook endpoint. Permission: `config.read`.
//
// GET /api/v1/webhook-endpoints/{endpoint_id}
func (c *Client) GetWebhookEndpoint(ctx context.Context, endpointID string, options ...RequestOption) (*WebhookEndpoint, error) {
	return one[WebhookEndpoint](ctx, c, request{operation: "getWebhookEndpoint", method: http.MethodGet, path: path("/api/v1/webhook-endpoints/{endpoint_id}", endpointID)}, options)
}

// UpdateWebhookEndpoint: Change a webhook endpoint. 202 with a change request if more than the status changes and the
// environment requires a second approver. Permission: `webhooks`.
//
// PATCH /api/v1/webhook-endpoints/{endpoint_id}
func (c *Client) UpdateWebhookEndpoint(ctx context.Context, endpointID string, body WebhookEndpointUpdate, options ...RequestOption) (*WebhookEndpoint, error) {
	return one[WebhookEndpoint](ctx, c, request{operation: "updateWebhookEndpoint", method: http.MethodPatch, path: path("/api/v1/webhook-endpoints/{endpoint_id}", endpointID), body: body}, options)
}

// ListWebhookAttemptsParams is the query of ListWebhookAttempts. Zero values are not sent.
type ListWebhookAttemptsParams struct {
	// Only attempts with this status.
	Status AttemptStatus
	// Only attempts to deliver this event.
	Event string
	// Only entries at or after this time (RFC 3339).
	Since time.Time
	// Only entries before this time (RFC 3339).
	Until time.Time
	// Entries on a page.
	Limit int64
	// Cursor of the next page from the `Link` header.
	Cursor string
}

func (p ListWebhookAttemptsParams) query() url.Values {
	q := url.Values{}
	set(q, "status", p.Status)
	set(q, "event", p.Event)
	set(q, "since", p.Since)
	set(q, "until", p.Until)
	set(q, "limit", p.Limit)
	set(q, "cursor", p.Cursor)
	return q
}

// ListWebhookAttempts: List attempts to deliver. Permission: `config.read`.
//
// GET /api/v1/webhook-endpoints/{endpoint_id}/attempts
func (c *Client) ListWebhookAttempts(ctx context.Context, endpointID string, params ListWebhookAttemptsParams, options ...RequestOption) (*Page[WebhookAttempt], error) {
	return page[WebhookAttempt](ctx, c, request{operation: "listWebhookAttempts", method: http.MethodGet, path: path("/api/v1/webhook-endpoints/{endpoint_id}/attempts", endpointID), query: params.query()}, options)
}

// AllWebhookAttempts iterates over all pages of ListWebhookAttempts, newest first. It ends with the first error.
func (c *Client) AllWebhookAttempts(ctx context.Context, endpointID string, params ListWebhookAttemptsParams, options ...RequestOption) iter.Seq2[WebhookAttempt, error] {
	return pages(params.Cursor, func(cursor string) (*Page[WebhookAttempt], error) {
		params.Cursor = cursor
		return c.ListWebhookAttempts(ctx, endpointID, params, options...)
	})
}

// EnableWebhookEndpoint: Enable an endpoint again. Permission: `webhooks`.
//
// POST /api/v1/webhook-endpoints/{endpoint_id}/enable
func (c *Client) EnableWebhookEndpoint(ctx context.Context, endpointID string, options ...RequestOption) (*WebhookEndpoint, error) {
	return one[WebhookEndpoint](ctx, c, request{operation: "enableWebhookEndpoint", method: http.MethodPost, path: path("/api/v1/webhook-endpoints/{endpoint_id}/enable", endpointID), keyed: true}, options)
}

// ReplayWebhookEndpoint: Deliver events again. Permission: `webhooks`.
//
// POST /api/v1/webhook-endpoints/{endpoint_id}/replay
func (c *Client) ReplayWebhookEndpoint(ctx context.Context, endpointID string, body *WebhookReplayRequest, options ...RequestOption) (*WebhookReplay, error) {
	return one[WebhookReplay](ctx, c, request{operation: "replayWebhookEndpoint", method: http.MethodPost, path: path("/api/v1/webhook-endpoints/{endpoint_id}/replay", endpointID), keyed: true, body: optional(body)}, options)
}

// RotateWebhookSecret: Replace the signing secret. Both secrets sign during the overlap. Permission: `webhooks`.
//
// POST /api/v1/webhook-endpoints/{endpoint_id}/rotate
func (c *Client) RotateWebhookSecret(ctx context.Context, endpointID string, body *RotateRequest, options ...RequestOption) (*WebhookEndpointWithSecret, error) {
	return one[WebhookEndpointWithSecret](ctx, c, request{operation: "rotateWebhookSecret", method: http.MethodPost, path: path("/api/v1/webhook-endpoints/{endpoint_id}/rotate", endpointID), keyed: true, body: optional(body)}, options)
}

// TestWebhookEndpoint: Send a webhook.test event now, once. Permission: `webhooks`.
//
// POST /api/v1/webhook-endpoints/{endpoint_id}/test
func (c *Client) TestWebhookEndpoint(ctx context.Context, endpointID string, options ...RequestOption) (*WebhookTestResult, error) {
	return one[WebhookTestResult](ctx, c, request{operation: "testWebhookEndpoint", method: http.MethodPost, path: path("/api/v1/webhook-endpoints/{endpoint_id}/test", endpointID), keyed: true}, options)
}

// LegacyAuth: Verify a sample against an enrolled user. Permission: `evidence`.
//
// POST /auth
func (c *Client) LegacyAuth(ctx context.Context, body LegacyAuth, options ...RequestOption) (*LegacyAuthResult, error) {
	return one[LegacyAuthResult](ctx, c, request{operation: "legacyAuth", method: http.MethodPost, path: path("/auth"), body: body}, options)
}

// LegacyEnrol: Create or update a user's timing template. Permission: `enroll`.
//
// POST /enrol
func (c *Client) LegacyEnrol(ctx context.Context, body LegacyEnrol, options ...RequestOption) (*LegacyEnrolled, error) {
	return one[LegacyEnrolled](ctx, c, request{operation: "legacyEnrol", method: http.MethodPost, path: path("/enrol"), keyed: true, body: body}, options)
}

// LegacyIngest: Stream feature frames. Permission: `evidence`.
//
// POST /v2/ingest
func (c *Client) LegacyIngest(ctx context.Context, body LegacyIngest, options ...RequestOption) (*LegacyIngested, error) {
	return one[LegacyIngested](ctx, c, request{operation: "legacyIngest", method: http.MethodPost, path: path("/v2/ingest"), body: body}, options)
}

// LegacySessionEnd: End a session and finalize its trust record. Permission: `evidence`.
//
// POST /v2/sessions/end
func (c *Client) LegacySessionEnd(ctx context.Context, body LegacySessionEnd, options ...RequestOption) (*LegacySessionEnded, error) {
	return one[LegacySessionEnded](ctx, c, request{operation: "legacySessionEnd", method: http.MethodPost, path: path("/v2/sessions/end"), keyed: true, body: body}, options)
}

// LegacySessionStart: Start a continuous trust session. Permission: `evidence`.
//
// POST /v2/sessions/start
func (c *Client) LegacySessionStart(ctx context.Context, body LegacySessionStart, options ...RequestOption) (*LegacySessionStarted, error) {
	return one[LegacySessionStarted](ctx, c, request{operation: "legacySessionStart", method: http.MethodPost, path: path("/v2/sessions/start"), keyed: true, body: body}, options)
}

// LegacyTrust: Read a session's score and state. Permission: `evidence`.
//
// GET /v2/trust/{session_id}
func (c *Client) LegacyTrust(ctx context.Context, sessionID string, options ...RequestOption) (*LegacyTrust, error) {
	return one[LegacyTrust](ctx, c, request{operation: "legacyTrust", method: http.MethodGet, path: path("/v2/trust/{session_id}", sessionID)}, options)
}

package api

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/evaluation"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/authz/settle"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/durable"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
)

var runsNow = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// directRuns makes the moves without any run, or fails as the runs' client would.
type directRuns struct {
	b    *runsBundle
	fail error // of every request
	late error // after the move was made: the answer was lost on the way
}

func (r *directRuns) challenge(ctx context.Context, run challenge.WorkflowInput, request string, move func(context.Context, challenge.Move) (challenge.Outcome, error)) (challenge.Outcome, error) {
	if r.fail != nil {
		return challenge.Outcome{}, r.fail
	}
	digest, _ := hex.DecodeString(request)
	out, err := move(ctx, challenge.Move{ID: run.Challenge, Environment: run.Environment, Request: digest, At: r.b.clock.Now(), WorkflowID: "w"})
	return out, errors.Join(err, r.late)
}

func (r *directRuns) CompleteChallenge(ctx context.Context, run challenge.WorkflowInput, request string) (challenge.Outcome, error) {
	return r.challenge(ctx, run, request, r.b.challenges.Complete)
}

func (r *directRuns) CancelChallenge(ctx context.Context, run challenge.WorkflowInput, request string) (challenge.Outcome, error) {
	return r.challenge(ctx, run, request, r.b.challenges.Cancel)
}

func (r *directRuns) ReviewHold(ctx context.Context, run hold.WorkflowInput, _, request string) (hold.Outcome, error) {
	if r.fail != nil {
		return hold.Outcome{}, r.fail
	}
	digest, _ := hex.DecodeString(request)
	out, err := r.b.holds.Review(ctx, hold.Move{ID: run.Authorization, Environment: run.Environment, Request: digest, At: r.b.clock.Now(), WorkflowID: "w"})
	return out, errors.Join(err, r.late)
}

func (r *directRuns) RestartChallenge(context.Context, challenge.WorkflowInput) error { return nil }

func (r *directRuns) RestartHold(context.Context, hold.WorkflowInput) error { return nil }

func (r *directRuns) RestartEvaluation(context.Context, evaluation.WorkflowInput) error { return nil }

func (r *directRuns) CloseEvaluation(ctx context.Context, run evaluation.WorkflowInput, by evaluation.CloseRequest) (evaluation.Outcome, error) {
	if r.fail != nil {
		return evaluation.Outcome{}, r.fail
	}
	out, err := r.b.evaluations.Close(ctx, evaluation.Move{ID: run.Evaluation, Environment: run.Environment, Actor: by.Actor, At: r.b.clock.Now(), WorkflowID: "w"})
	return out, errors.Join(err, r.late)
}

// runsBundle is the handlers of what runs settle, on a real database, as one server credential.
type runsBundle struct {
	*fixture.World
	clock       *clock.Fake
	runs        *directRuns
	challenges  *challenge.Service
	holds       *hold.Service
	evaluations *evaluation.Service
	app         *fiber.App
	context     context.Context // of requests; nil for their own
}

func setupRuns(t *testing.T) *runsBundle {
	t.Helper()
	return setupRunsOn(t, testenv.Store(t))
}

func setupRunsOn(t *testing.T, st *pg.Store) *runsBundle {
	t.Helper()
	b := &runsBundle{World: fixture.New(t, st, runsNow), clock: clock.NewFake(runsNow)}
	b.challenges = challenge.New(challenge.Deps{Store: st, Clock: b.clock,
		Decide: func(ctx context.Context, q *pg.Q, a settle.FollowUp) (models.Authorization, error) {
			return b.FollowUp(ctx, q, a, "allow")
		}})
	b.holds = hold.New(hold.Deps{Store: st, Clock: b.clock,
		Decide: func(ctx context.Context, q *pg.Q, a settle.FollowUp) (models.Authorization, error) {
			return b.FollowUp(ctx, q, a, "allow")
		}})
	b.evaluations = evaluation.New(st, b.clock)
	b.runs = &directRuns{b: b}
	b.app = fiber.New(fiber.Config{Immutable: true, ErrorHandler: func(c *fiber.Ctx, err error) error {
		p := request.ProblemOf(err)
		return c.Status(problem.Of(p.Code).Status).JSON(fiber.Map{"code": p.Code})
	}})
	b.app.Use(func(c *fiber.Ctx) error {
		request.SetPrincipal(c, b.Principal("crd_1"))
		if b.context != nil {
			request.SetContext(c, b.context)
		}
		return c.Next()
	})
	b.mount()
	return b
}

func (b *runsBundle) mount() {
	c := &challengeHandlers{Challenges: b.challenges, Resolver: challenge.NewResolver(b.challenges, b.runs)}
	b.app.Get("/challenges/:challenge_id", c.get)
	b.app.Post("/challenges/:challenge_id/complete", c.complete)
	b.app.Post("/challenges/:challenge_id/cancel", c.cancel)
	r := &reviewHandlers{Holds: b.holds, Reviewer: hold.NewReviewer(b.holds, b.runs)}
	b.app.Get("/reviews", r.list)
	b.app.Post("/authorizations/:authorization_id/review", r.review)
	e := &evaluationHandlers{Evaluations: b.evaluations, Closer: evaluation.NewCloser(b.evaluations, b.runs)}
	b.app.Get("/evaluations", e.list)
	b.app.Post("/evaluations", e.create)
	b.app.Get("/evaluations/:evaluation_id", e.get)
	b.app.Post("/evaluations/:evaluation_id/close", e.close)
	b.app.Get("/evaluations/:evaluation_id/report", e.report)
}

// do sends a request and returns status and body; a list is under "list".
func (b *runsBundle) do(t *testing.T, method, path, body string) (int, map[string]any) {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), method, path, bytes.NewReader([]byte(body)))
	req.Header.Set("Content-Type", "application/json")
	res, err := b.app.Test(req, -1)
	require.NoError(t, err)
	raw, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	var out any
	require.NoError(t, json.Unmarshal(raw, &out), "%s", raw)
	if object, ok := out.(map[string]any); ok {
		return res.StatusCode, object
	}
	return res.StatusCode, map[string]any{"list": out}
}

const confirmBody = `{"method":"sandbox_confirm"}`

func TestChallengeHandlers(t *testing.T) {
	t.Parallel()
	b := setupRuns(t)
	c := b.Challenge(time.Hour, "sandbox_confirm")
	path := "/challenges/" + c.ID
	status, body := b.do(t, http.MethodGet, path, "")
	require.Equal(t, 200, status)
	require.Equal(t, map[string]any{
		"id": c.ID, "status": "open", "methods": []any{"sandbox_confirm"}, "expires_at": "2026-03-01T10:00:00.000Z",
		"display": map[string]any{"action": "Send a transfer"}, "child_authorization": nil,
	}, body)

	status, receipt := b.do(t, http.MethodPost, path+"/complete", confirmBody)
	require.Equal(t, 200, status)
	require.Equal(t, "completed", receipt["status"])
	require.Len(t, receipt, 4, "a receipt contains no decision")
	status, again := b.do(t, http.MethodPost, path+"/complete", confirmBody)
	require.Equal(t, 200, status)
	require.Equal(t, receipt, again)
	status, body = b.do(t, http.MethodPost, path+"/cancel", "")
	require.Equal(t, 409, status)
	require.Equal(t, "challenge_closed", body["code"])
	status, _ = b.do(t, http.MethodGet, "/challenges/chl_unknown", "")
	require.Equal(t, 404, status)
}

// What a person does over HTTP sends few statements. Of a decision that follows, its own two are not counted: the guard of its subject and its row.
func TestReviewsAndCompletionsSendFewStatements(t *testing.T) {
	t.Parallel()
	st, meter := storetest.NewMeasured(t)
	b := setupRunsOn(t, st)
	review := func(approvals int) func() string {
		return func() string { return "/authorizations/" + b.Hold(time.Hour, approvals).AuthorizationID + "/review" }
	}
	challenge := func(move string) func() string {
		return func() string { return "/challenges/" + b.Challenge(time.Hour, "sandbox_confirm").ID + move }
	}
	for name, c := range map[string]struct {
		path           func() string
		body           string
		followUp, want int
	}{
		"the last approval": {review(1), `{"resolution":"approve"}`, 2, 16},
		"an approval":       {review(2), `{"resolution":"approve"}`, 0, 14},
		"a rejection":       {review(1), `{"resolution":"reject"}`, 0, 15},
		"a completion":      {challenge("/complete"), confirmBody, 2, 10},
		"a cancel":          {challenge("/cancel"), "", 0, 10},
	} {
		for range 2 { // the first request fills the caches
			path := c.path()
			cost := meter.Of(t.Context(), func(ctx context.Context) {
				b.context = ctx
				status, body := b.do(t, http.MethodPost, path, c.body)
				require.Less(t, status, 300, body)
			})
			require.Equal(t, c.want, cost.Statements-c.followUp, "%s\n%s", name, strings.Join(meter.Sent(), "\n"))
		}
	}
}

// The error of the workflow client, and the response that the caller gets.
func TestCompleteChallengeWhenTheWorkflowFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fail, late error
		status     int
		code       any
	}{
		"Temporal is unavailable":                {fail: problem.NewUnavailable("unavailable", nil), status: 503, code: "unavailable"},
		"the workflow refuses":                   {fail: problem.New(problem.AssertionRefused, "no"), status: 400, code: "assertion_refused"},
		"the workflow run has closed, unsettled": {fail: durable.ErrClosed, status: 503, code: "unavailable"},
		"this request closed the workflow run":   {late: durable.ErrClosed, status: 200},
		"refused after this request succeeded":   {late: problem.New(problem.ChallengeClosed, "closed"), status: 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupRuns(t)
			b.runs.fail, b.runs.late = c.fail, c.late
			status, body := b.do(t, http.MethodPost, "/challenges/"+b.Challenge(time.Hour, "sandbox_confirm").ID+"/complete", confirmBody)
			require.Equal(t, c.status, status, "%v", body)
			require.Equal(t, c.code, body["code"])
		})
	}
}

func TestCancelChallengeWhenTheWorkflowHasClosed(t *testing.T) {
	t.Parallel()
	b := setupRuns(t)
	c := b.Challenge(time.Hour, "sandbox_confirm")
	status, body := b.do(t, http.MethodPost, "/challenges/"+c.ID+"/cancel", "")
	require.Equal(t, 200, status)
	require.Equal(t, map[string]any{"id": c.ID, "status": "cancelled"}, body)

	c = b.Challenge(time.Hour, "sandbox_confirm")
	b.runs.fail = durable.ErrClosed
	status, _ = b.do(t, http.MethodPost, "/challenges/"+c.ID+"/cancel", "")
	require.Equal(t, 503, status)
	b.clock.Advance(time.Hour)
	status, body = b.do(t, http.MethodPost, "/challenges/"+c.ID+"/cancel", "")
	require.Equal(t, 409, status)
	require.Equal(t, "challenge_expired", body["code"])
}

func TestReviewHandlers(t *testing.T) {
	t.Parallel()
	b := setupRuns(t)
	h := b.Hold(time.Hour, 2)
	status, queue := b.do(t, http.MethodGet, "/reviews?status=pending&limit=5", "")
	require.Equal(t, 200, status)
	require.Equal(t, []any{map[string]any{
		"authorization": h.AuthorizationID, "action": "payments.transfer", "subject": "user-4711", "risk_class": "high",
		"reason_codes": []any{"insufficient_evidence"}, "opened_at": "2026-03-01T09:00:00.000Z", "due_at": "2026-03-01T10:00:00.000Z",
		"review_status": "pending", "approvals": map[string]any{"given": 0.0, "required": 2.0}, "reminded_at": nil,
		"self_review": "allowed", "your_resolution": nil, "reviewable": true, "approvable": true, "display": nil, "assigned_to": nil,
	}}, queue["list"])

	path := fmt.Sprintf("/authorizations/%s/review", h.AuthorizationID)
	for range 2 {
		status, pending := b.do(t, http.MethodPost, path, `{"resolution":"approve"}`)
		require.Equal(t, 202, status)
		require.Equal(t, map[string]any{"given": 1.0, "required": 2.0}, pending["approvals"])
	}
	status, rejected := b.do(t, http.MethodPost, path, `{"resolution":"reject","note":"no"}`)
	require.Equal(t, 200, status)
	require.Equal(t, "reject", rejected["resolution"])
	status, body := b.do(t, http.MethodPost, path, `{"resolution":"approve"}`)
	require.Equal(t, 409, status)
	require.Equal(t, "review_resolved", body["code"])
}

func TestReviewWhenTheWorkflowFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fail, late error
		status     int
	}{
		"Temporal is unavailable":                {fail: problem.NewUnavailable("unavailable", nil), status: 503},
		"accepted, and not finished":             {fail: problem.NewUnavailable("later", durable.ErrAccepted), status: 202},
		"the workflow run has closed, unsettled": {fail: durable.ErrClosed, status: 503},
		"this request closed the workflow run":   {late: durable.ErrClosed, status: 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupRuns(t)
			b.runs.fail, b.runs.late = c.fail, c.late
			status, body := b.do(t, http.MethodPost, "/authorizations/"+b.Hold(time.Hour, 1).AuthorizationID+"/review", `{"resolution":"approve"}`)
			require.Equal(t, c.status, status, "%v", body)
		})
	}
}

func TestEvaluationHandlers(t *testing.T) {
	t.Parallel()
	b := setupRuns(t)
	create := func(ends string) (int, map[string]any) {
		return b.do(t, http.MethodPost, "/evaluations",
			`{"name":"x","action_keys":["payments.transfer"],"ends_at":"`+ends+`","success_criteria":{"min_shadow_decisions":1}}`)
	}
	status, _ := create("2026-03-01T10:00:00+01:00")
	require.Equal(t, 422, status, "it ends when it starts")
	status, made := create("2026-03-01T12:00:00+01:00")
	require.Equal(t, 201, status)
	require.Equal(t, map[string]any{"min_shadow_decisions": 1.0, "min_outcome_coverage": 0.5, "max_abstention_rate": 0.5}, made["success_criteria"])
	require.Equal(t, "2026-03-01T11:00:00.000Z", made["ends_at"])
	path := fmt.Sprintf("/evaluations/%s", made["id"])
	status, got := b.do(t, http.MethodGet, path, "")
	require.Equal(t, 200, status)
	require.Equal(t, made, got)
	status, list := b.do(t, http.MethodGet, "/evaluations?status=open", "")
	require.Equal(t, 200, status)
	require.Equal(t, []any{made}, list["list"])

	b.runs.fail = problem.NewUnavailable("later", durable.ErrAccepted)
	status, got = b.do(t, http.MethodPost, path+"/close", "")
	require.Equal(t, 202, status)
	require.Equal(t, "open", got["status"])
	b.runs.fail = nil
	status, got = b.do(t, http.MethodPost, path+"/close", "")
	require.Equal(t, 200, status)
	require.Equal(t, "closed", got["status"])
	status, got = b.do(t, http.MethodPost, path+"/close", "")
	require.Equal(t, 409, status)
	require.Equal(t, "evaluation_closed", got["code"])
	status, report := b.do(t, http.MethodGet, path+"/report", "")
	require.Equal(t, 200, status)
	require.Equal(t, "failed", report["result"])
}

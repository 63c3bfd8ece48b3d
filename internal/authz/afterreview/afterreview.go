// Package afterreview implements the review that follows a break-glass: others than the one who approved a hold alone say whether that was justified.
// Until they have, that person breaks no glass of the environment; after its time, no one breaks that of the policy.
package afterreview

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/reviewnote"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/displaytext"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Service lists after-reviews and takes verdicts.
type Service struct {
	store *pg.Store
	clock clock.Clock
	notes reviewnote.Vault
}

// New returns a Service.
func New(st *pg.Store, c clock.Clock, notes reviewnote.Vault) *Service {
	return &Service{store: st, clock: c, notes: notes}
}

// Queue adds the opening of an after-review to the transaction of its break-glass. Opened maps the error of one that the same person opened at the
// same time.
func Queue(ctx context.Context, q *pg.Q, b *pgx.Batch, r models.AfterReview, by events.Entry) error {
	if err := pg.Sign(ctx, q, &r); err != nil {
		return err
	}
	queueInsert(b, r)
	states, err := pg.States(ctx, q, []models.AfterReview{r})
	if err != nil {
		return err
	}
	return events.QueueChanged(b, by, states...)
}

// Opened returns the refusal for the error of a transaction that Queue added to; other errors stay as they are.
func Opened(err error) error {
	if pg.Violates(err, openIndex) {
		return ownOpen()
	}
	return err
}

func ownOpen() error {
	return problem.New(problem.Conflict, "A break-glass of yours in this environment waits for its review. You can break the glass again when others have closed it.")
}

// Refuse returns why an actor may not break the glass of an action at a time; nil if nothing open bars it.
func Refuse(ctx context.Context, q *pg.Q, s pg.Scope, actor, action string, at time.Time) error {
	open, err := openIn(ctx, q, s)
	if err != nil || len(open) == 0 {
		return err
	}
	actors := []string{actor}
	for _, r := range open {
		actors = append(actors, r.BrokenBy)
	}
	behind, err := identity.ActorsBehind(ctx, q, s, actors...)
	if err != nil {
		return err
	}
	for _, r := range open {
		switch {
		case behind[actor].MayBeSame(behind[r.BrokenBy]):
			return ownOpen()
		case r.ActionID == action && !at.Before(r.DueAt):
			return problem.New(problem.Conflict, "An earlier break-glass of this policy was not reviewed in time. No one can break the glass until others have closed that review.")
		}
	}
	return nil
}

// View is AfterReview of the contract.
type View struct {
	Authorization string    `json:"authorization"`
	Action        string    `json:"action"`
	BrokenBy      string    `json:"broken_by"`
	Team          string    `json:"team"`
	Reason        *string   `json:"reason"` // null once it was erased, or its retention has passed
	Status        string    `json:"status"`
	OpenedAt      string    `json:"opened_at"`
	DueAt         string    `json:"due_at"`
	Overdue       bool      `json:"overdue"`
	ClosedAt      *string   `json:"closed_at"`
	Approvals     int       `json:"approvals"`
	Verdicts      []Verdict `json:"verdicts"`
}

// Verdict is the verdict of one reviewer.
type Verdict struct {
	Reviewer string  `json:"reviewer"`
	Verdict  string  `json:"verdict"`
	Note     *string `json:"note"` // null as Reason is
	At       string  `json:"at"`
}

// AnyOpen reports whether an after-review of the environment is open.
func (s *Service) AnyOpen(ctx context.Context, scope pg.Scope) (bool, error) {
	return anyOpen(ctx, s.store.Q, scope)
}

// List returns a page of after-reviews, newest first; an empty status is all.
func (s *Service) List(ctx context.Context, scope pg.Scope, status models.AfterReviewStatus, p pg.Page) ([]View, string, error) {
	rows, next, err := list(ctx, s.store.Q, scope, status, p)
	if err != nil {
		return nil, "", err
	}
	out, err := s.views(ctx, s.store.Q, scope, rows)
	return out, next, err
}

// views completes rows with their verdicts and notes.
func (s *Service) views(ctx context.Context, q *pg.Q, scope pg.Scope, rows []models.AfterReview) ([]View, error) {
	var ids, actions []string
	for _, r := range rows {
		ids, actions = append(ids, r.AuthorizationID), append(actions, r.ActionID)
	}
	if len(rows) == 0 {
		return []View{}, nil
	}
	keys, err := actionKeys(ctx, q, scope, actions)
	if err != nil {
		return nil, err
	}
	verdicts, err := verdictsOf(ctx, q, scope, ids)
	if err != nil {
		return nil, err
	}
	notes, err := notesOf(ctx, q, scope, ids)
	if err != nil {
		return nil, err
	}
	text := func(id, reviewer, digest string) (*string, error) {
		for _, n := range notes {
			if n.AuthorizationID == id && n.Reviewer == reviewer && n.NoteDigest == digest {
				opened, err := s.notes.Open(id, reviewer, n.Note)
				return &opened, err
			}
		}
		return nil, nil
	}
	out := make([]View, len(rows))
	for i, r := range rows {
		out[i] = View{
			Authorization: r.AuthorizationID, Action: keys[r.ActionID], BrokenBy: r.BrokenBy, Team: r.Team, Status: string(r.Status), Approvals: r.Approvals,
			OpenedAt: apitime.Time(r.OpenedAt), DueAt: apitime.Time(r.DueAt), ClosedAt: apitime.OptionalTime(r.ClosedAt), Verdicts: []Verdict{},
			Overdue: r.Status == models.AfterReviewOpen && !s.clock.Now().Before(r.DueAt),
		}
		if out[i].Reason, err = text(r.AuthorizationID, r.BrokenBy, r.ReasonDigest); err != nil {
			return nil, err
		}
		for _, v := range verdicts {
			if v.AuthorizationID != r.AuthorizationID {
				continue
			}
			note, err := text(v.AuthorizationID, v.Reviewer, v.NoteDigest)
			if err != nil {
				return nil, err
			}
			out[i].Verdicts = append(out[i].Verdicts, Verdict{Reviewer: v.Reviewer, Verdict: string(v.Verdict), Note: note, At: apitime.Time(v.At)})
		}
	}
	return out, nil
}

// Review records the verdict of the caller. The last one that is needed closes the after-review: as justified if all verdicts are. Repeating a
// verdict changes nothing.
func (s *Service) Review(ctx context.Context, p identity.Principal, id string, verdict models.AfterReviewStatus, note string) (out View, err error) {
	if strings.TrimSpace(note) == "" {
		return out, problem.Invalid([]any{"body", "note"}, "a note must say why", "missing")
	}
	if err := displaytext.CheckLines("note", note); err != nil {
		return out, err
	}
	err = s.store.Write(ctx, func(q *pg.Q) error {
		r, err := lock(ctx, q, p.Store(), id)
		if errors.Is(err, pg.ErrNotFound) {
			return problem.NewNotFound()
		}
		if err != nil {
			return err
		}
		if r, err = s.review(ctx, q, p, r, verdict, note); err != nil {
			return err
		}
		views, err := s.views(ctx, q, p.Store(), []models.AfterReview{r})
		if err == nil {
			out = views[0]
		}
		return err
	})
	return out, err
}

func (s *Service) review(ctx context.Context, q *pg.Q, p identity.Principal, r models.AfterReview, verdict models.AfterReviewStatus, note string) (models.AfterReview, error) {
	given, err := verdictsOf(ctx, q, p.Store(), []string{r.AuthorizationID})
	if err != nil {
		return r, err
	}
	own := slices.IndexFunc(given, func(v models.AfterVerdict) bool { return v.Reviewer == p.Actor() })
	switch {
	case own >= 0 && given[own].Verdict == verdict:
		return r, nil
	case own >= 0:
		return r, problem.New(problem.Conflict, "You have given the other verdict, and a verdict is final.")
	case r.Status != models.AfterReviewOpen:
		return r, problem.Newf(problem.Conflict, "The review is closed: %s.", strings.ReplaceAll(string(r.Status), "_", " "))
	}
	v := models.AfterVerdict{
		AuthorizationID: r.AuthorizationID, EnvironmentID: r.EnvironmentID, TenantID: r.TenantID, Reviewer: p.Actor(), Verdict: verdict,
		NoteDigest: canonical.DigestBytes([]byte(note)), At: s.clock.Now(),
	}
	if v.Principal, err = refuseReviewer(ctx, q, r, given, p.Actor()); err != nil {
		return r, err
	}
	sealed, err := s.notes.Seal(r.AuthorizationID, p.Actor(), note)
	if err != nil {
		return r, err
	}
	if err := insertNote(ctx, q, models.ReviewNote{
		AuthorizationID: r.AuthorizationID, TenantID: r.TenantID, EnvironmentID: r.EnvironmentID, Reviewer: v.Reviewer, NoteDigest: v.NoteDigest, Note: sealed, WrittenAt: v.At,
	}); err != nil {
		return r, err
	}
	if err := insertVerdict(ctx, q, &v); err != nil {
		return r, err
	}
	given = append(given, v)
	entry, err := entryOf(ctx, q, r, v.At)
	if err != nil {
		return r, err
	}
	entry.Actor, entry.RequestID = p.Actor(), p.RequestID
	entry.Data = events.AfterReviewGivenData{Verdict: string(verdict), Given: len(given), Approvals: r.Approvals}
	if err := events.Append(ctx, q, entry); err != nil || len(given) < r.Approvals {
		return r, err
	}
	return closeReview(ctx, q, r, given, entry)
}

// closeReview closes an after-review that has its verdicts.
func closeReview(ctx context.Context, q *pg.Q, r models.AfterReview, given []models.AfterVerdict, entry events.Entry) (models.AfterReview, error) {
	status := models.AfterReviewJustified
	if slices.ContainsFunc(given, func(v models.AfterVerdict) bool { return v.Verdict != models.AfterReviewJustified }) {
		status = models.AfterReviewNotJustified
	}
	closed, err := pg.Change[models.AfterReview](ctx, q, "tenant_id = @tenant and environment_id = @environment and authorization_id = @id and status = 'open'",
		"status = @status, closed_at = @at",
		map[string]any{"tenant": r.TenantID, "environment": r.EnvironmentID, "id": r.AuthorizationID, "status": string(status), "at": entry.At})
	if err != nil || len(closed) == 0 {
		return r, err
	}
	entry.Data = events.AfterReviewClosedData{BrokenBy: r.BrokenBy, Verdict: string(status)}
	return closed[0], events.Append(ctx, q, entry)
}

// refuseReviewer refuses a verdict of the one who broke the glass or requested the action, of one who may be either, and of one who may have given a
// verdict already. It returns the principal of the others.
func refuseReviewer(ctx context.Context, q *pg.Q, r models.AfterReview, given []models.AfterVerdict, actor string) (string, error) {
	scope := pg.Scope{Tenant: r.TenantID, Environment: r.EnvironmentID}
	barred := []string{r.BrokenBy, r.RequestedBy}
	if r.RequesterPerson != nil {
		barred = append(barred, "person:"+*r.RequesterPerson)
	}
	for _, v := range given {
		barred = append(barred, v.Reviewer)
	}
	behind, err := identity.ActorsBehind(ctx, q, scope, append(slices.Clone(barred), actor)...)
	if err != nil {
		return "", err
	}
	by := behind[actor]
	for i, other := range barred {
		if !by.MayBeSame(behind[other]) {
			continue
		}
		if i < len(barred)-len(given) {
			return "", problem.New(problem.SelfReview, "A break-glass is reviewed by others than the one who broke the glass and the one who requested the action, and you are or may be one of them.")
		}
		return "", problem.New(problem.Conflict, "You are, or may be, a person who has given a verdict. Each verdict is a different person's.")
	}
	counts, err := confirmed(ctx, q, r.TenantID, by.Principal, r.OpenedAt)
	if err == nil && (by.Former != "" || !counts) {
		err = problem.New(problem.Forbidden, "A verdict is given by a person whom a second operator had confirmed when the review was opened. Ask an operator to confirm you under People, for later ones.")
	}
	return by.Principal, err
}

// MarkOverdue records that an after-review was not closed in time, once. What it bars it bars from DueAt on, whether or not this was recorded.
func (s *Service) MarkOverdue(ctx context.Context, environment, id string, at time.Time, by string) error {
	return s.store.Write(ctx, func(q *pg.Q) error {
		rows, err := pg.Change[models.AfterReview](ctx, q, "environment_id = @environment and authorization_id = @id and status = 'open' and due_at <= @at and overdue_at is null",
			"overdue_at = @at", map[string]any{"environment": environment, "id": id, "at": at})
		if err != nil || len(rows) == 0 {
			return err
		}
		entry, err := entryOf(ctx, q, rows[0], at)
		if err != nil {
			return err
		}
		entry.Actor, entry.WorkflowID = "workflow:"+by, by
		entry.Data = events.AfterReviewOverdueData{BrokenBy: rows[0].BrokenBy, DueAt: apitime.Time(rows[0].DueAt)}
		return events.Append(ctx, q, entry)
	})
}

// entryOf returns an event about an after-review.
func entryOf(ctx context.Context, q *pg.Q, r models.AfterReview, at time.Time) (events.Entry, error) {
	scope := pg.Scope{Tenant: r.TenantID, Environment: r.EnvironmentID}
	keys, err := actionKeys(ctx, q, scope, []string{r.ActionID})
	return events.Entry{Scope: scope, At: at, Action: keys[r.ActionID], AuthorizationID: r.AuthorizationID}, err
}

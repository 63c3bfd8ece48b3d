// Package standing implements standing approvals: one approval, by the subject's passkey or by reviewers, that allows several requests. Each use is a
// decision of its own (internal/authz/authorization), which reserves what it uses here.
//
// A standing approval ends with what it rests on: its subject and passkey, the authority of its approvers, its policy version and its time. What has
// ended by these allows nothing from then on, whether or not an event has recorded it.
package standing

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// MaxInForce is how many standing approvals of a subject are in force or wait for their approval at a time.
const MaxInForce = 100

// Service lists and revokes standing approvals.
type Service struct {
	store *pg.Store
	clock clock.Clock
	vault Vault
}

// New returns a Service.
func New(st *pg.Store, c clock.Clock, keys *keyring.Keyring) *Service {
	return &Service{store: st, clock: c, vault: NewVault(keys)}
}

// The statuses that a View has besides those that are stored.
const (
	StatusNotApproved = "not_approved" // its challenge or hold was not approved
	StatusUsedUp      = "used_up"
)

// View is StandingApproval of the contract.
type View struct {
	ID            string `json:"id"`
	Subject       string `json:"subject"`
	Action        string `json:"action"`
	PolicyVersion int    `json:"policy_version"`
	By            string `json:"by"`
	Status        string `json:"status"`
	// Sentence says in English what is allowed.
	Sentence  string    `json:"sentence"`
	Audience  string    `json:"audience"`
	Resource  Resource  `json:"resource"`
	Agent     *string   `json:"agent"` // null for any
	MaxUses   int       `json:"max_uses"`
	Uses      int       `json:"uses"`
	MaxAmount *Amount   `json:"max_amount"`
	Used      *string   `json:"amount_used"` // null without max_amount
	EndsAt    string    `json:"ends_at"`
	CreatedAt string    `json:"created_at"`
	CreatedBy string    `json:"created_by"`
	BegunAt   *string   `json:"begun_at"`
	EndedAt   *string   `json:"ended_at"`
	EndedBy   *string   `json:"ended_by"`
	EndReason *string   `json:"end_reason"`
	Decision  string    `json:"authorization"` // the newest decision about its approval
	Allowance Allowance `json:"-"`
}

// Resource is on what the action is allowed. ID is null for a pattern.
type Resource struct {
	Type    string  `json:"type"`
	ID      *string `json:"id"`
	Pattern string  `json:"pattern"` // same, prefix or any
	Prefix  *string `json:"prefix"`
}

// Amount is the most that all uses together may come to.
type Amount struct {
	Amount   string  `json:"amount"`
	Currency *string `json:"currency"` // null for an amount without a currency
}

// Live reports whether it allows requests now, or may after something is given back.
func (v View) Live() bool {
	return v.Status == string(models.StandingActive) || v.Status == StatusUsedUp
}

// AmountLeft returns what further uses together may come to; empty without a limit.
func (v View) AmountLeft() string {
	if v.MaxAmount == nil || v.Used == nil {
		return ""
	}
	limit, ok := new(big.Rat).SetString(v.MaxAmount.Amount)
	used, ok2 := new(big.Rat).SetString(*v.Used)
	if !ok || !ok2 {
		return ""
	}
	return limit.Sub(limit, used).FloatString(max(decimals(v.MaxAmount.Amount), decimals(*v.Used)))
}

func decimals(number string) int {
	_, after, _ := strings.Cut(number, ".")
	return len(after)
}

// Get returns one standing approval.
func (s *Service) Get(ctx context.Context, scope pg.Scope, id string) (View, error) {
	r, err := get(ctx, s.store.Q, scope, id, s.clock.Now())
	if errors.Is(err, pg.ErrNotFound) {
		return View{}, problem.NewNotFound()
	}
	if err != nil {
		return View{}, err
	}
	return s.view(ctx, r)
}

// List returns a page of standing approvals, newest first; an empty subject is all.
func (s *Service) List(ctx context.Context, scope pg.Scope, subject string, p pg.Page) ([]View, string, error) {
	uid := ""
	if subject != "" {
		row, err := subjectrow.Get(ctx, s.store.Q, scope, subject)
		if errors.Is(err, pg.ErrNotFound) {
			return []View{}, "", nil
		}
		if err != nil {
			return nil, "", err
		}
		uid = row.UID
	}
	rows, next, err := list(ctx, s.store.Q, scope, uid, s.clock.Now(), p)
	if err != nil {
		return nil, "", err
	}
	out := make([]View, len(rows))
	for i, r := range rows {
		if out[i], err = s.view(ctx, r); err != nil {
			return nil, "", err
		}
	}
	return out, next, nil
}

// InForceOf returns the standing approvals of a subject that are in force, newest first.
func (s *Service) InForceOf(ctx context.Context, scope pg.Scope, uid string) ([]View, error) {
	rows, err := inForceOf(ctx, s.store.Q, scope, uid, s.clock.Now())
	if err != nil {
		return nil, err
	}
	var out []View
	for _, r := range rows {
		v, err := s.view(ctx, r)
		if err != nil {
			return nil, err
		}
		if v.Live() {
			out = append(out, v)
		}
	}
	return out, nil
}

// view returns the contract's view of a row as of now.
func (s *Service) view(ctx context.Context, r stored) (View, error) {
	terms, err := s.vault.Open(r.StandingApproval)
	if err != nil {
		return View{}, err
	}
	if r.Over == nil && r.Status == models.StandingActive {
		held, err := Unapproved(ctx, s.store.Q, r.StandingApproval, s.clock.Now())
		if err != nil {
			return View{}, err
		}
		if held {
			lost := ReasonApprover
			r.Over = &lost
		}
	}
	allowance := AllowanceOf(r.StandingApproval, r.ActionName, terms)
	out := View{
		ID: r.ID, Subject: r.Subject, Action: r.ActionKey, PolicyVersion: r.PolicyVersion, By: r.Source, Status: r.status(), Sentence: allowance.Sentence(English),
		Audience: r.Audience, Resource: Resource{Type: r.ResourceType, Pattern: terms.pattern()}, MaxUses: r.MaxUses, Uses: r.Uses,
		EndsAt: apitime.Time(r.EndsAt), CreatedAt: apitime.Time(r.CreatedAt), CreatedBy: r.CreatedBy, BegunAt: apitime.OptionalTime(r.BegunAt),
		EndedAt: apitime.OptionalTime(r.EndedAt), EndedBy: r.EndedBy, EndReason: r.EndReason, Decision: r.AuthorizationID, Allowance: allowance,
	}
	switch {
	case terms.Prefix != "":
		out.Resource.Prefix = &terms.Prefix
	case !terms.Any:
		out.Resource.ID = &terms.Resource
	}
	if terms.Agent != "" {
		out.Agent = &terms.Agent
	}
	if r.MaxAmount != nil {
		out.MaxAmount, out.Used = &Amount{Amount: *r.MaxAmount}, &r.AmountUsed
		if r.Currency != "" {
			out.MaxAmount.Currency = &r.Currency
		}
	}
	if r.Status == models.StandingActive && r.Over != nil {
		out.EndReason = r.Over
	}
	return out, nil
}

// status returns the status of a row: what has ended by what it rests on is ended, although no event has recorded it yet.
func (r stored) status() string {
	switch {
	case r.Status == models.StandingPending && !r.Waits:
		return StatusNotApproved
	case r.Status == models.StandingActive && r.Over != nil:
		return string(models.StandingEnded)
	case r.Status == models.StandingActive && r.Uses >= r.MaxUses:
		return StatusUsedUp
	}
	return string(r.Status)
}

// Revoke ends a standing approval. Revoking one that has ended changes nothing.
func (s *Service) Revoke(ctx context.Context, p identity.Principal, id string) (View, error) {
	return s.revoke(ctx, p.Store(), id, Ending{Reason: ReasonRevoked, By: p.Actor(), RequestID: p.RequestID, At: s.clock.Now()})
}

func (s *Service) revoke(ctx context.Context, scope pg.Scope, id string, e Ending) (View, error) {
	err := s.store.Write(ctx, func(q *pg.Q) error {
		q = q.AsStored()
		if _, err := get(ctx, q, scope, id, e.At); errors.Is(err, pg.ErrNotFound) {
			return problem.NewNotFound()
		} else if err != nil {
			return err
		}
		return e.end(ctx, q, scope, "id = @id", map[string]any{"id": id})
	})
	if err != nil {
		return View{}, err
	}
	return s.Get(ctx, scope, id)
}

// Sweep ends at most limit standing approvals of any environment that what they rest on has ended, each with its event, and returns how many.
func (s *Service) Sweep(ctx context.Context, at time.Time, by string, limit int) (int, error) {
	over, err := overIn(ctx, s.store.Q, at, limit)
	if err != nil {
		return 0, err
	}
	for i, o := range over {
		if err := s.record(ctx, o, at, by); err != nil {
			return i, err
		}
	}
	return len(over), nil
}

// SweepReviewed ends the standing approvals of any environment whose reviewers have lost the authority to give them, reading a page at a time. One that
// cannot be checked does not keep it from the others.
func (s *Service) SweepReviewed(ctx context.Context, at time.Time, by string, page int) error {
	var faults error
	for after := ""; ; {
		rows, err := reviewed(ctx, s.store.Q, after, page)
		if err != nil {
			return errors.Join(faults, err)
		}
		for _, r := range rows {
			lost, err := Unapproved(ctx, s.store.Q, r, at)
			if err == nil && lost {
				err = s.record(ctx, ended{r.TenantID, r.EnvironmentID, r.ID, ReasonApprover}, at, by)
			}
			if after = r.ID; err != nil {
				faults = errors.Join(faults, fmt.Errorf("standing approval %s: %w", r.ID, err))
			}
		}
		if len(rows) < page {
			return faults
		}
	}
}

// record ends a standing approval that allows nothing any more.
func (s *Service) record(ctx context.Context, o ended, at time.Time, by string) error {
	return s.store.Write(ctx, func(q *pg.Q) error {
		e := Ending{Reason: o.Reason, By: "workflow:" + by, WorkflowID: by, At: at}
		return e.end(ctx, q.AsStored(), pg.Scope{Tenant: o.Tenant, Environment: o.Environment}, "id = @id", map[string]any{"id": o.ID})
	})
}

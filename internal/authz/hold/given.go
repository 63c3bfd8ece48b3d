package hold

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/strictjson"
	"github.com/countersign-dev/countersign/models"
)

const (
	// UndoTime is how long a review that was given in the console can be undone before the outbox relay makes it.
	UndoTime = 5 * time.Second
	// GivenLife is how late a review is still made, if no worker could make it before. It must be given again later.
	GivenLife = time.Hour
	// remarkLife is how long a remark is stored for a reviewer who does not read it.
	remarkLife = 7 * 24 * time.Hour
	// LateAfter is how long a worker needs at most to make a review, unless it fails. From then on its reviewer may withdraw it.
	LateAfter = 5 * time.Second
)

// Given is the result of giving one review: it waits, or is refused (Err), or Done says that there is nothing left to do.
type Given struct {
	Done Reviewed
	Err  error
}

// givenBy is the payload of the outbox row of a given review, whose ref is the authorization.
type givenBy struct {
	Reviewer string `json:"reviewer"`
}

// Give stores the same review of each hold. They are made together after UndoTime, each as Reviewer.Review would make it then, unless the
// reviewer undoes them. What Review would refuse now is refused now. A later review of the reviewer replaces one that waits.
func (s *Service) Give(ctx context.Context, p identity.Principal, vote Vote, ids ...string) ([]Given, error) {
	out := make([]Given, len(ids))
	var rows []models.GivenReview
	for i, id := range ids {
		_, review, _, err := s.checkReview(ctx, p, id, vote)
		out[i] = Given{Done: Reviewed{Receipt: review.Receipt, Pending: review.Pending}, Err: err}
		if err != nil || review.done() {
			continue
		}
		row := models.GivenReview{
			AuthorizationID: id, EnvironmentID: p.EnvironmentID, TenantID: p.TenantID, Reviewer: p.Actor(), Step: review.step, Resolution: vote.Resolution, RequestID: p.RequestID,
		}
		if vote.Note != nil {
			if row.Note, err = s.notes.Seal(id, p.Actor(), *vote.Note); err != nil {
				return nil, err
			}
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return out, nil
	}
	now := s.clock.Now()
	defer s.store.Wake(pg.ChannelDesk, p.EnvironmentID) // colleagues see that it waits
	for i := range rows {
		rows[i].GivenAt, rows[i].DueAt = now, now.Add(UndoTime)
	}
	return out, s.store.Write(ctx, func(q *pg.Q) error {
		if err := insertGiven(ctx, q, rows, now.Add(-remarkLife)); err != nil {
			return err
		}
		if err := stopApprovals(ctx, q, p.EnvironmentID, ids...); err != nil {
			return err
		}
		for _, r := range rows {
			err := outbox.Add(ctx, q, outbox.Item{
				Topic: outbox.TopicReview, Environment: r.EnvironmentID, Ref: r.AuthorizationID, Payload: givenBy{r.Reviewer}, At: now, Due: r.DueAt,
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Given returns the reviews of the caller that wait or have a remark, newest first, for display only.
func (s *Service) Given(ctx context.Context, p identity.Principal) ([]models.GivenReview, error) {
	return givenBefore(ctx, s.store.Q, p.Store(), p.Actor())
}

// GivenByOthers returns the reviews of a hold by others than the caller that wait, the earliest first, for display only.
func (s *Service) GivenByOthers(ctx context.Context, p identity.Principal, id string) ([]models.GivenReview, error) {
	return waitingOf(ctx, s.store.Q, p.Store(), p.Actor(), id)
}

// Undone is a review that was taken back before it was made, or whose remark was read.
type Undone struct {
	models.GivenReview
	Text string // of the note; empty for none
}

// Undo takes back reviews of the caller that no worker makes yet or could make, and removes those whose remark was read. It returns them; the
// others are made, or were.
func (s *Service) Undo(ctx context.Context, p identity.Principal, ids ...string) ([]Undone, error) {
	var rows []models.GivenReview
	err := s.store.Write(ctx, func(q *pg.Q) (err error) {
		rows, err = deleteGiven(ctx, q, p.Store(), p.Actor(), ids, s.clock.Now().Add(-LateAfter))
		return err
	})
	if len(rows) > 0 {
		s.store.Wake(pg.ChannelDesk, p.EnvironmentID)
	}
	out := make([]Undone, len(rows))
	for i, row := range rows {
		out[i] = Undone{GivenReview: row}
		if err == nil && row.Note != nil {
			out[i].Text, err = s.notes.Open(row.AuthorizationID, row.Reviewer, row.Note)
		}
	}
	return out, err
}

// Make makes a review that was given, for the outbox relay, unless it was undone or replaced. A remark that the reviewer has to read stays.
func (r *Reviewer) Make(ctx context.Context, row models.Outbox) error {
	var by givenBy
	if err := strictjson.Unmarshal(row.Payload, &by); err != nil {
		return err
	}
	s := r.holds
	// Two that were given at the same moment did not see each other.
	if err := stopApprovals(ctx, s.store.Q, row.EnvironmentID, row.Ref); err != nil {
		return err
	}
	given, err := takeGiven(ctx, s.store.Q, models.GivenReview{EnvironmentID: row.EnvironmentID, AuthorizationID: row.Ref, Reviewer: by.Reviewer}, s.clock.Now())
	if errors.Is(err, pg.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	remark, err := r.make(ctx, given)
	if err != nil {
		return err
	}
	if remark == nil {
		return removeGiven(ctx, s.store.Q, given)
	}
	if err := setRemark(ctx, s.store.Q, given, *remark); err != nil {
		return err
	}
	s.store.Wake(pg.ChannelDesk, given.EnvironmentID)
	return nil
}

// make makes the review with the authority that the reviewer has now, and returns the remark for them: why it was not made, or "" if the
// decision that followed is not the one that they approved; nil for none.
func (r *Reviewer) make(ctx context.Context, given models.GivenReview) (remark *string, err error) {
	s, scope := r.holds, pg.Scope{Tenant: given.TenantID, Environment: given.EnvironmentID}
	if s.clock.Now().After(given.DueAt.Add(GivenLife)) {
		return new("The service could not make it within an hour."), nil
	}
	may, err := isReviewer(ctx, s.store.Q, scope, given.Reviewer)
	if err != nil {
		return nil, err
	}
	if !may {
		return new("You are no longer a reviewer of this environment."), nil
	}
	env, err := tenancy.GetEnvironment(ctx, s.store.Q, scope)
	if err != nil {
		return nil, err
	}
	var note *string
	if given.Note != nil {
		text, err := s.notes.Open(given.AuthorizationID, given.Reviewer, given.Note)
		if err != nil {
			return nil, err
		}
		note = &text
	}
	p := identity.Principal{TenantID: given.TenantID, EnvironmentID: given.EnvironmentID, Kind: env.Kind, Person: personOf(given.Reviewer), RequestID: given.RequestID}
	done, err := r.Review(ctx, p, given.AuthorizationID, Vote{Resolution: given.Resolution, Note: note, given: &given})
	if refused := problem.As(err); refused != nil && problem.Of(refused.Code).Status < http.StatusInternalServerError {
		return &refused.Detail, nil
	}
	if err == nil && done.denied() {
		return new(""), nil
	}
	return nil, err
}

// denied reports whether the decision that followed an approval is not allow.
func (r Reviewed) denied() bool {
	var receipt struct {
		Resolution string `json:"resolution"`
		Decision   struct {
			Decision policy.Effect `json:"decision"`
		} `json:"decision"`
	}
	return strictjson.Unmarshal(r.Receipt, &receipt) == nil && receipt.Resolution == Approve && receipt.Decision.Decision != policy.Allow
}

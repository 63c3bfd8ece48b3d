package subject

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// The states of an erasure.
const (
	Erasing   = "erasing"
	Completed = "completed"
)

// What one step of an erasure touches at most, so that no transaction is long.
const (
	rowBatch     = 2000
	workflowPage = 100
	responsePage = 500 // a page
)

// Receipt is ErasureReceipt.
type Receipt struct {
	Subject     string
	Erasure     string
	Status      string
	RequestedAt time.Time
}

// Erase hides the subject at once, frees its id, voids what is open, and has the run started that removes the rest.
func (s *Service) Erase(ctx context.Context, p identity.Principal, id string) (Receipt, error) {
	now := s.clock.Now()
	erasure := models.Erasure{
		ID: ids.New(ids.Erasure), TenantID: p.TenantID, EnvironmentID: p.EnvironmentID, Status: Erasing, Subject: &id,
		RequestedBy: p.Actor(), RequestedAt: now, Removed: models.JSON("{}"),
	}
	err := s.store.Write(ctx, func(q *store.Q) error {
		row, err := q.Subjects().Lock(ctx, p.Store(), id)
		if err != nil {
			return notFound(err)
		}
		erasure.SubjectUID = &row.UID
		data := map[string]any{"erasure": erasure.ID}
		if err := events.Append(ctx, q, entry(p, row, events.SubjectErasureRequested, now, data)); err != nil {
			return err
		}
		if err := voidAll(ctx, q, p, row, now); err != nil {
			return err
		}
		if _, err := q.Erasures().HideSubject(ctx, p.Store(), row.UID, now); err != nil {
			return err
		}
		if err := q.Erasures().Create(ctx, erasure); err != nil {
			return err
		}
		return outbox.Add(ctx, q, outbox.Item{
			Topic: outbox.TopicErasureStart, Environment: p.EnvironmentID, Ref: erasure.ID, At: now,
		})
	})
	return Receipt{Subject: id, Erasure: erasure.ID, Status: Erasing, RequestedAt: now}, err
}

func voidAll(ctx context.Context, q *store.Q, p identity.Principal, row models.Subject, now time.Time) error {
	void := Void{Subject: row, Reason: ReasonErasure, At: now, Actor: p.Actor(), RequestID: p.RequestID}
	if _, err := void.Proofs(ctx, q); err != nil {
		return err
	}
	if _, err := void.Challenges(ctx, q); err != nil {
		return err
	}
	return void.ClientTokens(ctx, q)
}

// Run is what the run of an erasure is started with.
type WorkflowInput struct {
	Erasure     string
	Environment string
}

// Run is looked up by id for the outbox relay; false where the erasure is over.
func (s *Service) WorkflowInput(ctx context.Context, id string) (WorkflowInput, bool, error) {
	e, err := s.store.Erasures().Get(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return WorkflowInput{}, false, nil
	}
	return WorkflowInput{Erasure: e.ID, Environment: e.EnvironmentID}, err == nil && e.Status == Erasing, err
}

// Runs lists the runs that were started for the subject of an erasure, some at a time; the last is where to go on from.
// None is the end.
func (s *Service) Workflows(ctx context.Context, erasure string, after store.WorkflowRef) ([]store.WorkflowRef, error) {
	e, err := s.store.Erasures().Get(ctx, erasure)
	if err != nil || e.SubjectUID == nil {
		return nil, ignoreNotFound(err)
	}
	return s.store.Erasures().WorkflowsOfSubject(ctx, *e.SubjectUID, after, workflowPage)
}

// Sweep removes some of what is held of the subject and reports whether there is more. It is safe to repeat.
func (s *Service) Sweep(ctx context.Context, erasure string) (more bool, err error) {
	err = s.store.Write(ctx, func(q *store.Q) error {
		e, err := q.Erasures().Lock(ctx, erasure)
		if err != nil || e.SubjectUID == nil {
			return ignoreNotFound(err)
		}
		var removed map[string]int64
		if removed, more, err = q.Erasures().EraseRows(ctx, *e.SubjectUID, rowBatch); err != nil {
			return err
		}
		vectors, err := s.research.Forget(ctx, q, e.EnvironmentID, *e.SubjectUID)
		if err != nil {
			return err
		}
		var answers int64
		if !more { // once, at the end: it looks at every answer of the environment
			if answers, err = s.eraseStoredResponses(ctx, q, e.EnvironmentID, *e.Subject); err != nil {
				return err
			}
		}
		return addToReceipt(ctx, q, e, removed, map[string]int64{"research_vectors": vectors, "answers": answers})
	})
	return more, err
}

// AnswerPurpose is the keyring purpose under which the answers kept for the Idempotency-Key header are sealed, with the
// credential's id, a space and the key as additional data.
const ResponsePurpose = "idempotency"

// eraseAnswers removes the kept answers that name the subject as a JSON string. They are sealed, so each is opened.
func (s *Service) eraseStoredResponses(ctx context.Context, q *store.Q, environment, subject string) (int64, error) {
	name, err := json.Marshal(subject)
	if err != nil {
		return 0, err
	}
	var removed int64
	var last models.IdempotencyKey
	for {
		rows, err := q.Erasures().StoredResponses(ctx, environment, last, responsePage)
		if err != nil || len(rows) == 0 {
			return removed, err
		}
		for _, r := range rows {
			last = r
			body, err := s.keys.Open(ResponsePurpose, r.Body, []byte(r.CredentialID+" "+r.Key))
			// What cannot be opened can be replayed to nobody; it goes too.
			if err == nil && !bytes.Contains(body, name) {
				continue
			}
			if err := q.Erasures().DeleteStoredResponse(ctx, r); err != nil {
				return removed, err
			}
			removed++
		}
	}
}

// Finish erases the personal part of the subject's events and, once nothing is left, the subject itself. It reports
// whether there is more to do; when there is not, the receipt is all that remains.
func (s *Service) Finish(ctx context.Context, erasure, workflowID string, at time.Time) (more bool, err error) {
	err = s.store.Write(ctx, func(q *store.Q) error {
		e, err := q.Erasures().Lock(ctx, erasure)
		if err != nil || e.SubjectUID == nil {
			return ignoreNotFound(err)
		}
		n, err := q.Erasures().EraseEvents(ctx, *e.SubjectUID, at, rowBatch)
		if err != nil {
			return err
		}
		if err := addToReceipt(ctx, q, e, map[string]int64{"events": n}); err != nil {
			return err
		}
		// A request that was under way when the subject was hidden may have added rows since the last sweep.
		late, unfinished, err := q.Erasures().EraseRows(ctx, *e.SubjectUID, rowBatch)
		if err != nil {
			return err
		}
		if err := addToReceipt(ctx, q, e, late); err != nil {
			return err
		}
		if more = unfinished || n == rowBatch; more {
			return nil
		}
		return closeErasure(ctx, q, e, workflowID, at)
	})
	return more, err
}

func closeErasure(ctx context.Context, q *store.Q, e models.Erasure, workflowID string, at time.Time) error {
	if err := q.Erasures().DeleteSubject(ctx, *e.SubjectUID); err != nil {
		return err
	}
	if _, err := q.Erasures().Finish(ctx, e.ID, at); err != nil {
		return err
	}
	total, err := q.Erasures().Get(ctx, e.ID)
	if err != nil {
		return err
	}
	return events.Append(ctx, q, events.Entry{
		Scope: store.Scope{Tenant: e.TenantID, Environment: e.EnvironmentID}, Type: events.SubjectErased, At: at,
		Actor: "workflow:" + workflowID, WorkflowID: workflowID,
		Data: map[string]any{"erasure": e.ID, "removed": sum(total.Removed), "events": counts(total.Removed)["events"]},
	})
}

// count adds what was removed to the receipt.
func addToReceipt(ctx context.Context, q *store.Q, e models.Erasure, more ...map[string]int64) error {
	current, err := q.Erasures().Get(ctx, e.ID)
	if err != nil {
		return err
	}
	removed := counts(current.Removed)
	for _, m := range more {
		for kind, n := range m {
			if n > 0 {
				removed[kind] += n
			}
		}
	}
	raw, err := json.Marshal(removed)
	if err != nil {
		return err
	}
	return q.Erasures().Count(ctx, e.ID, raw)
}

func counts(raw models.JSON) map[string]int64 {
	out := map[string]int64{}
	_ = json.Unmarshal(raw, &out) // ours, and only a count
	return out
}

func sum(raw models.JSON) int64 {
	var n int64
	for _, v := range counts(raw) {
		n += v
	}
	return n
}

func ignoreNotFound(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

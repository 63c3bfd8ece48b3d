package subject

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/authz/aggregate"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/authz/lists"
	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// The states of an erasure, as the contract names them.
const (
	Erasing   = "erasing"
	Completed = "completed"
)

// The most rows that one step of an erasure changes or reads, to keep transactions short.
const (
	rowBatch     = 2000
	workflowPage = 100
	responsePage = 500 // stored responses, which must be decrypted to be searched
)

// Receipt confirms that an erasure was started (ErasureReceipt of the contract).
type Receipt struct {
	Subject     string // the relying party's id, which may be reused
	Erasure     string // id of the erasure
	Status      string // Erasing or Completed
	RequestedAt time.Time
}

// An erasure has four steps, each safe to repeat. Erase hides the subject in the caller's request; the erasure workflow then
// deletes the histories of the subject's workflows (Workflows), deletes its rows (Sweep) and finally erases the personal part
// of its events and the subject itself (Finish). docs/retention.md describes what remains.

// Erase starts the erasure of a subject. In one transaction it hides the subject, frees its id for reuse, ends what is
// open for it, and schedules the workflow that deletes the data. The subject cannot be found from then on.
func (s *Service) Erase(ctx context.Context, p identity.Principal, id string) (Receipt, error) {
	now := s.clock.Now()
	erasure := models.Erasure{
		ID: ids.New(ids.Erasure), TenantID: p.TenantID, EnvironmentID: p.EnvironmentID, Status: Erasing, Subject: &id,
		RequestedBy: p.Actor(), RequestedAt: now, Removed: models.JSON("{}"),
	}
	err := s.store.Write(ctx, func(q *pg.Q) error {
		q = q.AsStored()
		row, err := subjectrow.Lock(ctx, q, p.Store(), id)
		if err != nil {
			return notFound(err)
		}
		erasure.SubjectUID = &row.UID
		if err := s.rememberTerms(ctx, q, row, now); err != nil {
			return err
		}
		data := events.SubjectErasureRequestedData{Erasure: erasure.ID}
		if err := events.Append(ctx, q, entry(p, row, now, data)); err != nil {
			return err
		}
		void := Void{Subject: row, Reason: ReasonErasure, At: now, Actor: p.Actor(), RequestID: p.RequestID}
		if err := void.Open(ctx, q); err != nil {
			return err
		}
		counted, err := aggregate.NewVault(s.keys).Carry(ctx, q, row, now)
		if err != nil {
			return err
		}
		if _, err := HideSubject(ctx, q, p.Store(), row.UID, now); err != nil {
			return err
		}
		// Before the templates are deleted: the share is computed from them.
		if err := s.counter.Recount(ctx, q, p.Store(), row.UID, now); err != nil {
			return err
		}
		if err := createErasure(ctx, q, erasure); err != nil {
			return err
		}
		if err := addToReceipt(ctx, q, erasure, map[string]int64{"aggregate_values": counted}); err != nil {
			return err
		}
		return outbox.Add(ctx, q, outbox.Item{
			Topic: outbox.TopicErasureStart, Environment: p.EnvironmentID, Ref: erasure.ID, At: now,
		})
	})
	return Receipt{Subject: id, Erasure: erasure.ID, Status: Erasing, RequestedAt: now}, err
}

// WorkflowInput is the input of the erasure workflow.
type WorkflowInput struct {
	Erasure     string
	Environment string
}

// WorkflowInput returns the input of the erasure's workflow for the outbox relay; false if the erasure is complete.
func (s *Service) WorkflowInput(ctx context.Context, environment, id string) (WorkflowInput, bool, error) {
	e, err := GetErasure(ctx, s.store.Q, environment, id)
	if errors.Is(err, pg.ErrNotFound) {
		return WorkflowInput{}, false, nil
	}
	return WorkflowInput{Erasure: e.ID, Environment: e.EnvironmentID}, err == nil && e.Status == Erasing, err
}

// Run names the erasure of a workflow run.
type Run struct {
	Erasure     string
	Environment string
}

// Workflows returns a page of the workflows that were started for the subject of an erasure, whose histories must be deleted.
// The last one of a page is the cursor of the next; an empty page is the end.
func (s *Service) Workflows(ctx context.Context, run Run, after WorkflowRef) ([]WorkflowRef, error) {
	e, err := GetErasure(ctx, s.store.Q, run.Environment, run.Erasure)
	if err != nil || e.SubjectUID == nil {
		return nil, ignoreNotFound(err)
	}
	return workflowsOfSubject(ctx, s.store.Q, e.EnvironmentID, *e.SubjectUID, after, workflowPage)
}

// Sweep deletes a batch of the subject's rows and reports whether there are more. It is safe to repeat.
func (s *Service) Sweep(ctx context.Context, run Run) (more bool, err error) {
	err = s.store.Write(ctx, func(q *pg.Q) error {
		q = q.AsStored()
		e, err := lockErasure(ctx, q, run.Environment, run.Erasure)
		if err != nil || e.SubjectUID == nil {
			return ignoreNotFound(err)
		}
		var removed map[string]int64
		if removed, more, err = eraseRows(ctx, q, e.EnvironmentID, *e.SubjectUID, rowBatch); err != nil {
			return err
		}
		vectors, err := s.research.Forget(ctx, q, e.EnvironmentID, *e.SubjectUID)
		if err != nil {
			return err
		}
		var responses, entries int64
		if !more { // once, at the end: it reads every stored response and every list of the environment
			scope := pg.Scope{Tenant: e.TenantID, Environment: e.EnvironmentID}
			var keys map[string][]string
			if entries, keys, err = lists.Forget(ctx, q, lists.NewVault(s.keys), scope, *e.Subject, s.clock.Now()); err != nil {
				return err
			}
			if err := change.Forget(ctx, q, scope, keys); err != nil {
				return err
			}
			if err := change.ForgetReasons(ctx, q, scope, *e.Subject); err != nil {
				return err
			}
			if err := change.ForgetSubject(ctx, q, scope, *e.Subject); err != nil {
				return err
			}
			if responses, err = s.eraseStoredResponses(ctx, q, e.EnvironmentID, *e.Subject); err != nil {
				return err
			}
		}
		return addToReceipt(ctx, q, e, removed, map[string]int64{"research_vectors": vectors, "answers": responses, "list_entries": entries})
	})
	return more, err
}

// ResponsePurpose is the keyring purpose that seals the responses stored for the Idempotency-Key header. The additional data
// is the credential's id, a space and the key.
const ResponsePurpose = "idempotency"

// eraseStoredResponses deletes the stored responses that contain the subject's id as a JSON string, or whose key contains it. They are sealed,
// so each must be opened.
func (s *Service) eraseStoredResponses(ctx context.Context, q *pg.Q, environment, subject string) (int64, error) {
	name, err := json.Marshal(subject)
	if err != nil {
		return 0, err
	}
	var removed int64
	var last models.IdempotencyKey
	for {
		rows, err := storedResponses(ctx, q, environment, last, responsePage)
		if err != nil || len(rows) == 0 {
			return removed, err
		}
		for _, r := range rows {
			last = r
			body, err := s.keys.Open(ResponsePurpose, r.Body, []byte(r.CredentialID+" "+r.Key))
			// A response that cannot be opened can never be replayed; delete it too.
			if err == nil && !bytes.Contains(body, name) && !lists.Mentions(r.Key, subject) {
				continue
			}
			if err := deleteStoredResponse(ctx, q, r); err != nil {
				return removed, err
			}
			removed++
		}
	}
}

// Finish erases the personal part of the subject's events, in batches, and then the subject itself. It reports whether it must
// be called again; when it need not, only the receipt remains. It is safe to repeat.
func (s *Service) Finish(ctx context.Context, run Run, workflowID string, at time.Time) (more bool, err error) {
	err = s.store.Write(ctx, func(q *pg.Q) error {
		e, err := lockErasure(ctx, q, run.Environment, run.Erasure)
		if err != nil || e.SubjectUID == nil {
			return ignoreNotFound(err)
		}
		n, err := audit.EraseEvents(ctx, q, e.EnvironmentID, *e.SubjectUID, at, rowBatch)
		if err != nil {
			return err
		}
		if err := addToReceipt(ctx, q, e, map[string]int64{"events": n}); err != nil {
			return err
		}
		// A request that was in progress when the subject was hidden may have added rows since the last sweep.
		late, unfinished, err := eraseRows(ctx, q, e.EnvironmentID, *e.SubjectUID, rowBatch)
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

// closeErasure deletes the subject's row, completes the receipt and records subject.erased.
func closeErasure(ctx context.Context, q *pg.Q, e models.Erasure, workflowID string, at time.Time) error {
	if err := deleteSubject(ctx, q, e.EnvironmentID, *e.SubjectUID); err != nil {
		return err
	}
	if _, err := finishErasure(ctx, q, e, at); err != nil {
		return err
	}
	total, err := GetErasure(ctx, q, e.EnvironmentID, e.ID)
	if err != nil {
		return err
	}
	removed, logged := sum(total.Removed), counts(total.Removed)["events"]
	var kinds []string
	for kind, n := range counts(total.Removed) {
		kinds = append(kinds, fmt.Sprintf("%s %d", kind, n))
	}
	slices.Sort(kinds)
	return events.Append(ctx, q, events.Entry{
		Scope: pg.Scope{Tenant: e.TenantID, Environment: e.EnvironmentID}, At: at,
		Actor: "workflow:" + workflowID, WorkflowID: workflowID,
		Data: events.SubjectErasedData{Erasure: e.ID, Removed: &removed, Events: &logged, Kinds: kinds},
	})
}

// addToReceipt adds numbers of deleted rows, by kind, to the receipt.
func addToReceipt(ctx context.Context, q *pg.Q, e models.Erasure, more ...map[string]int64) error {
	current, err := GetErasure(ctx, q, e.EnvironmentID, e.ID)
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
	return countErasures(ctx, q, e, raw)
}

func counts(raw models.JSON) map[string]int64 {
	out := map[string]int64{}
	_ = json.Unmarshal(raw, &out) // written by addToReceipt
	return out
}

func sum(raw models.JSON) int64 {
	var n int64
	for _, v := range counts(raw) {
		n += v
	}
	return n
}

// ignoreNotFound returns nil for pg.ErrNotFound: an erasure step that finds no receipt has nothing to do.
func ignoreNotFound(err error) error {
	if errors.Is(err, pg.ErrNotFound) {
		return nil
	}
	return err
}

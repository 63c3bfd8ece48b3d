// Package events is the one log of what happens in an environment: its types, the shape of each type's data, and the
// way an entry is written in the transaction of the change it tells of. Activity, the event stream, webhooks and the
// audit chain all read this log.
//
// The package may not decide anything, start anything or write outside the caller's transaction. Data carries ids,
// states and reason codes: never a feature vector, a secret, a note, a resource id or an assertion.
package events

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// Entry is one thing that happened. Scope, At, Actor and Data are required; empty strings elsewhere mean "none".
type Entry struct {
	Scope           store.Scope
	At              time.Time
	SubjectUID      string // ours; never shown
	Subject         string // the relying party's own id of the subject
	Action          string // action key
	AuthorizationID string
	Decision        string
	Actor           string // identity.Principal.Actor(), "workflow:<id>" or "cli:<command>"
	RequestID       string
	WorkflowID      string
	Data            Data // which also gives the event its type
}

// Type is the type of the entry's data; empty without data.
func (e Entry) Type() Type {
	if e.Data == nil {
		return ""
	}
	return e.Data.EventType()
}

// Append writes the entry in the caller's transaction and, where the type is public and a webhook endpoint of the
// environment is enabled, the outbox row that fans it out.
func Append(ctx context.Context, q *store.Q, e Entry) error {
	row, err := Row(e)
	if err != nil {
		return err
	}
	return q.Events().Append(ctx, row, e.Type().Public())
}

// saltSize is the length in bytes of the random salt that keeps a digest from being guessed once the data is erased.
const saltSize = 16

// Row builds the row of an entry: a fresh id, a fresh salt and the digest. It fails on an entry that lacks what is
// required, on an unknown type and on data without an exact JSON form. Data that breaks the type's schema is written all the
// same, because losing the entry would be worse: tests hold every event that they write against its schema (Check).
func Row(e Entry) (models.Event, error) {
	if err := e.check(); err != nil {
		return models.Event{}, err
	}
	salt := make([]byte, saltSize)
	_, _ = rand.Read(salt) // never fails: it ends the process instead
	body, err := canonical.JSON(e.Data)
	if err != nil {
		return models.Event{}, fmt.Errorf("event %s: %w", e.Type(), err)
	}
	row := models.Event{
		ID: ids.New(ids.Event), TenantID: e.Scope.Tenant, EnvironmentID: e.Scope.Environment, Type: string(e.Type()),
		At: e.At.UTC().Truncate(time.Microsecond), SubjectUID: optional(e.SubjectUID), Subject: optional(e.Subject),
		Action: optional(e.Action), AuthorizationID: optional(e.AuthorizationID), Decision: optional(e.Decision),
		Actor: e.Actor, RequestID: optional(e.RequestID), WorkflowID: optional(e.WorkflowID), Data: body, Salt: salt,
	}
	row.Digest, err = Digest(row)
	return row, err
}

func (e Entry) check() error {
	switch {
	case e.Data == nil:
		return errors.New("event: data is required")
	case e.Scope.Tenant == "" || e.Scope.Environment == "":
		return fmt.Errorf("event %s: scope is required", e.Type())
	case e.At.IsZero():
		return fmt.Errorf("event %s: at is required", e.Type())
	case e.Actor == "":
		return fmt.Errorf("event %s: actor is required", e.Type())
	case e.Subject != "" && e.SubjectUID == "":
		// Without it, erasing the subject would leave this entry behind.
		return fmt.Errorf("event %s: subject uid is required with subject", e.Type())
	}
	if _, ok := Lookup(e.Type()); !ok {
		return fmt.Errorf("event %s: unknown type", e.Type())
	}
	return nil
}

// ErrErased says that the personal part of an event is gone, so that its digest can no longer be computed.
var ErrErased = errors.New("events: the event's personal data is erased")

// ErrAltered says that an event is not what was written: its digest does not fit.
var ErrAltered = errors.New("events: the event is not what was written")

// Digest computes the salted SHA-256 of what of an event may have to be erased one day: whose it is, the request id
// and the data. The audit chain covers this digest and not the data itself, so erasing leaves the chain whole.
func Digest(row models.Event) ([]byte, error) {
	if row.Salt == nil || row.Data == nil {
		return nil, ErrErased
	}
	body, err := canonical.JSON(struct {
		SubjectUID *string     `json:"subject_uid"`
		Subject    *string     `json:"subject"`
		RequestID  *string     `json:"request_id"`
		Data       rawDocument `json:"data"`
	}{row.SubjectUID, row.Subject, row.RequestID, rawDocument(row.Data)})
	if err != nil {
		return nil, fmt.Errorf("event %s: %w", row.ID, err)
	}
	h := sha256.New()
	h.Write(row.Salt)
	h.Write(body)
	return h.Sum(nil), nil
}

// rawDocument marshals as the JSON it holds.
type rawDocument []byte

func (r rawDocument) MarshalJSON() ([]byte, error) { return r, nil }

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

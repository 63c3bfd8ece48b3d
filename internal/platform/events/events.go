// Package events defines the event log of an environment: the types of events, the data of each type, and Append, which writes
// an entry in the transaction of the change that it records. The activity list, the event stream, webhooks and the audit chain
// all read this log.
//
// The package may not decide or start anything, and may not write outside the caller's transaction. Data may contain ids, states
// and reason codes, never a feature vector, a secret, a note, a resource id or an assertion.
package events

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// Entry is one event before it is written. Scope, At, Actor and Data are required; an empty string elsewhere means none.
type Entry struct {
	Scope pg.Scope
	At    time.Time
	// Internal id of the subject, by which it is erased; never shown.
	SubjectUID string
	// The relying party's id of the subject.
	Subject         string
	Action          string // action key
	AuthorizationID string
	Decision        string
	// Identity.Principal.Actor(), "workflow:<id>", "cli:<command>" or "service".
	Actor      string
	RequestID  string
	WorkflowID string
	// Also determines the event's type.
	Data Data
}

// Type returns the type of the entry's data; empty without data.
func (e Entry) Type() Type {
	if e.Data == nil {
		return ""
	}
	return e.Data.EventType()
}

// Append writes the entry in the caller's transaction. If the type is public and the environment has an enabled webhook endpoint,
// it also writes the outbox row from which the event is delivered.
func Append(ctx context.Context, q *pg.Q, e Entry) error {
	row, err := Row(e)
	if err != nil {
		return err
	}
	return InsertEvent(ctx, q, row, e.Type().Public())
}

// Queue adds the entry to a batch that is one transaction, as Append does. causes are those of the transaction.
func Queue(b *pgx.Batch, e Entry, causes pg.Causes) error {
	row, err := Row(e)
	if err != nil {
		return err
	}
	QueueEvent(b, row, causes)
	if e.Type().Public() {
		QueueOutbox(b, Announcement(row))
	}
	return nil
}

// saltSize is the length in bytes of the random salt of a digest. After an erasure it prevents guessing the data from the digest.
const saltSize = 16

// Row builds the row of an entry with a fresh id, a fresh salt and the digest. It returns an error if a required field is
// missing, the type is unknown, or the data has no canonical JSON form. It does not validate values against the type's schema,
// because losing an entry would be worse than a wrong value: tests validate every event that they cause (Check).
func Row(e Entry) (models.Event, error) {
	if err := e.check(); err != nil {
		return models.Event{}, err
	}
	salt := make([]byte, saltSize)
	_, _ = rand.Read(salt) // never returns an error: it aborts the process
	body, err := canonical.JSON(e.Data)
	if err != nil {
		return models.Event{}, fmt.Errorf("event %s: %w", e.Type(), err)
	}
	row := models.Event{
		ID: ids.New(ids.Event), TenantID: e.Scope.Tenant, EnvironmentID: e.Scope.Environment, Type: string(e.Type()),
		At: e.At.UTC().Truncate(time.Microsecond), SubjectUID: optional(&e.SubjectUID), Subject: optional(&e.Subject),
		Action: optional(&e.Action), AuthorizationID: optional(&e.AuthorizationID), Decision: optional(&e.Decision),
		Actor: e.Actor, RequestID: optional(&e.RequestID), WorkflowID: optional(&e.WorkflowID), Data: body, Salt: salt,
	}
	row.Digest, err = personalDigest(row)
	return row, err
}

func personalDigest(row models.Event) ([]byte, error) {
	form, err := canonical.JSON(struct {
		SubjectUID *string         `json:"subject_uid"`
		Subject    *string         `json:"subject"`
		RequestID  *string         `json:"request_id"`
		Data       json.RawMessage `json:"data"`
	}{row.SubjectUID, row.Subject, row.RequestID, json.RawMessage(row.Data)})
	if err != nil {
		return nil, fmt.Errorf("event %s: %w", row.ID, err)
	}
	sum := sha256.Sum256(slices.Concat(row.Salt, form))
	return sum[:], nil
}

// check returns an error if a required field is missing or the type is unknown.
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
		// Without it, an erasure of the subject would not find this entry.
		return fmt.Errorf("event %s: subject uid is required with subject", e.Type())
	}
	if _, ok := Lookup(e.Type()); !ok {
		return fmt.Errorf("event %s: unknown type", e.Type())
	}
	return nil
}

// ErrErased means that the personal part of an event was erased, so its digest can no longer be computed.
var ErrErased = errors.New("events: the event's personal data is erased")

// ErrAltered means that an event was changed after it was written: its digest does not match.
var ErrAltered = errors.New("events: the event was altered after it was written")

// Digest computes the salted SHA-256 of the part of an event that can be erased: the subject, the request id and the data. The
// audit chain covers this digest and not the data, so an erasure leaves the chain valid. It returns ErrErased after an erasure, and
// ErrAltered if only some of that part is there: an erasure leaves nothing of it.
func Digest(row models.Event) ([]byte, error) {
	if row.Salt == nil || row.Data == nil {
		if row.ErasedAt == nil || row.Salt != nil || row.Data != nil || row.SubjectUID != nil || row.Subject != nil || row.RequestID != nil {
			return nil, ErrAltered
		}
		return nil, ErrErased
	}
	return personalDigest(row)
}

// optional returns nil for an empty text.
func optional(s *string) *string {
	if *s == "" {
		return nil
	}
	return s
}

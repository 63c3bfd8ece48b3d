package audit

import (
	"encoding/json"

	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/events"
)

// Entry is one sealed entry as the API lists it.
type Entry struct {
	ID           string  `json:"id"`
	Sequence     int64   `json:"sequence"`
	At           string  `json:"at"`
	Actor        string  `json:"actor"`
	Kind         string  `json:"kind"`
	Target       *string `json:"target"`
	Before       *string `json:"before"`
	After        *string `json:"after"`
	RequestID    *string `json:"request_id"`
	WorkflowID   *string `json:"workflow_id"`
	PreviousHash string  `json:"previous_hash"`
	Hash         string  `json:"hash"`
}

// targets are the fields of an event's data that identify the changed resource, the most specific first.
var targets = []string{"target", "challenge", "proof_id", "passkey", "enrollment", "recovery", "erasure", "evaluation", "endpoint",
	"session", "credential", "policy_version"}

// View converts a link and its event to the API's form.
func View(l Link) (Entry, error) {
	e := l.Event
	data, err := events.Payload(*e)
	if err != nil {
		return Entry{}, err
	}
	return Entry{
		ID: e.ID, Sequence: l.Seq, At: apitime.Time(e.At), Actor: e.Actor, Kind: e.Type, Target: target(data),
		Before: word(data, "before"), After: word(data, "after"), RequestID: e.RequestID, WorkflowID: e.WorkflowID,
		PreviousHash: Text(l.Previous), Hash: Text(l.Hash),
	}, nil
}

// target returns the id of the changed resource; nil if the data names none.
func target(data map[string]any) *string {
	for _, name := range append(targets, "authorization", "subject", "action") {
		if v := word(data, name); v != nil {
			return v
		}
	}
	return nil
}

// word returns a field that is a string; nil otherwise.
func word(data map[string]any, name string) *string {
	s, ok := data[name].(string)
	if !ok {
		return nil
	}
	return &s
}

// Line is one line of the JSON Lines export: the entry, and everything needed to compute its hash and digest again without
// access to the database, by the procedure in docs/audit.md.
type Line struct {
	Entry
	// Unix microseconds: the value that the hash covers.
	AtMicros      int64           `json:"at_micros"`
	Environment   string          `json:"environment"`
	Subject       *string         `json:"subject"`
	SubjectUID    *string         `json:"subject_uid"`
	Action        *string         `json:"action"`
	Authorization *string         `json:"authorization"`
	Decision      *string         `json:"decision"`
	Data          json.RawMessage `json:"data"`
	// Base64; null if the data was erased.
	Salt     []byte  `json:"salt"`
	Digest   []byte  `json:"digest"`
	ErasedAt *string `json:"erased_at"`
	SealedAt string  `json:"sealed_at"`
}

func line(l Link) (Line, error) {
	v, err := View(l)
	if err != nil {
		return Line{}, err
	}
	e := l.Event
	data := json.RawMessage(e.Data)
	if data == nil {
		data = json.RawMessage("null")
	}
	return Line{Entry: v, AtMicros: e.At.UnixMicro(), Environment: e.EnvironmentID, Subject: e.Subject, SubjectUID: e.SubjectUID,
		Action: e.Action, Authorization: e.AuthorizationID, Decision: e.Decision, Data: data, Salt: e.Salt, Digest: e.Digest,
		ErasedAt: apitime.OptionalTime(e.ErasedAt), SealedAt: apitime.Time(l.SealedAt)}, nil
}

package events

import (
	"encoding/binary"
	"strconv"

	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/models"
)

// Record is the part of a decision that never changes once the decision is made.
type Record struct {
	Authorization models.Authorization
	// Nil if the decision issued none.
	Proof *models.Proof
	// Of the assurance profile (claim, status) and the explanation, in their order.
	Findings []string
}

// recordDomain separates this digest from every other use of SHA-256 and versions the set of hashed fields.
const recordDomain = "countersign/decision/1"

// Digest returns SHA-256 over the record's length-prefixed fields. The event authorization.decided contains it, so that an audit
// can compare the stored decision with the log. It is computed for every decision, hence not over JSON, which is slower.
//
// The order of the fields is part of the recipe: a new field requires a new recordDomain.
func (r Record) Digest() string {
	a := r.Authorization
	f := make(recordFields, 0, 2048) // a record has about 1 kB
	f.add(recordDomain, a.ID, a.EnvironmentID, a.CredentialID, a.ActionID, a.ActionKey, a.SubjectUID, a.Actor, a.ResourceType,
		a.ResourceDigest, a.ContextDigest, a.ActionHash, a.Audience, a.Nonce, a.TraceID, string(a.Mode), a.Decision, a.PolicyHash, a.Coverage)
	f.optional(a.SessionID, a.ParentID, a.ChallengeCompleted)
	f.number(a.RequestedAt.UnixMicro(), a.DecidedAt.UnixMicro(), int64(a.PolicyVersion), int64(a.ChallengesUsed))
	f.flag(a.Insufficient, a.OperatorChanged, a.HoldApproved)
	f.number(int64(len(a.ReasonCodes)))
	f.add(a.ReasonCodes...)
	f.number(int64(len(r.Findings)))
	f.add(r.Findings...)
	if p := r.Proof; p != nil {
		f.add(p.JTI, p.KID, p.Audience)
		f.number(p.IssuedAt.UnixMicro(), p.ExpiresAt.UnixMicro())
	}
	return canonical.DigestBytes(f)
}

// recordFields is values with their lengths, so that no two lists of fields have the same bytes.
type recordFields []byte

func (f *recordFields) add(texts ...string) {
	for _, s := range texts {
		*f = appendField(*f, s)
	}
}

func appendField[T string | []byte](f recordFields, field T) recordFields {
	return append(binary.BigEndian.AppendUint64(f, uint64(len(field))), field...)
}

func (f *recordFields) optional(texts ...*string) {
	for _, s := range texts {
		if s == nil {
			f.add("-")
		} else {
			f.add("+" + *s)
		}
	}
}

func (f *recordFields) number(values ...int64) {
	for _, v := range values {
		var digits [20]byte // of the longest int64, with its sign
		*f = appendField(*f, strconv.AppendInt(digits[:0], v, 10))
	}
}

func (f *recordFields) flag(values ...bool) {
	for _, v := range values {
		f.add(strconv.FormatBool(v))
	}
}

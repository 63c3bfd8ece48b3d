package events

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"strconv"

	"github.com/countersign-dev/countersign/models"
)

// Record is what of a decision never changes once it is made.
type Record struct {
	Authorization models.Authorization
	Proof         *models.Proof // nil if the decision issued none
	Findings      []string      // of the assurance profile and the explanation: Finding of each, in their order
}

// recordDomain separates this digest from every other use of SHA-256 and names the version of the recipe.
const recordDomain = "countersign/decision/1"

// Digest is what authorization.decided says of the record, so that an audit can hold the stored decision against it: SHA-256
// over length-prefixed fields. It is written on the path of every decision, hence no JSON.
func (r Record) Digest() string {
	a := r.Authorization
	f := recordFields{sha256.New()}
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
	return "sha256:" + hex.EncodeToString(f.Sum(nil))
}

type recordFields struct{ hash.Hash }

func (f recordFields) add(texts ...string) {
	for _, s := range texts {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(s)))
		_, _ = f.Write(n[:]) // a hash.Hash never fails
		_, _ = f.Write([]byte(s))
	}
}

func (f recordFields) optional(texts ...*string) {
	for _, s := range texts {
		if s == nil {
			f.add("-")
		} else {
			f.add("+" + *s)
		}
	}
}

func (f recordFields) number(values ...int64) {
	for _, v := range values {
		f.add(strconv.FormatInt(v, 10))
	}
}

func (f recordFields) flag(values ...bool) {
	for _, v := range values {
		f.add(strconv.FormatBool(v))
	}
}

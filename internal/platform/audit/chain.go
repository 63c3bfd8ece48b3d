package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"

	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/models"
)

// domain separates these hashes from every other use of SHA-256 and versions the set of hashed fields (docs/audit.md).
const domain = "countersign/audit/1"

// Genesis returns the hash that the first link of an environment's chain follows. It depends on the environment, so that a
// chain cannot be presented as that of another environment.
func Genesis(environment string) []byte {
	h := newFields()
	h.text("countersign/audit/genesis")
	h.text(environment)
	return h.sum()
}

// Hash returns the hash of a link: SHA-256 over length-prefixed fields, so that no two lists of fields share their bytes. Seq
// numbers the links of an environment from 1. The link covers the event's digest and not its personal data, which may be erased.
// Seq counts the links of the environment from 1.
func Hash(previous []byte, seq int64, e models.Event) []byte {
	h := newFields()
	h.text(domain)
	h.bytes(previous)
	h.text(e.EnvironmentID)
	h.number(seq)
	h.text(e.ID)
	h.text(e.Type)
	h.number(e.At.UnixMicro())
	h.text(e.Actor)
	h.optional(e.Action)
	h.optional(e.AuthorizationID)
	h.optional(e.Decision)
	h.optional(e.WorkflowID)
	h.bytes(e.Digest)
	return h.sum()
}

// Text formats a hash as the API and the CLI show it: "sha256:" and 64 lower-case hexadecimal digits.
func Text(hash []byte) string { return "sha256:" + hex.EncodeToString(hash) }

// fields hashes values with their lengths.
type fields struct{ hash.Hash }

func newFields() fields { return fields{sha256.New()} }

func (f fields) sum() []byte { return f.Hash.Sum(nil) }

func (f fields) bytes(b []byte) { canonical.WriteParts(f, b) }

func (f fields) text(s string) { f.bytes([]byte(s)) }

func (f fields) number(v int64) {
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(v)) // #nosec G115 -- the bits, whatever the sign
	f.bytes(n[:])
}

// optional distinguishes a missing value from an empty one.
func (f fields) optional(s *string) {
	if s == nil {
		f.text("-")
		return
	}
	f.text("+" + *s)
}

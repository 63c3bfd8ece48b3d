// Package ids makes and checks the service's identifiers: TypeIDs (a prefix naming the kind of thing, an
// underscore, and a UUIDv7 in Crockford base32; see github.com/jetify-com/typeid, spec 0.3). They sort by time
// of creation. The package knows no database and gives no meaning to an id beyond its prefix.
package ids

import (
	"strings"

	"github.com/google/uuid"
)

// The prefixes in use, one for each kind of record.
const (
	Tenant            = "tnt"
	Environment       = "env"
	Credential        = "crd"
	ClientToken       = "ctk"
	Action            = "act"
	PolicyVersion     = "pol"
	Subject           = "sub"
	Session           = "ses"
	Frame             = "frm"
	Template          = "tpl"
	Enrollment        = "enr"
	Authorization     = "azn"
	Challenge         = "chl"
	Proof             = "prf"
	Event             = "evt"
	WebhookEndpoint   = "whe"
	Delivery          = "dlv"
	Passkey           = "psk"
	RegistrationGrant = "grt"
	Recovery          = "rcv"
	Evaluation        = "evl"
	Erasure           = "ers"
	Audit             = "aud"
	Research          = "res"
	ResearchPeriod    = "rsp"
	Profile           = "prl"
	Request           = "req"
	Outbox            = "obx"
	Person            = "prs"
	Invitation        = "inv"
	ConsoleSession    = "csn"
)

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// Timeless returns a fresh id that says nothing of when it was made, for what must not be told apart by its age.
func Timeless(prefix string) string {
	return prefix + "_" + encode(uuid.New())
}

// New returns a fresh id with the given prefix, e.g. azn_01jqx3k5v8e2sbyk0c4m7t9wzd.
func New(prefix string) string {
	return prefix + "_" + encode(uuid.Must(uuid.NewV7()))
}

// Has reports whether s has the form of an id with the given prefix. It says nothing of whether the thing exists.
func Has(prefix, s string) bool {
	rest, ok := strings.CutPrefix(s, prefix+"_")
	if !ok || len(rest) != 26 || rest[0] > '7' {
		return false
	}
	for i := range len(rest) {
		if strings.IndexByte(alphabet, rest[i]) < 0 {
			return false
		}
	}
	return true
}

// encode writes the 128 bits as 26 base32 digits, the first of which holds only three bits.
func encode(u uuid.UUID) string {
	var out [26]byte
	var acc uint32
	bits := 2 // 130 bits of digits for 128 bits of id: two leading zeros
	n := 0
	for _, b := range u {
		acc = acc<<8 | uint32(b)
		bits += 8
		for bits >= 5 {
			bits -= 5
			out[n] = alphabet[acc>>bits&31]
			n++
		}
	}
	return string(out[:])
}

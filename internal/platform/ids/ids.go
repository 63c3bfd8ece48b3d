// Package ids generates and checks the service's identifiers. They are TypeIDs: a prefix naming the kind of record, an
// underscore, and a UUIDv7 in Crockford base32 (github.com/jetify-com/typeid, spec 0.3). They sort by time of creation.
//
// It may not look anything up: only the prefix of an id has a meaning.
package ids

import (
	"crypto/rand"
	"encoding/binary"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/countersign-dev/countersign/models/typeid"
)

// The prefixes in use, one for each kind of record. They are part of stored data and of the contract: never change one.
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
	ChatAddress       = "cha"
	Notice            = "ntc"
	Person            = "prs"
	Invitation        = "inv"
	ConsoleSession    = "csn"
	Change            = "chg"
	Team              = "tem"
	List              = "lst"
	ListEntry         = "lse"
	Deputy            = "dep"
	IdentityProvider  = "idp"
	SavedFilter       = "flt"
	DirectoryToken    = "dtk"
	DirectoryUser     = "dus"
	DirectoryGroup    = "dgr"
	SignalStream      = "sst"
	StandingApproval  = "sta"
	StandingLink      = "stl"
	Signal            = "sig"
	Destination       = "dst"
)

// Timeless returns a fresh id that does not reveal when it was made. Use it for records that must not be linkable by their age,
// such as research vectors.
func Timeless(prefix string) string {
	return prefix + "_" + encode(uuid.New())
}

// New returns a fresh id with the given prefix, e.g. azn_01jqx3k5v8e2sbyk0c4m7t9wzd.
func New(prefix string) string {
	return prefix + "_" + encode(version7())
}

// newest is the time of the newest id in units of 1/4096 ms, so that the ids of a process are in the order in which they were made.
var newest atomic.Int64

// version7 returns a UUIDv7 (RFC 9562) as package uuid makes it, which takes an object for the random bits of each.
func version7() uuid.UUID {
	now := time.Now().UnixNano() //nolint:forbidigo // ids sort by the machine's time, whatever a test takes the time to be
	at := now/int64(time.Millisecond)<<12 | now%int64(time.Millisecond)>>8
	for last := newest.Load(); ; last = newest.Load() {
		at = max(at, last+1)
		if newest.CompareAndSwap(last, at) {
			break
		}
	}
	var u uuid.UUID
	_, _ = rand.Read(u[8:])                                                      // never fails: it ends the process instead
	binary.BigEndian.PutUint64(u[:8], uint64(at>>12)<<16|7<<12|uint64(at&0xfff)) // #nosec G115 -- after 1970
	u[8] = u[8]&0x3f | 0x80
	return u
}

// Lowest returns the id that sorts before all that New makes from the time t on, and after those of before, to the millisecond.
func Lowest(prefix string, t time.Time) string {
	var u uuid.UUID
	binary.BigEndian.PutUint64(u[:8], uint64(t.UnixMilli())<<16) // #nosec G115 -- after 1970
	return prefix + "_" + encode(u)
}

// Has reports whether s has the form of an id with the given prefix. The record need not exist.
func Has(prefix, s string) bool {
	rest, ok := strings.CutPrefix(s, prefix+"_")
	if !ok {
		return false
	}
	var bits uuid.UUID
	_, ok = typeid.AppendBits(bits[:0], rest)
	return ok
}

func encode(u uuid.UUID) string {
	var out [typeid.Digits]byte
	return string(typeid.AppendDigits(out[:0], u[:]))
}

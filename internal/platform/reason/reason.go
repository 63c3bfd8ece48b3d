// Package reason is the catalogue of reason codes: every code that may occur in a reason_codes field of a decision, an assurance
// profile, a claim, an evidence acknowledgement, a proof verification or a response of /auth, with its meaning and its remedy.
//
// The catalogue is fixed at compile time. The package may not import the packages that emit the codes: they import it. Codes are
// part of the contract: they are added, never renamed or reused.
package reason

import (
	"slices"
	"strings"
)

// Code is a reason code as it appears in the API. It is an alias of string, so that lists of codes need no conversion.
type Code = string

// Kinds of code. KindDecision is emitted by internal/authz/policy; the kinds up to KindMandate are emitted by
// internal/behavior/scoring in acknowledgements, profiles and claims.
const (
	KindDecision   = "decision"
	KindEvidence   = "evidence"
	KindContinuity = "continuity"
	KindEnrollment = "enrollment"
	KindPresence   = "presence"
	KindReplay     = "replay"
	KindMandate    = "mandate"
	// Of an approver whom a request names.
	KindApprover = "approver"
	// Of a session that is over.
	KindSession = "session"
	// reason_codes of a proof verification.
	KindProof = "proof"
	// reason_codes of the timing-based endpoints.
	KindLegacy = "legacy"
)

// Entry is one code of the catalogue, in the form of GET /api/v1/meta.
type Entry struct {
	Code Code   `json:"code"`
	Kind string `json:"kind"`
	// What happened, one sentence.
	Description string `json:"description"`
	// What would mend it, one sentence.
	Remedy string `json:"remedy"`
}

var (
	catalogue = build(decisionEntries, approverEntries, evidenceEntries, sessionEntries, proofEntries, legacyEntries)
	byCode    = index(catalogue)
)

// All returns a copy of the catalogue, sorted by kind and code.
func All() []Entry { return slices.Clone(catalogue) }

// Known reports whether code is in the catalogue.
func Known(code Code) bool {
	_, ok := byCode[code]
	return ok
}

// Lookup returns the catalogue's entry for code.
func Lookup(code Code) (Entry, bool) {
	i, ok := byCode[code]
	if !ok {
		return Entry{}, false
	}
	return catalogue[i], true
}

// build joins the lists and sorts them by kind and code.
func build(lists ...[]Entry) []Entry {
	all := slices.Concat(lists...)
	slices.SortFunc(all, func(a, b Entry) int {
		if c := strings.Compare(a.Kind, b.Kind); c != 0 {
			return c
		}
		return strings.Compare(a.Code, b.Code)
	})
	return all
}

func index(entries []Entry) map[Code]int {
	m := make(map[Code]int, len(entries))
	for i, e := range entries {
		m[e.Code] = i
	}
	return m
}

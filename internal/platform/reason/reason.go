// Package reason is the one catalogue of reason codes: every code that may stand in a reason_codes field of a decision,
// an assurance profile, a claim, an evidence acknowledgement, a proof verification or a legacy answer, with what it
// means and what would mend it.
//
// The catalogue is data fixed at compile time. Nothing registers codes at run time, and the package imports none of the
// packages that emit them: they import it. Codes are part of the contract: one is added, never renamed or reused.
package reason

import (
	"slices"
	"strings"
)

// Code is a reason code as it stands on the wire. It is an alias, so that codes travel as the strings they are.
type Code = string

// Kinds of code: what the code is about. The first is emitted by internal/authz/policy, those up to KindMandate by
// internal/behavior/scoring in acknowledgements, profiles and claims.
const (
	KindDecision   = "decision"
	KindEvidence   = "evidence"
	KindContinuity = "continuity"
	KindEnrollment = "enrollment"
	KindPresence   = "presence"
	KindReplay     = "replay"
	KindMandate    = "mandate"
	KindSession    = "session" // of a session that is over
	KindProof      = "proof"   // reason_codes of a proof verification
	KindLegacy     = "legacy"  // reason_codes of the timing-based endpoints
)

// Entry is one line of the catalogue, in the shape GET /api/v1/meta serves.
type Entry struct {
	Code        Code   `json:"code"`
	Kind        string `json:"kind"`
	Description string `json:"description"` // what happened, one sentence
	Remedy      string `json:"remedy"`      // what would mend it, one sentence
}

var (
	catalogue = build(decisionEntries, evidenceEntries, sessionEntries, proofEntries, legacyEntries)
	byCode    = index(catalogue)
)

// All returns the whole catalogue, sorted by kind and code. The slice is the caller's own.
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

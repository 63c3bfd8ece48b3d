package policy

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/platform/reason"
)

// freshness holds freshness_max_ms against each claim the requirements set a minimum for, the oldest deciding: what else
// happened in the session says nothing of how old the evidence of a claim is. Where no claim is asked for, it is held
// against the newest evidence of any kind.
func (e *evaluation) freshness() requirement {
	r := e.in.Requirements
	out := requirement{
		name: reqFreshness, wanted: "at most " + milliseconds(r.FreshnessMaxMS), effect: r.whenInsufficient(),
		codes: []string{reason.FreshnessExceeded}, compensation: CompensatesFreshness, survivesHold: true, met: true,
	}
	oldest, tooOld := "", []string(nil)
	for _, name := range slices.Sorted(maps.Keys(r.Claims)) {
		if len(claimRules[name].order) == 0 {
			continue // no evidence could ever meet it
		}
		ms := e.age(name)
		if oldest == "" || older(ms, e.age(oldest)) {
			oldest = name
		}
		if r.fresh(ms) {
			continue
		}
		out.met = false
		tooOld = append(tooOld, name+": "+age(ms))
		out.codes = append(out.codes, claimRules[name].stale)
	}
	if oldest == "" {
		out.found, out.met = age(e.in.Assurance.FreshnessMS), r.fresh(e.in.Assurance.FreshnessMS)
		return out
	}
	out.found = oldest + ": " + age(e.age(oldest))
	if len(tooOld) > 0 {
		out.found = strings.Join(tooOld, ", ")
	}
	return out
}

// fresh reports whether evidence of an age is new enough: exactly as old as allowed is, and no evidence is not.
func (r Requirements) fresh(ms *int64) bool { return ms != nil && *ms <= r.FreshnessMaxMS }

// age is the age of a claim's evidence, nil where there is none. Of a claim made twice, which no assessor does, the older
// counts.
func (e *evaluation) age(name string) *int64 {
	var found *int64
	made := false
	for _, c := range e.in.Assurance.Claims {
		if c.Name == name && (!made || older(c.FreshnessMS, found)) {
			found, made = c.FreshnessMS, true
		}
	}
	return found
}

func older(a, b *int64) bool {
	ms := func(v *int64) int64 {
		if v == nil {
			return math.MaxInt64
		}
		return *v
	}
	return ms(a) > ms(b)
}

func age(ms *int64) string {
	if ms == nil {
		return "no evidence"
	}
	return milliseconds(*ms)
}

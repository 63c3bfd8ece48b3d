package policy

import (
	"math"
	"strings"

	"github.com/countersign-dev/countersign/internal/platform/reason"
)

// freshness compares freshness_max_ms with each claim for which the requirements set a minimum; the oldest decides. Other activity
// in the session does not make the evidence of a claim any newer. If no claim is required, it is compared with the newest
// evidence of any kind.
func (e *evaluation) freshness() requirement {
	r := e.in.Requirements
	out := requirement{
		name: reqFreshness, wanted: milliseconds("at most ", r.FreshnessMaxMS), effect: r.whenInsufficient(),
		code: reason.FreshnessExceeded, compensation: CompensatesFreshness, survivesHold: true, met: true,
	}
	oldest, tooOld := "", []string(nil)
	for _, name := range r.claimNames() {
		if len(claimRules[name].order) == 0 {
			continue // no evidence can meet it
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
		out.further = append(out.further, claimRules[name].stale)
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

// fresh reports whether evidence of this age is new enough. The maximum itself is, and missing evidence is not.
func (r Requirements) fresh(ms *int64) bool { return ms != nil && *ms <= r.FreshnessMaxMS }

// age returns the age of a claim's evidence in milliseconds, nil if there is none. Of a duplicate claim, which no assessor makes,
// the older counts.
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

// older compares two ages; missing evidence is the oldest.
func older(a, b *int64) bool {
	ms := func(v *int64) int64 {
		if v == nil {
			return math.MaxInt64
		}
		return *v
	}
	return ms(a) > ms(b)
}

// age formats an age for an explanation.
func age(ms *int64) string {
	if ms == nil {
		return "no evidence"
	}
	return milliseconds("", *ms)
}

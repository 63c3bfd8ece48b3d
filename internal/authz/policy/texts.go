package policy

import "github.com/countersign-dev/countersign/internal/platform/reason"

// statusWords are the headings of the effects.
var statusWords = map[Effect]string{
	Allow:     "Allowed",
	Challenge: "Step-up required",
	Hold:      "Held for review",
	Deny:      "Denied",
}

// modeWords describe the consequences that a decision lacks in a mode.
var modeWords = map[Mode]string{
	ModeTest:   " Test mode: no proof is issued.",
	ModeShadow: " Shadow mode: the decision is recorded only; no challenge and no hold is opened.",
}

// humanReadable describes the decision by the first requirement that had its effect.
func (e *evaluation) humanReadable(d Decision) HumanReadable {
	return HumanReadable{Status: statusWords[d.Effect], Detail: e.detail(d) + modeWords[e.in.Mode]}
}

// detail describes the first reason of the decision, with what was found for deny_on and hold_on.
func (e *evaluation) detail(d Decision) string {
	for i, r := range e.results {
		if r.Effect != d.Effect || len(e.codes[i]) == 0 {
			continue
		}
		if r.Requirement == reqDenyOn || r.Requirement == reqHoldOn {
			return describe(e.codes[i][0]) + " It is " + r.Found + "."
		}
		return describe(e.codes[i][0])
	}
	return describe(d.ReasonCodes[len(d.ReasonCodes)-1])
}

// describe returns the description of a reason code from the catalogue.
func describe(code string) string {
	entry, ok := reason.Lookup(code)
	if !ok {
		return code
	}
	return entry.Description
}

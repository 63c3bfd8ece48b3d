package policy

import "github.com/countersign-dev/countersign/internal/platform/reason"

var statusWords = map[Effect]string{
	Allow:     "Allowed",
	Challenge: "Step-up required",
	Hold:      "Held for review",
	Deny:      "Denied",
}

// modeWords say what does not follow from the decision in this mode.
var modeWords = map[Mode]string{
	ModeTest:   " Test mode: no proof is issued.",
	ModeShadow: " Shadow mode: the decision is recorded only; nobody is asked and nothing is held.",
}

// humanReadable words the decision by the first requirement that had its effect.
func (e *evaluation) humanReadable(d Decision) HumanReadable {
	return HumanReadable{Status: statusWords[d.Effect], Detail: e.detail(d) + modeWords[e.in.Mode]}
}

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

func describe(code string) string {
	entry, ok := reason.Lookup(code)
	if !ok {
		return code
	}
	return entry.Description
}

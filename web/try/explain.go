package try

import (
	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/platform/reason"
)

// explain returns the descriptions of the reason codes in a profile.
func explain(p assurance.Profile) map[string]string {
	words := map[string]string{}
	note := func(codes []string) {
		for _, code := range codes {
			if e, ok := reason.Lookup(code); ok {
				words[code] = e.Description
			}
		}
	}
	note(p.Limitations)
	for _, c := range p.Claims {
		note(c.ReasonCodes)
		note(c.Limitations)
	}
	return words
}

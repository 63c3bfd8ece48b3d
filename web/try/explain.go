package try

import (
	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/platform/reason"
)

// explain puts the codes of a profile into words, for whom no catalogue is at hand.
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

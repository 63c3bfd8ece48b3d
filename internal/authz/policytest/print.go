package policytest

import (
	"fmt"
	"io"
	"strings"

	"github.com/countersign-dev/countersign/internal/authz/policy"
)

// Print writes the warnings about the policy and the results, and returns the number of cases that differ. A case that is as expected
// is explained as well: it may be so for a different reason than its author thought.
func Print(out io.Writer, warnings []policy.Warning, results []Result) (differing int, err error) {
	var b strings.Builder
	for _, w := range warnings {
		fmt.Fprintf(&b, "warning: requirements.%s: %s\n", strings.Join(w.Loc, "."), w.Message)
	}
	for _, r := range results {
		mark := "ok    "
		if len(r.Differences) > 0 {
			mark = "DIFFERS "
			differing++
		}
		fmt.Fprintf(&b, "%s%s (line %d)\n", mark, r.Case.Name, r.Case.Line)
		for _, d := range r.Differences {
			fmt.Fprintf(&b, "      %s\n", d)
		}
		r.explain(&b)
	}
	fmt.Fprintf(&b, "%d cases, %d as expected, %d different\n", len(results), len(results)-differing, differing)
	_, err = io.WriteString(out, b.String())
	return differing, err
}

// explain writes the decision and the result of each requirement.
func (r Result) explain(b *strings.Builder) {
	if len(r.Refused) > 0 {
		for _, f := range r.Refused {
			fmt.Fprintf(b, "      422 %s: %s\n", location(f.Loc), f.Msg)
		}
		return
	}
	fmt.Fprintf(b, "      %s: %s\n", r.Decision.Effect, strings.Join(r.Decision.ReasonCodes, ", "))
	for _, e := range r.Decision.Explanation {
		result := "passed"
		switch {
		case e.CompensatedBy != "":
			result = "passed by " + e.CompensatedBy
		case !e.Passed:
			result = string(e.Effect)
		}
		fmt.Fprintf(b, "        %-28s %s; required: %s; found: %s\n", e.Requirement, result, e.Wanted, e.Found)
		for _, t := range r.Totals[e.Requirement] {
			fmt.Fprintf(b, "        %-28s %s: %s\n", "", t.Label, t.Value)
		}
	}
}

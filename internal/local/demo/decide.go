package demo

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
)

// What is asked in a person's name.
const (
	withoutEvidence = "no evidence yet"
	asThemselves    = "as themselves"
	asSomebodyElse  = "as somebody else"
	withReplay      = "with a replayed frame"
)

// row is one question and its answer.
type row struct {
	person, asked string
	decision      decision
}

// authorize asks whether the person may release a payment and keeps the answer.
func (s *show) authorize(ctx context.Context, p person, asked, subject, session string) error {
	var d decision
	err := s.api.call(ctx, "POST", "/api/v1/authorize", map[string]any{
		"subject": subject, "action": s.action, "resource": map[string]string{"type": "payment", "id": "payment-" + rand.Text()},
		"audience": audience, "requested_at": s.Now().Unix(), "nonce": rand.Text(), "idempotency_key": rand.Text(), "session": session,
	}, &d)
	if err != nil {
		return err
	}
	s.rows = append(s.rows, row{person: p.name, asked: asked, decision: d})
	return nil
}

// table prints what was asked, what was decided and why.
func (s *show) table() {
	w := tabwriter.NewWriter(s.Out, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "\nPERSON\tASKED\tDECIDED\tOPERATOR CONTINUITY\tCOVERAGE\tWHY")
	for _, r := range s.rows {
		d := r.decision
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.person, r.asked, strings.ToUpper(d.Decision),
			d.Assurance.status("operator_continuity"), d.Assurance.Coverage, strings.Join(d.ReasonCodes, ", "))
	}
	_ = w.Flush()
	s.say("")
}

// ranks are the statuses of operator_continuity from worst to best.
var ranks = []string{"not_confirmed", "insufficient_evidence", "uncertain", "likely", "confirmed"}

// lookAlikes is how many of the people somebody else may pass for before the demonstration fails: two people of a few can
// type alike, which is said, and more of them are a fault of the service.
const lookAlikes = 1

// verdict says who was told from the other one, and for whom somebody else was taken.
func (s *show) verdict() error {
	own, other := map[string]int{}, map[string]int{}
	allowed, taken := 0, []string(nil)
	for _, r := range s.rows {
		rank := slices.Index(ranks, r.decision.Assurance.status("operator_continuity"))
		switch r.asked {
		case asThemselves:
			own[r.person] = rank
			if r.decision.Decision == "allow" {
				allowed++
			}
		case asSomebodyElse:
			other[r.person] = rank
			if r.decision.Decision == "allow" {
				taken = append(taken, r.person)
			}
		}
	}
	told := 0
	for name, rank := range own {
		if rank > other[name] {
			told++
		}
	}
	s.say("told apart: %d of %d people; %d of them allowed at once as themselves, %d as somebody else", told, len(own), allowed, len(taken))
	for _, name := range taken {
		s.say("somebody else was allowed in the name of %s: two people can type alike; docs/accuracy.md says how often, "+
			"and a policy with explicit_approval_required asks for a passkey all the same", name)
	}
	if len(own)-told > lookAlikes || len(taken) > lookAlikes {
		return ErrNotTold
	}
	return nil
}

// first finds the first answer to a question that came out as wanted.
func (s *show) first(asked, wanted string) (row, bool) {
	for _, r := range s.rows {
		if r.asked == asked && r.decision.Decision == wanted {
			return r, true
		}
	}
	return row{}, false
}

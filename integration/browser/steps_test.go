package browser_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

// team makes a team of people.
func (w world) team(t testing.TB, key string, people ...string) {
	t.Helper()
	members := []string{}
	for _, id := range people {
		members = append(members, "person:"+id)
	}
	w.post(t, "/api/v1/teams", object{"key": key, "name": key, "members": members}).is(201)
}

// held are requirements whose holds need the team finance, then a reviewer of the board, and which one of the team incident may approve alone.
func heldInSteps() object {
	return object{
		"coverage_min": "partial", "insufficient_evidence": "hold",
		"review": object{"steps": []any{
			object{"name": "team", "entries": []any{object{"group": "finance"}}, "within_seconds": 3600},
			object{"name": "board", "entries": []any{object{"group": "board"}}, "within_seconds": 7200},
		}},
		"break_glass": object{"group": "incident", "after_review": object{"approvals": 2, "within_seconds": 3600}},
	}
}

// Two people approve a hold in two steps, each in their own browser: the second cannot until the first has, and sees when it is their turn.
func TestTwoStepsByTwoPeople(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	ann, bob := newTab(t), newTab(t)
	bob.size(390, 844)
	first, second := ann.enter(w, "Ann Finance", models.RoleReviewer), bob.enter(w, "Bob Board", models.RoleReviewer)
	w.team(t, "finance", first.Person.ID)
	w.team(t, "board", second.Person.ID)
	w.team(t, "incident")
	held, _ := w.holdOf(t, w.payments(t, heldInSteps()))
	bob.open(w.console("reviews", held))
	bob.waitForStream()
	bob.until(`document.querySelector('[aria-label="Steps"] [aria-current="step"]').textContent.includes("team")`)
	bob.until(`document.querySelector("[data-approve]").disabled`)
	bob.requireNoOverflow()
	bob.requireClean()
	bob.screenshot("steps-waiting-phone")
	ann.open(w.console("reviews", held))
	ann.review("[data-approve]", "Approved: 1 of 2 approvals.")
	bob.until(`document.querySelector('[aria-label="Steps"] [aria-current="step"]').textContent.includes("board")`)
	bob.until(`!document.querySelector("[data-approve]").disabled`)
	bob.requireClean()
	bob.review("[data-approve]", "Approved: allowed, proof issued.")
	require.Equal(t, "approved", w.get(t, "/api/v1/authorizations/"+held).is(200).string("review_status"))
}

// One of a team breaks the glass with a reason, and two others say that it was justified.
func TestBreakGlassAndItsAfterReview(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	dan := newTab(t)
	breaker := dan.enter(w, "Dan Incident", models.RoleReviewer)
	w.team(t, "incident", breaker.Person.ID)
	w.team(t, "finance")
	w.team(t, "board")
	others := []*tab{newTab(t), newTab(t)}
	for i, name := range []string{"Eve Reviewer", "Fay Reviewer"} { // confirmed before the glass breaks
		others[i].size(widths[i], 844)
		others[i].enter(w, name, models.RoleReviewer)
	}
	held, _ := w.holdOf(t, w.payments(t, heldInSteps()))
	dan.open(w.console("reviews", held))
	dan.write("note", "The payroll is due at six and the team is on the night train.")
	dan.requireClean()
	dan.review(`[value="break_glass"]`, "Approved: allowed, proof issued.")
	dan.open(w.console("reviews"))
	dan.see("Uses of break-glass wait for a review.")
	dan.open(w.console("after-reviews"))
	dan.see("The payroll is due at six")
	dan.until(`!document.querySelector('[name="verdict"]')`) // not their own
	for _, b := range others {
		b.open(w.console("after-reviews"))
		b.see("The payroll is due at six")
		b.requireNoOverflow()
		b.requireClean()
		b.eval(`document.querySelector("textarea").value = "The log of the train agrees."; true`, nil)
		b.click(`[value="justified"]`)
		b.see("The log of the train agrees.")
		b.until(`!document.querySelector('[name="verdict"]')`)
	}
	dan.open(w.console("after-reviews"))
	dan.until(`document.querySelector(".panel .tag").textContent === "justified"`)
	dan.requireClean()
	dan.screenshot("after-review-justified")
}

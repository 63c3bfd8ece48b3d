package browser_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

// returns does what the browser does when the user comes back to the tab.
func (b *tab) returns() {
	b.t.Helper()
	b.eval(`document.dispatchEvent(new Event("visibilitychange"))`, nil)
}

// Two reviewers work on one queue, each in their own browser: each sees what the other takes and settles without a reload, and an
// outdated page changes nothing and says why.
func TestTwoReviewersWorkOnOneQueue(t *testing.T) {
	t.Parallel()
	for _, width := range widths {
		t.Run(widthName(width), func(t *testing.T) {
			t.Parallel()
			w := newSandbox(t)
			action := w.payments(t, holding)
			first, _ := w.holdOf(t, action)
			second, _ := w.holdOf(t, action)
			row := fmt.Sprintf(`document.querySelector('tr[data-id="%s"]')`, first)

			ann, bob := newTab(t), newTab(t)
			for b, name := range map[*tab]string{ann: "Ann Reviewer", bob: "Bob Reviewer"} {
				b.size(width, 800)
				b.enter(w, name, models.RoleReviewer)
				b.open(w.console("reviews"))
				b.waitForStream()
			}
			ann.open(w.console("reviews", first))
			ann.click(".taken button")
			ann.see("You have taken this hold.")
			bob.returns()
			bob.until(row + `.textContent.includes("Ann Reviewer")`)

			bob.open(w.console("reviews", first))
			bob.see("Taken by Ann Reviewer.")
			bob.see("Ann Reviewer has this hold open.")
			bob.requireNoOverflow()
			bob.requireClean()
			bob.screenshot("console-taken-by-another-" + widthName(width))
			ann.waitForStream()
			bob.click(".taken button")
			bob.see("You have taken this hold.")
			ann.returns()
			ann.see("Taken by Bob Reviewer.")
			ann.see("Bob Reviewer has this hold open.")

			bob.open(w.console("reviews"))
			bob.waitForStream()
			ann.review("[data-approve]", "Approved: allowed, proof issued.")
			bob.until(row + `.matches(".settled")`)
			bob.until(`document.querySelector('[data-live="counts"] dd').textContent === "1"`)
			bob.requireClean()

			for _, b := range []*tab{ann, bob} {
				b.open(w.console("reviews", second))
				b.waitForStream()
				b.eval(`dispatchEvent(new PageTransitionEvent("pagehide")), true`, nil) // the page closes its stream
			}
			ann.click(".taken button")
			ann.see("You have taken this hold.")
			bob.expect("status of 409")
			bob.click(".taken button")
			bob.see("A different reviewer has taken this hold in the meantime. Nothing was changed.")
			bob.requireNoOverflow()
			bob.requireClean()
			bob.write("note", "Not expected.")
			bob.review("[data-reject]", "This hold is rejected")
			ann.see("This hold is rejected")
			require.Equal(t, "rejected", w.get(t, "/api/v1/authorizations/"+second).is(200).string("review_status"))
		})
	}
}

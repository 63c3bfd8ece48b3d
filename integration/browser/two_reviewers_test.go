package browser_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

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
			ann.see("Assigned to you.")
			bob.until(row + `.textContent.includes("Ann Reviewer")`)

			bob.open(w.console("reviews", first))
			bob.see("Assigned to Ann Reviewer.")
			bob.see("Ann Reviewer has this hold open.")
			bob.requireNoOverflow()
			bob.requireClean()
			bob.screenshot("console-taken-by-another-" + widthName(width))
			ann.waitForStream()
			bob.click(".taken button")
			bob.see("Assigned to you.")
			ann.see("Assigned to Bob Reviewer.")
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
			ann.see("Assigned to you.")
			bob.expect("status of 409")
			bob.click(".taken button")
			bob.see("A colleague was assigned this hold in the meantime. Nothing was changed.")
			bob.requireNoOverflow()
			bob.requireClean()
			bob.write("note", "Not expected.")
			bob.review("[data-reject]", "This hold is rejected")
			ann.see("This hold is rejected")
			require.Equal(t, "rejected", w.get(t, "/api/v1/authorizations/"+second).is(200).string("review_status"))
		})
	}
}

// Who has a hold, and who has it open, arrives by the stream: on the desk, beside a hold, and on the page of the hold.
func TestDeskShowsWhoHasWhatAtOnce(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	action := w.supplierPayments(t, overOneThousand())
	held, other := w.pays(t, action, 2000, suppliers[0]), w.pays(t, action, 3000, suppliers[1])
	ann, bob := newTab(t), newTab(t)
	ann.size(1280, 800)
	ann.enter(w, "Ann Reviewer", models.RoleReviewer)
	bob.enter(w, "Bob Reviewer", models.RoleReviewer)
	soon := func(what, condition string) {
		t.Helper()
		began := time.Now()
		ann.until(condition)
		took := time.Since(began)
		t.Logf("%s: %s", what, took)
		require.Less(t, took, 10*time.Second, "by the stream, and not by the next reading of the page")
	}
	row := fmt.Sprintf(`document.querySelector('tr[data-id="%s"]').textContent`, held)
	beside := fmt.Sprintf(`[...document.querySelectorAll(".slim [data-row]")].find((row) => row.querySelector("a").href.includes("%s")).textContent`, held)
	for _, c := range []struct {
		page, where string
	}{{w.console("reviews"), row}, {w.console("reviews", other), beside}} {
		ann.open(c.page)
		ann.waitForStream()
		bob.open(w.console("reviews", held))
		bob.waitForStream()
		soon("opens", c.where+`.includes("open: Bob Reviewer")`)
		bob.click(".taken button")
		bob.see("Assigned to you.")
		soon("takes", c.where+`.includes("Bob Reviewer open: Bob Reviewer") || `+c.where+`.includes("· Bob Reviewer")`)
		ann.requireNoOverflow()
		ann.requireClean()
		bob.click(".taken button")
		bob.see("Not assigned.")
		soon("releases", `!(`+c.where+`.includes("Bob Reviewer open") || `+c.where+`.includes("· Bob Reviewer"))`)
		bob.waitForStream() // the page says that it is left only once its script runs
		bob.open("about:blank")
		soon("leaves", `!`+c.where+`.includes("Bob Reviewer")`)
	}
	ann.open(w.console("reviews", held))
	ann.waitForStream()
	ann.press("n")
	ann.press("I am writing")
	bob.open(w.console("reviews", held))
	soon("opens", `document.querySelector(".viewers").textContent.includes("Bob Reviewer has this hold open.")`)
	bob.click(".taken button")
	soon("takes", `document.querySelector(".taken").textContent.includes("Assigned to Bob Reviewer.")`)
	ann.until(`document.querySelector("#note").value.endsWith("I am writing")`)
	ann.screenshot("hold-seen-by-two")
}

// Two reviewers press within a second, in both orders: the request is rejected, and the one who approved reads why theirs was not made.
func TestRejectionWinsWithinASecond(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	action := w.supplierPayments(t, overOneThousand())
	for name, first := range map[string]string{"approved first": "approve", "rejected first": "reject"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			held := w.pays(t, action, 2000, suppliers[0])
			ann, bob := newTab(t), newTab(t)
			ann.enter(w, "Ann Reviewer", models.RoleReviewer)
			bob.enter(w, "Bob Reviewer", models.RoleReviewer)
			for _, b := range []*tab{ann, bob} {
				b.open(w.console("reviews", held))
				b.waitForStream()
			}
			bob.write("note", "Not our invoice.")
			bob.eval(`document.querySelector("[data-reject]").focus()`, nil)
			ann.eval(`document.querySelector("[data-approve]").focus()`, nil)
			presses := []*tab{ann, bob}
			if first == "reject" {
				presses = []*tab{bob, ann}
			}
			began := time.Now()
			for _, b := range presses {
				b.press(kb.Enter)
			}
			t.Logf("both pressed within %s", time.Since(began))
			require.Eventually(t, func() bool {
				return w.get(t, "/api/v1/authorizations/"+held).is(200).string("review_status") == "rejected"
			}, patience, 100*time.Millisecond)
			ann.until(`/rejected/.test(document.querySelector("main").textContent)`)
			bob.open(w.console("reviews", held))
			bob.see("This hold is rejected")
			ann.open(w.console("reviews", held))
			ann.see("This hold is rejected")
			require.Regexp(t, `rejected by Bob Reviewer`, ann.text(".ending"))
		})
	}
}

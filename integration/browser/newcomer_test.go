package browser_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

// A new reviewer is invited, registers a passkey, signs in again with it and settles fifty holds by keyboard: ten one after the other, and
// forty as four groups that are alike.
func TestNewcomerSettlesFiftyHolds(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	action := w.supplierPayments(t, overOneThousand())
	var held []string
	for i := range 50 {
		payee := fmt.Sprintf("Supplier %d", i)
		if i >= 10 {
			payee = suppliers[i/10]
		}
		held = append(held, w.pays(t, action, 2000+float64(i), payee))
	}
	b := newTab(t)
	b.size(1280, 800)
	began := time.Now()
	b.enter(w, "Nia Newcomer", models.RoleReviewer)
	b.click(`[popovertarget="account"]`)
	b.click(`form[action="/console/sign-out"] button`)
	b.see("Sign in to the console")
	b.click("[data-start]")
	b.until(`location.pathname.endsWith("/reviews") && document.querySelectorAll("[data-row]").length === 50`)
	t.Logf("from the invitation to the desk: %.1f s", time.Since(began).Seconds())

	keys := 0
	press := func(text string) {
		b.press(text)
		keys++
	}
	began = time.Now()
	b.waitForStream()
	press("j")
	press(kb.Enter)
	for i := range 10 {
		b.until(fmt.Sprintf("location.pathname.endsWith(%q)", held[i]))
		b.waitForStream()
		before, from := keys, time.Now()
		press("a")
		b.until(`document.activeElement.matches("[data-approve]")`)
		press(kb.Enter)
		b.until(fmt.Sprintf("location.pathname.endsWith(%q)", held[i+1]))
		if i == 0 {
			t.Logf("one hold, until its neighbour is open: %d keys, %.1f s", keys-before, time.Since(from).Seconds())
			require.Equal(t, 2, keys-before)
		}
	}
	b.waitForStream()
	press("u")
	for group := range 4 {
		b.until(fmt.Sprintf(`document.querySelector("[data-row]:not(.settled)")?.dataset.id === %q`, held[10*(group+1)]))
		b.waitForStream()
		before, from := keys, time.Now()
		press("j")
		press("X")
		b.until(`document.querySelector("[data-selected]").textContent === "10"`)
		press("a")
		b.until(`document.activeElement.matches("[data-approve]")`)
		press(kb.Enter)
		b.until(`document.activeElement.textContent === "Approve 10 holds"`)
		press(kb.Enter)
		b.until(`document.querySelector("[data-undo]")`)
		if group == 0 {
			t.Logf("ten alike, until their reviews are given: %d keys, %.1f s", keys-before, time.Since(from).Seconds())
			require.Equal(t, 5, keys-before)
		}
		b.see("Approve: done")
		b.until(`document.activeElement.matches("a[data-focus]")`)
		if group < 3 {
			press("u")
		}
	}
	for _, id := range held {
		require.Eventually(t, func() bool {
			return w.get(t, "/api/v1/authorizations/"+id).is(200).string("review_status") == "approved"
		}, patience, 100*time.Millisecond)
	}
	t.Logf("fifty holds: %d keys, %.1f s", keys, time.Since(began).Seconds())
	b.requireClean()
}

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
	var subject string
	for i := range 50 {
		payee := fmt.Sprintf("Supplier %d", i)
		if i >= 10 {
			payee = suppliers[i/10]
		}
		if i < 10 || i%10 == 0 {
			subject = w.subject(t)
		}
		held = append(held, w.paysTo(t, action, 2000+float64(i), payee, subject, "DE89370400440532013000"))
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

// A working day: fifty holds, among them three frauds that look like the payments around them and differ in the account only, in the subject only, and
// in one digit of the amount. The first two are not selected with the others, and the bulk page marks the third: none is approved.
func TestWorkingDayWithThreeFrauds(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	action := w.supplierPayments(t, overOneThousand())
	const account, foreign = "DE89370400440532013000", "DE75512108001245126199"
	const ofAccount, ofSubject, ofAmount = 4, 14, 24 // where the frauds are
	var held []string
	for group := range 5 {
		subject := w.subject(t)
		for i := range 10 {
			to, by, amount := account, subject, 1249.9+float64(group)
			switch 10*group + i {
			case ofAccount:
				to = foreign
			case ofSubject:
				by = w.subject(t)
			case ofAmount:
				amount += 6
			}
			held = append(held, w.paysTo(t, action, amount, suppliers[group], by, to))
		}
	}
	b := newTab(t)
	b.size(1280, 800)
	b.enter(w, "Ann Reviewer", models.RoleReviewer)
	b.open(w.console("reviews"))
	began, keys := time.Now(), 0
	press := func(texts ...string) {
		for _, text := range texts {
			b.press(text)
			keys++
		}
	}
	// chooses selects the holds like the first one, and opens the page on which a resolution of them is confirmed.
	choose := func(first, count int, key, button string) {
		b.until(fmt.Sprintf(`document.querySelector("[data-row]:not(.settled)")?.dataset.id === %q`, held[first]))
		b.waitForStream()
		press("j", "X")
		b.until(fmt.Sprintf(`document.querySelector("[data-selected]").textContent === "%d"`, count))
		press(key)
		b.until(`document.activeElement.matches("` + button + `")`)
		press(kb.Enter)
	}
	settle := func(n int) {
		b.until(fmt.Sprintf(`document.activeElement.textContent === "Approve %d holds"`, n))
		b.until(`!document.querySelector("mark")`) // no difference among those that are approved
		press(kb.Enter)
		b.see("Approve: done")
		b.until(`document.activeElement.matches("a[data-focus]")`)
		press("u")
	}
	reject := func(first int, note string) {
		choose(first, 1, "r", "[data-reject]")
		b.until(`document.activeElement.id === "note"`)
		press(note)
		press(kb.Tab, kb.Enter)
		b.see("Reject: done")
		b.until(`document.activeElement.matches("a[data-focus]")`)
		press("u")
	}
	choose(0, 9, "a", "[data-approve]")
	settle(9)
	reject(ofAccount, "Another account than ever before.")
	choose(10, 9, "a", "[data-approve]")
	settle(9)
	reject(ofSubject, "Not the person who orders there.")
	choose(20, 10, "a", "[data-approve]")
	b.see("1 of 10 differs from the first.")
	var marked string
	b.eval(`[...document.querySelectorAll("td.amount mark")].map((mark) => mark.firstElementChild.textContent).join()`, &marked)
	require.Equal(t, "7", marked, "the digit of 1,257.90 that differs from 1,251.90")
	b.screenshot("working-day-amount")
	b.until(`document.activeElement.textContent === "Approve 10 holds"`) // the script runs
	press("u")
	b.until(fmt.Sprintf(`document.querySelector("[data-row]:not(.settled)")?.dataset.id === %q`, held[20]))
	b.waitForStream()
	press("j", "X", "j", "j", "j", "j", "x", "a")
	b.until(`document.querySelector("[data-selected]").textContent === "9" && document.activeElement.matches("[data-approve]")`)
	press(kb.Enter)
	settle(9)
	reject(ofAmount, "One digit is another than on the invoice.")
	for _, group := range []int{30, 40} {
		choose(group, 10, "a", "[data-approve]")
		settle(10)
	}
	t.Logf("a working day of 50 holds: %d keys, %.1f s, 3 of 3 frauds seen", keys, time.Since(began).Seconds())
	for i, id := range held {
		want := "approved"
		if i == ofAccount || i == ofSubject || i == ofAmount {
			want = "rejected"
		}
		require.Eventually(t, func() bool {
			return w.get(t, "/api/v1/authorizations/"+id).is(200).string("review_status") == want
		}, 4*patience, 100*time.Millisecond, "%d", i)
	}
	b.requireClean()
}

package browser_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

// A new hold is announced by a banner and does not move the list. The banner shows it.
func TestDeskOffersNewHoldsWithoutMovingTheList(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	action := w.payments(t, holding)
	first, _ := w.holdOf(t, action)
	b := newTab(t)
	b.enter(w, "Ann", models.RoleReviewer)
	shown := func() (ids string) {
		b.eval(`[...document.querySelectorAll("tr[data-row]")].map((row) => row.dataset.id).join()`, &ids)
		return ids
	}
	b.open(w.console("reviews"))
	b.waitForStream()
	require.Equal(t, first, shown())
	second, subject := w.holdOf(t, action)
	b.see("Show 1 new hold")
	require.Equal(t, first, shown(), "the list has not moved")
	b.until(`document.querySelector("[data-announce]").textContent === "1 new hold."`)
	b.requireAccessible()
	b.click("[data-show]")
	b.see(subject)
	require.Equal(t, first+","+second, shown())

	b.open(w.console("reviews", first))
	b.see("1 of 2") // above the page if there is no room for the side list
	b.size(1280, 800)
	b.waitForStream()
	w.holdOf(t, action)
	b.see("Show 1 new hold")
	b.see("1 of 3")
}

// The open hold is in the side list with its position, however long the queue is; searching and taking it work by keyboard.
func TestDeskKeepsTheOpenHoldInTheList(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	action := w.payments(t, holding)
	var last, subject string
	for range 62 {
		last, subject = w.holdOf(t, action)
	}
	b := newTab(t)
	b.enter(w, "Ann", models.RoleReviewer)
	for _, width := range widths {
		b.size(width, 800)
		b.open(w.console("reviews", last))
		b.until(`document.querySelector(".beside").textContent.includes("62 of 62")`)
		b.until(fmt.Sprintf(`document.querySelector(".slim .here").textContent.includes(%q)`, subject))
		b.requireNoOverflow()
	}
	b.open(w.console("reviews"))
	b.waitForStream()
	b.press("/")
	b.until(`document.activeElement.id === "f-text"`)
	b.eval(`document.activeElement.value = ""`, nil) // the driver types the key that a browser's user only presses
	b.press(subject + "\r")
	b.until(`document.querySelectorAll("tr[data-row]").length === 1`)
	b.requireNoOverflow()
	b.requireAccessible()
	b.press("j")
	b.press("\r")
	b.see("Not assigned.")
	b.click(`.taken button`)
	b.see("Assigned to you.")
	b.requireNoOverflow()
	b.requireAccessible()
	b.screenshot("console-taken")
}

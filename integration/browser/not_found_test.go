package browser_test

import (
	"testing"
)

func TestUnknownPageShowsNotFound(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	b.expect("status of 404")
	b.open("/assets/nothing")
	b.see("Page not found")
	b.requireAccessible()
	b.screenshot("shell-not-found")
	b.size(360, 740)
	b.dark(true)
	b.requireFits()
	b.requireAccessible()
	b.screenshot("shell-not-found-phone-dark")
}

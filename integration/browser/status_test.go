package browser_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The page of a person who waits follows the hold without a reload, in their language and on a phone, and names nothing of the request.
func TestStatusPageFollowsTheHold(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject := w.subject(t)
	held := w.authorize(t, subject, w.action(t, "enforce", "Release a payment", "The money leaves.", holding), "hold")
	link := held.string("hold.status_url")
	path := link[strings.Index(link, "/status/"):]
	b, phone := newTab(t), newTab(t)
	b.open(path)
	b.see("Your request is waiting for approval")
	b.until(`document.documentElement.dataset.stream === "open"`)
	b.requireAccessible()
	phone.size(360, 740)
	phone.dark(true)
	phone.open(path + "?lang=de")
	phone.see("Ihre Anfrage wartet auf Freigabe")
	phone.until(`document.documentElement.dataset.stream === "open"`)
	phone.requireFits()
	phone.requireAccessible()
	for _, hidden := range []string{subject, "Release a payment", "The money leaves"} {
		require.NotContains(t, b.text("html"), hidden)
	}
	var kept bool
	b.eval(`(window.before = true)`, &kept)
	w.post(t, "/api/v1/authorizations/"+held.string("id")+"/review", object{"resolution": "approve"}).is(200)
	b.see("Your request was approved")
	phone.see("Ihre Anfrage wurde freigegeben")
	b.eval(`window.before === true`, &kept)
	require.True(t, kept, "the page was not loaded again")
	b.requireAccessible()

	withdrawn := w.authorize(t, subject, w.action(t, "enforce", "Release a payment", "The money leaves.", holding), "hold")
	link = withdrawn.string("hold.status_url")
	b.open(link[strings.Index(link, "/status/"):])
	b.until(`document.documentElement.dataset.stream === "open"`)
	w.post(t, "/api/v1/authorizations/"+withdrawn.string("id")+"/withdraw", nil).is(200)
	b.see("Your request was withdrawn")
	b.expect("404")
	b.open(path[:len(path)-1])
	b.see("This link shows nothing")
}

package browser_test

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

// A reviewer who is also an operator makes a team and names a deputy without a mouse, on a phone and on a desktop.
func TestConsoleTeamsByKeyboard(t *testing.T) {
	t.Parallel()
	for name, size := range map[string][2]int64{"phone": {390, 844}, "desktop": {1280, 900}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newSandbox(t)
			colleague := w.invited(t, "Ann Example", models.RoleReviewer)
			b := newTab(t)
			b.size(size[0], size[1])
			b.enter(w, "Olga Operator", models.RoleOperator, models.RoleReviewer)
			b.expect("status of 422")
			b.begin(w.console("teams"))
			b.see("No teams yet")
			b.begin(w.console("teams", "new"))
			b.write("key", "Finance")
			b.write("name", "Finance")
			b.tabTo(`[name="members"][value="person:` + colleague.Person.ID + `"]`)
			b.press(" ")
			b.sends("One value is not accepted.")
			b.write("key", "finance")
			b.sends("The team is saved.")
			b.tabTo("[data-list] a")
			b.press(kb.Enter)
			b.see("Save the team")
			b.settled()
			require.Len(t, w.get(t, "/api/v1/teams").is(200).list(), 1)

			b.begin(w.console("deputies", "new"))
			b.tabTo(`[name="ends_at"]`)
			b.eval(`(document.activeElement.value = "`+time.Now().UTC().AddDate(0, 0, 7).Format("2006-01-02T15:04")+`", true)`, nil)
			b.sends("The deputy is named.")
			b.tabTo(".ask summary")
			b.press(kb.Enter)
			b.tabTo(`.ask[open] [name="sure"]`)
			b.press(kb.Enter)
			b.see("The deputyship has ended.")
			b.settled()
		})
	}
}

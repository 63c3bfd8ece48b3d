package browser_test

import (
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

// An operator who also reviews makes a list, adds and removes entries, and adds the payee of a hold to it, without a mouse.
func TestConsoleListsByKeyboard(t *testing.T) {
	t.Parallel()
	for name, size := range map[string][2]int64{"phone": {390, 844}, "desktop": {1280, 900}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newSandbox(t)
			held := w.paying(t, w.subject(t), "hold", holding).string("id")
			b := newTab(t)
			b.size(size[0], size[1])
			b.enter(w, "Olga Operator", models.RoleOperator, models.RoleReviewer)
			b.expect("status of 422")
			b.begin(w.console("lists"))
			b.see("No lists yet.")
			b.begin(w.console("lists", "new"))
			b.write("name", "Known payees")
			b.sends("One value is not accepted.")
			b.write("name", "known_payees")
			b.sends("The list is created.")
			b.tabTo(".acts .button.primary")
			b.press(kb.Enter)
			b.see("Add to known_payees")
			b.settled()
			b.write("add.value", "Ada Example")
			b.sends("One value is not accepted.")
			b.write("add.reason", "Paid before.")
			b.sends("The value is in the list.")
			b.see("Ada Example")
			b.screenshot("list-" + name)
			b.tabTo("td .ask summary")
			b.press(kb.Enter)
			b.tabTo(`td .ask[open] [name="sure"]`)
			b.press(kb.Enter)
			b.see("The entry was removed from the list.")
			b.see("No entries.")

			for _, page := range []string{"decisions", "reviews"} {
				b.begin(w.console(page, held))
				b.screenshot("list-from-" + page + "-" + name)
				b.tabTo(".add-to summary")
				b.press(kb.Enter)
				b.tabTo(`.add-to a[href$="detail=2"]`)
				b.press(kb.Enter)
				b.see("Payee, as the decision shows it.")
				b.sends("The value is in the list.")
				b.see("Müller & Söhne")
			}
			list := w.get(t, "/api/v1/lists").is(200).list()[0]
			require.EqualValues(t, 1, list["entries"])

			b.begin(w.console("lists", list["id"].(string)))
			b.tabTo(`[name="value"]`)
			b.press("muller")
			b.press(kb.Enter)
			b.see("No entry has this value.")
			b.settled()
			b.press("g")
			b.press("i")
			b.see("known_payees")
		})
	}
}

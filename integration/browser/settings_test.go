package browser_test

import (
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

// Settings are under the question that they answer, with their default and in units of people. One button saves what was changed.
func TestSettingsAnswerQuestions(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	b := newTab(t)
	b.enter(w, "Olga Operator", models.RoleOperator)
	for _, width := range widths {
		b.size(width, 800)
		b.begin(w.console("settings"))
		b.until(`document.querySelectorAll(".parts a").length === 7`)
		b.until(`document.querySelector(".entry .button.primary").getBoundingClientRect().bottom <= innerHeight`)
		b.click(`.parts a[href="#f-challenge_ttl_seconds-from"]`)
		b.until(`(({top}) => top >= 0 && top < innerHeight / 2)(document.querySelector("#f-challenge_ttl_seconds-from").getBoundingClientRect())`)
		require.Equal(t, "How long does a request wait?", b.text("#f-challenge_ttl_seconds-from"))
	}
	require.Contains(t, b.text("#f-hold_ttl_seconds-hint"), "Default: 3 days.")
	require.NotContains(t, b.text("#f-hold_ttl_seconds-hint"), "Changed")
	b.write("hold_ttl_seconds", "8 hours")
	b.press(kb.Enter)
	b.see("The settings are saved.")
	require.Contains(t, b.text("#f-hold_ttl_seconds-hint"), "Changed from the default.")
	b.until(`document.querySelector("#f-hold_ttl_seconds").value === "8 h"`)
	b.expect("status of 422")
	b.write("hold_ttl_seconds", "soon")
	b.sends("One value is not accepted.")
	require.Equal(t, "Time limit of a review: write how long, such as 90 s, 15 min, 8 h or 3 days.", b.text(`[data-notice] a[href="#f-hold_ttl_seconds"]`))
	require.InDelta(t, 28800, w.get(t, "/api/v1/environment").is(200).object()["hold_ttl_seconds"], 0)
}

// The longest forms of the console are three windows long at most, and each of their parts is reached by one click.
func TestLongFormsStayShort(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	w.supplierPayments(t, overOneThousand())
	b := newTab(t)
	b.enter(w, "Olga Operator", models.RoleOperator)
	b.size(1280, 800)
	for name, page := range map[string]string{"settings": w.console("settings"), "draft": w.console("policies", w.actionID(t), "draft")} {
		b.begin(page)
		b.screenshot("long-form-" + name)
		var height int
		b.eval(`document.documentElement.scrollHeight`, &height)
		require.LessOrEqual(t, height, 2400, name)
		b.eval(`scrollTo(0, document.documentElement.scrollHeight)`, nil)
		b.click(".parts a")
		b.until(`(({top}) => top >= document.querySelector(".parts").getBoundingClientRect().bottom && top < innerHeight / 2)(
			document.querySelector(".entry h2").getBoundingClientRect())`)
	}
}

package browser_test

import (
	"testing"

	"github.com/countersign-dev/countersign/models"
)

// An auditor verifies the whole log from its page, and sees that a record contradicts it where the record is shown.
func TestAuditorVerifiesTheLog(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	held := w.pays(t, w.supplierPayments(t, overOneThousand()), 2000, suppliers[0])
	b := newTab(t)
	b.enter(w, "Ada Auditor", models.RoleAuditor)
	b.begin(w.console("audit"))
	b.click(`a[href$="/audit/verify"]`)
	b.see("Nothing was changed.")
	b.see("Signed head")
	b.settled()
	b.open(w.console("decisions", held))
	b.see("The decision")
	b.until(`!document.body.textContent.includes("contradicts")`)
	b.requireClean()
}

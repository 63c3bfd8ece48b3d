package browser_test

import (
	"testing"
)

// operation is JavaScript for the element of an operation on the reference page.
const operation = `document.querySelector("rapi-doc").shadowRoot.querySelector("api-request").shadowRoot`

// The reference page shows the operations and sends a request of one. The tab fails on errors and on requests to other hosts.
func TestReferencePageTriesAnOperation(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	b.open("/docs#get-/.well-known/service-proof-keys.json")
	b.until(`document.querySelector("rapi-doc").shadowRoot.textContent.includes("Capability states and reason codes")`)
	b.until(operation + `.querySelector("button[part~='btn-try']")`)
	b.eval(operation+`.querySelector("button[part~='btn-try']").click()`, nil)
	b.until(operation + `.textContent.includes("Status: 200") || ` + operation + `.textContent.includes("\"keys\"")`)
	b.screenshot("reference")

	b.open("/docs/errors#not_found")
	b.see("resources of other tenants and environments")
	b.requireAccessible()
	b.open("/docs/events")
	b.see("authorization.decided")
	b.requireAccessible()
}

package browser_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/integration/apitest"
	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
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

// Who has an export and the keys of the service verifies it with one file, from a disk. It takes what was exported, and nothing else.
func TestExportIsVerifiedWithoutAnInstallation(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	w.pays(t, w.supplierPayments(t, overOneThousand()), 2000, "Müller & Söhne <\u2028>")
	scope := pg.Scope{Tenant: w.TenantID, Environment: w.ID}
	var export strings.Builder
	require.Eventually(t, func() bool {
		export.Reset()
		head, err := audit.SignedHead(t.Context(), shared.Store.Q, scope, shared.Signing, shared.Clock)
		require.NoError(t, err)
		_, err = audit.Export(t.Context(), shared.Store, scope, audit.Range{}, head, &export)
		require.NoError(t, err)
		return strings.Contains(export.String(), string(events.HoldOpened))
	}, patience, 100*time.Millisecond)
	public := apitest.Request{Base: shared.baseURL, Method: http.MethodGet, Path: "/.well-known/service-proof-keys.json"}
	keys, err := public.Send()
	require.NoError(t, err)
	public.Path = "/docs/verify-export.html"
	page, err := public.Send()
	require.NoError(t, err)
	require.Contains(t, page.Header.Get("Content-Disposition"), "attachment")
	file := filepath.Join(t.TempDir(), "verify-export.html")
	require.NoError(t, os.WriteFile(file, page.Body, 0o600))

	b := newTab(t)
	b.expect("request to another host: file://")
	b.open("file://" + file)
	verify := func(export, keys string) {
		t.Helper()
		files, err := json.Marshal(map[string]string{"export": export, "keys": keys})
		require.NoError(t, err)
		b.eval(`(() => {
			for (const [name, text] of Object.entries(`+string(files)+`)) {
				const chosen = new DataTransfer();
				chosen.items.add(new File([text], name));
				document.querySelector("[name=" + name + "]").files = chosen.files;
			}
			document.querySelector("button").click();
		})()`, nil)
		b.until(`document.querySelector("#result").className !== ""`)
	}
	whole := export.String()
	lines := strings.SplitAfter(strings.TrimSuffix(whole, "\n"), "\n")
	last := len(lines) - 1
	verify(whole, string(keys.Body))
	b.see("Nothing was changed.")
	b.see("Environment " + w.ID + ": " + strconv.Itoa(last) + " entries")
	b.requireAccessible()
	for _, width := range widths {
		b.size(width, 800)
		b.requireFits()
		b.screenshot("verify-export-" + widthName(width))
	}
	verify(lines[0]+strings.Join(lines[2:], ""), string(keys.Body))
	b.see("The export begins with link 2.")
	for name, altered := range map[string]string{
		"cut off":      strings.Join(lines[:last], ""),
		"one missing":  strings.Join(slices.Delete(slices.Clone(lines), 2, 3), ""),
		"exchanged":    strings.Join(append(append([]string{lines[0], lines[2], lines[1]}, lines[3:last]...), lines[last]), ""),
		"no head":      strings.Join(lines[1:], ""),
		"another head": strings.Replace(whole, `"sequence":`, `"sequence":1`, 1),
		"given twice":  strings.Replace(whole, `"kind":`, `"kind":"hold.approved","kind":`, 1),
		"one more":     strings.Replace(whole, `"kind":`, `"paid":true,"kind":`, 1),
		"empty":        "",
	} {
		verify(altered, string(keys.Body))
		require.Regexp(t, "This is not what was sealed|could not be verified", b.text("#result"), name)
	}
	verify(whole, `{"keys": []}`)
	b.see("the key that signed the head is not among the keys")
	// Every member of every line that a hash covers.
	text, err := json.Marshal([]string{whole, string(keys.Body)})
	require.NoError(t, err)
	var passed []string
	b.eval(`(async () => {
		const [whole, keys] = `+string(text)+`, lines = whole.trimEnd().split("\n"), passed = [];
		for (const at of [1, lines.length - 1]) for (const name of members.filter((name) => name !== "sealed_at" && name !== "erased_at")) {
			const line = JSON.parse(lines[at]), value = line[name];
			line[name] = typeof value === "number" ? value + 1 : value === null ? "x" : typeof value === "object" ? { ...value, x: 1 } : value.replace(/.$/, (c) => (c === "A" ? "B" : "A"));
			const altered = lines.with(at, JSON.stringify(line)).join("\n");
			const result = await verify(new File([altered], "export"), new File([keys], "keys")).catch(() => ({ findings: ["refused"] }));
			if (result.findings.length === 0) passed.push(at + " " + name);
		}
		return passed;
	})()`, &passed)
	require.Empty(t, passed, "altered members that the page takes")
}

package browser_test

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// axeSource is axe-core 4.14.1 (testdata/axe.LICENSE), the accessibility checker.
//
//go:embed testdata/axe.min.js
var axeSource string

// axeRun checks WCAG 2.2 A and AA and axe-core's best practices. If the same document was found clean before, with each element in the
// same place and state, only its colours can have changed, as between light and dark: then the rules about colours suffice.
const axeRun = `(async () => {
	const state = JSON.stringify([innerWidth, innerHeight, document.title, document.documentElement.outerHTML, [...document.querySelectorAll("*")].map((e) => {
		const box = e.getBoundingClientRect();
		return [box.x, box.y, box.width, box.height, e.checkVisibility({opacityProperty: true, visibilityProperty: true}), e.checked, e.value];
	})]);
	const options = {resultTypes: ["violations"]};
	if (globalThis.clean === state) options.runOnly = {type: "rule", values: ["color-contrast", "link-in-text-block"]};
	const {violations} = await axe.run(document, options);
	if (violations.length === 0) globalThis.clean = state;
	return JSON.stringify(violations.map((v) => ({
		id: v.id, impact: v.impact, help: v.help, nodes: v.nodes.map((n) => n.target.join(" ") + ": " + n.failureSummary)})));
})()`

// violation is a fault that axe-core finds.
type violation struct {
	ID, Impact, Help string
	Nodes            []string
}

func (v violation) String() string {
	return fmt.Sprintf("%s (%s): %s\n  %s", v.ID, v.Impact, v.Help, strings.Join(v.Nodes, "\n  "))
}

// requireAccessible requires that axe-core finds no serious or critical fault in the page.
func (b *tab) requireAccessible() {
	b.t.Helper()
	b.requireNoViolation(func(v violation) bool { return v.Impact == "serious" || v.Impact == "critical" })
}

// requireClean requires that axe-core finds no fault in the page.
func (b *tab) requireClean() {
	b.t.Helper()
	b.requireNoViolation(func(violation) bool { return true })
}

// requireNoViolation requires that axe-core finds no fault that counts. It runs in an isolated world, to which the page's content
// security policy does not apply. The world lasts as long as the document.
func (b *tab) requireNoViolation(counts func(violation) bool) {
	b.t.Helper()
	var found string
	b.run(chromedp.ActionFunc(func(ctx context.Context) error {
		tree, err := page.GetFrameTree().Do(ctx)
		if err != nil {
			return err
		}
		world, err := page.CreateIsolatedWorld(tree.Frame.ID).WithWorldName("axe").Do(ctx)
		if err != nil {
			return err
		}
		loaded, err := evaluateIn(ctx, world, "typeof axe")
		if err == nil && loaded == "undefined" {
			_, err = evaluateIn(ctx, world, axeSource+";null")
		}
		if err != nil {
			return err
		}
		found, err = evaluateIn(ctx, world, axeRun)
		return err
	}))
	var violations []violation
	require.NoError(b.t, json.Unmarshal([]byte(found), &violations), "axe returned %s", found)
	var faults []string
	for _, v := range violations {
		if counts(v) {
			faults = append(faults, v.String())
		}
	}
	require.Empty(b.t, faults, "axe finds faults at %s:\n%s", b.address(), strings.Join(faults, "\n"))
}

func evaluateIn(ctx context.Context, world runtime.ExecutionContextID, expression string) (string, error) {
	result, thrown, err := runtime.Evaluate(expression).WithContextID(world).WithAwaitPromise(true).WithReturnByValue(true).Do(ctx)
	if err != nil {
		return "", err
	}
	if thrown != nil {
		return "", thrown
	}
	var text string
	if len(result.Value) > 0 && string(result.Value) != "null" {
		err = json.Unmarshal(result.Value, &text)
	}
	return text, err
}

package features

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// modalityNotes introduce the modalities in docs/features.md.
var modalityNotes = map[Modality]string{
	Keystroke: "Key groups go by physical key: L/R hand; P, R, M, I are little, ring, middle, index finger; SP space, BS backspace and delete, SH shift and caps lock, OT the rest. " +
		"PP is the time from press to press, RP from release to the next press. Times are relative to one typical value, which the definition names, and clipped to the cell's range.",
	Pointer: "A step joins two successive moves or drags; speeds are in px/ms. A stroke ends at a pause of 100 ms or a button, and counts from 5 events and 10 px on. Polling intervals and step sizes are not used: they identify a mouse and a browser, not a person.",
	Scroll:  "A burst ends at a pause of 200 ms.",
	Rhythm:  "Times between presses, pointer events and scroll events on one line.",
	Gaze:    "Reported by an eye tracker's own software. No camera frame and no gaze position is ever accepted.",
}

// Markdown renders docs/features.md from the schema. A test compares the file with it.
func Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Feature frames

Schema `+"`%s`"+`, tables `+"`%s`"+`. This page is generated from the code (`+"`go test ./internal/behavior/features -update`"+`).

A frame describes how a person typed and moved, never what was typed. It is a set of cells; a cell is the mean of a timing value over the
events of the frame that belong to it. Every cell is sent as `+"`[n, mean]`"+`: the count as a bin (omitted for 0, %d for 1 to 3 events,
%d for 4 and more), because exact counts can single out a known text, and the mean with two decimals. Presence scalars are single
numbers that distinguish a person from a program; they never enter a template.

## The features object

`, SchemaVersion, tables.Version, CountFew, CountMany)
	body, err := json.MarshalIndent(ExampleJSON(), "", "  ")
	if err != nil {
		panic("features: the example does not marshal: " + err.Error())
	}
	fmt.Fprintf(&b, "```json\n%s\n```\n\n", body)
	writeRules(&b)
	for _, m := range Modalities() {
		fmt.Fprintf(&b, "## %s: %d cells\n\n%s\n\n| cell | definition | unit | from | to |\n|---|---|---|---|---|\n", m, Dim(m), modalityNotes[m])
		writeCells(&b, Cells(m))
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "## Presence: %d scalars\n\nKeystroke scalars need %d press to press times, pointer scalars %d moving steps; below that they are left out.\n\n"+
		"| scalar | of | definition | unit | from | to |\n|---|---|---|---|---|---|\n", len(presenceScalars), minPresencePairs, minPresenceSteps)
	for _, s := range presenceScalars {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %.0f | %.0f |\n", s.Name, s.Modality, cellText(s.Definition), s.Unit, s.Min, s.Max)
	}
	return b.String()
}

// series matches what the cells of a series differ by in their definitions.
var series = regexp.MustCompile(`\b(group|class|octant|band) ([^\s:;]+)`)

// writeCells writes one row for each series of cells, whose definitions differ in their group, class, octant or band only.
func writeCells(b *strings.Builder, cells []Cell) {
	row := func(c Cell) (name, member, rest string) {
		name, rest = c.Name, fmt.Sprintf(" | %s | %s | %.2f | %.2f |\n", cellText(series.ReplaceAllString(c.Definition, "$1 x")), c.Unit, c.Min, c.Max)
		if m := series.FindStringSubmatch(c.Definition); m != nil && strings.HasSuffix(c.Name, m[2]) {
			return strings.TrimSuffix(c.Name, m[2]) + "x", m[2], rest
		}
		return name, "", rest
	}
	for len(cells) > 0 {
		name, member, rest := row(cells[0])
		members := []string{member}
		for cells = cells[1:]; member != "" && len(cells) > 0; cells = cells[1:] {
			n, m, r := row(cells[0])
			if n != name || r != rest {
				break
			}
			members = append(members, m)
		}
		fmt.Fprintf(b, "| `%s`", name)
		if member != "" {
			fmt.Fprintf(b, " for x: %s", strings.Join(members, ", "))
		}
		b.WriteString(rest)
	}
}

// cellText escapes a bar in a definition, which would end the column of the table.
func cellText(s string) string { return strings.ReplaceAll(s, "|", "\\|") }

// writeRules writes the rules of binning, rounding and residuals.
func writeRules(b *strings.Builder) {
	fmt.Fprintf(b, `- `+"`schema`"+` is required. `+"`clock_ms`"+` is the resolution of the collector's clock, 0 to %d; omit it if it is unknown.
- A modality has `+"`events`"+` (presses, pointer or scroll events; 0 to %d), `+"`active_ms`"+` (0 to %d; typing counts pauses of at most 2 s, the
  pointer pauses under 1 s, scrolling time within bursts, rhythm the whole span) and `+"`cells`"+`.
- Any other name, any text, any array but `+"`[n, mean]`"+`, any number out of range is refused with a reason code.

| reason code | status | when |
|---|---|---|
`, MaxClockMS, MaxEvents, MaxActiveMS)
	for _, r := range [][3]string{
		{ReasonMalformed, "rejected", "not an object, or a part that must be an object is not one"},
		{ReasonSchema, "rejected", "a different schema version, or none"},
		{ReasonRawContent, "rejected", "text, nesting, long arrays, or a name under which raw input is sent"},
		{ReasonUnknown, "rejected", "a cell, scalar or field the schema does not have"},
		{ReasonImpossible, "rejected", "a number that its formula cannot return"},
		{ReasonNotBinned, "rejected", "an exact count"},
		{ReasonContradicts, "rejected", "cells without events, or more events in a cell than in the block"},
		{ReasonEmpty, "neutral", "nothing happened"},
	} {
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", r[0], r[1], r[2])
	}
	b.WriteString(`
## For writers of collectors

The residual tables, clips and the map from ` + "`KeyboardEvent.code`" + ` to key names are in ` + "`internal/behavior/features/tables.json`" + `; use that file unchanged.
` + "`internal/behavior/features/testdata/golden_extraction.json`" + ` has made-up events and the object for each; the Go code and the browser
collector both pass it. Cut frames after 10 to 20 s or about 50 keys, and compute pairs only within a frame.

`)
}

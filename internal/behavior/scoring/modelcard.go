package scoring

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Markdown renders the background's model card as a section of docs/background.md.
func (b *Background) Markdown() string {
	var s strings.Builder
	c := b.Card
	fmt.Fprintf(&s, "## %s\n\n", b.Version)
	for _, line := range [][2]string{
		{"modality", string(b.Modality)},
		{"features", fmt.Sprintf("%s, %d cells", b.SchemaVersion, b.Dim())},
		{"made of", c.Data},
		{"licence of the data", c.Licence},
		{"commercial use", map[bool]string{true: "not allowed: learn your own", false: "allowed"}[c.NonCommercial]},
		{"people, frames", fmt.Sprintf("%d, %d", c.People, c.Frames)},
		{"population", c.Population},
		{"made on", c.Learned},
		{"people held back from learning, to measure with", fmt.Sprintf("%.0f %%", 100*c.HeldBack)},
		{"allowance for change from day to day", b.allowance()},
	} {
		fmt.Fprintf(&s, "- %s: %s\n", line[0], line[1])
	}
	s.WriteString("- what weakens it:\n")
	for _, l := range c.Limitations {
		fmt.Fprintf(&s, "  - %s\n", l)
	}
	names := make([]string, 0, len(c.Measured))
	for name := range c.Measured {
		names = append(names, name)
	}
	sort.Strings(names)
	if len(names) > 0 {
		s.WriteString("- measured:\n")
	}
	for _, name := range names {
		fmt.Fprintf(&s, "  - %s: %.3f\n", name, c.Measured[name])
	}
	for _, src := range c.Sources {
		fmt.Fprintf(&s, "- source file, SHA-256: `%s`\n", src.SHA256)
	}
	return s.String()
}

// allowance describes how much of the variance between people is allowed for the change from day to day.
func (b *Background) allowance() string {
	if len(b.DriftCells) == 0 {
		return fmt.Sprintf("%.0f %% of the variance between people", 100*b.Drift)
	}
	return fmt.Sprintf("%.0f to %.0f %% of the variance between people, by kind of cell", 100*slices.Min(b.DriftCells), 100*slices.Max(b.DriftCells))
}

// ModelCards renders the cards of the active backgrounds. docs/background.md contains those of the embedded ones.
func (m *Model) ModelCards() string {
	var cards []string
	for _, b := range m.ordered() {
		cards = append(cards, b.Markdown())
	}
	return strings.Join(cards, "\n")
}

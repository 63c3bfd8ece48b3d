package scoring

import (
	"fmt"
	"sort"
	"strings"
)

// Markdown is the background's model card as a section of docs/model-card.md.
func (b *Background) Markdown() string {
	var s strings.Builder
	c := b.Card
	fmt.Fprintf(&s, "## %s\n\n", b.Version)
	for _, line := range [][2]string{
		{"modality", string(b.Modality)},
		{"features", fmt.Sprintf("%s, %d cells", b.SchemaVersion, b.Dim())},
		{"learned from", c.Data},
		{"licence of the data", c.Licence},
		{"commercial use", map[bool]string{true: "not allowed: learn your own", false: "allowed"}[c.NonCommercial]},
		{"people, frames", fmt.Sprintf("%d, %d", c.People, c.Frames)},
		{"population", c.Population},
		{"learned on", c.Learned},
		{"allowance for change from day to day", fmt.Sprintf("%.0f %% of the variance between people", 100*b.Drift)},
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
	s.WriteString("- measured:\n")
	for _, name := range names {
		fmt.Fprintf(&s, "  - %s: %.3f\n", name, c.Measured[name])
	}
	for _, src := range c.Sources {
		fmt.Fprintf(&s, "- source file, SHA-256: `%s`\n", src.SHA256)
	}
	return s.String()
}

// ModelCards is docs/model-card.md of the model in force. A test holds the file of the embedded model equal to it.
func (m *Model) ModelCards() string {
	var s strings.Builder
	fmt.Fprintf(&s, `# Model card

This page is generated from the backgrounds in the binary (`+"`go test ./internal/scoring -update`"+`). Model `+"`%s`"+`, rules `+"`%s`"+`.

A background says how people differ from each other and from themselves. It holds means and covariances of feature cells over
all its people and nothing of any one of them. Templates are bound to the version of the background they were learned with: after
another one is activated, subjects are trained again from what their templates keep, or enrolled again.

**Use.** Comparing a session with the one person who enrolled, as one claim among several, with a step-up for whoever is not
recognised. **Not for** finding out who somebody is among many, for judging anybody's state, health or performance, or as the only
ground for refusing a person something: some people do not resemble themselves from one day to the next.

**Who may fare worse.** People with few days of enrolment, with an injury or a changed keyboard, who type with one hand or another
layout or language than the background's, and anybody unlike the people it was learned from. Error rates by group have not been
measured: the recordings do not say who the people are. The profile's limitations name what the service can see of this.

`, m.Version(), RuleVersion)
	for _, b := range m.ordered() {
		s.WriteString(b.Markdown())
		s.WriteString("\n")
	}
	s.WriteString(`## The residual tables

The collector subtracts population means of a key's hold and of a digraph's times (` + "`internal/features/tables.json`" + `). They are averages over
930 typists of the keystroke background's source, under the same terms.

## Learning your own

` + "`countersign background learn`" + ` learns a background from recordings in the formats of ` + "`internal/recordings`" + `, or from the frames of subjects who
consented to research. 500 people are enough for 104 keystroke cells, some 70 for 84 pointer cells. Compare it with the one in force on people
neither was learned from before activating it.
`)
	return s.String()
}

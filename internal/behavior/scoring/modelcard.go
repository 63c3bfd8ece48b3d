package scoring

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Markdown renders the background's model card as a section of docs/model-card.md.
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

// ModelCards renders docs/model-card.md for the active model. A test compares the file with that of the embedded model.
func (m *Model) ModelCards() string {
	var s strings.Builder
	fmt.Fprintf(&s, `# Model card

This page is generated from the backgrounds in the binary (`+"`go test ./internal/behavior/scoring -update`"+`). Model `+"`%s`"+`, rules `+"`%s`"+`.

A background says how people differ from each other and from themselves: means and covariances of feature cells, and no data of
an individual. The backgrounds in the binary are stated priors: a few dozen rounded numbers with their reasons, from what studies of typing
and pointing report, made of no recordings. A deployment replaces them by what its own people teach it. While a background rests on fewer than
30 people no claim is above `+"`likely`"+`, and thresholds are stricter the fewer people there are. Templates are bound to the version of the background they were trained with;
after a different one is activated they are trained again from their stored sessions.

**Use.** Comparing a session with the one person who enrolled, as one claim among several, with a step-up for a person who is
not recognized. **Not for** identifying a person among many, for judging a person's state, health or performance, or as the only
reason to refuse a person something: some people do not resemble themselves from one day to the next.

**Who may fare worse.** People with few days of enrolment, with an injury or a changed keyboard, who type with one hand or another
layout or language than the background's, and people unlike those it was trained on. Error rates by group have not been
measured: the recordings do not say who the people are. The profile's limitations name what the service can see of this.

`, m.Version(), RuleVersion)
	for _, b := range m.ordered() {
		s.WriteString(b.Markdown())
		s.WriteString("\n")
	}
	s.WriteString(`## The tables of the collector

The collector reports times relative to one typical hold and one typical interval, the same for every key (` + "`internal/behavior/features/tables.json`" + `).
Both are stated. No shipped file derives from recordings whose terms exclude commercial use; a test of ` + "`internal/behavior`" + ` checks that.

## Learned by an environment

An environment with the setting ` + "`background` `own` or `shared`" + ` learns its background from the people who enroll, without recordings and without
research vectors: [own-background.md](own-background.md). Its card says how many people it rests on, how it was compared and what is rounded.

## Learning your own

    countersign background learn --modality keystroke --version-name acme-1 --out acme-1.json --about "..." --licence "..." FILE...
    countersign background learn --from-research --version-name acme-1 --out acme-1.json --about "..." --licence "consent"
    countersign background compare embedded acme-1.json --data DIR
    countersign background activate acme-1.json --data DIR
    countersign background list

` + "`learn`" + ` takes recordings in the formats of ` + "`internal/lab/recordings`" + `, or the vectors of subjects who consented to research, and writes the
background with its model card. 500 people are enough for 104 keystroke cells, some 70 for 84 pointer cells. A share of the people
(` + "`--hold-back`" + `, a fifth) is left out by a hash of their name, so that two backgrounds can be compared on people neither has seen;
the same files, name and date give the same background to the byte. Values that stored vectors do not contain (the variance of single
events, the worth of a bin) come from the base, which is the embedded background unless named: its terms apply to them.

` + "`activate`" + ` measures the candidate against what is in force on people neither was learned from, refuses one that is worse by more than its
error bars, and keeps the comparison with the row. It holds for the whole deployment: replicas follow on notice, without a restart, and
every environment's audit log says so (` + "`background.activated`" + `). Templates stay in force: they are learned again from what they keep as they
are read, and stored so within the hour. ` + "`countersign background retire MODALITY`" + ` goes back to the embedded one.
`)
	return s.String()
}

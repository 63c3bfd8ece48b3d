package configfile

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// Print writes the differences, with the warnings about policies that would change. With simulate it stores a draft of each policy that would change, which decides nothing, and writes
// what it would have decided on stored decisions.
func (p *Plan) Print(ctx context.Context, out io.Writer, simulate bool) error {
	for _, c := range p.Changes {
		_, _ = fmt.Fprintf(out, "%s %s\n", c.Sign, c.Entry)
		for _, f := range c.Fields {
			_, _ = fmt.Fprintf(out, "    %s\n", f)
		}
		for _, w := range c.warnings {
			_, _ = fmt.Fprintf(out, "    warning: %s\n", w.Message)
		}
		if !simulate || c.simulate == nil {
			continue
		}
		s, err := c.simulate(ctx)
		if err != nil {
			return fmt.Errorf("%s: simulation: %w", c.Entry, err)
		}
		_, _ = fmt.Fprintf(out, "    simulation of draft version %d: %s\n", s.Version, moved(s))
	}
	for _, entry := range p.Kept {
		_, _ = fmt.Fprintf(out, "  %s is not in the file and kept; --prune removes it\n", entry)
	}
	for _, note := range p.Notes {
		_, _ = fmt.Fprintf(out, "  %s\n", note)
	}
	return nil
}

func moved(s *countersign.PolicySimulation) string {
	text := fmt.Sprintf("%d of the newest %d decisions would change", s.Changed, s.Decisions)
	var moves []string
	for _, t := range s.Transitions {
		if t.From != t.To {
			moves = append(moves, fmt.Sprintf("%s to %s: %d", t.From, t.To, t.Count))
		}
	}
	slices.Sort(moves)
	if len(moves) > 0 {
		text += " (" + strings.Join(moves, ", ") + ")"
	}
	if s.NotDecidable != nil && *s.NotDecidable > 0 {
		text += fmt.Sprintf("; %d cannot be decided again, because a rule reads values that were not kept: mark them with x-countersign-keep in context_schema", *s.NotDecidable)
	}
	if len(s.Lists) > 0 {
		text += "; lists are read as they are now"
	}
	return text
}

package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/authz/backgrounds"
	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/lab/accuracy"
	"github.com/countersign-dev/countersign/internal/lab/recordings"
	"github.com/countersign-dev/countersign/internal/lab/training"
	"github.com/countersign-dev/countersign/internal/platform/events"

	"github.com/countersign-dev/countersign/internal/subject/research"
)

// errWorse refuses an activation. The comparison is printed before.
var errWorse = errors.New("the candidate is worse than the background in force: use --accept-worse to activate it anyway")

// peopleSource is where frames to learn from or to measure with come from: recordings, or research vectors.
type peopleSource struct {
	data        string
	research    bool
	environment string
}

func (p *peopleSource) bind(cmd *cobra.Command, s *settings) {
	f := cmd.Flags()
	f.StringVar(&p.data, "data", "recordings", "`folder` searched for recordings")
	f.BoolVar(&p.research, "from-research", false, "use the research vectors of this deployment instead of recordings")
	f.StringVar(&p.environment, "environment", "", "research vectors of one environment (env_...) only")
	bindCore(cmd, s)
}

// files are the recordings of a modality below the folder.
func (p *peopleSource) files(m features.Modality) ([]string, error) {
	kind := map[features.Modality]recordings.Kind{features.Keystroke: recordings.Keystrokes, features.Pointer: recordings.Pointer}[m]
	sets, err := recordings.Find(p.data)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, s := range sets {
		if s.Kind == kind {
			out = append(out, s.Path)
		}
	}
	if len(out) == 0 {
		return nil, usage("no *.%s.csv.gz below %s", kind, p.data)
	}
	return out, nil
}

// frames reads the research vectors, by pseudonym.
func (p *peopleSource) frames(cmd *cobra.Command, s *settings) ([]accuracy.FramePerson, error) {
	c, err := openCLI(cmd.Context(), s)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return p.framesOf(cmd, c)
}

func (p *peopleSource) framesOf(cmd *cobra.Command, c *core) ([]accuracy.FramePerson, error) {
	var out []accuracy.FramePerson
	err := research.ListVectors(cmd.Context(), c.Store.Q, research.Range{Environment: p.environment}, func(v research.Sample) error {
		var f features.Frame
		if err := f.UnmarshalBinary(v.Vector); err != nil {
			return err
		}
		// Devices are learned apart, as templates are kept apart.
		if v.DeviceClass != string(scoring.Desktop) {
			return nil
		}
		name := fmt.Sprintf("%x", v.Pseudonym)
		if len(out) == 0 || out[len(out)-1].Name != name {
			out = append(out, accuracy.FramePerson{Name: name})
		}
		last := &out[len(out)-1]
		last.Frames = append(last.Frames, f)
		return nil
	})
	return out, err
}

// learned records in the event log of every environment whose vectors were read which background was learned from them.
func (p *peopleSource) learned(cmd *cobra.Command, s *settings, bg *scoring.Background) error {
	c, err := openCLI(cmd.Context(), s)
	if err != nil {
		return err
	}
	defer c.Close()
	return research.New(c.Store, c.Keys, false).RecordLearning(cmd.Context(), research.Range{Environment: p.environment},
		events.BackgroundLearnedData{Version: bg.Version, Modality: string(bg.Modality), People: bg.Card.People}, c.Clock.Now(), actor(cmd))
}

// compared measures two backgrounds on people neither was learned from.
func (p *peopleSource) compared(cmd *cobra.Command, before, after *scoring.Background, frames func() ([]accuracy.FramePerson, error)) ([]accuracy.Comparison, error) {
	opt := accuracy.Options{Data: p.data, Seed: 1, Log: func(line string) { _, _ = fmt.Fprintln(cmd.ErrOrStderr(), "-", line) }}
	if !p.research {
		return accuracy.Compare(cmd.Context(), opt, modelOf(before), modelOf(after))
	}
	people, err := frames()
	if err != nil {
		return nil, err
	}
	var held []accuracy.FramePerson
	for _, one := range people {
		if training.HeldBack(one.Name, share(before)) && training.HeldBack(one.Name, share(after)) {
			held = append(held, one)
		}
	}
	return accuracy.CompareFrames(before, after, held, opt)
}

// share is how much of the deployment's people a background was not learned from.
func share(bg *scoring.Background) float64 {
	if bg.Card.Local {
		return bg.Card.HeldBack
	}
	return 1
}

// modelOf is a background beside the embedded ones of the other modalities.
func modelOf(bg *scoring.Background) *scoring.Model {
	all := []*scoring.Background{bg}
	for _, m := range features.Modalities() {
		if other := scoring.Default().Background(m); other != nil && m != bg.Modality {
			all = append(all, other)
		}
	}
	return scoring.NewModel(all...)
}

func backgroundCompareCommand() *cobra.Command {
	var s settings
	var p peopleSource
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "compare BEFORE AFTER",
		Short: "Measure two backgrounds (files, or embedded) on people neither was learned from",
		Args:  cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			before, after, err := readPair(args[0], args[1])
			if err != nil {
				return err
			}
			all, err := p.compared(cmd, before, after, func() ([]accuracy.FramePerson, error) { return p.frames(cmd, &s) })
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), all)
			}
			return printComparison(cmd.OutOrStdout(), all)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON instead of a table")
	p.bind(cmd, &s)
	return cmd
}

// readPair reads two backgrounds of one modality; either may be the embedded one.
func readPair(a, b string) (before, after *scoring.Background, err error) {
	if a == embeddedName && b == embeddedName {
		return nil, nil, usage("one of the two must be a file")
	}
	name, other := b, a
	if b == embeddedName {
		name, other = a, b
	}
	first, err := readBackground(name, "")
	if err != nil {
		return nil, nil, err
	}
	second, err := readBackground(other, first.Modality)
	if b == embeddedName {
		return first, second, err
	}
	return second, first, err
}

func printComparison(out io.Writer, all []accuracy.Comparison) error {
	return table(out, "PROTOCOL\tSET\tCASE\tMETRIC\tBEFORE\tAFTER\tINTERVAL", func(w io.Writer) error {
		for _, c := range all {
			scale := 1.0
			if c.Unit == "%" {
				scale = 100
			}
			_, err := fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.2f %s\t%.2f %s\t[%.2f, %.2f]\n", c.Protocol, c.Set, c.Case, c.Metric,
				scale*float64(c.Before), c.Unit, scale*float64(c.After), c.Unit, scale*float64(c.AfterLow), scale*float64(c.AfterHigh))
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func backgroundActivateCommand() *cobra.Command {
	var s settings
	var p peopleSource
	var acceptWorse bool
	cmd := &cobra.Command{
		Use:   "activate FILE",
		Short: "Compare a background with the active one and activate it for the whole deployment",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			body, err := os.ReadFile(args[0])
			if err != nil {
				return err
			}
			after, err := readBackground(args[0], "")
			if err != nil {
				return err
			}
			c, err := openCLI(cmd.Context(), &s)
			if err != nil {
				return err
			}
			defer c.Close()
			inForce, err := modelInForce(cmd, c)
			if err != nil {
				return err
			}
			all, err := p.compared(cmd, inForce.Background(after.Modality), after, func() ([]accuracy.FramePerson, error) { return p.framesOf(cmd, c) })
			if err != nil {
				return err
			}
			if err := printComparison(cmd.OutOrStdout(), all); err != nil {
				return err
			}
			if worse := accuracy.Worse(all); len(worse) > 0 && !acceptWorse {
				return errWorse
			}
			if _, err := backgrounds.Activate(cmd.Context(), c.Store, backgrounds.Order{Body: body, Comparison: all, By: actor(cmd), At: c.Clock.Now()}); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is in force; replicas follow at once, templates are carried over within the hour\n", after.Version)
			return err
		},
	}
	cmd.Flags().BoolVar(&acceptWorse, "accept-worse", false, "activate although it was measured worse")
	p.bind(cmd, &s)
	return cmd
}

func modelInForce(cmd *cobra.Command, c *core) (*scoring.Model, error) {
	assessor := assurance.New(scoring.Default(), c.Keys)
	err := backgrounds.NewLoader(c.Store, assessor, slog.New(slog.DiscardHandler)).Load(cmd.Context())
	return assessor.Model(), err
}

func backgroundListCommand() *cobra.Command {
	return onDatabase("list", "List the backgrounds that are or were in force", cobra.NoArgs, func(cmd *cobra.Command, c *core, _ []string) error {
		rows, err := backgrounds.All(cmd.Context(), c.Store.Q)
		if err != nil {
			return err
		}
		inForce, err := modelInForce(cmd, c)
		if err != nil {
			return err
		}
		return table(cmd.OutOrStdout(), "VERSION\tMODALITY\tSTATUS\tACTIVATED\tBY\tDIGEST", func(w io.Writer) error {
			for _, r := range rows {
				if _, err := fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.Version, r.Modality, r.Status, r.ActivatedAt.Format("2006-01-02 15:04"), r.ActivatedBy, r.Digest); err != nil {
					return err
				}
			}
			_, err := fmt.Fprintf(w, "\nin force: %s\n", inForce.Version())
			return err
		})
	})
}

func backgroundRetireCommand() *cobra.Command {
	return onDatabase("retire MODALITY", "Retire the background of a modality and return to the embedded one", cobra.ExactArgs(1),
		func(cmd *cobra.Command, c *core, args []string) error {
			return backgrounds.Retire(cmd.Context(), c.Store, features.Modality(args[0]), actor(cmd), c.Clock.Now())
		})
}

package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/lab/accuracy"
	"github.com/countersign-dev/countersign/internal/platform/clock"
)

func backgroundCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "background", Short: "Learn, compare and activate background models", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(backgroundLearnCommand(), backgroundCompareCommand(), backgroundActivateCommand(), backgroundListCommand(), backgroundShowCommand(), backgroundUpdateCommand(), backgroundRollbackCommand(),
		backgroundRetireCommand(), backgroundCardCommand())
	return cmd
}

// learning has the flags of background learn.
type learning struct {
	settings settings
	source   peopleSource
	modality string
	version  string
	out      string
	card     string
	base     string
	about    scoring.Card
}

func backgroundLearnCommand() *cobra.Command {
	l := &learning{}
	cmd := &cobra.Command{
		Use:   "learn [FILE...]",
		Short: "Learn a background from recordings, or from the frames of subjects who consented to research",
		RunE:  func(cmd *cobra.Command, args []string) error { return l.run(cmd, args) },
	}
	f := cmd.Flags()
	f.StringVar(&l.modality, "modality", "keystroke", "keystroke or pointer")
	f.StringVar(&l.version, "version-name", "", "name of the new background; unique, because templates are bound to it")
	f.StringVar(&l.out, "out", "", "`file` to write the background to")
	f.StringVar(&l.card, "card", "", "`file` to write its model card to, as Markdown; empty is the background's name with .md")
	f.StringVar(&l.base, "base", embeddedName, "background that provides what stored frames do not contain: a file, or embedded")
	f.StringVar(&l.about.Data, "about", "", "source of the data, for the model card")
	f.StringVar(&l.about.Licence, "licence", "", "terms of the data, for the model card")
	f.StringVar(&l.about.Population, "population", "", "the population, for the model card")
	f.BoolVar(&l.about.NonCommercial, "non-commercial", false, "the data may not be used commercially")
	f.Float64Var(&l.about.HeldBack, "hold-back", .2, "share of the people that is not learned from, to measure with")
	f.StringVar(&l.about.Learned, "date", "", "date of the learning; empty is today")
	l.source.bind(cmd, &l.settings)
	return cmd
}

func (l *learning) run(cmd *cobra.Command, files []string) error {
	switch {
	case l.version == "" || l.out == "":
		return usage("--version-name and --out are needed")
	case l.modality != string(features.Keystroke) && l.modality != string(features.Pointer):
		return usage("--modality is %q: want keystroke or pointer", l.modality)
	case l.about.HeldBack < 0 || l.about.HeldBack > .9:
		return usage("--hold-back is %g: want 0 to 0.9", l.about.HeldBack)
	case l.about.Data == "" || l.about.Licence == "":
		return usage("--about and --licence are needed: a model card says whose data it is and under what terms")
	}
	if l.about.Learned == "" {
		l.about.Learned = clock.System().Now().UTC().Format(time.DateOnly)
	}
	bg, err := l.learn(cmd, files)
	if err != nil {
		return err
	}
	body, err := bg.Marshal()
	if err != nil {
		return err
	}
	if err := os.WriteFile(l.out, body, 0o600); err != nil {
		return err
	}
	if l.card == "" {
		l.card = l.out + ".md"
	}
	if err := os.WriteFile(l.card, []byte(bg.Markdown()), 0o600); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %d people, %d frames, %g of the people held back\n%s\n%s\n",
		bg.Version, bg.Card.People, bg.Card.Frames, bg.Card.HeldBack, l.out, l.card)
	return err
}

func (l *learning) learn(cmd *cobra.Command, files []string) (*scoring.Background, error) {
	m := features.Modality(l.modality)
	if l.source.research {
		base, err := readBackground(l.base, m)
		if err != nil {
			return nil, err
		}
		l.about.Local = true
		people, err := l.source.frames(cmd, &l.settings)
		if err != nil {
			return nil, err
		}
		bg, err := accuracy.LearnFrames(people, base, accuracy.LearnOptions{Modality: m, Version: l.version, Card: l.about})
		if err != nil {
			return nil, err
		}
		return bg, l.source.learned(cmd, &l.settings, bg)
	}
	if len(files) == 0 {
		var err error
		if files, err = l.source.files(m); err != nil {
			return nil, err
		}
	}
	bar := progressBar(cmd)
	defer bar.Close()
	return accuracy.LearnBackground(cmd.Context(), accuracy.LearnOptions{Files: files, Modality: m, Version: l.version, Card: l.about,
		Progress: func(file string, done, total int) { bar.Show("learning from "+file, int64(done), int64(total)) }})
}

func backgroundCardCommand() *cobra.Command {
	return &cobra.Command{
		Use: "card BACKGROUND", Short: "Print the model card of a background: a file, or embedded", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == embeddedName {
				_, err := fmt.Fprint(cmd.OutOrStdout(), scoring.Default().ModelCards())
				return err
			}
			bg, err := readBackground(args[0], "")
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), bg.Markdown())
			return err
		},
	}
}

// embeddedName is the name of the background in the binary.
const embeddedName = "embedded"

// readBackground reads a background from a file, or the embedded one. It must be of the modality unless that is empty.
func readBackground(name string, m features.Modality) (*scoring.Background, error) {
	if name == embeddedName {
		return scoring.Default().Background(m), nil
	}
	body, err := os.ReadFile(name) // #nosec G304 -- the operator's file
	if err != nil {
		return nil, err
	}
	bg, err := scoring.ParseBackground(body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if m != "" && bg.Modality != m {
		return nil, usage("%s is a background of %s, not of %s", name, bg.Modality, m)
	}
	return bg, nil
}

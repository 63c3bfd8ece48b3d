package accuracy

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/lab/recordings"
	"github.com/countersign-dev/countersign/internal/lab/training"
)

// LearnOptions configure what a background is learned from.
type LearnOptions struct {
	Files    []string // recording files of one modality
	Modality features.Modality
	Version  string       // of the new background; unique, because templates are bound to it
	Card     scoring.Card // data, licence, population, share held back; people, frames and sources are filled in
	// Progress receives the name and number of files read before each file, of all; may be nil.
	Progress func(file string, done, total int)
}

// ErrModality is returned for a modality that cannot be learned from recordings.
var ErrModality = errors.New("accuracy: a background can be learned for keystroke or pointer")

// LearnBackground learns a background from recording files, extracting frames as a
// collector does. The same files give the same background. People that the card
// holds back are left out. It returns training.ErrTooFew if too few people remain.
func LearnBackground(ctx context.Context, opt LearnOptions) (*scoring.Background, error) {
	settings := training.DefaultOptions(opt.Modality)
	settings.Card = opt.Card
	if opt.Version != "" {
		settings.Version = opt.Version
	}
	var samples []training.Sample
	for i, path := range opt.Files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if opt.Progress != nil {
			opt.Progress(filepath.Base(path), i, len(opt.Files))
		}
		some, err := samplesOf(path, opt.Modality)
		if err != nil {
			return nil, err
		}
		digest, err := recordings.Digest(path)
		if err != nil {
			return nil, err
		}
		settings.Card.Sources = append(settings.Card.Sources, scoring.Source{SHA256: digest})
		for _, one := range some {
			if training.HeldBack(one.Person, opt.Card.HeldBack) {
				continue
			}
			one.Person = fmt.Sprintf("%s/%s", digest[:8], one.Person)
			samples = append(samples, one)
		}
	}
	return training.Learn(samples, settings)
}

// samplesOf reads a recording file as training samples.
func samplesOf(path string, m features.Modality) ([]training.Sample, error) {
	switch m {
	case features.Keystroke:
		sessions, err := recordings.ReadKeystrokes(path)
		return keySamples(typists(sessions), frameKeys), err
	case features.Pointer:
		sessions, err := recordings.ReadPointer(path)
		return pointerSamples(movers(sessions), byTime), err
	}
	return nil, fmt.Errorf("%w, not %q", ErrModality, m)
}

// LearnFrames learns a background from stored frames of people who consented,
// without those held back. The base provides what stored frames do not contain: the
// variance of single events and the effective counts of bins.
func LearnFrames(people []FramePerson, base *scoring.Background, opt LearnOptions) (*scoring.Background, error) {
	settings := training.DefaultOptions(opt.Modality)
	settings.Card, settings.Base, settings.Version = opt.Card, base, opt.Version
	var samples []training.Sample
	for _, p := range people {
		if training.HeldBack(p.Name, opt.Card.HeldBack) {
			continue
		}
		for _, f := range p.Frames {
			if s, ok := training.FromFrame(base, p.Name, f); ok {
				samples = append(samples, s)
			}
		}
	}
	return training.Learn(samples, settings)
}

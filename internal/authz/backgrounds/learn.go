package backgrounds

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/moments"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

const (
	// countBatch is the most subjects that one call of Count counts.
	countBatch = 50
	// sampled is the most people that a comparison reads.
	sampled = 60
	// A background is formed anew after so many shares were added or subtracted, or a share of its people if that is more: what a single
	// person changed cannot be read from the difference of two backgrounds.
	changesLeast = 10
	changesShare = 10 // one in ten
)

// Outcomes of Form. They are in workflow histories and must not change.
const (
	Formed    = "formed"        // a candidate, not worse than the one in force
	Worse     = "worse"         // formed and refused
	Off       = "off"           // the environment learns nothing
	TooFew    = "too_few"       // fewer people than a background needs
	Unmatched = "too_few_local" // fewer people of the environment than a comparison needs
	Unchanged = "unchanged"     // too few people came or went since the last one
	Recount   = "recount"       // the sums were unreadable; everyone is counted anew
)

// Deps are the dependencies of a Service.
type Deps struct {
	Store    *pg.Store
	Assessor *assurance.Assessor
	Load     func(ctx context.Context) error // loads the backgrounds in force into the assessor
	// Carry trains a batch of templates of earlier backgrounds anew and reports whether there are more.
	Carry func(ctx context.Context, at time.Time, by string) (done int, more bool, err error)
}

// Service forms the backgrounds of environments. Every method is safe to repeat, because a workflow repeats a step whose result was lost, and
// takes the time as an argument, so that a repetition writes the same times. It is safe for concurrent use.
type Service struct {
	Deps
	counter Counter
}

// New returns a Service.
func New(d Deps) *Service { return &Service{d, NewCounter(d.Assessor)} }

// Scope returns the scope of an environment; the problem not_found if there is none.
func (s *Service) Scope(ctx context.Context, environment string) (pg.Scope, error) {
	all, err := tenancy.AllEnvironments(ctx, s.Store.Q)
	if err != nil {
		return pg.Scope{}, err
	}
	for _, scope := range all {
		if scope.Environment == environment {
			return scope, nil
		}
	}
	return pg.Scope{}, problem.NewNotFound()
}

// Count counts a batch of subjects whose templates were not looked at yet, and reports whether there are more. It is safe to repeat.
func (s *Service) Count(ctx context.Context, environment string, at time.Time) (done int, more bool, err error) {
	scope, err := s.Scope(ctx, environment)
	if err != nil {
		return 0, false, err
	}
	for _, m := range features.Modalities() {
		if scoring.Default().Background(m) == nil {
			continue
		}
		// Recount checks the setting again, in its transaction: it may be switched off meanwhile.
		choice, err := learnedChoice(ctx, s.Store.Q, scope)
		if err != nil || choice == models.BackgroundPrior {
			return done, false, err
		}
		uids, err := uncountedSubjects(ctx, s.Store.Q, scope, string(m), countBatch)
		if err != nil {
			return done, false, err
		}
		for _, uid := range uids {
			if err := s.Store.Write(ctx, func(q *pg.Q) error { return s.counter.Recount(ctx, q, scope, uid, at) }); err != nil {
				return done, true, err
			}
			done++
		}
		more = more || len(uids) == countBatch
	}
	return done, more, nil
}

// Result is the outcome of Form.
type Result struct {
	// One of the constants.
	Outcome    string
	Version    string // empty if no background was formed
	People     int    // in the sums
	Comparison moments.Comparison
}

// forming is a background being formed.
type forming struct {
	scope  pg.Scope
	ref    *scoring.Background // the stated prior
	choice models.BackgroundChoice
	// Of the environment or, if it shares, of all that do.
	sums    moments.Sums
	changes int64 // to these sums, ever
	// Of the environment and modality, newest first.
	earlier []models.EnvironmentBackground
	at      time.Time
	by      string
}

// Form forms a background of the people counted so far and compares it with the one in force, on people of the environment. If it is not
// worse it becomes a candidate, which Activate puts in force. Repeated, it returns the same candidate.
func (s *Service) Form(ctx context.Context, environment string, m features.Modality, at time.Time, by string) (Result, error) {
	scope, err := s.Scope(ctx, environment)
	if err != nil {
		return Result{}, err
	}
	if err := s.Load(ctx); err != nil {
		return Result{}, err
	}
	f := &forming{scope: scope, ref: scoring.Default().Background(m), at: at, by: by}
	if f.ref == nil {
		return Result{Outcome: Off}, nil
	}
	if early, err := s.read(ctx, f); err != nil || early != "" {
		return Result{Outcome: early, People: f.sums.People}, err
	}
	// People may have left since a background was formed: one of fewer than MinPeople must not stay in force.
	if f.sums.People < moments.MinPeople {
		return Result{Outcome: TooFew, People: f.sums.People}, s.withdraw(ctx, f)
	}
	if last := f.last(); last != nil && last.Source == f.choice && !f.changed(last) {
		if last.Status == models.BackgroundCandidate {
			return Result{Outcome: Formed, Version: last.Version, People: last.People}, nil
		}
		return Result{Outcome: Unchanged, People: f.sums.People}, nil
	}
	return s.form(ctx, f)
}

// read reads the sums and the earlier backgrounds. It returns an outcome if nothing is to be formed.
func (s *Service) read(ctx context.Context, f *forming) (string, error) {
	m := string(f.ref.Modality)
	var err error
	if f.choice, err = learnedChoice(ctx, s.Store.Q, f.scope); err != nil {
		return "", err
	}
	if f.choice == models.BackgroundPrior {
		return Off, nil
	}
	rows, err := Sums(ctx, s.Store.Q, f.scope, m, f.choice)
	if err != nil {
		return "", err
	}
	// Sums of different environments add up, because all are relative to the same stated prior.
	f.sums = moments.Empty(f.ref)
	for _, row := range rows {
		sums, err := s.counter.sums(f.ref, row)
		if unreadable(err) {
			if row.EnvironmentID != f.scope.Environment {
				continue // its own workflow counts it anew
			}
			return Recount, s.Store.Write(ctx, func(q *pg.Q) error { return tenancy.ResetLearned(ctx, q, f.scope, m) })
		}
		if err != nil {
			return "", err
		}
		if err := f.sums.Add(sums); err != nil {
			return "", err
		}
		f.changes += row.Changes
	}
	all, err := OfEnvironment(ctx, s.Store.Q, f.scope)
	for _, b := range all {
		if b.Modality == m {
			f.earlier = append(f.earlier, b)
		}
	}
	return "", err
}

// last returns the newest background; nil if there is none.
func (f *forming) last() *models.EnvironmentBackground {
	if len(f.earlier) == 0 {
		return nil
	}
	return &f.earlier[0]
}

// changed reports whether enough people came or went since a background was formed.
func (f *forming) changed(last *models.EnvironmentBackground) bool {
	n := f.changes - last.Changes
	return max(n, -n) >= int64(max(changesLeast, last.People/changesShare))
}

// active returns the background in force; nil if there is none.
func (f *forming) active() *models.EnvironmentBackground {
	for i := range f.earlier {
		if f.earlier[i].Status == models.BackgroundActive {
			return &f.earlier[i]
		}
	}
	return nil
}

// form forms, compares and stores the background.
func (s *Service) form(ctx context.Context, f *forming) (Result, error) {
	number := 1
	if last := f.last(); last != nil {
		number = last.Number + 1
	}
	version := fmt.Sprintf("%s-%s-%d", f.ref.Version, f.scope.Environment, number)
	bg, err := f.sums.Background(f.ref, version)
	if err != nil {
		return Result{}, err
	}
	people, before, err := s.held(ctx, f, version)
	if err != nil {
		return Result{}, err
	}
	// Seconds of work, outside of any transaction.
	comparison, err := f.sums.Compare(f.ref, before, people)
	if errors.Is(err, moments.ErrTooFew) {
		return Result{Outcome: Unmatched, People: f.sums.People}, nil
	}
	if err != nil {
		return Result{}, err
	}
	describe(bg, f, comparison)
	// The number is unique in the database: of two concurrent calls one stores its background, the other is refused.
	row := models.EnvironmentBackground{
		Version: version, EnvironmentID: f.scope.Environment, TenantID: f.scope.Tenant, Modality: string(f.ref.Modality), Number: number,
		Status: models.BackgroundCandidate, Source: f.choice, People: f.sums.People, Changes: f.changes, MadeAt: f.at,
	}
	out := Result{Outcome: Formed, Version: version, People: f.sums.People, Comparison: comparison}
	if comparison.Worse() {
		row.Status, out.Outcome = models.BackgroundRefused, Worse
	}
	return out, s.store(ctx, row, bg, before.Version, out, f)
}

// held returns people to compare with that neither background was learned from, and the background to compare with: the one in force and
// those who came since it was formed or, if these are too few, the deployment's and any.
func (s *Service) held(ctx context.Context, f *forming, seed string) ([][]features.Vector, *scoring.Background, error) {
	deployment := s.Assessor.Model().Background(f.ref.Modality)
	// The background in force was learned from those who were counted before: on them it would do better than on others.
	if last := f.active(); last != nil {
		people, err := s.sample(ctx, f, Sampling{Since: last.MadeAt, Seed: seed})
		if err != nil || len(people) >= moments.ComparePeople {
			return people, s.Assessor.ModelOf(f.scope.Environment).Background(f.ref.Modality), err
		}
	}
	people, err := s.sample(ctx, f, Sampling{Seed: seed})
	return people, deployment, err
}

// sample returns the counted sessions of people of the environment.
func (s *Service) sample(ctx context.Context, f *forming, by Sampling) ([][]features.Vector, error) {
	by.Modality, by.Limit = string(f.ref.Modality), sampled
	// The seed is the version: each background is compared on a different sample, and a repeated step on the same.
	uids, err := SampleTemplates(ctx, s.Store.Q, f.scope, by)
	if err != nil {
		return nil, err
	}
	var out [][]features.Vector
	for _, uid := range uids {
		rows, err := ActiveTemplate(ctx, s.Store.Q, f.scope, uid)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			if row.Modality != string(f.ref.Modality) || row.DeviceClass != string(scoring.Desktop) {
				continue
			}
			sessions, err := s.counter.sessions(row)
			if err != nil {
				return nil, err
			}
			if len(sessions) > 1 {
				out = append(out, sessions)
			}
		}
	}
	return out, nil
}

// describe completes the model card of a background that an environment learned.
func describe(bg *scoring.Background, f *forming, c moments.Comparison) {
	if f.choice == models.BackgroundShared {
		bg.Card.Data = "the enrolled people of the environments of this deployment that share, as sums over all of them, mixed with " + f.ref.Version
		bg.Card.Population = "the people who enrolled in these environments"
	}
	bg.Card.Learned = f.at.UTC().Format(time.DateOnly)
	bg.Card.Measured = map[string]float64{
		"equal error rate on the environment's people, before": c.Before.EER, "equal error rate on the environment's people": c.After.EER,
		"strangers confirmed, before": c.Before.FalseConfirmed, "strangers confirmed": c.After.FalseConfirmed, "people compared": float64(c.People),
	}
	bg.Card.Limitations = append(bg.Card.Limitations,
		fmt.Sprintf("formed of at least %d people, and anew after at least %d or a tenth of them came or went; shares are rounded to 1/65536, means to five decimals",
			moments.MinPeople, changesLeast))
}

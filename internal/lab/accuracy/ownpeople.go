package accuracy

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/moments"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/lab/recordings"
)

// ownProtocols are the protocols that measure the background that a deployment
// learns from its own people. The others measure Options.Model.
var ownProtocols = []string{"gallery", "days", "claims", "enrollment", "attacks", "take-over", "pointer"}

// mostOwn is the most people that may enroll in a played deployment.
const mostOwn = 100_000

// noOwn is the value of env.own if no deployment is played.
const noOwn = -1

// ownPeople returns the numbers of enrolled people to measure with.
func (o Options) ownPeople() ([]int, error) {
	if len(o.OwnPeople) == 0 {
		return []int{noOwn}, nil
	}
	for _, n := range o.OwnPeople {
		if n < 0 || n > mostOwn {
			return nil, fmt.Errorf("accuracy: %d own people are not between 0 and %d", n, mostOwn)
		}
	}
	for name := range strings.SplitSeq(o.Protocol, ",") {
		if name != "all" && !slices.Contains(ownProtocols, name) {
			return nil, fmt.Errorf("accuracy: protocol %q does not measure own people; choose some of %v", name, ownProtocols)
		}
	}
	return o.OwnPeople, nil
}

// ownFolds plays a deployment in which env.own people enroll one after another, and
// returns the background that it has learned by then with the people to test. If
// the set is large enough, its people are divided as in split; a set with too few
// people is tested whole, with the people of the largest set that remains.
func (e *env) ownFolds(set recordings.Set, m features.Modality, names []string) ([]fold, error) {
	if parts := e.parts(len(names)); len(indices(len(names), func(i int) bool { return !parts[0](i) })) >= max(e.own, moments.MinPeople) {
		var out []fold
		for _, tested := range parts {
			test := indices(len(names), tested)
			bg, err := e.ownBackground(set, m, pick(names, test))
			if err != nil {
				return nil, err
			}
			out = append(out, fold{bg, test[:min(len(test), e.opt.MaxPeople)]})
		}
		return out, nil
	}
	from, err := e.largest(set)
	if err != nil {
		return nil, err
	}
	bg, err := e.ownBackground(from, m, nil)
	if err != nil {
		return nil, err
	}
	all := indices(len(names), func(int) bool { return true })
	return []fold{{bg, all[:min(len(all), e.opt.MaxPeople)]}}, nil
}

// largest returns the set of the same kind with the longest file, other than set.
func (e *env) largest(set recordings.Set) (recordings.Set, error) {
	sets, err := recordings.Find(e.opt.Data)
	if err != nil {
		return recordings.Set{}, err
	}
	var best recordings.Set
	for _, s := range sets {
		if s.Kind == set.Kind && s.Path != set.Path && s.Size > best.Size {
			best = s
		}
	}
	if best.Path == "" {
		return best, fmt.Errorf("%w: no other people to enroll", errUnfit)
	}
	return best, nil
}

// ownBackground is the background that a deployment has after env.own people of the
// set enrolled, none of them tested. Below the least number of people it is the
// model's own.
func (e *env) ownBackground(set recordings.Set, m features.Modality, tested []string) (*scoring.Background, error) {
	prior := e.opt.Model.Background(m)
	if e.own < moments.MinPeople {
		return prior, nil
	}
	enrolled, err := e.enrollable(set, m)
	if err != nil {
		return nil, err
	}
	who := indices(len(enrolled), func(i int) bool { return !slices.Contains(tested, enrolled[i].name) })
	rand.New(rand.NewPCG(e.opt.Seed, 31)).Shuffle(len(who), func(i, j int) { who[i], who[j] = who[j], who[i] })
	sums := moments.Empty(prior)
	for _, i := range who {
		if sums.People == e.own {
			break
		}
		share, ok := moments.Share(prior, enrolled[i].sessions)
		if !ok {
			continue
		}
		if err := sums.Add(share); err != nil {
			return nil, err
		}
	}
	if sums.People < e.own {
		e.note("%s: %d people could enroll, not %d", set.Name, sums.People, e.own)
	}
	bg, err := sums.Background(prior, fmt.Sprintf("%s-own-%d", prior.Version, sums.People))
	if errors.Is(err, moments.ErrTooFew) {
		return nil, fmt.Errorf("%w: %w", errUnfit, err)
	}
	return bg, err
}

// enrollee is a person who can enroll in a played deployment.
type enrollee struct {
	name     string
	frames   []scoring.SessionFrames // dropped after training
	sessions []features.Vector       // of the template, those that the service counts
}

// enrollable returns the people of a set with the sessions of their templates,
// trained as the service trains them. Templates contain the same sessions whatever
// the model in force.
func (e *env) enrollable(set recordings.Set, m features.Modality) ([]enrollee, error) {
	key := string(m) + set.Path
	if got, ok := e.enrolled[key]; ok {
		return got, nil
	}
	enroll := e.typistEnrollees
	if m == features.Pointer {
		enroll = e.moverEnrollees
	}
	out, err := enroll(set)
	if err != nil {
		return nil, err
	}
	parallel(len(out), func(i int) {
		ts, _, err := e.opt.Model.Train(out[i].frames, scoring.TrainOptions{Device: scoring.Desktop, Force: true})
		out[i].frames = nil
		if t := ts.Find(m, scoring.Desktop); err == nil && t != nil {
			out[i].sessions = t.Anchors()
		}
	})
	e.enrolled[key] = out
	return out, nil
}

// typistEnrollees returns the people of a keystroke set. Short texts are grouped,
// textsPerSession to a session.
func (e *env) typistEnrollees(set recordings.Set) ([]enrollee, error) {
	people, err := e.readTypists(set)
	if err != nil {
		return nil, err
	}
	each := 1
	if medianKeys(people) <= shortText {
		each = textsPerSession
	}
	out := make([]enrollee, len(people))
	parallel(len(people), func(i int) {
		out[i].name = people[i].name
		for texts := range slices.Chunk(people[i].sessions, each) {
			var s scoring.SessionFrames
			for _, events := range texts {
				s.Frames = append(s.Frames, sessionOf(events, claimFrames).Frames...)
			}
			out[i].frames = append(out[i].frames, s)
		}
	})
	return out, nil
}

// moverEnrollees returns the people of a pointer set.
func (e *env) moverEnrollees(set recordings.Set) ([]enrollee, error) {
	recorded, err := e.readPointers(set)
	if err != nil {
		return nil, err
	}
	people := movers(recorded)
	out := make([]enrollee, len(people))
	parallel(len(people), func(i int) {
		out[i].name = people[i].name
		for _, events := range slices.Concat(people[i].train, people[i].test) {
			var s scoring.SessionFrames
			for _, part := range byTime(events) {
				s.Frames = append(s.Frames, features.Extract(features.Raw{Pointer: part}))
			}
			out[i].frames = append(out[i].frames, s)
		}
	})
	return out, nil
}

package accuracy

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/lab/recordings"
)

// Options configure a measurement. Only Data is required.
type Options struct {
	Data       string // directory searched for recording sets
	Protocol   string // some of Protocols, separated by commas, or "all" or "" for each that fits a set
	Out        string // folder for Report.Write; empty writes nothing
	Background string // BackgroundAuto, BackgroundEmbedded or BackgroundSplit
	MaxPeople  int    // most people tested as targets; 0 is 400
	Bootstrap  int    // resamples of the error bars; 0 is 200
	Seed       uint64
	Model      *scoring.Model // the model to measure; nil is scoring.Default()
	Against    *scoring.Model // model to compare with; people that it was learned from are left out too
	OwnPeople  []int          // numbers of people who enroll in a played deployment before others are tested; empty measures Model
	Log        func(string)   // receives one line for each step; may be nil
	// Progress receives the current step and the number of steps done, of all; may be nil. A step is a set under a protocol.
	Progress func(step string, done, total int)
}

// Sources of the background of a measurement. Auto is the embedded one unless it
// was learned from the very file that is measured; then, as with split, the people
// of the set are divided and the background is learned from those who are not
// tested.
const (
	BackgroundAuto     = "auto"
	BackgroundEmbedded = "embedded"
	BackgroundSplit    = "split"
)

// ErrNothing is returned if no set in the folder fits the protocol.
var ErrNothing = errors.New("accuracy: no recording set fits")

// protocol is one way to measure sets of one kind.
type protocol struct {
	name string
	kind recordings.Kind
	run  func(*env, recordings.Set) error
}

// protocols lists the protocols in the order in which they are reported.
func protocols() []protocol {
	return []protocol{
		{"gallery", recordings.Keystrokes, runGallery},
		{"days", recordings.Keystrokes, runDays},
		{"claims", recordings.Keystrokes, runClaims},
		{"enrollment", recordings.Keystrokes, runEnrollment},
		{"leave-one-out", recordings.Keystrokes, runLeaveOneOut},
		{"attacks", recordings.Keystrokes, runAttacks},
		{"replays", recordings.Keystrokes, runReplays},
		{"fusion", recordings.Keystrokes, runFusion},
		{"take-over", recordings.Keystrokes, runTakeOver},
		{"mixed", recordings.Keystrokes, runMixed},
		{"fixed-text", recordings.Vectors, runFixedText},
		{"pointer", recordings.Pointer, runPointer},
		{"automation", recordings.Pointer, runAutomation},
		{"speed", recordings.Keystrokes, runSpeed},
	}
}

// Protocols returns the names that Options.Protocol takes besides "all".
func Protocols() []string {
	var out []string
	for _, p := range protocols() {
		out = append(out, p.name)
	}
	return out
}

func (o Options) wants(protocol string) bool {
	return o.Protocol == "all" || slices.Contains(strings.Split(o.Protocol, ","), protocol)
}

// errUnfit is returned by a protocol that cannot be run on a set, for example
// because people have too few sessions.
var errUnfit = errors.New("accuracy: the set does not fit the protocol")

// Run measures every recording set in opt.Data under every protocol that fits, or
// under the chosen one. A set that cannot be read is noted and does not keep the
// others from being measured; Run then returns the report and an error.
func Run(ctx context.Context, opt Options) (Report, error) {
	e, err := newEnv(ctx, opt)
	if err != nil {
		return Report{}, err
	}
	sets, err := recordings.Find(e.opt.Data)
	if err != nil {
		return Report{}, err
	}
	own, err := e.opt.ownPeople()
	if err != nil {
		return Report{}, err
	}
	measured, tried := 0, 0
	steps := e.steps(sets, own)
	var unread []error
	for _, set := range sets {
		var unfit []string
		e.report.Sets = append(e.report.Sets, set.Name+"."+string(set.Kind))
		for _, p := range protocols() {
			if !e.applies(p, set, own) {
				continue
			}
			if err := ctx.Err(); err != nil {
				return e.report, err
			}
			if e.opt.Progress != nil {
				e.opt.Progress(set.Name+", "+p.name, tried, steps)
			}
			tried++
			err := e.each(own, func() error { return p.run(e, set) })
			switch {
			case errors.Is(err, errUnfit):
				unfit = append(unfit, p.name)
				continue
			case errors.Is(err, recordings.ErrFormat):
				unread = append(unread, err)
			case err != nil:
				return e.report, fmt.Errorf("accuracy: %s on %s: %w", p.name, set.Name, err)
			default:
				measured++
				continue
			}
			break // a set that cannot be read fails under every protocol
		}
		if len(unfit) > 0 {
			e.note("%s: does not fit %s: too few people, or too few sessions or keys of each", set.Name, strings.Join(unfit, ", "))
		}
		e.forget()
	}
	if measured == 0 && len(unread) > 0 {
		return e.report, fmt.Errorf("accuracy: %w", errors.Join(unread...))
	}
	if measured == 0 {
		return e.report, fmt.Errorf("%w: protocol %q in %s", ErrNothing, e.opt.Protocol, e.opt.Data)
	}
	for _, err := range unread {
		e.note("left out: %v", err)
	}
	if e.opt.Out != "" {
		unread = append(unread, e.report.Write(e.opt.Out))
	}
	return e.report, errors.Join(unread...)
}

// applies reports whether a protocol is for sets of this kind, and chosen.
func (e *env) applies(p protocol, set recordings.Set, own []int) bool {
	return p.kind == set.Kind && e.opt.wants(p.name) &&
		(own[0] == noOwn || slices.Contains(ownProtocols, p.name))
}

// steps counts the sets under the protocols that apply. A set that cannot be read or does not fit ends sooner.
func (e *env) steps(sets []recordings.Set, own []int) int {
	n := 0
	for _, set := range sets {
		for _, p := range protocols() {
			if e.applies(p, set, own) {
				n++
			}
		}
	}
	return n
}

// env is shared by the protocols: options, the report in progress, and sets already
// read.
type env struct {
	ctx      context.Context
	opt      Options
	report   Report
	typists  map[string][]typist
	pointers map[string][]recordings.PointerSession
	own      int // people who enroll in a played deployment, or noOwn
	enrolled map[string][]enrollee
}

// newEnv checks the options and fills in defaults.
func newEnv(ctx context.Context, opt Options) (*env, error) {
	if opt.Protocol == "" {
		opt.Protocol = "all"
	}
	for name := range strings.SplitSeq(opt.Protocol, ",") {
		if name != "all" && !slices.Contains(Protocols(), name) {
			return nil, fmt.Errorf("accuracy: protocol %q is none of %v", name, Protocols())
		}
	}
	if opt.Background == "" {
		opt.Background = BackgroundAuto
	}
	if !slices.Contains([]string{BackgroundAuto, BackgroundEmbedded, BackgroundSplit}, opt.Background) {
		return nil, fmt.Errorf("accuracy: background %q is none of auto, embedded, split", opt.Background)
	}
	if opt.MaxPeople <= 0 {
		opt.MaxPeople = 400
	}
	if opt.Bootstrap <= 0 {
		opt.Bootstrap = 200
	}
	if opt.Log == nil {
		opt.Log = func(string) {}
	}
	if opt.Model == nil {
		opt.Model = scoring.Default()
	}
	e := &env{ctx: ctx, opt: opt, own: noOwn, enrolled: map[string][]enrollee{}}
	e.forget()
	e.report.ModelVersion, e.report.RuleVersion = opt.Model.Version(), scoring.RuleVersion
	e.report.SchemaVersion = features.SchemaVersion
	return e, nil
}

// each calls run once for each number of own people.
func (e *env) each(own []int, run func() error) error {
	for _, n := range own {
		e.own = n
		if err := run(); err != nil {
			return err
		}
	}
	return nil
}

// add appends a figure to the report, with the number of own people in its case.
func (e *env) add(f Figure) {
	if e.own != noOwn {
		f.Case = fmt.Sprintf("%s; %d own people", f.Case, e.own)
	}
	e.report.Figures = append(e.report.Figures, f)
}

// forget drops the sets that were read. Run calls it after each set, because
// recordings take much memory.
func (e *env) forget() {
	e.typists, e.pointers = map[string][]typist{}, map[string][]recordings.PointerSession{}
}

// readTypists reads a keystroke set, once for all protocols.
func (e *env) readTypists(set recordings.Set) ([]typist, error) {
	if got, ok := e.typists[set.Path]; ok {
		return got, nil
	}
	sessions, err := recordings.ReadKeystrokes(set.Path)
	if err != nil {
		return nil, err
	}
	e.typists[set.Path] = typists(sessions)
	return e.typists[set.Path], nil
}

// readPointers reads a pointer set, once for all protocols.
func (e *env) readPointers(set recordings.Set) ([]recordings.PointerSession, error) {
	if got, ok := e.pointers[set.Path]; ok {
		return got, nil
	}
	sessions, err := recordings.ReadPointer(set.Path)
	if err != nil {
		return nil, err
	}
	e.pointers[set.Path] = sessions
	return sessions, nil
}

func (e *env) logf(format string, args ...any) { e.opt.Log(fmt.Sprintf(format, args...)) }

// note adds a remark to the report unless it is there already.
func (e *env) note(format string, args ...any) {
	n := fmt.Sprintf(format, args...)
	if !slices.Contains(e.report.Notes, n) {
		e.report.Notes = append(e.report.Notes, n)
	}
}

// verification adds the usual figures of genuine and impostor scores, and the DET
// curve.
func (e *env) verification(f Figure, people []Person, compare string) {
	g, i := pool(people)
	f.Sample = fmt.Sprintf("%d people, %d genuine, %d impostor", len(people), len(g), len(i))
	add := func(metric, unit, note string, value, lo, hi float64) {
		f.Metric, f.Unit, f.Note = metric, unit, note
		f.Value, f.Low, f.High = Number(value), Number(lo), Number(hi)
		e.add(f)
	}
	each := perPerson(people, EER)
	lo, hi := interval(each, e.opt.Bootstrap, e.opt.Seed, mean)
	add("EER per user", "%", compare, mean(each), lo, hi)
	low, high := pooledIntervals(people, e.opt.Bootstrap, e.opt.Seed)
	add("EER pooled", "%", "", EER(g, i), low.eer, high.eer)
	add("AUC pooled", "", "", AUC(g, i), low.auc, high.auc)
	add("FNMR at FMR 1 %", "%", "", FNMRAt(g, i, .01), low.fnmr1, high.fnmr1)
	add("FNMR at FMR 0.1 %", "%", "", FNMRAt(g, i, .001), low.fnmr01, high.fnmr01)
	e.report.Curves = append(e.report.Curves, Curve{Protocol: f.Protocol, Set: f.Set, Case: f.Case, Points: tradeOff(g, i)})
	percent := Figure{Unit: "%"}
	e.logf("%s on %s, %s: EER per user %s, pooled %s", f.Protocol, f.Set, f.Case, percent.format(Number(mean(each))), percent.format(Number(EER(g, i))))
}

// share adds a proportion with its interval. groups has the trials of each person,
// because trials of one person depend on each other.
func (e *env) share(f Figure, metric string, groups [][]bool, note string) {
	stat := func(groups [][]bool) float64 {
		yes, all := 0, 0
		for _, g := range groups {
			for _, hit := range g {
				all++
				if hit {
					yes++
				}
			}
		}
		if all == 0 {
			return math.NaN()
		}
		return float64(yes) / float64(all)
	}
	total := 0
	for _, g := range groups {
		total += len(g)
	}
	lo, hi := interval(groups, e.opt.Bootstrap, e.opt.Seed, stat)
	f.Metric, f.Unit, f.Note, f.Sample = metric, "%", note, fmt.Sprintf("%d people, %d trials", len(groups), total)
	f.Value, f.Low, f.High = Number(stat(groups)), Number(lo), Number(hi)
	e.add(f)
	e.logf("%s on %s, %s: %s %s", f.Protocol, f.Set, f.Case, metric, f.format(f.Value))
}

// plain adds a number without an interval.
func (e *env) plain(f Figure, metric, unit string, value float64, note string) {
	f.Metric, f.Unit, f.Note, f.Value = metric, unit, note, Number(value)
	f.Low, f.High = Number(math.NaN()), Number(math.NaN())
	e.add(f)
	e.logf("%s on %s, %s: %s %.3f %s", f.Protocol, f.Set, f.Case, metric, value, unit)
}

// parallel calls f for each number below n, on every core, and returns when all
// calls have. f must be safe for concurrent use.
func parallel(n int, f func(i int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

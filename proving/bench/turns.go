package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/proving/loadgen"
)

// side is one of the loads that are compared. Its name is that of its row,
// which the capacity model finds it by.
type side struct {
	what string
	run  func(lasts time.Duration) loadgen.Result
	cost func(ctx context.Context) cost // what its processes have used; nil: those of the bench
	// begin runs before each turn and ends the others' use of the machine; nil does nothing.
	begin func(ctx context.Context) error
}

// turns runs the sides in turn, once in each round, and adds a row for each side. It returns the row of each turn, by round and side.
// The sides alternate, so that they see the same temperature, caches and table sizes, and each round begins with the next side, so
// that none always pays for the background work that another left. A disturbance from outside affects one turn, and so changes a
// median over the rounds little.
func (b *bench) turns(ctx context.Context, part, how string, sides []side) [][]Row {
	results, costs := make([]loadgen.Result, len(sides)), make([]cost, len(sides))
	out := make([][]Row, b.Rounds)
	for round := range out {
		out[round] = make([]Row, len(sides))
		for k := range sides {
			i := (k + round) % len(sides)
			b.show(fmt.Sprintf("%s, %s: %s", part, how, sides[i].what), round*len(sides)+k, b.Rounds*len(sides))
			result, used := b.turn(ctx, sides[i])
			out[round][i] = row(part, sides[i].what, how, result, used)
			costs[i] = used.plus(costs[i])
			results[i].Join(result)
		}
	}
	for i, s := range sides {
		b.add(row(part, s.what, how, results[i], costs[i]))
	}
	return out
}

// turn runs one side once.
func (b *bench) turn(ctx context.Context, s side) (loadgen.Result, cost) {
	if s.begin != nil {
		if err := s.begin(ctx); err != nil {
			return loadgen.Result{Failed: 1, Why: map[string]int{err.Error(): 1}}, cost{}
		}
	}
	// What a turn costs is read before it begins to send and after its last
	// response, so that the pause of the other sides is not in it.
	usage := s.cost
	if usage == nil {
		usage = b.usage
	}
	before := usage(ctx)
	result := s.run(b.Slice)
	return result, usage(ctx).since(before)
}

// Ratio is a figure of one side divided by that of another, of the same round: its median over the rounds, the lowest and the highest.
type Ratio struct {
	Part   string  `json:"part"`
	How    string  `json:"how"`
	Figure string  `json:"figure"`
	Of     string  `json:"of"` // "this over base"
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// Figure is a column of a row that sides are compared by. Units do not
// matter: they cancel out.
type Figure struct {
	Name string
	Of   func(r Row) float64
}

// LatencyFigures are those of any load, CostFigures those of a service whose processes are measured.
var (
	LatencyFigures = []Figure{
		{"p50", func(r Row) float64 { return r.P50 }}, {"p99", func(r Row) float64 { return r.P99 }},
		{"throughput", func(r Row) float64 { return r.PerSecond }},
	}
	CostFigures = []Figure{
		{"CPU of the API", func(r Row) float64 { return r.APICPU }}, {"CPU of Postgres", func(r Row) float64 { return r.SQLCPU }},
		{"kB allocated", func(r Row) float64 { return r.AllocKB }}, {"objects allocated", func(r Row) float64 { return r.Objects }},
		{"CPU of the worker", func(r Row) float64 { return r.WorkerCPU }}, {"CPU of Temporal", func(r Row) float64 { return r.EngineCPU }},
		{"WAL", func(r Row) float64 { return r.WALKB }},
	}
)

// Sides are the places of two sides in a turn, and how their ratio is called.
type Sides struct {
	First, Second int
	Of            string
}

// Divide adds the ratios of two sides of the turns. A figure that a side does not have is left out.
func (r *Report) Divide(turns [][]Row, s Sides, figures []Figure) {
	for _, f := range figures {
		var each []float64
		for _, turn := range turns {
			if x := over(f.Of(turn[s.First]), f.Of(turn[s.Second])); x > 0 {
				each = append(each, x)
			}
		}
		if len(each) == 0 {
			continue
		}
		slices.Sort(each)
		x := turns[0][s.First]
		r.Ratios = append(r.Ratios, Ratio{
			Part: x.Part, How: x.How, Figure: f.Name, Of: s.Of, Low: each[0], High: each[len(each)-1],
			Median: (each[(len(each)-1)/2] + each[len(each)/2]) / 2,
		})
	}
}

// writeRatios writes the table of ratios, if there are any: a run without
// a base or a peer has none.
func (r *Report) writeRatios(b *strings.Builder) {
	if len(r.Ratios) == 0 {
		return
	}
	b.WriteString("\n| part | how | figure | of | median | lowest | highest |\n|---|---|---|---|---:|---:|---:|\n")
	for _, x := range r.Ratios {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %.2f x | %.2f x | %.2f x |\n", x.Part, x.How, x.Figure, x.Of, x.Median, x.Low, x.High)
	}
}

// over divides. The ratio is 0 if the divisor is: a round in which one
// side measured nothing says nothing of the other.
func over(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

package main

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/countersign-dev/countersign/internal/local/capacity"
)

// measure is a flag with a unit, which parse reads.
type measure[T any] struct {
	flag, fallback, help string
	parse                func(string) (T, error)
	to                   *T
}

func capacityCommand() *cobra.Command {
	var l capacity.Load
	texts := map[string]*string{}
	var costs string
	var asJSON, asValues bool
	cmd := &cobra.Command{
		Use:   "capacity --decisions RATE",
		Short: "Compute cores, write-ahead log, disk, connections and pods for a load, from measured costs",
		Long: "Compute cores, write-ahead log, disk, connections and pods for a load, from measured costs.\n\n" +
			"Every figure is printed with the cost and the rate that it is the product of. The costs are those of the machine that the output\n" +
			"names: make bench measures them on yours and writes them where the next build embeds them, or where --costs reads them.",
		Example: "  countersign capacity --decisions 16700/s --challenges 1%\n  countersign capacity --decisions 10M/d --values > sizes.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := parseLoad(&l, texts); err != nil {
				return err
			}
			c, err := capacity.Embedded()
			if costs != "" {
				c, err = capacity.Read(costs)
			}
			switch {
			case err != nil && costs != "":
				return usage("--costs: %v", err)
			case err != nil:
				return err
			case asJSON && asValues:
				return usage("--json and --values are both set: choose one")
			}
			plan := capacity.New(l, c)
			switch {
			case asJSON:
				return plan.WriteJSON(cmd.OutOrStdout())
			case asValues:
				return plan.WriteValues(cmd.OutOrStdout())
			default:
				return plan.WriteText(cmd.OutOrStdout())
			}
		},
	}
	f := cmd.Flags()
	bindMeasures(f, rates(&l), texts)
	bindMeasures(f, shares(&l), texts)
	bindMeasures(f, times(&l), texts)
	f.Float64Var(&l.Frames, "frames-per-decision", 4, "frames of evidence for each decision; a user who types sends three a minute")
	f.Float64Var(&l.PerSession, "frames-per-session", 40, "frames that one session receives")
	f.Float64Var(&l.Verifies, "verifies-per-decision", 1, "proofs verified for each decision")
	f.Float64Var(&l.Deliveries, "deliveries-per-decision", 1, "webhook deliveries for each decision: events times endpoints that subscribe to them")
	f.Float64Var(&l.Peak, "peak", 2, "highest rate as a multiple of the average one")
	f.IntVar(&l.Machines, "machines", 3, "machines that the pods are spread over, of which one may fail")
	f.Float64Var(&l.APICPU, "api-pod-cpu", 1, "`cores` that one API pod requests")
	f.Float64Var(&l.WorkerCPU, "worker-pod-cpu", .5, "`cores` that one worker pod requests")
	f.Float64Var(&l.PostgresCores, "postgres-cores", 16, "`cores` of one Postgres server")
	f.IntVar(&l.Connections, "pod-connections", 16, "connections to Postgres that one pod may open")
	f.StringVar(&costs, "costs", "", "`file` of costs that make bench wrote; empty is those of this build")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.BoolVar(&asValues, "values", false, "print values of the Helm chart")
	return cmd
}

func rates(l *capacity.Load) []measure[float64] {
	return []measure[float64]{{"decisions", "", "decisions at the average `rate`, such as 16700/s, 1M/min or 50M/d; required", capacity.Rate, &l.Decisions}}
}

func shares(l *capacity.Load) []measure[float64] {
	return []measure[float64]{
		{"challenges", "1%", "`share` of the decisions that open a challenge", capacity.Share, &l.Challenges},
		{"holds", "0.1%", "`share` of the decisions that open a hold", capacity.Share, &l.Holds},
	}
}

func times(l *capacity.Load) []measure[time.Duration] {
	return []measure[time.Duration]{
		{"retention", "90d", "`time` that decisions and their events are stored", capacity.Days, &l.Kept},
		{"frames-retention", "90d", "`time` that frames are stored", capacity.Days, &l.KeptFrames},
		{"sessions-retention", "180d", "`time` that sessions are stored", capacity.Days, &l.KeptSessions},
		{"digests-retention", "365d", "`time` that digests of frames are stored: the age of the environment unless COUNTERSIGN_RETENTION limits them", capacity.Days, &l.KeptDigests},
		{"deliveries-retention", "30d", "`time` that webhook deliveries are stored", capacity.Days, &l.KeptDeliveries},
		{"age", "365d", "`time` that what is never deleted has grown for", capacity.Days, &l.Age},
	}
}

func bindMeasures[T any](f *pflag.FlagSet, all []measure[T], texts map[string]*string) {
	for _, m := range all {
		texts[m.flag] = f.String(m.flag, m.fallback, m.help)
	}
}

// parseLoad reads the flags that have units, and checks the load as a whole.
func parseLoad(l *capacity.Load, texts map[string]*string) error {
	if *texts["decisions"] == "" {
		return usage("--decisions is not set: give the average rate, such as 16700/s, 1M/min or 50M/d")
	}
	for _, m := range append(rates(l), shares(l)...) {
		if err := m.read(texts); err != nil {
			return err
		}
	}
	for _, m := range times(l) {
		if err := m.read(texts); err != nil {
			return err
		}
	}
	if err := l.Check(); err != nil {
		return usage("%v", err)
	}
	return nil
}

func (m measure[T]) read(texts map[string]*string) error {
	v, err := m.parse(*texts[m.flag])
	if err != nil {
		return usage("--%s %v", m.flag, err)
	}
	*m.to = v
	return nil
}

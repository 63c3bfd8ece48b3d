package capacity

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Load has the rates and retentions of a deployment, and the machines that carry them.
type Load struct {
	Decisions  float64 `json:"decisions_per_second"`
	Challenges float64 `json:"challenges"` // share of the decisions, 0 to 1
	Holds      float64 `json:"holds"`      // share of the decisions, 0 to 1
	// Frames, Verifies and Deliveries are for each decision.
	Frames     float64 `json:"frames_per_decision"`
	PerSession float64 `json:"frames_per_session"`
	Verifies   float64 `json:"verifies_per_decision"`
	Deliveries float64 `json:"deliveries_per_decision"`

	// Kept, KeptFrames, KeptSessions, KeptDigests and KeptDeliveries are retentions. Age is how long the environment has existed:
	// what is never deleted has grown for as long.
	Kept           time.Duration `json:"-"`
	KeptFrames     time.Duration `json:"-"`
	KeptSessions   time.Duration `json:"-"`
	KeptDigests    time.Duration `json:"-"`
	KeptDeliveries time.Duration `json:"-"`
	Age            time.Duration `json:"-"`

	Peak          float64 `json:"peak"`            // highest rate over the average one, 1 or more
	Machines      int     `json:"machines"`        // that the pods are spread over; one of them may fail
	APICPU        float64 `json:"api_pod_cpu"`     // cores that an API pod requests
	WorkerCPU     float64 `json:"worker_pod_cpu"`  // cores that a worker pod requests
	PostgresCores float64 `json:"postgres_cores"`  // of one Postgres server
	Connections   int     `json:"pod_connections"` // to Postgres that one process may open
}

// Rate reads a rate such as 16700/s, 1M/min, 50k/h or 100M/d and returns it per second.
func Rate(text string) (float64, error) {
	wrong := fmt.Errorf("is %q: want a number above 0, at most 1 billion a second, and a unit of time, such as 16700/s, 1M/min, 50k/h or 100M/d", text)
	number, unit, found := strings.Cut(text, "/")
	seconds := map[string]float64{"s": 1, "min": 60, "h": 3600, "d": 86400}[unit]
	if !found || seconds == 0 {
		return 0, wrong
	}
	times := 1.0
	for suffix, n := range map[string]float64{"k": 1e3, "M": 1e6, "G": 1e9} {
		if rest, ok := strings.CutSuffix(number, suffix); ok {
			number, times = rest, n
		}
	}
	n, ok := decimal(number)
	if n *= times / seconds; !ok || n <= 0 || n > 1e9 {
		return 0, wrong
	}
	return n, nil
}

// Share reads a share such as 1% or 0.01.
func Share(text string) (float64, error) {
	number, percent := strings.CutSuffix(text, "%")
	n, ok := decimal(number)
	if percent {
		n /= 100
	}
	if !ok || n < 0 || n > 1 {
		return 0, fmt.Errorf("is %q: want a share of the decisions from 0%% to 100%%, such as 1%% or 0.01", text)
	}
	return n, nil
}

// Days reads a time such as 90d or 36h.
func Days(text string) (time.Duration, error) {
	number, unit := text, time.Duration(0)
	for suffix, each := range map[string]time.Duration{"d": 24 * time.Hour, "h": time.Hour} {
		if rest, ok := strings.CutSuffix(text, suffix); ok {
			number, unit = rest, each
		}
	}
	n, ok := decimal(number)
	if d := n * float64(unit); ok && unit > 0 && d >= float64(time.Hour) && d <= float64(36500*24*time.Hour) {
		return time.Duration(d), nil
	}
	return 0, fmt.Errorf("is %q: want a time from 1h to 36500d, such as 90d or 36h", text)
}

// decimal reads a finite number in decimal notation, without the other notations of strconv.
func decimal(text string) (float64, bool) {
	if strings.Trim(text, "0123456789.") != "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil && !math.IsInf(n, 0)
}

// Check returns an error that names the flag and its bounds, for the fields that are plain numbers and for the sum of the shares.
func (l Load) Check() error {
	for _, x := range []struct {
		flag       string
		value      float64
		from, upTo float64
	}{
		{"--frames-per-decision", l.Frames, 0, 10_000},
		{"--frames-per-session", l.PerSession, 1, 10_000},
		{"--verifies-per-decision", l.Verifies, 0, 10_000},
		{"--deliveries-per-decision", l.Deliveries, 0, 1_000},
		{"--peak", l.Peak, 1, 100},
		{"--machines", float64(l.Machines), 2, 10_000},
		{"--api-pod-cpu", l.APICPU, .1, 64},
		{"--worker-pod-cpu", l.WorkerCPU, .1, 64},
		{"--postgres-cores", l.PostgresCores, 1, 1024},
		{"--pod-connections", float64(l.Connections), 1, 1000},
	} {
		if !(x.value >= x.from && x.value <= x.upTo) {
			return fmt.Errorf("%s is %g: want a number from %g to %g", x.flag, x.value, x.from, x.upTo)
		}
	}
	if l.Challenges+l.Holds > 1 {
		return fmt.Errorf("--challenges and --holds are together %.4g%% of the decisions: want at most 100%%", 100*(l.Challenges+l.Holds))
	}
	return nil
}

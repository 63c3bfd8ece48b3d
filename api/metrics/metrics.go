// Package metrics counts what the API handles, for the process and for each environment. It may not decide anything.
package metrics

import (
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/subject/session"
)

// Metrics are the metrics of the HTTP server. The number of label values is bounded: routes are operation ids, never paths.
type Metrics struct {
	requests  *prometheus.HistogramVec
	refused   prometheus.Counter
	blind     prometheus.Counter
	shed      prometheus.Counter
	overShare prometheus.Counter
	frames    *prometheus.CounterVec
	decision  *prometheus.HistogramVec
	stage     *prometheus.HistogramVec

	ruleFailures prometheus.Counter

	environments environmentMetrics
}

// maxEnvironments bounds the environments that a process keeps figures of. Beyond it they begin at zero again, which Prometheus
// takes for a restart.
const maxEnvironments = 500

// environmentMetrics are the figures of single environments: what one tenant may see of the process.
type environmentMetrics struct {
	mu sync.Mutex
	of map[string]environmentFigures // by environment id
}

type environmentFigures struct {
	*Metrics
	registry *prometheus.Registry
}

func (e *environmentMetrics) get(environment string) environmentFigures {
	e.mu.Lock()
	defer e.mu.Unlock()
	found, ok := e.of[environment]
	if !ok {
		if e.of == nil || len(e.of) >= maxEnvironments {
			e.of = map[string]environmentFigures{}
		}
		r := prometheus.NewRegistry()
		found = environmentFigures{New(r), r}
		e.of[environment] = found
	}
	return found
}

// both returns the metrics of the process, and those of the environment unless it is empty, as that of a request without a
// credential is.
func (m *Metrics) both(environment string) []*Metrics {
	if environment == "" {
		return []*Metrics{m}
	}
	return []*Metrics{m, m.environments.get(environment).Metrics}
}

// Of returns the figures of an environment in this process.
func (m *Metrics) Of(environment string) prometheus.Gatherer {
	return m.environments.get(environment).registry
}

// decisionBuckets are in seconds, finest around the expected latency of a decision.
var decisionBuckets = []float64{.0005, .001, .002, .004, .007, .01, .015, .025, .04, .08, .15, .3, .6, 1.2, 5}

// New creates and registers the metrics. It panics if one is registered already.
func New(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "countersign_http_request_seconds", Help: "Time to handle a request, by operation, method and status.",
			Buckets: []float64{.001, .0025, .005, .01, .02, .04, .08, .15, .3, .6, 1.2, 2.5, 5, 10},
		}, []string{"operation", "method", "status"}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "countersign_rate_limited_total", Help: "Requests refused because their quota was used up.",
		}),
		blind: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "countersign_rate_limiter_unavailable_total", Help: "Requests that passed without a quota check because the rate limiter was unavailable.",
		}),
		shed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "countersign_shed_total", Help: "Requests refused with 503 because too many were in progress.",
		}),
		overShare: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "countersign_shed_share_total", Help: "Requests refused with 503 because their tenant had used up its share.",
		}),
		frames: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "countersign_frames_total", Help: "Frames of evidence, by status and first reason code.",
		}, []string{"status", "reason"}),
		decision: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "countersign_decision_seconds", Help: "Time to decide, by decision and mode of the action, without replayed responses.",
			Buckets: decisionBuckets,
		}, []string{"decision", "mode"}),
		ruleFailures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "countersign_rule_failures_total", Help: "Decisions with a rule that could not be evaluated and applied for that reason.",
		}),
		stage: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "countersign_decision_stage_seconds", Help: "Duration of the stages of a decision: read, decide, write.",
			Buckets: decisionBuckets,
		}, []string{"stage"}),
	}
	r.MustRegister(m.ruleFailures, m.requests, m.refused, m.blind, m.shed, m.overShare, m.frames, m.decision, m.stage)
	return m
}

// Request is a request that was handled.
type Request struct {
	Environment, Operation, Method string // the environment is that of the caller
	Status                         int
	Took                           time.Duration
}

// Handled counts a request.
func (m *Metrics) Handled(r Request) {
	if r.Operation == "" {
		r.Operation, r.Method = "unknown", "any"
	}
	for _, m := range m.both(r.Environment) {
		m.requests.WithLabelValues(r.Operation, r.Method, strconv.Itoa(r.Status)).Observe(r.Took.Seconds())
	}
}

// Decided counts a decision.
func (m *Metrics) Decided(environment string, a authorization.Result, took time.Duration) {
	for _, m := range m.both(environment) {
		m.decision.WithLabelValues(string(a.Decision), a.Mode).Observe(took.Seconds())
		m.stage.WithLabelValues("read").Observe(a.Stages.Read.Seconds())
		m.stage.WithLabelValues("decide").Observe(a.Stages.Decide.Seconds())
		m.stage.WithLabelValues("write").Observe(a.Stages.Write.Seconds())
		if a.RuleFailed {
			m.ruleFailures.Inc()
		}
	}
}

// Frame counts a frame of evidence.
func (m *Metrics) Frame(environment string, a session.Ack) {
	reason := ""
	if len(a.ReasonCodes) > 0 {
		reason = a.ReasonCodes[0]
	}
	for _, m := range m.both(environment) {
		m.frames.WithLabelValues(a.Status, reason).Inc()
	}
}

// Limited counts a request that was refused because a quota was used up.
func (m *Metrics) Limited(environment string) {
	for _, m := range m.both(environment) {
		m.refused.Inc()
	}
}

// LimiterUnavailable counts a request that passed without a quota check.
func (m *Metrics) LimiterUnavailable() { m.blind.Inc() }

// Shed counts a request that was refused because too many were in progress, of all tenants or of its own.
func (m *Metrics) Shed(ofTenant bool) {
	m.shed.Inc()
	if ofTenant {
		m.overShare.Inc()
	}
}

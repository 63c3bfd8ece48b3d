package api

import (
	"strconv"
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
}

// decisionBuckets are in seconds, finest around the expected latency of a decision.
var decisionBuckets = []float64{.0005, .001, .002, .004, .007, .01, .015, .025, .04, .08, .15, .3, .6, 1.2, 5}

// NewMetrics creates and registers the metrics. It panics if one is registered already.
func NewMetrics(r prometheus.Registerer) *Metrics {
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

func (m *Metrics) request(operation, method string, status int, took time.Duration) {
	if operation == "" {
		operation, method = "unknown", "any"
	}
	m.requests.WithLabelValues(operation, method, strconv.Itoa(status)).Observe(took.Seconds())
}

func (m *Metrics) decided(a authorization.Answer, took time.Duration) {
	m.decision.WithLabelValues(string(a.Decision), a.Mode).Observe(took.Seconds())
	m.stage.WithLabelValues("read").Observe(a.Stages.Read.Seconds())
	m.stage.WithLabelValues("decide").Observe(a.Stages.Decide.Seconds())
	m.stage.WithLabelValues("write").Observe(a.Stages.Write.Seconds())
	if a.RuleFailed {
		m.ruleFailures.Inc()
	}
}

func (m *Metrics) frame(a session.Ack) {
	reason := ""
	if len(a.ReasonCodes) > 0 {
		reason = a.ReasonCodes[0]
	}
	m.frames.WithLabelValues(a.Status, reason).Inc()
}

func (m *Metrics) limited()            { m.refused.Inc() }
func (m *Metrics) limiterUnavailable() { m.blind.Inc() }

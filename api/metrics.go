package api

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/subject/session"
)

// Metrics are the HTTP face's own figures. Labels are bounded: routes are operation ids, never paths.
type Metrics struct {
	requests  *prometheus.HistogramVec
	refused   prometheus.Counter
	blind     prometheus.Counter
	shed      prometheus.Counter
	overShare prometheus.Counter
	frames    *prometheus.CounterVec
	decision  *prometheus.HistogramVec
	stage     *prometheus.HistogramVec
}

// decisionBuckets are in seconds, fine where a decision ought to be.
var decisionBuckets = []float64{.0005, .001, .002, .004, .007, .01, .015, .025, .04, .08, .15, .3, .6, 1.2, 5}

// NewMetrics registers the figures.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "countersign_http_request_seconds", Help: "Time to answer a request, by operation, method and status.",
			Buckets: []float64{.001, .0025, .005, .01, .02, .04, .08, .15, .3, .6, 1.2, 2.5, 5, 10},
		}, []string{"operation", "method", "status"}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "countersign_rate_limited_total", Help: "Requests refused because the quota was used up.",
		}),
		blind: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "countersign_rate_limiter_unavailable_total", Help: "Requests let pass because the shared count could not be asked.",
		}),
		shed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "countersign_shed_total", Help: "Requests answered 503 because too many were being worked on.",
		}),
		overShare: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "countersign_shed_share_total", Help: "Of those answered 503, requests whose tenant had its share of the queue.",
		}),
		frames: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "countersign_frames_total", Help: "Frames of evidence answered, by status and the first reason.",
		}, []string{"status", "reason"}),
		decision: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "countersign_decision_seconds", Help: "Time to decide, by decision and the action's mode. Replayed answers do not count.",
			Buckets: decisionBuckets,
		}, []string{"decision", "mode"}),
		stage: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "countersign_decision_stage_seconds", Help: "Time of the stages of a decision: read, decide, write.",
			Buckets: decisionBuckets,
		}, []string{"stage"}),
	}
	r.MustRegister(m.requests, m.refused, m.blind, m.shed, m.overShare, m.frames, m.decision, m.stage)
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

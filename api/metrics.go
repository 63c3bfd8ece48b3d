package api

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are the HTTP face's own figures. Labels are bounded: routes are operation ids, never paths.
type Metrics struct {
	requests *prometheus.HistogramVec
	refused  prometheus.Counter
	blind    prometheus.Counter
}

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
	}
	r.MustRegister(m.requests, m.refused, m.blind)
	return m
}

func (m *Metrics) request(operation, method string, status int, took time.Duration) {
	if operation == "" {
		operation, method = "unknown", "any"
	}
	m.requests.WithLabelValues(operation, method, strconv.Itoa(status)).Observe(took.Seconds())
}

func (m *Metrics) limited()     { m.refused.Inc() }
func (m *Metrics) limiterAway() { m.blind.Inc() }

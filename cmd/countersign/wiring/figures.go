package wiring

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/countersign-dev/countersign/internal/delivery/webhook"
)

// seconds are buckets from what a relay takes on a good day to what a retry waits.
var seconds = []float64{.01, .025, .05, .1, .25, .5, 1, 1.5, 3, 10, 60, 600, 3600, 86400}

// workerFigures are the metrics of the outbox and the webhooks. Labels are bounded: topics and outcomes, never a tenant
// or an endpoint.
type workerFigures struct {
	waited   *prometheus.HistogramVec
	attempts *prometheus.CounterVec
	lag      prometheus.Histogram
	answered prometheus.Histogram
}

func newWorkerFigures(r prometheus.Registerer) *workerFigures {
	f := &workerFigures{
		waited: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "countersign_outbox_wait_seconds",
			Help: "Time from the writing of an outbox row to a try of its work, by topic and result.", Buckets: seconds}, []string{"topic", "result"}),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "countersign_webhook_attempts_total",
			Help: "Tries to deliver an event, by result."}, []string{"result"}),
		lag: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "countersign_webhook_first_attempt_seconds",
			Help: "Time from an event to the first try to deliver it, unless a broken receiver delayed it.", Buckets: seconds}),
		answered: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "countersign_webhook_answer_seconds",
			Help: "Time that a receiver took to answer, or until the try was given up.", Buckets: prometheus.ExponentialBuckets(.005, 2, 12)}),
	}
	r.MustRegister(f.waited, f.attempts, f.lag, f.answered)
	return f
}

// Relayed implements outbox.Observer.
func (f *workerFigures) Relayed(topic string, waited time.Duration, err error) {
	result := "done"
	if err != nil {
		result = "put_off"
	}
	f.waited.WithLabelValues(topic, result).Observe(waited.Seconds())
}

// Attempted implements webhook.Observer.
func (f *workerFigures) Attempted(first bool, since time.Duration, o webhook.AttemptResult) {
	result := "succeeded"
	switch {
	case o.Succeeded:
	case strings.HasPrefix(o.Error, "status_"):
		result = "status_" + o.Error[len("status_"):len("status_")+1] + "xx"
	default:
		result = o.Error
	}
	f.attempts.WithLabelValues(result).Inc()
	f.answered.Observe(o.Latency.Seconds())
	if first {
		f.lag.Observe(since.Seconds())
	}
}

// streamGauge shows how many event streams are connected to this process.
func streamGauge(r prometheus.Registerer, count func() int) {
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "countersign_event_streams",
		Help: "Event streams connected to this process."}, func() float64 { return float64(count()) }))
}

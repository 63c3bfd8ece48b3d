package wiring

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// backlogEvery bounds how often a scrape asks the database and Temporal; scrapes in between get the figures of before.
// backlogWithin bounds how long a scrape waits for them.
const (
	backlogEvery  = 10 * time.Second
	backlogWithin = 2 * time.Second
)

// backlogs show what waits: in the outbox, for receivers, for people, on Temporal's task queue. Every worker shows the
// same figures, those of the whole installation: take the maximum over processes, not the sum.
type backlogs struct {
	p *Process

	mu      sync.Mutex
	at      time.Time
	metrics []prometheus.Metric
}

var (
	backlogCount = prometheus.NewDesc("countersign_backlog", "What waits: outbox rows and deliveries that are due, pending holds, "+
		"what should have expired, active signing keys. The same on every worker.", []string{"kind", "topic"}, nil)
	backlogAge = prometheus.NewDesc("countersign_backlog_oldest_seconds", "How long the oldest has waited; for signing keys the age of "+
		"the one that has signed longest. The same on every worker.", []string{"kind", "topic"}, nil)
	queueCount = prometheus.NewDesc("countersign_task_queue_backlog", "Tasks that wait on Temporal's task queue, about.", []string{"type"}, nil)
	queueAge   = prometheus.NewDesc("countersign_task_queue_oldest_seconds", "How long the oldest of them has waited.", []string{"type"}, nil)
	unknown    = prometheus.NewDesc("countersign_backlog_unknown", "1 where a source of backlogs did not answer.", []string{"source"}, nil)
)

// Describe implements prometheus.Collector.
func (b *backlogs) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{backlogCount, backlogAge, queueCount, queueAge, unknown} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (b *backlogs) Collect(to chan<- prometheus.Metric) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now := b.p.Clock.Now(); b.metrics == nil || now.Sub(b.at) >= backlogEvery || now.Before(b.at) {
		b.at, b.metrics = now, b.measure(now)
	}
	for _, m := range b.metrics {
		to <- m
	}
}

func (b *backlogs) measure(now time.Time) []prometheus.Metric {
	ctx, cancel := context.WithTimeout(context.Background(), backlogWithin)
	defer cancel()
	var out []prometheus.Metric
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		out = append(out, prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...))
	}
	rows, err := consolequery.QueryQueues(ctx, b.p.Store.Q, now)
	gauge(unknown, truthValue(err != nil), "postgres")
	for _, r := range rows {
		gauge(backlogCount, float64(r.Count), r.Kind, r.Topic)
		gauge(backlogAge, r.Oldest.Seconds(), r.Kind, r.Topic)
	}
	queues, err := b.p.Flows.Backlog(ctx)
	gauge(unknown, truthValue(err != nil), "temporal")
	for _, q := range queues {
		gauge(queueCount, float64(q.Count), q.Type)
		gauge(queueAge, q.Oldest.Seconds(), q.Type)
	}
	return out
}

func truthValue(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// poolFigures show how the process uses its database connections.
func poolFigures(r prometheus.Registerer, s *pg.Store) {
	for name, f := range map[string]struct {
		help  string
		value func() float64
	}{
		"countersign_db_connections":         {"Database connections that are open.", func() float64 { return float64(s.Pool().Stat().TotalConns()) }},
		"countersign_db_connections_in_use":  {"Database connections that work.", func() float64 { return float64(s.Pool().Stat().AcquiredConns()) }},
		"countersign_db_connections_allowed": {"Database connections this process may have.", func() float64 { return float64(s.Pool().Stat().MaxConns()) }},
	} {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: f.help}, f.value))
	}
	standbyFigures(r, s)
	r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "countersign_db_connection_wait_seconds_total",
		Help: "Time spent waiting for a database connection."}, func() float64 { return s.Pool().Stat().EmptyAcquireWaitTime().Seconds() }))
}

// standbyFigures shows the state of the standby, if one is configured.
func standbyFigures(r prometheus.Registerer, s *pg.Store) {
	if _, there := s.Standby(); !there {
		return
	}
	figures := func() pg.StandbyFigures { f, _ := s.Standby(); return f }
	r.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "countersign_standby_used",
			Help: "1 while lists are read from the standby, 0 while they are read from the primary."}, func() float64 {
			if figures().Used {
				return 1
			}
			return 0
		}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "countersign_standby_age_seconds",
			Help: "How old the data of the standby is at most."}, func() float64 { return figures().Age.Seconds() }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "countersign_standby_reads_total",
			Help: "Reads from the standby."}, func() float64 { return float64(figures().Reads) }))
}

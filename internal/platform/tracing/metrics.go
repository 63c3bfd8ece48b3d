package tracing

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/sdk/metric"
)

// MetricOptions configure the export of metrics.
type MetricOptions struct {
	// OTLP over HTTP, such as http://collector:4318; empty: no metrics are sent.
	Endpoint string
	// Service and Version are those of Options.
	Service, Version string
	// Metrics are those of /metrics: the collector gets the same names.
	Metrics prometheus.Gatherer
}

// metricsEvery is how often metrics are sent. It is how often deploy/prometheus reads them.
const metricsEvery = 15 * time.Second

// StartMetrics sends the metrics of the process to a collector until stop, which sends them once more. While the collector is unreachable nothing is kept:
// counters count on, so the next values include what was missed.
func StartMetrics(ctx context.Context, o MetricOptions) (stop func(), err error) {
	if o.Endpoint == "" {
		return func() {}, nil
	}
	at, err := signalURL("metrics", o.Endpoint)
	if err != nil {
		return nil, err
	}
	exporter, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(at))
	if err != nil {
		return nil, err
	}
	p := metric.NewMeterProvider(metric.WithResource(resourceOf(o.Service, o.Version)), metric.WithReader(metric.NewPeriodicReader(exporter,
		metric.WithInterval(metricsEvery), metric.WithProducer(bridge.NewMetricProducer(bridge.WithGatherer(o.Metrics))))))
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushWithin)
		defer cancel()
		_ = p.Shutdown(ctx) // metrics that cannot be sent are dropped
	}, nil
}

package server

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/countersign-dev/countersign/gate/internal/config"
	"github.com/countersign-dev/countersign/gate/internal/decide"
)

// stats are metrics and traces.
type stats struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	service  *prometheus.HistogramVec
	reloads  *prometheus.CounterVec
	shadows  prometheus.Gauge
	loadedAt prometheus.Gauge
	tracer   trace.Tracer
}

var propagator = propagation.TraceContext{}

func newStats(version string) *stats {
	s := &stats{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "countersign_gate_requests_total", Help: "Requests by outcome."}, []string{"mode", "route", "outcome", "code"}),
		service: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "countersign_gate_service_seconds", Help: "Duration of calls of the service.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5}}, []string{"status"}),
		reloads:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "countersign_gate_reloads_total", Help: "Reloads of the configuration."}, []string{"result"}),
		shadows:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "countersign_gate_shadow_routes", Help: "Routes that let every request through."}),
		loadedAt: prometheus.NewGauge(prometheus.GaugeOpts{Name: "countersign_gate_config_loaded_timestamp_seconds", Help: "When the configuration in force was loaded."}),
		tracer:   noop.NewTracerProvider().Tracer(""),
	}
	info := prometheus.NewGauge(prometheus.GaugeOpts{Name: "countersign_gate_info", Help: "The version.", ConstLabels: prometheus.Labels{"version": version}})
	info.Set(1)
	s.registry.MustRegister(s.requests, s.service, s.reloads, s.shadows, s.loadedAt, info, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return s
}

// trace begins the export of traces, unless it is off, and returns its end.
func (s *stats) trace(ctx context.Context, c config.Traces, version string) (stop func(), err error) {
	if c.Endpoint == "" {
		return func() {}, nil
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(c.Endpoint+"/v1/traces"))
	if err != nil {
		return nil, err
	}
	p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(c.Ratio))),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "countersign-gate"), attribute.String("service.version", version))))
	s.tracer = p.Tracer("countersign-gate")
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
		defer cancel()
		_ = p.Shutdown(ctx) // spans that cannot be sent are dropped
	}, nil
}

// traced gives each request a span, and the upstream and the service its context.
func (s *stats) traced(mode string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, span := s.tracer.Start(propagator.Extract(r.Context(), propagation.HeaderCarrier(r.Header)), "gate "+mode, trace.WithSpanKind(trace.SpanKindServer))
		defer span.End()
		if span.SpanContext().IsValid() {
			propagator.Inject(ctx, propagation.HeaderCarrier(r.Header))
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// instrument measures the calls of the service.
func (s *stats) instrument(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		began := time.Now()
		ctx, span := s.tracer.Start(r.Context(), r.Method+" "+"service", trace.WithSpanKind(trace.SpanKindClient))
		defer span.End()
		if span.SpanContext().IsValid() {
			r = r.Clone(ctx)
			propagator.Inject(ctx, propagation.HeaderCarrier(r.Header))
		}
		res, err := next.RoundTrip(r)
		status := "none"
		if err == nil {
			status = string('0'+byte(res.StatusCode/100)) + "xx" // #nosec G115 -- an HTTP status
		}
		s.service.WithLabelValues(status).Observe(time.Since(began).Seconds())
		return res, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (s *stats) loaded(c *config.Config) {
	s.shadows.Set(float64(len(c.Shadows())))
	s.loadedAt.SetToCurrentTime()
}

func (s *stats) reloaded(err error) {
	result := "done"
	if err != nil {
		result = "failed"
	}
	s.reloads.WithLabelValues(result).Inc()
}

// report counts and logs the outcome of a request.
func (s *Server) report(mode string, v decide.Verdict) {
	s.stats.requests.WithLabelValues(mode, v.Route, string(v.Outcome), v.Code).Inc()
	s.logged([]slog.Attr{slog.String("mode", mode), slog.String("route", v.Route)}, v)
}

// logged logs an outcome.
func (s *Server) logged(attributes []slog.Attr, v decide.Verdict) {
	level := slog.LevelInfo
	attributes = append(attributes, slog.String("outcome", string(v.Outcome)))
	for name, value := range map[string]string{"code": v.Code, "authorization": v.Authorization, "would": string(v.Would)} {
		if value != "" {
			attributes = append(attributes, slog.String(name, value))
		}
	}
	if v.Reason != nil {
		level, attributes = slog.LevelWarn, append(attributes, slog.String("error", v.Reason.Error()))
	}
	if v.Outcome == decide.Open {
		level = slog.LevelDebug
	}
	s.log.LogAttrs(context.Background(), level, "request", attributes...)
}

// limited refuses more requests at once than the limit.
func (s *Server) limited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case s.slots <- struct{}{}:
			defer func() { <-s.slots }()
			next.ServeHTTP(w, r)
		default:
			w.Header().Set("Retry-After", "1")
			http.Error(w, "Too many requests at once.", http.StatusServiceUnavailable)
		}
	})
}

func (s *Server) limitedGRPC(ctx context.Context, in any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
		return next(ctx, in)
	default:
		return nil, grpcstatus.Error(codes.ResourceExhausted, "too many requests at once")
	}
}

// health describes the configuration in force, and returns nil if the service accepts the key.
func (s *Server) health(ctx context.Context) (map[string]any, error) {
	engine := s.engine.Load()
	return map[string]any{"routes": len(engine.Config().Routes), "shadow_routes": append([]string{}, engine.Config().Shadows()...)}, engine.Ready(ctx)
}

// operations serves health and metrics.
func (s *Server) operations(health func(context.Context) (map[string]any, error)) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.stats.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		body, err := health(r.Context())
		body["status"] = "ready"
		w.Header().Set("Content-Type", "application/json")
		if err != nil {
			body["status"] = "the service does not accept the key, or is unavailable"
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_ = json.NewEncoder(w).Encode(body)
	})
	mux.Handle("/", http.NotFoundHandler())
	return mux
}

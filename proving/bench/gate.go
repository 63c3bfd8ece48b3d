package bench

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/proving/harness"
	"github.com/countersign-dev/countersign/proving/loadgen"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// Bounds of the gate: what it may add at the median to the bare proxy and its two calls, in milliseconds, and the requests a second on one
// core that need no decision. gateRate is the open loop of the former, in requests a second.
const (
	gateAdds = 1.0
	gateOpen = 1000.0
	gateRate = 100.0
)

// gated compares a request through the gate with one through a bare proxy that is preceded by the two calls that the gate makes.
func gated(ctx context.Context, b *bench) error {
	if err := harness.NewAction(ctx, b.sdk, "payment.release", countersign.PolicyRequirements{CoverageMin: "none"}); err != nil {
		return err
	}
	person, err := b.sdk.CreateSubject(ctx, nil)
	if err != nil {
		return err
	}
	application := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "done") }))
	defer application.Close()
	target, err := url.Parse(application.URL)
	if err != nil {
		return err
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(target) }})
	defer proxy.Close()
	gate, err := b.startGate(ctx, application.URL)
	if err != nil {
		return err
	}
	defer func() { _ = gate.Stop() }()
	client := &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
	bare := func(ctx context.Context, _ int) error {
		if err := b.twoCalls(ctx, person.ID); err != nil {
			return err
		}
		return send(ctx, client, proxy.URL+"/release/4711", person.ID)
	}
	through := func(ctx context.Context, _ int) error { return send(ctx, client, gate.URL+"/release/4711", person.ID) }
	open := func(ctx context.Context, _ int) error { return send(ctx, client, gate.URL+"/open", "") }
	for _, warm := range []loadgen.Work{bare, through, open} {
		if r := loadgen.Closed(ctx, 4, 2*time.Second, warm); r.Failed > 0 {
			return fmt.Errorf("%d of %d requests failed: %v", r.Failed, r.Failed+r.Done(), r.Why)
		}
	}
	load := openLoad(ctx, gateRate)
	turns := b.turns(ctx, "gate", load.how, []side{load.side("bare proxy and two calls", bare), load.side("gate, allow", through)})
	b.report.under("gate on allow: added at p50, "+load.how, addedByGate(turns), gateAdds, "ms")
	closed := closedLoad(ctx)
	before := gate.Usage().CPU
	row := b.measure(ctx, "gate", "gate, open route, one core", closed.how, func() loadgen.Result { return closed.run(open, b.Lasts) })
	used := gate.Usage().CPU - before // the clients and the application share the machine
	b.report.atLeast("gate on an open route, for a second of one core's CPU", float64(row.Done)/used.Seconds(), gateOpen, "requests")
	return nil
}

// addedByGate is the median of what the second side of the turns takes longer than the first, at p50 in ms, and at least 0.001.
func addedByGate(turns [][]Row) float64 {
	var added []float64
	for _, turn := range turns {
		added = append(added, turn[1].P50-turn[0].P50)
	}
	return max(middle(added), 0.001)
}

// middle is the median.
func middle(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	return values[len(values)/2]
}

// twoCalls are those of the gate for an allow.
func (b *bench) twoCalls(ctx context.Context, subject string) error {
	d, err := b.sdk.Authorize(ctx, countersign.AuthorizeRequest{
		Subject: subject, Action: "payment.release", Audience: harness.Audience, Resource: countersign.Resource{Type: "resource", ID: "4711"},
		Context: map[string]any{}, Nonce: rand.Text(), IdempotencyKey: rand.Text(), RequestedAt: time.Now().Unix(),
	})
	if err != nil {
		return err
	}
	v, err := b.sdk.VerifyProof(ctx, countersign.ProofVerifyRequest{Proof: d.Proof, Audience: harness.Audience, Action: "payment.release", Consume: true})
	if err == nil && !v.Valid {
		err = errors.New("the proof is not valid")
	}
	return err
}

const gateSecret = "secret-of-the-proxy-in-front"

func send(ctx context.Context, client *http.Client, address, subject string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	req.Host = "localhost"
	if subject != "" {
		req.Header.Set("X-User", subject)
		req.Header.Set("Countersign-Proxy-Secret", gateSecret)
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", res.StatusCode, body)
	}
	return err
}

// startGate starts the gate as a reverse proxy on one core.
func (b *bench) startGate(ctx context.Context, application string) (*harness.Service, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		return nil, err
	}
	text := fmt.Sprintf(`service: {url: %q, key: {env: GATE_KEY}}
state: {keys: [{env: GATE_STATE}]}
identity: {header: {name: X-User, from: [127.0.0.0/8], secret: {env: GATE_SECRET}}}
listen: {inline: {address: %q}}
routes:
- {name: release, hosts: [localhost], path: "/release/{id}", upstream: %q, action: payment.release, audience: %s, resource: {type: resource, id: request.params.id}}
- {name: open, hosts: [localhost], path: /open, upstream: %q, open: true}
`, b.rig.API.URL, address, application, harness.Audience, application)
	file := filepath.Join(b.Rig.Dir, "gate.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, err
	}
	env := []string{"GATE_KEY=" + b.tenant.Server, "GATE_STATE=" + rand.Text() + rand.Text(), "GATE_SECRET=" + gateSecret, "GOMAXPROCS=1"}
	gate, err := b.rig.Gate(b.Gate, []string{"serve", "--config", file}, "http://"+address, env)
	if err != nil {
		return nil, err
	}
	return gate, gate.Start(ctx)
}

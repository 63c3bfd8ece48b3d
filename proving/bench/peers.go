package bench

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"github.com/countersign-dev/countersign/proving/harness"
	"github.com/countersign-dev/countersign/proving/loadgen"
)

// peerRates are the rates of the open loops, in requests a second.
var peerRates = []float64{300, 450}

// mostOverPeer are the factors by which a written and signed decision may take longer than a check of OpenFGA that only reads, by figure.
var mostOverPeer = map[string]float64{"p50": 1.6, "p99": 3.5}

// checker is a running OpenFGA server with a model and tuples. Its store has
// no writes while it is measured, so that its caches, if they are on, are
// never invalidated: that is the most that they can gain.
type checker struct {
	name    string
	service *harness.Service
	client  *harness.RawClient
	checks  [][]byte // bodies
	path    string
}

// mostOverInsert is the factor by which the p99 of a decision may be above that of the smallest write of its size to the same disk.
const mostOverInsert = 4.0

// peers measures decisions, the checks of OpenFGA and bare inserts on the same Postgres server, in turn: each side is paused while it is not its turn.
func peers(ctx context.Context, b *bench) error {
	ask, err := b.decisions(ctx)
	if err != nil {
		return err
	}
	var all []*checker
	for _, x := range []struct {
		name, database string
		flags          []string
	}{
		{"OpenFGA check", "openfga", nil},
		{"OpenFGA check, caches on", "openfga_cached", []string{"--check-query-cache-enabled", "--check-iterator-cache-enabled"}},
	} {
		c, err := b.newChecker(ctx, x.database, x.flags)
		if err != nil {
			return fmt.Errorf("%s: %w", x.name, err)
		}
		c.name = x.name
		all = append(all, c)
	}
	// The first side is the service; the peers follow in their order.
	sides := []side{{what: "authorize, allow and proof", begin: b.onlyOwn(all), cost: b.usage}}
	work := []loadgen.Work{func(context.Context, int) error { return b.allowed(ask.next()) }}
	for _, c := range all {
		sides = append(sides, side{what: c.name, begin: b.onlyPeer(all, c), cost: func(ctx context.Context) cost {
			return cost{api: c.service.Measured(ctx), postgres: b.rig.Postgres.Usage(), wal: b.wal(ctx)}
		}})
		work = append(work, c.check)
	}
	insert, stop, err := b.bareInserts(ctx)
	if err != nil {
		return err
	}
	defer stop()
	sides = append(sides, side{what: insertSide, begin: b.onlyPeer(all, nil), cost: func(ctx context.Context) cost {
		return cost{postgres: b.rig.Postgres.Usage(), wal: b.wal(ctx)}
	}})
	work = append(work, insert)
	if err := b.warm(ctx, sides, work); err != nil {
		return err
	}
	for _, rate := range peerRates {
		load := openLoad(ctx, rate)
		for i := range sides {
			sides[i].run = load.side("", work[i]).run
		}
		b.comparePeers(b.turns(ctx, "peers", load.how, sides), load.how, all)
	}
	b.rig.Resume()
	return nil
}

// comparePeers adds the ratios of the decision over each peer and over the bare insert, and the targets of the insert and of the first peer, whose
// caches are off.
func (b *bench) comparePeers(turns [][]Row, how string, all []*checker) {
	for i, c := range all {
		first := len(b.report.Ratios)
		b.report.Divide(turns, Sides{0, i + 1, "decision over " + c.name}, append(LatencyFigures[:2:2], CostFigures[:4]...)) // a peer has no worker and writes nothing
		if i > 0 {                                                                                                           // a check from memory is no read of Postgres: its figures are shown and not judged
			continue
		}
		for _, x := range b.report.Ratios[first:] {
			if most, ok := mostOverPeer[x.Figure]; ok {
				b.report.under(fmt.Sprintf("decision over %s: %s, %s", c.name, x.Figure, how), x.Median, most, "x")
			}
		}
	}
	first := len(b.report.Ratios)
	b.report.Divide(turns, Sides{0, len(all) + 1, "decision over " + insertSide}, LatencyFigures[:2])
	for _, x := range b.report.Ratios[first:] {
		if x.Figure == "p99" {
			b.report.under(fmt.Sprintf("decision over %s: p99, %s", insertSide, how), x.Median, mostOverInsert, "x")
		}
	}
}

// insertSide names the bare insert.
const insertSide = "bare insert of 2 kB"

// bareInserts makes a table that nothing else uses and returns what adds a row to it, and what ends the connections. An insert waits for the disk as the
// commit of a decision does.
func (b *bench) bareInserts(ctx context.Context) (loadgen.Work, func(), error) {
	plain, err := newBare(ctx, b.rig.DatabaseURL(), clients)
	if err != nil {
		return nil, nil, err
	}
	for _, statement := range []string{
		"create table bench_rows (id bigint generated always as identity primary key, body bytea not null)",
		"alter table bench_rows alter body set storage plain", // 2 kB are at the bound from which Postgres compresses
	} {
		if _, err := plain.pool.Exec(ctx, statement); err != nil {
			plain.pool.Close()
			return nil, nil, err
		}
	}
	return func(ctx context.Context, _ int) error {
		body := make([]byte, 2000)
		_, _ = rand.Read(body)
		_, err := plain.pool.Exec(ctx, "insert into bench_rows (body) values ($1)", body)
		return err
	}, plain.pool.Close, nil
}

// warm sends each side the requests that are measured: it fills caches, makes connections, and brings the statistics of this database up to date.
func (b *bench) warm(ctx context.Context, sides []side, work []loadgen.Work) error {
	for i, s := range sides {
		if err := s.begin(ctx); err != nil {
			return err
		}
		if r := loadgen.Closed(ctx, clients, 2*time.Second, work[i]); r.Failed > 0 {
			return fmt.Errorf("%s: %d of %d requests failed: %v", s.what, r.Failed, r.Failed+r.Done(), r.Why)
		}
	}
	_, err := b.settle(ctx, "authorizations")
	return err
}

// onlyOwn lets the service run and pauses all peers.
func (b *bench) onlyOwn(all []*checker) func(context.Context) error {
	return func(context.Context) error {
		for _, c := range all {
			c.service.Pause()
		}
		b.rig.Resume()
		return nil
	}
}

// onlyPeer lets one peer run, or none, and pauses the others and the service.
func (b *bench) onlyPeer(all []*checker, running *checker) func(context.Context) error {
	return func(context.Context) error {
		for _, c := range all {
			if c != running {
				c.service.Pause()
			}
		}
		b.rig.Pause()
		if running != nil {
			running.service.Resume()
		}
		return nil
	}
}

// peerModel has a relation that tuples state and one that is computed from
// it: the least that a check can be asked. Groups and nested objects would
// cost further queries.
var peerModel = object{
	"schema_version": "1.1",
	"type_definitions": []object{
		{"type": "user"},
		{
			"type": "payment",
			"relations": object{
				"owner":       object{"this": object{}},
				"can_release": object{"computedUserset": object{"relation": "owner"}},
			},
			"metadata": object{"relations": object{"owner": object{"directly_related_user_types": []object{{"type": "user"}}}}},
		},
	},
}

// newChecker starts a server, writes the model and a tuple for each subject, and makes the bodies of the checks: half of them of the
// stated relation and half of the computed one.
func (b *bench) newChecker(ctx context.Context, database string, flags []string) (*checker, error) {
	service, err := b.rig.OpenFGA(ctx, database, b.OpenFGA, flags...)
	if err != nil {
		return nil, err
	}
	if err := service.Start(ctx); err != nil {
		return nil, err
	}
	c := &checker{service: service, client: harness.NewRawClient(service.URL, "", patience)}
	var store struct{ ID string }
	if err := c.create("/stores", object{"name": "bench"}, &store); err != nil {
		return nil, err
	}
	at := "/stores/" + store.ID
	var model struct {
		ID string `json:"authorization_model_id"`
	}
	if err := c.create(at+"/authorization-models", peerModel, &model); err != nil {
		return nil, err
	}
	var tuples []object
	for i := range subjects {
		tuple := object{"user": fmt.Sprintf("user:person-%d", i), "relation": "owner", "object": fmt.Sprintf("payment:payment-%d", i)}
		tuples = append(tuples, tuple)
		for _, relation := range []string{"owner", "can_release"} {
			body, err := json.Marshal(object{
				"authorization_model_id": model.ID, "tuple_key": object{"user": tuple["user"], "relation": relation, "object": tuple["object"]},
			})
			if err != nil {
				return nil, err
			}
			c.checks = append(c.checks, body)
		}
	}
	c.path = at + "/check"
	return c, c.client.DoOK("POST", at+"/write", object{"authorization_model_id": model.ID, "writes": object{"tuple_keys": tuples}}, nil)
}

// create sends a request to which 201 is the expected status: OpenFGA returns it for what it creates, and 200 for everything else.
func (c *checker) create(path string, body, out any) error {
	r, err := c.client.Do("POST", path, body)
	if err == nil && r.Status != 201 {
		err = fmt.Errorf("%s returned status %d: %s", path, r.Status, r.Body)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(r.Body, out)
}

// check sends the ith check, of the subjects in turn as the service is asked about them, and returns an error unless it is allowed.
func (c *checker) check(_ context.Context, i int) error {
	r, err := c.client.Do("POST", c.path, c.checks[i%len(c.checks)])
	switch {
	case err != nil:
		return err
	case r.Status != 200 || !bytes.Contains(r.Body, []byte(`"allowed":true`)):
		return fmt.Errorf("returned status %d: %s", r.Status, r.Body)
	}
	return nil
}

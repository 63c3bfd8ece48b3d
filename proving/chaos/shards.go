package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/testing/citus"
)

// citusDatabase is the service's database on each server of a Citus cluster.
const citusDatabase = "postgres"

// startCitus starts a coordinator and two workers of Citus in place of a single Postgres.
func (w *world) startCitus(ctx context.Context) (err error) {
	w.say("starting a coordinator and two workers of Citus")
	if w.shards, err = citus.Temporary(ctx, w.say); err != nil {
		return err
	}
	w.Options.Rig.DatabaseURL = w.shards.URL(citusDatabase)
	return w.shards.Join(ctx, citusDatabase)
}

// shardFault is one event in the life of a cluster.
type shardFault struct {
	name string
	do   func(ctx context.Context, conn *pgx.Conn) error
}

// shards injects faults into a Citus cluster.
type shards struct {
	cluster     *citus.Cluster
	environment string
	rng         *rand.Rand
	say         func(format string, args ...any)
	done        map[string]int
	revive      func(ctx context.Context) error // parts of the service that ended because a worker was unavailable
}

// run gives the environment shards of its own, then moves them and kills workers, in an order that the seed decides, until ctx ends.
func (s *shards) run(ctx context.Context) error {
	if err := s.inject(context.WithoutCancel(ctx), shardFault{"isolate the environment", func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "select isolate_tenant_to_new_shard('subjects', $1::text, 'CASCADE', shard_transfer_mode => 'block_writes')", s.environment)
		return err
	}}); err != nil {
		return err
	}
	faults := []shardFault{{"move the environment's shards", s.move}}
	for i := range s.cluster.Workers(citusDatabase) {
		faults = append(faults, shardFault{fmt.Sprintf("kill -9 worker %d", i+1), func(ctx context.Context, _ *pgx.Conn) error {
			if err := s.cluster.Kill(i); err != nil {
				return err
			}
			pause(ctx, time.Duration(1000+s.rng.IntN(4000))*time.Millisecond)
			return s.cluster.Restart(ctx, i)
		}})
	}
	for round := 0; ; round++ {
		for _, i := range s.rng.Perm(len(faults)) {
			if round > 0 && done(ctx) {
				return nil
			}
			if err := s.inject(context.WithoutCancel(ctx), faults[i]); err != nil {
				return err
			}
		}
	}
}

// inject causes one fault after some seconds of load, and starts again what ended by it.
func (s *shards) inject(ctx context.Context, f shardFault) error {
	pause(ctx, steady)
	s.say("%s", f.name)
	s.done[f.name]++
	conn, err := pgx.Connect(ctx, s.cluster.URL(citusDatabase))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	if err := f.do(ctx, conn); err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	return s.revive(ctx)
}

// move moves the shards with the rows of the environment to the other worker.
func (s *shards) move(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, `select citus_move_shard_placement(p.shardid, p.nodename, p.nodeport, o.nodename, o.nodeport, 'block_writes')
		from pg_dist_shard_placement p, pg_dist_node o
		where p.shardid = get_shard_id_for_distribution_column('subjects', $1::text) and o.noderole = 'primary' and o.shouldhaveshards and (o.nodename, o.nodeport) <> (p.nodename, p.nodeport)`,
		s.environment)
	return err
}

package cluster

import (
	"context"
	"time"
)

const (
	// watchEvery is how often a disk is looked at.
	watchEvery = time.Second
	// leastFree is the share of a disk that has to be free.
	leastFree = 0.03
)

// watchDisks takes the lock from a primary whose disk is nearly full. Patroni does not: Postgres goes on for as long as its log has
// room and refuses every write that makes a table grow. In production a timer on each member does it (docs/scale-and-failover.md).
func (c *Cluster) watchDisks(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, m := range c.Members {
			if m.mounted && freeShare(m.dir()) < leastFree && m.isPrimary(ctx) {
				c.o.Say("the disk of %s is nearly full: switching over", m.Name)
				if err := c.replace(ctx, m); err != nil {
					c.o.Say("the switchover failed and is tried again: %v", err)
				}
			}
		}
	}
}

// isPrimary reports whether the member has the lock, as it knows itself.
func (m *Member) isPrimary(ctx context.Context) bool {
	var said struct{ Role string }
	return m.get(ctx, "/patroni", &said) == nil && (said.Role == "master" || said.Role == "primary") // 4.0 renamed it
}

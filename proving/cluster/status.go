package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// state is a member as Patroni describes it.
type state struct {
	Name, Role, State string
	Timeline          int
	Lag               any // bytes, or "unknown"
}

// askTimeout bounds a question to Patroni's REST interface.
const askTimeout = 2 * time.Second

// ask returns the state of all members, as some member reads it from etcd.
func (c *Cluster) ask(ctx context.Context) ([]state, error) {
	var failed error
	for _, m := range c.Members {
		var said struct{ Members []state }
		if err := m.get(ctx, "/cluster", &said); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", m.Name, err))
			continue
		}
		return said.Members, nil
	}
	return nil, failed
}

// get requests a page of Patroni.
func (m *Member) get(ctx context.Context, path string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, local("http", m.rest)+path, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	return json.NewDecoder(resp.Body).Decode(into)
}

// whole returns an error that says what is missing unless there are one primary and two synchronous standbys, all on one timeline
// and without lag.
func whole(members []state) error {
	count := map[string]int{}
	for _, s := range members {
		count[s.Role]++
		if s.State != "running" && s.State != "streaming" {
			return fmt.Errorf("%s is %s", s.Name, s.State)
		}
		if s.Timeline != members[0].Timeline {
			return fmt.Errorf("%s is on timeline %d and %s on %d", s.Name, s.Timeline, members[0].Name, members[0].Timeline)
		}
		if lag, known := s.Lag.(float64); s.Role != leader && (!known || lag > 1<<20) {
			return fmt.Errorf("%s lags by %v bytes", s.Name, s.Lag)
		}
	}
	if count[leader] != 1 || count[synchronous] != 2 {
		return fmt.Errorf("the members are %v", count)
	}
	return nil
}

// Patroni's words for roles.
const (
	leader      = "leader"
	synchronous = "sync_standby"
)

// AwaitWhole waits until the cluster has one primary and two synchronous standbys.
func (c *Cluster) AwaitWhole(ctx context.Context) error {
	for {
		members, err := c.ask(ctx)
		if err == nil {
			err = whole(members)
		}
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the cluster is not whole (%w): the logs in %s say why", err, c.o.Dir)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// Primary returns the member that has the lock in etcd. Ask only while no member is cut off: such a member remembers the past.
func (c *Cluster) Primary(ctx context.Context) (*Member, error) { return c.withRole(ctx, leader) }

// Synchronous returns a synchronous standby.
func (c *Cluster) Synchronous(ctx context.Context) (*Member, error) {
	return c.withRole(ctx, synchronous)
}

func (c *Cluster) withRole(ctx context.Context, role string) (*Member, error) {
	members, err := c.ask(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range members {
		for _, m := range c.Members {
			if s.Role == role && s.Name == m.Name {
				return m, nil
			}
		}
	}
	return nil, fmt.Errorf("no member is %s", role)
}

// Switchover makes a synchronous standby the primary, as an operator does before maintenance. It returns when Patroni has done
// so. The primary writes a checkpoint first, because it may not commit any more while it writes the one of its shutdown.
func (c *Cluster) Switchover(ctx context.Context) error {
	from, err := c.Primary(ctx)
	if err != nil {
		return err
	}
	if err := c.checkpoint(ctx, from); err != nil {
		return err
	}
	return c.replace(ctx, from)
}

// replace makes a synchronous standby the primary in place of a member. It names no candidate: a member that is not the candidate waits
// two seconds before it follows the next primary (Patroni's process_unhealthy_cluster), and commits wait for that member. Without one
// all standbys try to take the lock, and the others follow the one that has it at once.
func (c *Cluster) replace(ctx context.Context, from *Member) error {
	body, err := json.Marshal(object{"leader": from.Name})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, local("http", from.rest)+"/switchover", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	said, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("switchover returned status %d: %s", resp.StatusCode, strings.TrimSpace(string(said)))
	}
	return err
}

// checkpoint has a member write what it has not written yet.
func (c *Cluster) checkpoint(ctx context.Context, m *Member) error {
	conn, err := pgx.Connect(ctx, c.url(address(m.port), "postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, "checkpoint")
	return err
}

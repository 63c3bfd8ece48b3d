package harness

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Parts whose clocks MoveClock moves, each for itself.
const (
	ClockOfAPI      = "api"
	ClockOfWorker   = "worker"
	ClockOfDatabase = "postgres"
)

// MoveClock sets the clock of a part ahead of the machine's, or behind it if by is negative, in whole seconds. Within a second all
// processes of the part have it. It needs Options.FakeTime.
func (r *Rig) MoveClock(part string, by time.Duration) error {
	path := r.clockFile(part)
	// Renamed, so that no process reads half of it. Postgres' user reads it too.
	if err := os.WriteFile(path+".new", fmt.Appendf(nil, "%+d\n", int64(by.Seconds())), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// clockFile has the seconds by which the clock of a part is ahead.
func (r *Rig) clockFile(part string) string { return filepath.Join(r.o.Dir, part+".clock") }

// clockEnv makes a part take its time from the file of its clock: libfaketime does in Postgres, a build tag in the service.
func (r *Rig) clockEnv(part string) []string {
	if r.o.FakeTime == "" {
		return nil
	}
	path, err := filepath.Abs(r.clockFile(part))
	if err != nil {
		path = r.clockFile(part)
	}
	if part != ClockOfDatabase {
		return []string{"COUNTERSIGN_MOVED_CLOCK=" + path}
	}
	return []string{"LD_PRELOAD=" + r.o.FakeTime, "FAKETIME_TIMESTAMP_FILE=" + path, "FAKETIME_CACHE_DURATION=1", "FAKETIME_DONT_FAKE_MONOTONIC=1"}
}

// ClockAhead returns how far a part of the service says that its clock is ahead of the database's.
func (s *Service) ClockAhead(ctx context.Context) (time.Duration, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.OpsURL+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if value, found := strings.CutPrefix(lines.Text(), "countersign_clock_ahead_seconds "); found {
			seconds, err := strconv.ParseFloat(value, 64)
			return time.Duration(seconds * float64(time.Second)), err
		}
	}
	return 0, fmt.Errorf("%s has no countersign_clock_ahead_seconds: %w", s.OpsURL, lines.Err())
}

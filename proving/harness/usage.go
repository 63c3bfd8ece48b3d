package harness

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// Usage shows what a part has used of the machine. Fields that the system
// does not provide are 0.
type Usage struct {
	CPU        time.Duration // since the process began
	RSS        int64         // bytes
	PeakRSS    int64         // bytes
	Mallocs    float64       // objects allocated since the process began
	Allocated  float64       // bytes allocated since the process began
	Goroutines float64
	Files      float64 // open file descriptors, connections included
}

// ticksPerSecond is the unit of CPU times in /proc (USER_HZ), 100 on every
// Linux that Go supports.
const ticksPerSecond = 100

// Usage sums over the process and its descendants, including those that
// have ended: sessions of Postgres come and go.
func (p *Process) Usage() Usage { return UsageOf(p.PIDs()) }

// UsageOf sums over processes, including their descendants that have ended.
func UsageOf(pids []int) Usage {
	var u Usage
	for _, pid := range pids {
		f, err := statFields(pid)
		if err != nil {
			continue
		}
		for _, ticks := range f[11:15] { // utime, stime, and the cutime and cstime of children that ended
			n, _ := strconv.ParseInt(ticks, 10, 64)
			u.CPU += time.Duration(n) * time.Second / ticksPerSecond
		}
		rss, peak := memory(pid)
		u.RSS += rss
		u.PeakRSS += peak
	}
	return u
}

// memory reads the resident memory of a process and its peak, in bytes.
// Both are 0 for a process that has ended.
func memory(pid int) (rss, peak int64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		kb, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		switch name {
		case "VmRSS":
			rss = kb << 10
		case "VmHWM":
			peak = kb << 10
		}
	}
	return rss, peak
}

// Measured is Usage with the metrics of the Go runtime from the operations
// port.
func (s *Service) Measured(ctx context.Context) Usage {
	u := s.Usage()
	figures := scrape(ctx, s.OpsURL+"/metrics")
	u.Mallocs, u.Allocated = figures["go_memstats_mallocs_total"], figures["go_memstats_alloc_bytes_total"]
	u.Goroutines, u.Files = figures["go_goroutines"], figures["process_open_fds"]
	return u
}

// scrape reads the metrics without labels of a Prometheus page; it returns
// none if the page is unavailable.
func scrape(ctx context.Context, url string) map[string]float64 {
	out := map[string]float64{}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return out
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return out
	}
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), " ")
		if ok && !strings.HasPrefix(name, "#") && !strings.Contains(name, "{") {
			out[name], _ = strconv.ParseFloat(value, 64)
		}
	}
	return out
}

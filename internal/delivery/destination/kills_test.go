package destination_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	logs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	"google.golang.org/protobuf/proto"

	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/delivery/destination"
	"github.com/countersign-dev/countersign/models"
)

const (
	collectorAt   = "TEST_COLLECTOR_AT"   // the address of the collector that this program is in place of the tests
	collectorFile = "TEST_COLLECTOR_FILE" // that has what the collector received
	collectorDies = "TEST_COLLECTOR_DIES" // the collector ends itself before it confirms the batch behind so many bytes; 0 if it does not
	bearer        = "Bearer 0123456789"
)

func TestMain(m *testing.M) {
	if at := os.Getenv(collectorAt); at != "" {
		fmt.Fprintln(os.Stderr, http.ListenAndServe(at, http.HandlerFunc(collect)))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// collect is the collector: it stores a batch before it confirms it.
func collect(out http.ResponseWriter, in *http.Request) {
	raw, err := io.ReadAll(in.Body)
	var batch logs.ExportLogsServiceRequest
	if err != nil || proto.Unmarshal(raw, &batch) != nil {
		out.WriteHeader(http.StatusBadRequest)
		return
	}
	if in.Header.Get("Authorization") != bearer {
		out.WriteHeader(http.StatusUnauthorized)
		return
	}
	var lines strings.Builder
	for _, record := range batch.GetResourceLogs()[0].GetScopeLogs()[0].GetLogRecords() {
		values := map[string]string{}
		for _, a := range record.GetAttributes() {
			values[a.GetKey()] = a.GetValue().GetStringValue() + strconv.FormatInt(a.GetValue().GetIntValue(), 10)
		}
		number := strings.TrimPrefix(values["countersign.sequence"], "0")
		fmt.Fprintf(&lines, `{"metadata":{"sequence":%s,"uid":%q}}`+"\n", number, values["event.id"])
	}
	f, err := os.OpenFile(os.Getenv(collectorFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(lines.String())
	}
	if err != nil {
		out.WriteHeader(http.StatusInternalServerError)
		return
	}
	dies, _ := strconv.ParseInt(os.Getenv(collectorDies), 10, 64)
	if info, err := f.Stat(); err == nil && dies > 0 && info.Size() >= dies {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	_ = f.Close()
	out.Header().Set("Content-Type", "application/x-protobuf")
}

// receiver is a program that is killed and started again. Each of its lives has a file of its own, so that none goes on behind half a line.
type receiver struct {
	t     *testing.T
	dir   string
	lives int
	// enough is after how many bytes the next life ends.
	enough int64
	start  func(life int, file string) *exec.Cmd
	run    *exec.Cmd
}

func (r *receiver) file(life int) string { return filepath.Join(r.dir, "received."+strconv.Itoa(life)) }

func (r *receiver) begin() {
	r.t.Helper()
	r.enough = int64(1 + rand.IntN(50_000))
	r.run = r.start(r.lives, r.file(r.lives))
	r.run.Stderr = os.Stderr
	require.NoError(r.t, r.run.Start())
	r.lives++
}

func (r *receiver) kill() {
	_ = r.run.Process.Kill()
	_ = r.run.Wait()
}

func (r *receiver) size() int64 {
	info, err := os.Stat(r.file(r.lives - 1))
	if err != nil {
		return 0
	}
	return info.Size()
}

// received returns the numbers of the entries in the order in which they were received, and how many ids there were.
func (r *receiver) received() (numbers []int64, ids int) {
	r.t.Helper()
	seen := map[string]bool{}
	for life := range r.lives {
		raw, _ := os.ReadFile(r.file(life)) // a life without an entry has none
		for line := range strings.Lines(string(raw)) {
			var event struct {
				Metadata struct {
					Sequence int64  `json:"sequence"`
					UID      string `json:"uid"`
				} `json:"metadata"`
			}
			if !strings.HasSuffix(line, "}\n") { // killed while it wrote: the entry is not confirmed
				continue
			}
			require.NoError(r.t, json.Unmarshal([]byte(line), &event), "%s", line)
			numbers, seen[event.Metadata.UID] = append(numbers, event.Metadata.Sequence), true
		}
	}
	return numbers, len(seen)
}

// freePort returns a port that no connection of others is given while the receiver is dead.
func freePort(t *testing.T) int {
	t.Helper()
	for range 100 {
		port := 20_000 + rand.IntN(10_000)
		if l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port)); err == nil {
			require.NoError(t, l.Close())
			return port
		}
	}
	require.Fail(t, "no port is free")
	return 0
}

// A receiver that is killed again and again while entries are written misses none, has them in order, and sees at most one batch twice a kill.
func TestReceiversThatAreKilledMissNothing(t *testing.T) {
	const kills = 12 // the life behind the last is no odd one, in which the collector ends itself
	for name, prepare := range map[string]func(t *testing.T, w *world, r *receiver){"collector": otlpCollector, "rsyslog": rsyslog} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			r := &receiver{t: t, dir: t.TempDir()}
			prepare(t, w, r)
			r.begin()
			t.Cleanup(func() { r.kill() })
			w.run(w.service)
			w.run(w.another())
			var stop atomic.Bool
			loaded := make(chan struct{})
			go func() {
				defer close(loaded)
				for !stop.Load() && w.t.Context().Err() == nil {
					w.log(200)
				}
			}()
			for range kills {
				require.Eventually(t, func() bool { return r.size() >= r.enough }, time.Minute, time.Millisecond, "life %d: %d of %d bytes", r.lives, r.size(), r.enough)
				r.kill()
				r.begin()
			}
			stop.Store(true)
			<-loaded
			w.log(1)
			last := w.until(func(d destination.Destination) bool { return d.Behind == 0 })
			numbers, ids := r.received()
			require.EqualValues(t, last.Position, ids)
			require.LessOrEqual(t, len(numbers)-ids, kills*destination.MaxBatch)
			newest := int64(0)
			for _, n := range numbers {
				require.LessOrEqual(t, n, newest+1, "an entry was omitted before %d", n)
				newest = max(newest, n)
			}
			t.Logf("%d entries, %d kills, %d repeated", ids, kills, len(numbers)-ids)
		})
	}
}

// otlpCollector is a collector in Go.
func otlpCollector(t *testing.T, w *world, r *receiver) {
	at := "127.0.0.1:" + strconv.Itoa(freePort(t))
	r.start = func(life int, file string) *exec.Cmd {
		dies := int64(0)
		if life%2 == 1 {
			dies = r.enough
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), collectorAt+"="+at, collectorFile+"="+file, collectorDies+"="+strconv.FormatInt(dies, 10))
		return cmd
	}
	w.set(change.Destination{Name: "siem", Kind: models.DestinationOTLP, URL: "http://" + at + "/v1/logs", Since: &time.Time{}})
	w.secret(destination.Credentials{Header: bearer})
}

// rsyslogd is the program of Debian's packages rsyslog and rsyslog-openssl.
const rsyslogd = "/usr/sbin/rsyslogd"

// rsyslog is rsyslog as docs/estate.md configures it: it stores what it received before it reads on, and demands a certificate.
func rsyslog(t *testing.T, w *world, r *receiver) {
	modules, err := filepath.Glob("/usr/lib/*/rsyslog/lmnsd_ossl.so")
	require.NoError(t, err)
	if _, err := os.Stat(rsyslogd); err != nil || len(modules) == 0 {
		t.Skip("rsyslog is not installed: apt-get install rsyslog rsyslog-openssl")
	}
	ca := newAuthority(t)
	cert, key := ca.leaf()
	for file, text := range map[string]string{"ca.pem": ca.PEM, "cert.pem": cert, "key.pem": key} {
		require.NoError(t, os.WriteFile(filepath.Join(r.dir, file), []byte(text), 0o600))
	}
	page, err := os.ReadFile("../../../docs/estate.md")
	require.NoError(t, err)
	printed := regexp.MustCompile(`(?ms)^    global\(.*?^    input\(.*?$`).FindString(string(page))
	require.NotEmpty(t, printed)
	port := freePort(t)
	r.start = func(life int, file string) *exec.Cmd {
		conf := filepath.Join(r.dir, "rsyslog.conf."+strconv.Itoa(life))
		text := strings.NewReplacer("/etc/rsyslog", r.dir, "6514", strconv.Itoa(port), "/var/log/countersign.jsonl", file).Replace(printed)
		require.NoError(t, os.WriteFile(conf, []byte(fmt.Sprintf("global(workDirectory=%q)\n%s", r.dir, text)), 0o600))
		return exec.Command(rsyslogd, "-n", "-f", conf, "-i", filepath.Join(r.dir, "pid."+strconv.Itoa(life)))
	}
	w.set(change.Destination{Name: "siem", Kind: models.DestinationSyslog, URL: "tls://localhost:" + strconv.Itoa(port), CA: ca.PEM, Since: &time.Time{}})
	own, ownKey := ca.leaf()
	w.secret(destination.Credentials{Certificate: own, Key: ownKey})
}

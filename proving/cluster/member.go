package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/countersign-dev/countersign/internal/local/subprocess"
	"github.com/countersign-dev/countersign/internal/testing/faultproxy"
	"github.com/countersign-dev/countersign/proving/harness"
)

// Member is a Postgres server with its Patroni: what fails together with one machine.
type Member struct {
	Name string

	cluster    *Cluster
	port, rest int // of Postgres and of Patroni's REST interface, which no one but its proxy uses
	toPostgres *faultproxy.Proxy
	toREST     *faultproxy.Proxy
	toEtcd     *faultproxy.Proxy
	patroni    *subprocess.Process
	mounted    bool
}

// newMember prepares the folder, the proxies and the configuration of a member.
func (c *Cluster) newMember(name string) (*Member, error) {
	m := &Member{Name: name, cluster: c}
	if err := pick(&m.port, &m.rest); err != nil {
		return nil, err
	}
	for _, p := range []struct {
		proxy **faultproxy.Proxy
		port  int
	}{{&m.toPostgres, m.port}, {&m.toREST, m.rest}, {&m.toEtcd, c.ports.etcd}} {
		var err error
		if *p.proxy, err = faultproxy.New(address(p.port)); err != nil {
			return nil, err
		}
	}
	if err := m.makeDir(); err != nil {
		return nil, err
	}
	config, err := json.MarshalIndent(m.patroniConfig(), "", "  ")
	if err != nil {
		return nil, err
	}
	return m, errors.Join(os.WriteFile(m.Config(), config, 0o600), m.cluster.own(m.Config()))
}

// makeDir creates the folder of a member, on a file system of its own if it has to be filled.
func (m *Member) makeDir() error {
	if err := os.MkdirAll(m.dir(), 0o700); err != nil {
		return err
	}
	if size := m.cluster.o.Disk; size > 0 {
		if err := mount(m.dir(), size); err != nil {
			m.cluster.o.Say("%s has no disk of its own (%v): it cannot be filled", m.Name, err)
		} else {
			m.mounted = true
		}
	}
	return errors.Join(os.Chmod(m.dir(), 0o700), m.cluster.own(m.dir())) // #nosec G302 -- a folder
}

func (m *Member) dir() string    { return filepath.Join(m.cluster.postgres.Dir, m.Name) }
func (m *Member) data() string   { return filepath.Join(m.dir(), "data") }
func (m *Member) filler() string { return filepath.Join(m.dir(), "filler") }

// Config is the path of the member's configuration, which patronictl reads as well.
func (m *Member) Config() string { return filepath.Join(m.cluster.postgres.Dir, m.Name+".yml") }

// PIDs are the process ids of Patroni and of the Postgres server, separated by a space.
func (m *Member) PIDs() string { return fmt.Sprintf("%d %d", m.patroni.PID(), m.postmaster()) }

// Start starts Patroni, which starts Postgres. It does not wait.
func (m *Member) Start() (err error) {
	m.patroni, err = m.cluster.start(m.Name, m.cluster.programs["patroni"], m.Config())
	return err
}

// Kill ends Patroni and Postgres at once, as the loss of the machine does.
func (m *Member) Kill() {
	m.signalPatroni(syscall.SIGKILL)
	m.KillPostgres()
	if m.patroni != nil {
		<-m.patroni.Done()
	}
}

// KillPostgres ends the server at once and leaves Patroni.
func (m *Member) KillPostgres() {
	pid := m.postmaster()
	if pid == 0 {
		return
	}
	for _, p := range append(harness.Descendants(pid), pid) {
		_ = syscall.Kill(p, syscall.SIGKILL) // it may have ended in between
	}
}

// postmaster reads the process id of the server; 0 if there is none.
func (m *Member) postmaster() int {
	text, err := os.ReadFile(filepath.Join(m.data(), "postmaster.pid"))
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil || pid <= 1 {
		return 0
	}
	name, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	if err != nil || !strings.HasPrefix(string(name), "postgres") {
		return 0 // the server has ended, and its number is unused or another program's
	}
	return pid
}

// PausePatroni suspends Patroni and leaves Postgres at work: it still believes to be the primary when another member is. Reset ends
// it. Patroni may not go on: with the third interface of etcd it renews a lock that it lost meanwhile (Etcd3._update_leader writes the
// key without a condition), takes it from the next primary, and what that one committed is lost.
func (m *Member) PausePatroni() { m.signalPatroni(syscall.SIGSTOP) }

// Reset ends Patroni and Postgres at once and starts them again, as a watchdog does that resets the machine of a Patroni that hangs.
func (m *Member) Reset() error {
	m.Kill()
	return m.Start()
}

func (m *Member) signalPatroni(s syscall.Signal) {
	if m.patroni == nil {
		return
	}
	select {
	case <-m.patroni.Done():
	default:
		_ = syscall.Kill(m.patroni.PID(), s) // it may have ended in between
	}
}

// Isolate drops everything between the member and the rest: etcd, the other members and the clients.
func (m *Member) Isolate() { m.all(faultproxy.Silent) }

// IsolateFromEtcd drops everything between the member and etcd; clients and standbys still reach it.
func (m *Member) IsolateFromEtcd() { m.toEtcd.Set(faultproxy.Silent) }

// Rejoin ends the isolation. Connections of before are closed, as they are after any longer silence.
func (m *Member) Rejoin() {
	m.all(faultproxy.Cut)
	m.all(faultproxy.Passing)
}

func (m *Member) all(mode faultproxy.Mode) {
	for _, p := range []*faultproxy.Proxy{m.toEtcd, m.toREST, m.toPostgres} {
		p.Set(mode)
	}
}

// CanFill reports whether the member has a disk of its own.
func (m *Member) CanFill() bool { return m.mounted }

// FillDisk uses up the disk of the member.
func (m *Member) FillDisk() error {
	if !m.mounted {
		return errors.New(m.Name + " has no disk of its own")
	}
	f, err := os.Create(m.filler())
	if err != nil {
		return err
	}
	piece := make([]byte, 64<<10)
	for err == nil {
		_, err = f.Write(piece)
	}
	_ = f.Close()
	if !errors.Is(err, syscall.ENOSPC) {
		return err
	}
	return nil
}

// EmptyDisk ends FillDisk.
func (m *Member) EmptyDisk() error { return os.Remove(m.filler()) }

// remove kills the member and deletes its data.
func (m *Member) remove() error {
	m.Kill()
	for _, p := range []*faultproxy.Proxy{m.toEtcd, m.toREST, m.toPostgres} {
		if p != nil {
			p.Close()
		}
	}
	var err error
	if m.mounted {
		err = unmount(m.dir())
	}
	return errors.Join(err, removeAll(m.dir()), os.Remove(m.Config()))
}

// removeAll deletes a folder, and again for a while if a server that was killed still writes into it.
func removeAll(dir string) error {
	err := os.RemoveAll(dir)
	for range 50 {
		if err == nil {
			break
		}
		<-time.After(100 * time.Millisecond)
		err = os.RemoveAll(dir)
	}
	return err
}

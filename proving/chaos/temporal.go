package chaos

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/proving/harness"
)

const (
	// undisturbed is the longest pause of decisions after the loss of a process that they do not need: what a loaded machine adds.
	undisturbed = 3 * time.Second
	// movesBack is how long challenges and holds may wait after the loss of one process of Temporal. The others notice it after some 6 s,
	// and the requests of before have to end.
	movesBack = 30 * time.Second
)

// temporalFaults are the ways to lose a process of Temporal's cluster.
func (m *machines) temporalFaults() []machineFault {
	var all []machineFault
	for _, service := range []string{"frontend", "history", "matching"} {
		all = append(all, machineFault{name: "kill -9 one " + service + " of Temporal", limit: undisturbed, moves: movesBack,
			cause: func(context.Context) (func() error, error) {
				p := m.temporalProcess(service)
				p.Kill()
				return func() error { return p.Start(context.Background()) }, nil
			}})
	}
	return all
}

// temporalProcess draws a process of a service.
func (m *machines) temporalProcess(service string) *harness.Process {
	of := slices.DeleteFunc(slices.Clone(m.rig.Members), func(p *harness.Process) bool { return !strings.HasPrefix(p.Name, service) })
	return of[m.rng.IntN(len(of))]
}

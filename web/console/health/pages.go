// Package health has the pages of health of the environment.
package health

import (
	"context"
	"embed"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/signing"
	reads "github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/internal/platform/durable"
	"github.com/countersign-dev/countersign/web/console/shell"
)

//go:embed all:templates
var templates embed.FS

// Pages are the pages of the health of the environment.
type Pages struct {
	*shell.Shell
	Checks      func(ctx context.Context) []Check
	Credentials *identity.Service
	Reader      *reads.Reader
	Signing     *signing.Service
	Workers     func(ctx context.Context) ([]durable.Poller, error)

	verdicts *verdicts
}

// New returns the pages with their dependencies.
func New(s *shell.Shell, deps Pages) *Pages {
	deps.Shell, deps.verdicts = s, newVerdicts(s.Clock)
	return &deps
}

// Altered reports whether a stored record that decides was changed outside of the service.
func (c *Pages) Altered(v *shell.Visit) bool { return c.verdict(v).altered }

func (c *Pages) broken(v *shell.Visit) int { return c.verdict(v).broken }

// Record declares the pages: their routes, templates and entry of the navigation.
func (c *Pages) Record() shell.Record {
	return shell.Record{
		Entry:     &shell.Entry{Group: "Administer", Label: "Health", Path: "health", Key: "h", Right: shell.ReadConfig, Alarm: c.broken},
		Templates: templates,
		Lines: []shell.Line{
			shell.See("/:environment/health", "health", shell.ReadConfig, c.health),
		},
	}
}

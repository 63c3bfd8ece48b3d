// Package destinations has the page of the systems to which the log is pushed.
package destinations

import (
	"embed"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/delivery/destination"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

//go:embed all:templates
var templates embed.FS

// Pages is the page of the destinations of an environment's log.
type Pages struct {
	*shell.Shell
	Destinations *destination.Service
}

// Record declares the page: its route and template. The pages of the health and of the retention lead to it.
func (c *Pages) Record() shell.Record {
	return shell.Record{
		Templates: templates,
		Lines:     []shell.Line{shell.See("/:environment/destinations", "destinations", shell.ReadConfig, c.page)},
	}
}

// row is a destination in words.
type row struct {
	Name, Kind, URL, Fault string
	Behind, Seconds        int64 // entries that it lacks, and since when the first of them is sealed
	Position               int64
	Credentials            bool
	Sent, Failing, Next    *show.Stamp
}

// kinds has the kinds of destinations in words.
var kinds = map[models.DestinationKind]string{
	models.DestinationOTLP: "OTLP logs", models.DestinationHTTPS: "OCSF over HTTPS", models.DestinationSyslog: "OCSF in syslog over TLS",
}

func (c *Pages) page(v *shell.Visit) error {
	all, err := c.Destinations.List(v.Context, v.Scope())
	if err != nil {
		return err
	}
	now := show.Stamps{Now: c.Clock.Now()}
	out := make([]row, len(all))
	for i, d := range all {
		out[i] = row{Name: d.Name, Kind: kinds[d.Kind], URL: d.URL, Behind: d.Behind, Position: d.Position, Credentials: d.Credentials != nil, Sent: now.Maybe(d.SentAt)}
		if d.Oldest != nil {
			out[i].Seconds = max(int64(now.Now.Sub(*d.Oldest).Seconds()), 0)
		}
		if d.LastError != nil {
			out[i].Fault, out[i].Failing, out[i].Next = *d.LastError, now.Maybe(d.FailingSince), now.Maybe(&d.NextAttemptAt)
		}
	}
	return v.Page(fiber.StatusOK, "destinations.html", "Destinations of the log", "retention", struct{ Destinations []row }{out})
}

// Package retention has the page of how long each class of data is stored.
package retention

import (
	"embed"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/subject/upkeep"
	"github.com/countersign-dev/countersign/web/console/shell"
)

//go:embed all:templates
var templates embed.FS

// Pages is the page of the retention.
type Pages struct {
	*shell.Shell
	Stored []upkeep.Stored
}

// Record declares the page: its route, template and entry of the navigation.
func (c *Pages) Record() shell.Record {
	return shell.Record{
		Entry:     &shell.Entry{Group: "Administer", Label: "Retention", Path: "retention", Key: "n", Right: shell.ReadConfig},
		Templates: templates,
		Lines:     []shell.Line{shell.See("/:environment/retention", "retention", shell.ReadConfig, c.retention)},
	}
}

// row is a class of data with how long it is stored, in words.
type row struct {
	Class, What, For string
}

func (c *Pages) retention(v *shell.Visit) error {
	rows := make([]row, len(c.Stored))
	for i, s := range c.Stored {
		rows[i] = row{s.Class, s.What, days(s.For)}
	}
	return v.Page(fiber.StatusOK, "retention.html", "Retention", "retention", struct {
		Rows                  []row
		Signals, Destinations string
	}{rows, v.At("signals"), v.At("destinations")})
}

// days writes how long a class is stored; zero is without limit.
func days(d time.Duration) string {
	const day, year = 24 * time.Hour, 365 * 24 * time.Hour
	switch n := int(d / day); {
	case n == 0:
		return "without limit, until the subject is erased"
	case n == 1:
		return "1 day"
	case d >= 2*year:
		return strconv.Itoa(n) + " days, some " + strconv.Itoa(int((d+year/2)/year)) + " years"
	default:
		return strconv.Itoa(n) + " days"
	}
}

package forms

import (
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

// Ask is a change that is made after one more question.
type Ask struct {
	ID, Label, To, Text, Verb string
	Danger                    bool
	Overlap                   bool     // asks how long the previous secret stays valid
	Give                      []Option // keys that may be given those that rest on a revoked one; empty asks for none
}

// Secret shows a secret once.
type Secret struct {
	Heading, Label, Warning, Text string
	Until                         *show.Stamp // end of its validity; nil for none
	Onward                        show.Item
}

// ShowSecret renders a page with a secret. The page is not stored by the browser: a reload does not show it again.
func ShowSecret(v *shell.Visit, section string, view Secret) error {
	v.Set(fiber.HeaderCacheControl, "no-store")
	return v.Page(fiber.StatusOK, "secret.html", view.Heading, section, view)
}

// mostOverlap is the longest overlap that the contract allows, in hours.
const mostOverlap = 168

// Overlap returns how long the previous secret or key stays valid after a rotation.
func Overlap(v *shell.Visit) (time.Duration, error) {
	n, err := strconv.Atoi(strings.TrimSpace(v.Form("overlap_hours")))
	if err != nil || n < 0 || n > mostOverlap {
		return 0, problem.Newf(problem.BadRequest, "overlap_hours must be a whole number from 0 to %d.", mostOverlap)
	}
	return time.Duration(n) * time.Hour, nil
}

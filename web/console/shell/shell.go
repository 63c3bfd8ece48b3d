// Package shell has what the console's pages share: who the user is and may do, the frame with the navigation, and the routes. It knows no
// record: a package per record has its pages, templates and words, and web/console puts them together.
package shell

import (
	"embed"
	"log/slog"

	"github.com/countersign-dev/countersign/api/openapi"
	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/account/tally"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/web"
)

// Templates are the files of the frame.
//
//go:embed all:templates
var Templates embed.FS

// Prefix is the path prefix of the console.
const Prefix = "/console"

// Shell holds the dependencies that the handlers of all pages share.
type Shell struct {
	Log      *slog.Logger
	Clock    clock.Clock
	People   *staff.Service
	Tally    *tally.Recorder
	Router   *web.Router
	Contract *openapi.Contract   // of the API, which also checks the console's forms
	Entries  []Entry             // of the navigation
	Altered  func(v *Visit) bool // whether a stored record that decides was changed outside of the service
}

// Package exports sends the lists of pages as files.
package exports

import (
	"github.com/countersign-dev/countersign/internal/delivery/listexport"
	"github.com/countersign-dev/countersign/web/console/shell"
)

// Pages send the lists.
type Pages struct {
	*shell.Shell
	Exports *listexport.Service
}

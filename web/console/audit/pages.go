// Package audit has the pages of the sealed log and its verification.
package audit

import (
	"embed"

	"github.com/countersign-dev/countersign/internal/authz/signing"
	reads "github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/internal/platform/admission"
	"github.com/countersign-dev/countersign/web/console/exports"
	"github.com/countersign-dev/countersign/web/console/shell"
)

//go:embed all:templates
var templates embed.FS

// Pages are the pages of the audit log.
type Pages struct {
	*shell.Shell
	Reader      *reads.Reader
	Signing     *signing.Service
	ExportPages *exports.Pages

	verifying *admission.Gate // admits the one verification of an audit log at a time
}

// New returns the pages with their dependencies.
func New(s *shell.Shell, deps Pages) *Pages {
	deps.Shell, deps.verifying = s, admission.New(1, 1, verificationsQueued)
	return &deps
}

// Record declares the pages: their routes, templates and entry of the navigation.
func (c *Pages) Record() shell.Record {
	return shell.Record{
		Entry:     &shell.Entry{Group: "Administer", Label: "Audit log", Path: "audit", Key: "l", Right: shell.ReadAudit},
		Templates: templates,
		Lines: []shell.Line{
			shell.See("/:environment/export/audit", "export_audit", shell.ReadAudit, c.ExportPages.Handler(c.auditExport)),
			shell.See("/:environment/audit", "audit", shell.ReadAudit, c.audit),
			shell.See("/:environment/audit/verify", "audit_verify", shell.ReadAudit, c.verifyAudit),
		},
	}
}

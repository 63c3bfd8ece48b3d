// Package webhooks has the pages of webhook endpoints with their attempts.
package webhooks

import (
	"embed"

	"github.com/countersign-dev/countersign/internal/authz/change"
	reads "github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/internal/delivery/webhook"
	"github.com/countersign-dev/countersign/web/console/exports"
	"github.com/countersign-dev/countersign/web/console/shell"
)

//go:embed all:templates
var templates embed.FS

// Pages are the pages of webhook endpoints.
type Pages struct {
	*shell.Shell
	Changes     *change.Service
	Endpoints   *webhook.Endpoints
	Reader      *reads.Reader
	ExportPages *exports.Pages
}

// Record declares the pages: their routes, templates and entry of the navigation.
func (c *Pages) Record() shell.Record {
	return shell.Record{
		Entry:     &shell.Entry{Group: "Integrate", Label: "Webhooks", Path: "webhooks", Key: "w", Right: shell.ReadConfig},
		Templates: templates,
		Lines: []shell.Line{
			shell.See("/:environment/export/webhooks", "export_webhooks", shell.ReadConfig, c.ExportPages.Handler(c.webhooksExport)),
			shell.SeeAged("/:environment/export/webhooks/:id", "export_attempts", shell.ReadConfig, c.ExportPages.Handler(c.attemptsExport)),
			shell.See("/:environment/webhooks", "webhooks", shell.ReadConfig, c.webhooks),
			shell.See("/:environment/webhooks/new", "webhook_new", shell.ManageWebhooks, c.newWebhook),
			shell.Confirmed("/:environment/webhooks/new", "webhook_create", shell.ManageWebhooks, c.createWebhook),
			shell.See("/:environment/webhooks/:id", "webhook", shell.ReadConfig, c.webhook),
			shell.See("/:environment/webhooks/:id/edit", "webhook_edit", shell.ManageWebhooks, c.editWebhook),
			shell.Confirmed("/:environment/webhooks/:id/edit", "webhook_update", shell.ManageWebhooks, c.updateWebhook),
			shell.Confirmed("/:environment/webhooks/:id/rotate", "webhook_rotate", shell.ManageWebhooks, c.rotateWebhook),
			shell.Confirmed("/:environment/webhooks/:id/delete", "webhook_delete", shell.ManageWebhooks, c.deleteWebhook),
			shell.Change("/:environment/webhooks/:id/test", "webhook_test", shell.ManageWebhooks, c.testWebhook),
			shell.Change("/:environment/webhooks/:id/replay", "webhook_replay", shell.ManageWebhooks, c.replayWebhook),
			shell.Change("/:environment/webhooks/:id/enable", "webhook_enable", shell.ManageWebhooks, c.enableWebhook),
			shell.Confirmed("/:environment/webhooks/:id/disable", "webhook_disable", shell.ManageWebhooks, c.disableWebhook),
		},
	}
}

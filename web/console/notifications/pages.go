// Package notifications has the pages of a user's notifications and the chat addresses.
package notifications

import (
	"embed"

	"github.com/countersign-dev/countersign/internal/delivery/notify"
	"github.com/countersign-dev/countersign/web/console/shell"
)

//go:embed all:templates
var templates embed.FS

// Pages are the pages of notifications.
type Pages struct {
	*shell.Shell
	Notices *notify.Service
}

// Record declares the pages: their routes, templates and entry of the navigation.
func (c *Pages) Record() shell.Record {
	return shell.Record{
		Templates: templates,
		Lines: []shell.Line{
			shell.See("/:environment/notifications", "notifications", shell.AnyRole, c.notifications),
			shell.Change("/:environment/notifications", "notices_choose", shell.AnyRole, c.chooseNotices),
			shell.See("/:environment/notifications/address", "notice_address", shell.AnyRole, c.noticeAddress),
			shell.Change("/:environment/notifications/address", "notice_address_set", shell.AnyRole, c.setNoticeAddress),
			shell.See("/:environment/notifications/times", "notice_times", shell.AnyRole, c.noticeTiming),
			shell.Change("/:environment/notifications/times", "notice_times_set", shell.AnyRole, c.setNoticeTiming),
			shell.See("/:environment/notifications/code", "notice_code", shell.AnyRole, c.noticeCode),
			shell.Change("/:environment/notifications/code", "notice_code_confirm", shell.AnyRole, c.confirmNoticeAddress),
			shell.See("/:environment/notifications/chats/new", "chat_new", shell.ManageWebhooks, c.newChat),
			shell.Confirmed("/:environment/notifications/chats/new", "chat_create", shell.ManageWebhooks, c.createChat),
			shell.Change("/:environment/notifications/chats/:id/test", "chat_test", shell.ManageWebhooks, c.testChat),
			shell.Confirmed("/:environment/notifications/chats/:id/remove", "chat_remove", shell.ManageWebhooks, c.removeChat),
		},
	}
}

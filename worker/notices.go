package worker

import (
	"github.com/countersign-dev/countersign/internal/delivery/notify"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
)

// NoticeLanes returns the lanes of notices to staff: one that decides who is notified, one for the mail server, one for chats.
func NoticeLanes(s *notify.Service) []outbox.Lane {
	return []outbox.Lane{
		{Name: "notices", Workers: 2, Handlers: map[string]outbox.Handler{outbox.TopicNotice: s.FanOut}},
		{Name: "email", Workers: 4, Timeout: notify.SendTimeout, Handlers: map[string]outbox.Handler{
			outbox.TopicNoticeEmail: s.Email, outbox.TopicAddressCode: s.Code, outbox.TopicInvitation: s.Invitation,
		}},
		{Name: "chat", Timeout: notify.SendTimeout, Handlers: map[string]outbox.Handler{outbox.TopicNoticeChat: s.Chat}},
	}
}

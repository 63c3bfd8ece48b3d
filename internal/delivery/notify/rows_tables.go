package notify

import (
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

var _ = pg.Declare[models.Notice](pg.Table{
	Name: "notices", Key: []string{"id"}, Placed: pg.ByEnvironment,
	Refers:   []string{"holds"},
	Free:     pg.Reasons{"*": "work and state of hours"},
	Subject:  &pg.OfSubject{Stays: "names reviewers only", Erased: pg.DeletedWithRow},
	Exported: &pg.Export{Not: "which member of staff was notified of a hold, for 30 days; nothing about the subject"},
})

var _ = pg.Declare[models.NoticeChoice](pg.Table{
	Name: "notice_choices", Key: []string{"environment_id", "kind", "channel", "person_id"}, Placed: pg.Everywhere,
	Refers: []string{"environments", "people"},
	Free:   pg.Reasons{"*": "decides nothing"},
})

var _ = pg.Declare[models.ChatAddress](pg.Table{
	Name: "chat_addresses", Key: []string{"id"}, Placed: pg.Everywhere,
	Refers: []string{"environments"},
	Free:   pg.Reasons{"*": "decides nothing"},
	Sealed: []pg.Sealed{{Column: "url", While: "url is not null"}},
})

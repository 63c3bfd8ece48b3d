package console

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/delivery/notify"
	"github.com/countersign-dev/countersign/models"
)

// notificationsPath is the part of the path of the pages about notifications.
const notificationsPath = "notifications"

// occasions are the occasions of notices with their names, in the order of the columns.
var occasions = []option{
	{string(models.NoticeOpened), "Opened"}, {string(models.NoticeDueSoon), "Due soon"}, {string(models.NoticeEscalated), "Escalated to my team"},
}

// chatShapes are the shapes of chat addresses with the chats that accept them.
var chatShapes = []option{
	{string(models.ChatSlack), "Slack: also Mattermost and others that accept its messages"}, {string(models.ChatTeams), "Microsoft Teams: a workflow for incoming webhooks"},
}

// gathering are the times for which e-mail is gathered after a message.
var gathering = []option{
	{"0", "at once, each hold by itself"}, {"5", "after 5 minutes"}, {"15", "after 15 minutes"}, {"60", "after an hour"}, {"240", "after four hours"},
}

// channelRow is one channel with the occasions on which it can be used.
type channelRow struct {
	Label  string
	Checks []check
}

// check is a checkbox.
type check struct {
	option
	Column  string
	Checked bool
}

// chatRow is a chat address in the list of the operators.
type chatRow struct {
	Name, Host string
	Shape      models.ChatShape
	State      tag
	Failure    string
	Since      *stamp
	Test       string // URL; empty without the right
	Asks       []ask
}

type notificationsView struct {
	Notice    *notice
	Reviews   bool // the user reviews, so that there is something to be notified of
	CanMail   bool
	Address   string
	Confirmed bool
	To        string
	Own, Code string // URLs of the forms of the address and of its code
	Timed     string // when e-mails are sent
	Timing    string // URL of the form of it
	Columns   []option
	Channels  []channelRow
	SeeChats  bool
	Chats     []chatRow
	New       string // URL; empty without the right
}

func (c *console) notifications(v *visit) error {
	return c.showNotifications(v, savedNotice(v.query("done")))
}

// savedNotice says what became of the user's last change.
func savedNotice(done string) *notice {
	switch done {
	case "chosen":
		return &notice{"good", "Your choices are saved."}
	case "confirmed":
		return &notice{"good", "The address is confirmed."}
	case "removed":
		return &notice{"good", "The address is removed."}
	case "times":
		return &notice{"good", "The times are saved."}
	case "chat":
		return &notice{"good", "The chat address is saved. Reviewers can choose it now."}
	default:
		return nil
	}
}

func (c *console) showNotifications(v *visit, n *notice) error {
	seen, err := c.Notices.Preferences(v.ctx, v.principal())
	if err != nil {
		return err
	}
	view := notificationsView{
		Notice: n, Reviews: v.may(Review), CanMail: c.Notices.CanMail(), Address: seen.Address, Confirmed: seen.Confirmed, To: v.at(notificationsPath),
		Own: v.at(notificationsPath, "address"), Code: v.at(notificationsPath, "code"), Columns: occasions, SeeChats: v.may(SeeWebhooks),
		Timing: v.at(notificationsPath, "times"),
	}
	if seen.Address != "" {
		view.Timed = timed(seen.Timing)
		view.Channels = append(view.Channels, channelOf("E-mail to "+seen.Address, models.ChannelEmail, seen.Choices))
	}
	for _, a := range seen.Chats {
		view.Channels = append(view.Channels, channelOf("Chat: "+a.Name, a.ID, seen.Choices))
		view.Chats = append(view.Chats, c.chatRow(v, a))
	}
	if v.may(ChangeWebhooks) {
		view.New = v.at(notificationsPath, "chats", "new")
	}
	return v.page(fiber.StatusOK, "notifications.html", "Notifications", notificationsPath, view)
}

// channelOf returns the checkboxes of one channel.
func channelOf(label, channel string, chosen []notify.Choice) channelRow {
	row := channelRow{Label: label}
	for _, o := range occasions {
		row.Checks = append(row.Checks, check{
			option: option{o.Value + ":" + channel, o.Label + ", " + label}, Column: o.Label,
			Checked: slices.Contains(chosen, notify.Choice{Kind: models.NoticeKind(o.Value), Channel: channel}),
		})
	}
	return row
}

func (c *console) chatRow(v *visit, a models.ChatAddress) chatRow {
	row := chatRow{Name: a.Name, Host: a.Host, Shape: a.Shape, State: tag{"ready", "good"}, Since: stamps{c.Clock.Now()}.maybe(a.FailingSince)}
	if a.Failure != nil {
		row.State, row.Failure = tag{"failing", "bad"}, *a.Failure
	}
	if v.may(ChangeWebhooks) {
		row.Test = v.at(notificationsPath, "chats", a.ID, "test")
		row.Asks = []ask{{ID: "remove-" + a.ID, Label: "Remove", To: v.at(notificationsPath, "chats", a.ID, "remove"), Verb: "remove it", Danger: true,
			Text: "Its URL is deleted, with the choices of everyone who chose it. This cannot be undone."}}
	}
	return row
}

func (c *console) chooseNotices(v *visit) error {
	var choices []notify.Choice
	for _, text := range v.all("choice") {
		kind, channel, _ := strings.Cut(text, ":")
		choices = append(choices, notify.Choice{Kind: models.NoticeKind(kind), Channel: channel})
	}
	if err := c.Notices.Choose(v.ctx, v.principal(), choices); err != nil {
		return err
	}
	return v.Redirect(v.at(notificationsPath)+"?done=chosen", fiber.StatusSeeOther)
}

// addressForm is the form of the user's e-mail address.
func (v *visit) addressForm(address string) form {
	return form{
		Section: notificationsPath, Heading: "E-mail address for notifications", To: v.at(notificationsPath, "address"), Submit: "Save the address",
		Back:  item{Label: "Notifications", URL: v.at(notificationsPath)},
		Intro: "A code is mailed to a new address, which you type on the next page. The address is stored sealed, and deleted when your access ends.",
		Fields: []field{{Name: "address", Label: "E-mail address", Kind: oneLine, Value: address, Sent: true,
			Hint: "Yours alone: messages about holds contain the action, the due time and a link. Empty removes it."}},
	}
}

func (c *console) noticeAddress(v *visit) error {
	seen, err := c.Notices.Preferences(v.ctx, v.principal())
	if err != nil {
		return err
	}
	return v.showForm(fiber.StatusOK, v.addressForm(seen.Address))
}

func (c *console) setNoticeAddress(v *visit) error {
	return submitted(v, v.addressForm(""), func(in struct {
		Address string `json:"address"`
	}) error {
		if err := c.Notices.SetAddress(v.ctx, v.principal(), in.Address); err != nil {
			return err
		}
		if strings.TrimSpace(in.Address) == "" {
			return v.Redirect(v.at(notificationsPath)+"?done=removed", fiber.StatusSeeOther)
		}
		return v.back(notificationsPath, "code")
	})
}

// timed says when e-mails are sent.
func timed(t notify.Timing) string {
	text := "Each hold is mailed by itself, at once."
	if t.GatherMinutes > 0 {
		text = "The first hold is mailed at once, those of the next " + itoa(t.GatherMinutes) + " minutes in one e-mail."
	}
	if t.QuietFrom != "" {
		text += " Nothing is mailed from " + t.QuietFrom + " to " + t.QuietUntil + " (" + t.Zone + ")."
	}
	return text
}

// timingForm is the form of the times at which the user is sent e-mail.
func (v *visit) timingForm(t notify.Timing) form {
	return form{
		Section: notificationsPath, Heading: "Digest and quiet hours", To: v.at(notificationsPath, "times"), Submit: "Save the times",
		Back:  item{Label: "Notifications", URL: v.at(notificationsPath)},
		Intro: "A hold that ends within the hour after its message would be sent is mailed at once, also in quiet hours.",
		Fields: []field{
			{Name: "gather_minutes", Label: "Further holds after a message", Kind: choice, Value: itoa(t.GatherMinutes), Options: gathering, Required: true,
				Hint: "The first hold is mailed at once; those that follow share one e-mail."},
			{Name: "quiet_from", Label: "Quiet from", Kind: clockTime, Value: t.QuietFrom, Hint: "Empty for no quiet hours."},
			{Name: "quiet_until", Label: "Quiet until", Kind: clockTime, Value: t.QuietUntil},
			{Name: "zone", Label: "Time zone", Kind: oneLine, Value: t.Zone, Required: true, Hint: "Such as Europe/Berlin or America/New_York. E-mails show due times in it."},
		},
	}
}

func (c *console) noticeTiming(v *visit) error {
	seen, err := c.Notices.Preferences(v.ctx, v.principal())
	if err != nil {
		return err
	}
	return v.showForm(fiber.StatusOK, v.timingForm(seen.Timing))
}

func (c *console) setNoticeTiming(v *visit) error {
	return submitted(v, v.timingForm(notify.Timing{}), func(in struct {
		GatherMinutes string `json:"gather_minutes"`
		QuietFrom     string `json:"quiet_from"`
		QuietUntil    string `json:"quiet_until"`
		Zone          string `json:"zone"`
	}) error {
		minutes, err := strconv.Atoi(in.GatherMinutes)
		if err != nil {
			minutes = -1 // refused
		}
		t := notify.Timing{GatherMinutes: minutes, QuietFrom: in.QuietFrom, QuietUntil: in.QuietUntil, Zone: in.Zone}
		if err := c.Notices.SetTiming(v.ctx, v.principal(), t); err != nil {
			return err
		}
		return v.Redirect(v.at(notificationsPath)+"?done=times", fiber.StatusSeeOther)
	})
}

func (v *visit) codeForm() form {
	return form{
		Section: notificationsPath, Heading: "Confirm the address", To: v.at(notificationsPath, "code"), Submit: "Confirm",
		Back: item{Label: "Notifications", URL: v.at(notificationsPath)},
		Intro: "A code is on its way to your address. It is valid for " + itoa(int(notify.CodeLife/time.Minute)) +
			" minutes and five attempts. If none arrives, save the address again.",
		Fields: []field{{Name: "code", Label: "Code", Kind: oneLine, Required: true, Sent: true, Hint: "Six digits."}},
	}
}

func (c *console) noticeCode(v *visit) error { return v.showForm(fiber.StatusOK, v.codeForm()) }

func (c *console) confirmNoticeAddress(v *visit) error {
	return submitted(v, v.codeForm(), func(in struct {
		Code string `json:"code"`
	}) error {
		if err := c.Notices.Confirm(v.ctx, v.principal(), in.Code); err != nil {
			return err
		}
		return v.Redirect(v.at(notificationsPath)+"?done=confirmed", fiber.StatusSeeOther)
	})
}

func (v *visit) chatForm() form {
	return form{
		Section: notificationsPath, Heading: "New chat address", To: v.at(notificationsPath, "chats", "new"), Submit: "Save the chat address", Confirmed: true,
		Back:  item{Label: "Notifications", URL: v.at(notificationsPath)},
		Intro: "Everyone in the room sees which actions are held and when they are due, and nothing of the people concerned. No one can approve from a chat.",
		Fields: []field{
			{Name: "name", Label: "Name", Kind: oneLine, Required: true, Sent: true, Hint: "The room, as reviewers know it."},
			{Name: "shape", Label: "Chat", Kind: choice, Value: string(models.ChatSlack), Options: chatShapes, Required: true},
			{Name: "url", Label: "URL of its incoming webhook", Kind: oneLine, Required: true, Sent: true,
				Hint: "https. It is stored sealed and not shown again: it gives the right to write to the room."},
		},
	}
}

func (c *console) newChat(v *visit) error { return v.showForm(fiber.StatusOK, v.chatForm()) }

func (c *console) createChat(v *visit) error {
	return submitted(v, v.chatForm(), func(in notify.ChatDraft) error {
		if _, err := c.Notices.AddChat(v.ctx, v.principal(), in); err != nil {
			return err
		}
		return v.Redirect(v.at(notificationsPath)+"?done=chat", fiber.StatusSeeOther)
	})
}

func (c *console) testChat(v *visit) error {
	done, err := c.Notices.TestChat(v.ctx, v.principal(), v.param("id"))
	if err != nil {
		return err
	}
	n := &notice{"good", "The chat accepted the test. Look for it in the room."}
	if !done.Succeeded {
		n = &notice{"bad", "The test failed: " + plain(done.Error) + "."}
	}
	return c.showNotifications(v, n)
}

func (c *console) removeChat(v *visit) error {
	if err := v.sure(); err != nil {
		return err
	}
	if err := c.Notices.RemoveChat(v.ctx, v.principal(), v.param("id")); err != nil {
		return err
	}
	return v.back(notificationsPath)
}

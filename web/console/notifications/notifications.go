package notifications

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/delivery/notify"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console/forms"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

// notificationsPath is the part of the path of the pages about notifications.
const notificationsPath = "notifications"

// occasions are the occasions of notices with their names, in the order of the columns.
var occasions = []forms.Option{
	{Value: string(models.NoticeOpened), Label: "Opened"}, {Value: string(models.NoticeDueSoon), Label: "Due soon"}, {Value: string(models.NoticeEscalated), Label: "Escalated to my team"},
	{Value: string(models.NoticeNextStep), Label: "Next step of my request"}, {Value: string(models.NoticeSettled), Label: "Result of my request"},
}

// chatShapes are the shapes of chat addresses with the chats that accept them.
var chatShapes = []forms.Option{
	{Value: string(models.ChatSlack), Label: "Slack: also Mattermost and others that accept its messages"}, {Value: string(models.ChatTeams), Label: "Microsoft Teams: a workflow for incoming webhooks"},
}

// gathering are the times for which e-mail is gathered after a message.
var gathering = []forms.Option{
	{Value: "0", Label: "at once, each hold by itself"}, {Value: "5", Label: "after 5 minutes"}, {Value: "15", Label: "after 15 minutes"}, {Value: "60", Label: "after an hour"}, {Value: "240", Label: "after four hours"},
}

// channelRow is one channel with the occasions on which it can be used.
type channelRow struct {
	Label  string
	Checks []check
}

// check is a checkbox.
type check struct {
	forms.Option
	Column  string
	Checked bool
}

// chatRow is a chat address in the list of the operators.
type chatRow struct {
	Name, Host string
	Shape      models.ChatShape
	State      show.Tag
	Failure    string
	Since      *show.Stamp
	Test       string // URL; empty without the right
	Asks       []forms.Ask
}

type notificationsView struct {
	Notice    *show.Notice
	CanMail   bool
	Address   string
	Confirmed bool
	To        string
	Own, Code string // URLs of the forms of the address and of its code
	Timed     string // when e-mails are sent
	Timing    string // URL of the form of it
	Columns   []forms.Option
	Channels  []channelRow
	SeeChats  bool
	Chats     []chatRow
	New       string // URL; empty without the right
}

func (c *Pages) notifications(v *shell.Visit) error {
	return c.showNotifications(v, savedNotice(v.Query("done")))
}

// savedNotice says what became of the user's last change.
func savedNotice(done string) *show.Notice {
	switch done {
	case "chosen":
		return &show.Notice{Tone: "good", Text: "Your choices are saved."}
	case "confirmed":
		return &show.Notice{Tone: "good", Text: "The address is confirmed."}
	case "removed":
		return &show.Notice{Tone: "good", Text: "The address is removed."}
	case "times":
		return &show.Notice{Tone: "good", Text: "The times are saved."}
	case "chat":
		return &show.Notice{Tone: "good", Text: "The chat address is saved. Reviewers can choose it now."}
	default:
		return nil
	}
}

func (c *Pages) showNotifications(v *shell.Visit, n *show.Notice) error {
	seen, err := c.Notices.Preferences(v.Context, v.Principal())
	if err != nil {
		return err
	}
	view := notificationsView{
		Notice: n, CanMail: c.Notices.CanMail(), Address: seen.Address, Confirmed: seen.Confirmed, To: v.At(notificationsPath),
		Own: v.At(notificationsPath, "address"), Code: v.At(notificationsPath, "code"), Columns: occasions, SeeChats: v.May(shell.ReadConfig),
		Timing: v.At(notificationsPath, "times"),
	}
	if seen.Address != "" {
		view.Timed = timed(seen.Timing)
		view.Channels = append(view.Channels, channelOf("E-mail to "+seen.Address, models.ChannelEmail, seen.Choices))
	}
	for _, a := range seen.Chats {
		view.Channels = append(view.Channels, channelOf("Chat: "+a.Name, a.ID, seen.Choices))
		view.Chats = append(view.Chats, c.chatRow(v, a))
	}
	if v.May(shell.ManageWebhooks) {
		view.New = v.At(notificationsPath, "chats", "new")
	}
	return v.Page(fiber.StatusOK, "notifications.html", "Notifications", notificationsPath, view)
}

// channelOf returns the checkboxes of one channel.
func channelOf(label, channel string, chosen []notify.Choice) channelRow {
	row := channelRow{Label: label}
	for _, o := range occasions {
		row.Checks = append(row.Checks, check{
			Option: forms.Option{Value: o.Value + ":" + channel, Label: o.Label + ", " + label}, Column: o.Label,
			Checked: slices.Contains(chosen, notify.Choice{Kind: models.NoticeKind(o.Value), Channel: channel}),
		})
	}
	return row
}

func (c *Pages) chatRow(v *shell.Visit, a models.ChatAddress) chatRow {
	row := chatRow{Name: a.Name, Host: a.Host, Shape: a.Shape, State: show.Tag{Text: "ready", Tone: "good"}, Since: show.Stamps{Now: c.Clock.Now()}.Maybe(a.FailingSince)}
	if a.Failure != nil {
		row.State, row.Failure = show.Tag{Text: "failing", Tone: "bad"}, *a.Failure
	}
	if v.May(shell.ManageWebhooks) {
		row.Test = v.At(notificationsPath, "chats", a.ID, "test")
		row.Asks = []forms.Ask{{ID: "remove-" + a.ID, Label: "Remove", To: v.At(notificationsPath, "chats", a.ID, "remove"), Verb: "remove it", Danger: true,
			Text: "Its URL is deleted, with the choices of everyone who chose it. This cannot be undone."}}
	}
	return row
}

func (c *Pages) chooseNotices(v *shell.Visit) error {
	var choices []notify.Choice
	for _, text := range v.All("choice") {
		kind, channel, _ := strings.Cut(text, ":")
		choices = append(choices, notify.Choice{Kind: models.NoticeKind(kind), Channel: channel})
	}
	if err := c.Notices.Choose(v.Context, v.Principal(), choices); err != nil {
		return err
	}
	return v.Redirect(v.At(notificationsPath)+"?done=chosen", fiber.StatusSeeOther)
}

// addressForm is the form of the user's e-mail address.
func addressForm(v *shell.Visit, address string) forms.Form {
	return forms.Form{
		Section: notificationsPath, Heading: "E-mail address for notifications", To: v.At(notificationsPath, "address"), Submit: "Save the address",
		Back:  show.Item{Label: "Notifications", URL: v.At(notificationsPath)},
		Intro: "A code is mailed to a new address, which you type on the next page. The address is stored sealed, and deleted when your access ends.",
		Fields: []forms.Field{{Name: "address", Label: "E-mail address", Kind: forms.OneLine, Value: address, Sent: true,
			Hint: "Yours alone: messages about holds contain the action, the due time and a link. Empty removes it."}},
	}
}

func (c *Pages) noticeAddress(v *shell.Visit) error {
	seen, err := c.Notices.Preferences(v.Context, v.Principal())
	if err != nil {
		return err
	}
	return forms.Show(v, fiber.StatusOK, addressForm(v, seen.Address))
}

func (c *Pages) setNoticeAddress(v *shell.Visit) error {
	return forms.Submitted(v, addressForm(v, ""), func(in struct {
		Address string `json:"address"`
	}) error {
		if err := c.Notices.SetAddress(v.Context, v.Principal(), in.Address); err != nil {
			return err
		}
		if strings.TrimSpace(in.Address) == "" {
			return v.Redirect(v.At(notificationsPath)+"?done=removed", fiber.StatusSeeOther)
		}
		return v.Back(notificationsPath, "code")
	})
}

// timed says when e-mails are sent.
func timed(t notify.Timing) string {
	text := "Each hold is mailed by itself, at once."
	if t.GatherMinutes > 0 {
		text = "The first hold is mailed at once, those of the next " + strconv.Itoa(t.GatherMinutes) + " minutes in one e-mail."
	}
	if t.QuietFrom != "" {
		text += " Nothing is mailed from " + t.QuietFrom + " to " + t.QuietUntil + " (" + t.Zone + ")."
	}
	return text
}

// timingForm is the form of the times at which the user is sent e-mail.
func timingForm(v *shell.Visit, t notify.Timing) forms.Form {
	return forms.Form{
		Section: notificationsPath, Heading: "Digest and quiet hours", To: v.At(notificationsPath, "times"), Submit: "Save the times",
		Back:  show.Item{Label: "Notifications", URL: v.At(notificationsPath)},
		Intro: "A hold that ends within the hour after its message would be sent is mailed at once, also in quiet hours.",
		Fields: []forms.Field{
			{Name: "gather_minutes", Label: "Further holds after a message", Kind: forms.Choice, Value: strconv.Itoa(t.GatherMinutes), Options: gathering, Required: true,
				Hint: "The first hold is mailed at once; those that follow share one e-mail."},
			{Name: "quiet_from", Label: "Quiet from", Kind: forms.ClockTime, Value: t.QuietFrom, Hint: "Leave empty for no quiet hours."},
			{Name: "quiet_until", Label: "Quiet until", Kind: forms.ClockTime, Value: t.QuietUntil},
			{Name: "zone", Label: "Time zone", Kind: forms.OneLine, Value: t.Zone, Required: true, Hint: "Such as Europe/Berlin or America/New_York. E-mails show due times in it."},
		},
	}
}

func (c *Pages) noticeTiming(v *shell.Visit) error {
	seen, err := c.Notices.Preferences(v.Context, v.Principal())
	if err != nil {
		return err
	}
	return forms.Show(v, fiber.StatusOK, timingForm(v, seen.Timing))
}

func (c *Pages) setNoticeTiming(v *shell.Visit) error {
	return forms.Submitted(v, timingForm(v, notify.Timing{}), func(in struct {
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
		if err := c.Notices.SetTiming(v.Context, v.Principal(), t); err != nil {
			return err
		}
		return v.Redirect(v.At(notificationsPath)+"?done=times", fiber.StatusSeeOther)
	})
}

func codeForm(v *shell.Visit) forms.Form {
	return forms.Form{
		Section: notificationsPath, Heading: "Confirm the address", To: v.At(notificationsPath, "code"), Submit: "Confirm",
		Back: show.Item{Label: "Notifications", URL: v.At(notificationsPath)},
		Intro: "A code is on its way to your address. It is valid for " + strconv.Itoa(int(notify.CodeLife/time.Minute)) +
			" minutes and five attempts. If none arrives, save the address again.",
		Fields: []forms.Field{{Name: "code", Label: "Code", Kind: forms.OneLine, Required: true, Sent: true, Hint: "Six digits."}},
	}
}

func (c *Pages) noticeCode(v *shell.Visit) error { return forms.Show(v, fiber.StatusOK, codeForm(v)) }

func (c *Pages) confirmNoticeAddress(v *shell.Visit) error {
	return forms.Submitted(v, codeForm(v), func(in struct {
		Code string `json:"code"`
	}) error {
		if err := c.Notices.Confirm(v.Context, v.Principal(), in.Code); err != nil {
			return err
		}
		return v.Redirect(v.At(notificationsPath)+"?done=confirmed", fiber.StatusSeeOther)
	})
}

func chatForm(v *shell.Visit) forms.Form {
	return forms.Form{
		Section: notificationsPath, Heading: "New chat address", To: v.At(notificationsPath, "chats", "new"), Submit: "Save the chat address", Confirmed: true,
		Back:  show.Item{Label: "Notifications", URL: v.At(notificationsPath)},
		Intro: "Everyone in the room sees which actions are held and when they are due, and nothing of the people concerned. No one can approve from a chat.",
		Fields: []forms.Field{
			{Name: "name", Label: "Name", Kind: forms.OneLine, Required: true, Sent: true, Hint: "The room, as reviewers know it."},
			{Name: "shape", Label: "Chat", Kind: forms.Choice, Value: string(models.ChatSlack), Options: chatShapes, Required: true},
			{Name: "url", Label: "URL of its incoming webhook", Kind: forms.OneLine, Required: true, Sent: true,
				Hint: "https. It is stored sealed and not shown again: it gives the right to write to the room."},
		},
	}
}

func (c *Pages) newChat(v *shell.Visit) error { return forms.Show(v, fiber.StatusOK, chatForm(v)) }

func (c *Pages) createChat(v *shell.Visit) error {
	return forms.Submitted(v, chatForm(v), func(in notify.ChatDraft) error {
		if _, err := c.Notices.AddChat(v.Context, v.Principal(), in); err != nil {
			return err
		}
		return v.Redirect(v.At(notificationsPath)+"?done=chat", fiber.StatusSeeOther)
	})
}

func (c *Pages) testChat(v *shell.Visit) error {
	done, err := c.Notices.TestChat(v.Context, v.Principal(), v.Param("id"))
	if err != nil {
		return err
	}
	n := &show.Notice{Tone: "good", Text: "The chat accepted the test. Look for it in the room."}
	if !done.Succeeded {
		n = &show.Notice{Tone: "bad", Text: "The test failed: " + show.Plain(done.Error) + "."}
	}
	return c.showNotifications(v, n)
}

func (c *Pages) removeChat(v *shell.Visit) error {
	if err := v.Sure(); err != nil {
		return err
	}
	if err := c.Notices.RemoveChat(v.Context, v.Principal(), v.Param("id")); err != nil {
		return err
	}
	return v.Back(notificationsPath)
}

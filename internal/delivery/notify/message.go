package notify

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/models"
)

// message is the content of a notice, in the form of any channel.
type message struct {
	Head  string // one line
	Text  string
	Lines []line // of the holds, if there are several
	Due   string // when the only hold expires; empty for none
	Link  string // of the console
}

// line is one of several holds.
type line struct{ Name, Due, Link string }

// heads begin a notice on each occasion; the name of the action follows. They are the subject of an e-mail, so that a filter can distinguish the
// occasions.
var heads = map[models.NoticeKind]string{
	models.NoticeOpened:    "A hold waits for review: ",
	models.NoticeDueSoon:   "A hold is due soon: ",
	models.NoticeEscalated: "A hold was escalated to your team: ",
}

// texts say what a notice means.
var texts = map[models.NoticeKind]string{
	models.NoticeOpened:    "A request is held until reviewers approve or reject it.",
	models.NoticeDueSoon:   "Half of the time to review this hold has passed. When it is over, the hold expires and the request is not approved.",
	models.NoticeEscalated: "Another team has not approved this hold in time. Your team may approve it as well.",
}

// marks say in a line of several holds on which occasion it is there.
var marks = map[models.NoticeKind]string{models.NoticeDueSoon: " (due soon)", models.NoticeEscalated: " (escalated to your team)"}

// messageOf returns the message about one or several holds. It has nothing of the subject or of the request's details: messages are stored by
// others. The due time and the end of the id make heads differ.
func (s *Service) messageOf(b batch, zone *time.Location) message {
	queue := s.BaseURL + "/console/" + b.scope.Environment + "/reviews"
	first := b.about[0]
	in := " (" + string(b.env.Kind) + ")"
	by := first.hold.DueAt.In(zone).Format("2 January, 15:04 MST")
	if len(b.about) == 1 {
		return message{
			Head: heads[first.notice.Kind] + first.action + in + ", due " + by + ", " + lastOf(first.hold.AuthorizationID),
			Text: texts[first.notice.Kind], Due: dueIn(first.hold, zone), Link: queue + "/" + first.hold.AuthorizationID,
		}
	}
	m := message{Text: "The hold that is due first is at the top.", Link: queue}
	if b.more > 0 {
		m.Text += " " + strconv.Itoa(b.more) + " more are in the queue."
	}
	var names []string
	for _, a := range b.about {
		if !slices.Contains(names, a.action) {
			names = append(names, a.action)
		}
		m.Lines = append(m.Lines, line{a.action + marks[a.notice.Kind], dueIn(a.hold, zone), queue + "/" + a.hold.AuthorizationID})
	}
	name := names[0]
	if others := len(names) - 1; others > 0 {
		name += " and " + strconv.Itoa(others) + " more"
	}
	m.Head = strconv.Itoa(len(b.about)+b.more) + " holds wait for review: " + name + in + ", first due " + by
	return m
}

// dueIn says when a hold expires.
func dueIn(h models.Hold, zone *time.Location) string {
	return h.DueAt.In(zone).Format("Monday, 2 January 2006, 15:04 MST")
}

// lastOf returns the end of an id, which the console shows of ids too.
func lastOf(id string) string { return id[len(id)-8:] }

// settingsURL returns the page on which a recipient chooses their messages.
func (s *Service) settingsURL(environment string) string {
	return s.BaseURL + "/console/" + environment + "/notifications"
}

// email returns the text of an e-mail. It is plain text: a message that staff act on should look the same everywhere, and has nothing to hide in
// markup.
func (m message) email(settings string) string {
	lines := []string{m.Text, ""}
	if m.Due != "" {
		lines = append(lines, "Due: "+m.Due, "")
	}
	for _, l := range m.Lines {
		lines = append(lines, l.Name+", due "+l.Due, l.Link, "")
	}
	return strings.Join(append(lines, "Open it in the console: "+m.Link, "",
		"A reply to this message is not read and approves nothing.", "Choose which messages you get: "+settings, ""), "\r\n")
}

// codeText returns the text of the e-mail with a code. It has no link that confirms the address: a scanner of mail would follow it.
func codeText(code, settings string) string {
	return strings.Join([]string{"Your code is " + code + ".", "",
		"Type it in the Countersign console within " + minutes(CodeLife) + " minutes, and messages about holds are sent to this address:", settings, "",
		"If you did not ask for it, ignore this message: nothing else is sent here.", ""}, "\r\n")
}

// invitationText returns the text of the e-mail with an invitation. It has nothing that the author of the invitation wrote: the message must not
// carry their words to an address that they chose.
func invitationText(in staff.Mailed) string {
	return strings.Join([]string{"You are invited to the Countersign console. Open this link to register a passkey:", "", in.URL, "",
		"It works once, until " + in.ExpiresAt.UTC().Format("Monday, 2 January 2006, 15:04 UTC") + ", and was shown to no one else. Do not forward this message.",
		"If you received several, use the newest. If you did not expect it, ignore it: nothing else is sent here.", ""}, "\r\n")
}

// minutes formats a duration of whole minutes without its unit, so that a sentence can name it.
func minutes(d time.Duration) string { return strings.TrimSuffix(d.String(), "m0s") }

// chat returns the body of a post to a chat: Slack's text, which Mattermost and others accept too, or the adaptive card of Teams.
func (m message) chat(shape models.ChatShape) ([]byte, error) {
	if shape == models.ChatTeams {
		return json.Marshal(m.card())
	}
	text := "*" + escapeSlack(m.Head) + "*\n" + m.Text
	if m.Due != "" {
		text += "\nDue: " + m.Due
	}
	for _, l := range m.Lines {
		text += "\n• <" + l.Link + "|" + escapeSlack(l.Name) + ">, due " + l.Due
	}
	return json.Marshal(map[string]string{"text": text + "\n<" + m.Link + "|Open it in the console>"})
}

// escapeSlack escapes the characters with which Slack begins mentions and links (https://docs.slack.dev/messaging/formatting-message-text).
func escapeSlack(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "*", "∗", "`", "'").Replace(s)
}

type object = map[string]any

// card returns an adaptive card in the envelope of an incoming webhook of Teams. Text runs, unlike text blocks, contain no Markdown, so that
// the name of an action cannot make a link.
func (m message) card() object {
	body := []object{richText(m.Head, true), richText(m.Text, false)}
	if m.Due != "" {
		body = append(body, richText("Due: "+m.Due, false))
	}
	for _, l := range m.Lines {
		link := object{"type": "TextRun", "text": l.Name, "selectAction": object{"type": "Action.OpenUrl", "url": l.Link}}
		body = append(body, object{"type": "RichTextBlock", "inlines": []object{link, {"type": "TextRun", "text": ", due " + l.Due}}})
	}
	return object{"type": "message", "attachments": []object{{
		"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": nil,
		"content": object{
			"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4", "body": body,
			"actions": []object{{"type": "Action.OpenUrl", "title": "Open it in the console", "url": m.Link}},
		},
	}}}
}

// richText returns a block with one run of text.
func richText(text string, bold bool) object {
	run := object{"type": "TextRun", "text": text}
	if bold {
		run["weight"] = "Bolder"
	}
	return object{"type": "RichTextBlock", "inlines": []object{run}}
}

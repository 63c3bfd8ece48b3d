package notify

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/authz/statuslink"
	"github.com/countersign-dev/countersign/models"
)

// message is the content of a notice, in the form of any channel.
type message struct {
	Head  string // one line
	Text  string
	Lines []line // of the holds, if there are several
	Due   string // when the only hold expires; empty for none
	Link  string // of the console, or of the status page of the only hold; empty for none
	Opens string // what the link opens
}

// line is one of several holds. Due is empty for one that is settled.
type line struct{ Name, Due, Link string }

// due says when the hold of the line expires.
func (l line) due() string {
	if l.Due == "" {
		return ""
	}
	return ", due " + l.Due
}

// What links open.
const (
	inConsole    = "Open it in the console"
	onStatusPage = "See how it stands"
)

// heads begin a notice on each occasion; the name of the action follows. They are the subject of an e-mail, so that a filter can distinguish the
// occasions.
var heads = map[models.NoticeKind]string{
	models.NoticeOpened:     "A hold waits for review: ",
	models.NoticeDueSoon:    "A hold is due soon: ",
	models.NoticeEscalated:  "A hold was escalated to your team: ",
	models.NoticeBreakGlass: "The glass was broken: ",
	models.NoticeNextStep:   "A request moved to its next step: ",
}

// results begin a notice of the result of a request, by its state.
var results = map[string]string{
	hold.StatusApproved: "A request was approved: ", hold.StatusDeclined: "A request was declined: ", hold.StatusExpired: "A request expired: ",
}

// resultTexts say what the results mean.
var resultTexts = map[string]string{
	hold.StatusApproved: "The reviewers approved this request of yours.", hold.StatusDeclined: "This request of yours was not approved.",
	hold.StatusExpired: "The time to review this request of yours is over. It was not approved.",
}

// texts say what a notice means.
var texts = map[models.NoticeKind]string{
	models.NoticeOpened:  "A request is held until reviewers approve or reject it.",
	models.NoticeDueSoon: "Half of the time to review this hold has passed. When it is over, the hold expires and the request is not approved.",
	models.NoticeBreakGlass: "One person approved this hold alone (break-glass), without the approvals that the policy asks of you and others. Read why, and say under After-reviews " +
		"whether it was justified.",
	models.NoticeEscalated: "Another team has not approved this hold in time. Your team may approve it as well.",
	models.NoticeNextStep:  "A step of this request of yours is approved. It waits for the reviewers of the next step.",
}

// marks say in a line of several holds on which occasion it is there.
var marks = map[models.NoticeKind]string{
	models.NoticeDueSoon: " (due soon)", models.NoticeEscalated: " (escalated to your team)", models.NoticeBreakGlass: " (break-glass)",
	models.NoticeNextStep: " (your request, next step)",
}

// messageOf returns the message about one or several holds. It has nothing of the subject or of the request's details: messages are stored by
// others. The due time and the end of the id make heads differ.
func (s *Service) messageOf(b batch, zone *time.Location) message {
	first := b.about[0]
	in := " (" + string(b.env.Kind) + ")"
	by := first.hold.DueAt.In(zone).Format("2 January, 15:04 MST")
	if len(b.about) == 1 {
		last := lastOf(first.hold.AuthorizationID)
		m := message{Head: heads[first.notice.Kind] + first.action + in + ", due " + by + ", " + last, Text: texts[first.notice.Kind], Due: dueIn(first.hold, zone)}
		if first.notice.Kind == models.NoticeSettled {
			m.Head, m.Text, m.Due = results[first.state]+first.action+in+", "+last, resultTexts[first.state], ""
		}
		m.Link, m.Opens = s.linkOf(b, first)
		return m
	}
	m := message{Text: "The hold that is due first is at the top.", Link: s.queueURL(b.scope.Environment), Opens: inConsole}
	var names []string
	own := 0
	for _, a := range b.about {
		if !slices.Contains(names, a.action) {
			names = append(names, a.action)
		}
		l := line{Name: a.action + marks[a.notice.Kind], Due: dueIn(a.hold, zone)}
		if a.notice.Kind == models.NoticeSettled {
			l.Name, l.Due = a.action+" (your request: "+a.state+")", ""
		}
		if a.notice.Kind.OfRequester() {
			own++
		}
		l.Link, _ = s.linkOf(b, a)
		m.Lines = append(m.Lines, l)
	}
	name := names[0]
	if others := len(names) - 1; others > 0 {
		name += " and " + strconv.Itoa(others) + " more"
	}
	count := strconv.Itoa(len(b.about) + b.more)
	switch own {
	case 0:
		if b.more > 0 {
			m.Text += " " + strconv.Itoa(b.more) + " more are in the queue."
		}
		m.Head = count + " holds wait for review: " + name + in + ", first due " + by
	case len(b.about):
		m.Head, m.Text, m.Link = "News of "+count+" requests: "+name+in, "These requests of yours were settled or moved to their next step.", ""
	default:
		m.Head, m.Text = "News of "+count+" holds: "+name+in, "Some of these holds wait for review, and others are requests of yours."
	}
	return m
}

// linkOf returns the link to a hold and what it opens: the person who requests it need not be a reviewer.
func (s *Service) linkOf(b batch, a held) (link, opens string) {
	if a.notice.Kind.OfRequester() {
		links := statuslink.New(s.Keyring, s.BaseURL)
		return links.Complete(links.Prefix(b.env, a.hold.AuthorizationID)), onStatusPage
	}
	return s.queueURL(b.scope.Environment) + "/" + a.hold.AuthorizationID, inConsole
}

func (s *Service) queueURL(environment string) string {
	return s.BaseURL + "/console/" + environment + "/reviews"
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
		lines = append(lines, l.Name+l.due(), l.Link, "")
	}
	if m.Link != "" {
		lines = append(lines, m.Opens+": "+m.Link, "")
	}
	return strings.Join(append(lines,
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
		text += "\n• <" + l.Link + "|" + escapeSlack(l.Name) + ">" + l.due()
	}
	if m.Link != "" {
		text += "\n<" + m.Link + "|" + m.Opens + ">"
	}
	return json.Marshal(map[string]string{"text": text})
}

// escapeSlack escapes the characters with which Slack begins mentions and links (https://docs.slack.dev/messaging/formatting-message-text), and breaks what
// Mattermost and Slack make a mention or a link of without them, with a character that is not seen.
func escapeSlack(s string) string {
	s = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "*", "∗", "`", "'").Replace(s)
	return linking.ReplaceAllString(s, "$0"+wordJoiner)
}

// wordJoiner is a character without width at which no line is broken (U+2060).
const wordJoiner = "\u2060"

// linking begins a mention (@here, ~channel, #tag), a link in Markdown, or an address that chats recognise by themselves.
var linking = regexp.MustCompile(`[@#~\[\]!]|:/|[\pL\pN]\.`)

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
		inlines := []object{link}
		if l.Due != "" {
			inlines = append(inlines, object{"type": "TextRun", "text": l.due()})
		}
		body = append(body, object{"type": "RichTextBlock", "inlines": inlines})
	}
	actions := []object{}
	if m.Link != "" {
		actions = append(actions, object{"type": "Action.OpenUrl", "title": m.Opens, "url": m.Link})
	}
	return object{"type": "message", "attachments": []object{{
		"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": nil,
		"content": object{
			"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4", "body": body,
			"actions": actions,
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

package notify

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	netmail "net/mail"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wneessen/go-mail"

	"github.com/countersign-dev/countersign/internal/platform/webname"
)

// Encryption of the connection to a mail server.
type Encryption string

// The kinds of encryption. There is no opportunistic one: it would fall back to plain text whenever someone in between asks for that.
const (
	STARTTLS    Encryption = "starttls" // upgraded before anything is sent, or nothing is sent
	ImplicitTLS Encryption = "tls"
	PlainText   Encryption = "none"
)

// mailTimeout limits each step of a conversation with the mail server.
const mailTimeout = 15 * time.Second

// MailSettings say how the deployment sends e-mail.
type MailSettings struct {
	Address    string // host:port of the mail server
	From       string // sender of every message, such as Countersign <countersign@example.com>
	Username   string // empty for no authentication
	Password   string
	Encryption Encryption
	TLS        *tls.Config // nil for the system's certificates
	// Name greets the mail server (EHLO). If it is empty, the machine's name does, that of the service or the domain of From: the first that is fully
	// qualified. Mail servers refuse a bare name.
	Name string
	// BaseURL is the URL of the service; empty if it is not known.
	BaseURL string
}

// Mailer sends e-mail by SMTP. It is safe for concurrent use: each message has a connection of its own.
type Mailer struct {
	settings MailSettings
	client   func() (*mail.Client, error)
}

// errPassword refuses settings that would send a password in the clear.
var errPassword = errors.New("a password requires starttls or tls")

// NewMailer checks the settings. It connects to nothing.
func NewMailer(s MailSettings) (*Mailer, error) {
	host, portText, err := net.SplitHostPort(s.Address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, err
	}
	if s.Encryption == PlainText && s.Password != "" {
		return nil, errPassword
	}
	// The name that the certificate must have is that of the address, also if the caller brings its own certificates.
	if s.TLS == nil {
		s.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	s.TLS.ServerName = host
	machine, _ := os.Hostname()
	name := nameOf([]string{s.Name, machine, hostOf(s.BaseURL)}, s.From)
	if s.Name != "" && name != strings.ToLower(s.Name) {
		return nil, fmt.Errorf("%q is not a fully qualified host name such as mail.example.com", s.Name)
	}
	options := []mail.Option{mail.WithHELO(name), mail.WithPort(int(port)), mail.WithTimeout(mailTimeout), mail.WithTLSConfig(s.TLS)}
	switch s.Encryption {
	case STARTTLS:
		options = append(options, mail.WithTLSPolicy(mail.TLSMandatory))
	case ImplicitTLS:
		options = append(options, mail.WithSSL())
	case PlainText:
		options = append(options, mail.WithTLSPolicy(mail.NoTLS))
	default:
		return nil, fmt.Errorf("unknown encryption %q", s.Encryption)
	}
	if s.Username != "" {
		options = append(options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(s.Username), mail.WithPassword(s.Password))
	}
	m := &Mailer{settings: s, client: func() (*mail.Client, error) { return mail.NewClient(host, options...) }}
	if _, err := m.client(); err != nil {
		return nil, err
	}
	return m, mail.NewMsg().From(s.From)
}

// letter is one e-mail.
type letter struct {
	id      string // the same for every attempt; makes the Message-ID
	host    string // of the service, for the Message-ID
	to      string
	subject string
	text    string
	at      time.Time
	thread  []string // ids that it belongs to, the widest first
}

// send makes one attempt. It returns the code of a failure, which contains nothing of the address, and whether it is final.
func (m *Mailer) send(ctx context.Context, l letter) (failure string, final bool) {
	msg := mail.NewMsg(mail.WithNoDefaultUserAgent())
	if err := errors.Join(msg.From(m.settings.From), msg.To(l.to)); err != nil {
		return "address_invalid", true
	}
	msg.Subject(headerText(l.subject))
	msg.SetMessageIDWithValue(l.id + "@" + l.host)
	msg.SetDateWithValue(l.at)
	if n := len(l.thread); n > 0 {
		var parents []string
		for _, id := range l.thread {
			parents = append(parents, "<"+id+"@"+l.host+">")
		}
		msg.SetGenHeader(mail.HeaderReferences, strings.Join(parents, " "))
		msg.SetGenHeader(mail.HeaderInReplyTo, parents[n-1])
	}
	// RFC 3834: no vacation notice is sent in response.
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	msg.SetBodyString(mail.TypeTextPlain, l.text)
	// A client holds one connection and is not shared.
	client, err := m.client()
	if err != nil {
		return "settings_invalid", true
	}
	return mailFailure(client.DialAndSendWithContext(ctx, msg))
}

// mailFailure reduces an error to a code. Only a permanent refusal of the recipient is final. Every other one is a mistake of the settings or of the
// mail server, which an operator mends, or passes.
func mailFailure(err error) (code string, final bool) {
	var refused *mail.SendError
	var timeout net.Error
	var certificate *tls.CertificateVerificationError
	switch {
	case err == nil:
		return "", false
	case errors.As(err, &refused) && refused.ErrorCode() > 0:
		return "smtp_" + strconv.Itoa(refused.ErrorCode()), refusesRecipient(refused)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "timeout", false
	case errors.As(err, &certificate):
		return "tls", false
	default:
		return "connection_failed", false
	}
}

// enhanced is an enhanced status code of a permanent failure (RFC 3463).
var enhanced = regexp.MustCompile(`\b5\.(\d{1,3})\.(\d{1,3})\b`)

// refusesRecipient reports whether a mail server refused the recipient for ever. Servers also refuse clients and senders in response to RCPT, when they
// know all three: by name (504), for want of a password (530), or because they relay no mail of theirs (550 5.7.1).
func refusesRecipient(refused *mail.SendError) bool {
	if refused.Reason != mail.ErrSMTPRcptTo || !slices.Contains([]int{550, 551, 553, 556}, refused.ErrorCode()) {
		return false
	}
	text := refused.Error()
	if status := enhanced.FindStringSubmatch(text); status != nil {
		// 5.1.7 and 5.1.8 are about the sender; 5.2.1 is a mailbox that is disabled.
		return status[1] == "1" && status[2] != "7" && status[2] != "8" || status[1] == "2" && status[2] == "1"
	}
	return !strings.Contains(strings.ToLower(text), "relay")
}

// headerText encodes a text for a header. A text that looks like an encoded word (RFC 2047) is encoded as well: it would be read as what it stands for.
func headerText(text string) string {
	if !strings.Contains(text, "=?") {
		return text // the library encodes what is not ASCII
	}
	var words []string
	for rest := []rune(text); len(rest) > 0; {
		// Of 75 characters of a word the form takes 12, and a character up to 12.
		var word strings.Builder
		for len(rest) > 0 && word.Len() <= 50 {
			for _, b := range []byte(string(rest[0])) {
				if b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' {
					word.WriteByte(b)
				} else {
					fmt.Fprintf(&word, "=%02X", b)
				}
			}
			rest = rest[1:]
		}
		words = append(words, "=?utf-8?q?"+word.String()+"?=")
	}
	return strings.Join(words, " ")
}

// nameOf returns the name with which to greet the mail server (RFC 5321, section 4.1.4): the first of the names that is fully qualified, or the domain of
// the sender.
func nameOf(names []string, from string) string {
	if parsed, err := netmail.ParseAddress(from); err == nil {
		names = append(names, parsed.Address[strings.LastIndex(parsed.Address, "@")+1:])
	}
	for _, one := range names {
		if host, err := webname.Host(one); err == nil && strings.Contains(host, ".") {
			return host
		}
	}
	return "[127.0.0.1]"
}

// hostOf returns the host of a URL for the right side of a Message-ID (RFC 5322, section 3.6.4); "localhost" if it has none.
func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" {
		return "localhost"
	}
	return u.Hostname()
}

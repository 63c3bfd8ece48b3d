package notify

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/wneessen/go-mail"
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
	options := []mail.Option{mail.WithPort(int(port)), mail.WithTimeout(mailTimeout), mail.WithTLSConfig(s.TLS)}
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
	msg.Subject(l.subject)
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

// mailFailure reduces an error to a code. Refusals of the recipient or of the message (5xx) are final; a sender or a password that is
// refused is a mistake of the settings, which an operator mends.
func mailFailure(err error) (code string, final bool) {
	var refused *mail.SendError
	var timeout net.Error
	var certificate *tls.CertificateVerificationError
	switch {
	case err == nil:
		return "", false
	case errors.As(err, &refused) && refused.ErrorCode() > 0:
		final = refused.ErrorCode() >= 500 && (refused.Reason == mail.ErrSMTPRcptTo || refused.Reason == mail.ErrSMTPDataClose)
		return "smtp_" + strconv.Itoa(refused.ErrorCode()), final
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "timeout", false
	case errors.As(err, &certificate):
		return "tls", false
	default:
		return "connection_failed", false
	}
}

// hostOf returns the host of a URL for the right side of a Message-ID (RFC 5322, section 3.6.4); "localhost" if it has none.
func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" {
		return "localhost"
	}
	return u.Hostname()
}

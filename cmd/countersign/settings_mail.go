package main

import (
	"crypto/tls"
	"crypto/x509"
	"os"

	"github.com/countersign-dev/countersign/internal/delivery/notify"
)

// mailSettings configure the mail server that notices and invitations of staff are sent through. Without an address no e-mail is sent.
type mailSettings struct {
	address    string
	from       string
	username   string
	password   string
	encryption notify.Encryption
	ca         string
	name       string
}

// server is the setting that says whether the deployment sends e-mail.
func (m *mailSettings) server() setting {
	return setting{"smtp-address", "COUNTERSIGN_SMTP_ADDRESS", "", "host:port of the mail server for notices and invitations of staff, such as smtp.example.com:587; empty sends no e-mail", text(&m.address)}
}

func (m *mailSettings) table() []setting {
	return []setting{
		m.server(),
		{"smtp-from", "COUNTERSIGN_SMTP_FROM", "", "sender of notices, such as Countersign <countersign@example.com>", text(&m.from)},
		{"smtp-username", "COUNTERSIGN_SMTP_USERNAME", "", "user name at the mail server; empty for no authentication", text(&m.username)},
		{"", "COUNTERSIGN_SMTP_PASSWORD", "", "password at the mail server", text(&m.password)},
		{"smtp-tls", "COUNTERSIGN_SMTP_TLS", "starttls", "encryption of the connection to the mail server: starttls and tls are mandatory, none is plain text and refuses a password",
			oneOf(&m.encryption, notify.STARTTLS, notify.ImplicitTLS, notify.PlainText)},
		{"smtp-name", "COUNTERSIGN_SMTP_NAME", "", "fully qualified name that greets the mail server (EHLO); empty for the machine's, that of COUNTERSIGN_BASE_URL or the sender's domain, whichever is one", text(&m.name)},
		{"smtp-ca", "COUNTERSIGN_SMTP_CA", "", "file with the CA certificates to verify the mail server with", text(&m.ca)},
	}
}

// mailer returns the sender of e-mail; nil without an address. baseURL is that of the service.
func (m *mailSettings) mailer(baseURL string) (*notify.Mailer, error) {
	if m.address == "" {
		if m.from != "" || m.username != "" || m.password != "" {
			return nil, usage("COUNTERSIGN_SMTP_ADDRESS is not set, but other settings of the mail server are: want host:port")
		}
		return nil, nil
	}
	if (m.username == "") != (m.password == "") {
		return nil, usage("COUNTERSIGN_SMTP_USERNAME and COUNTERSIGN_SMTP_PASSWORD are not both set: set both or neither")
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if m.ca != "" {
		pem, err := os.ReadFile(m.ca)
		if err != nil {
			return nil, usage("COUNTERSIGN_SMTP_CA: %v", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, usage("COUNTERSIGN_SMTP_CA: %s contains no certificate", m.ca)
		}
	}
	made, err := notify.NewMailer(notify.MailSettings{
		Address: m.address, From: m.from, Username: m.username, Password: m.password, Encryption: m.encryption, TLS: c,
		Name: m.name, BaseURL: baseURL,
	})
	if err != nil {
		return nil, usage("COUNTERSIGN_SMTP_ADDRESS %q, COUNTERSIGN_SMTP_FROM %q, COUNTERSIGN_SMTP_NAME %q and COUNTERSIGN_SMTP_TLS %q cannot be used: %v; want host:port, an address, a host name, and starttls or tls with a password",
			m.address, m.from, m.name, m.encryption, err)
	}
	return made, nil
}

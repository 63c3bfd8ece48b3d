package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/ids"
)

// forwarder sends events to a receiver on this machine, signed as the service signs webhooks.
type forwarder struct {
	url, secret string
	signer      *standardwebhooks.Webhook
	out         io.Writer
	client      http.Client
}

const forwardTimeout = 15 * time.Second // as the service waits for a receiver

func (f *forwarder) flag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.url, "forward", "", "address of the receiver on this machine, such as http://localhost:3000/webhooks")
}

func (f *forwarder) setting() setting {
	return setting{"", "COUNTERSIGN_WEBHOOK_SECRET", "", "secret that forwarded events are signed with (whsec_...); a new one is made and printed if it is not set", text(&f.secret)}
}

// open checks the address, which must be this machine's: events may have personal data. Without a secret it makes one and prints it.
func (f *forwarder) open(out io.Writer) error {
	f.out = out
	if f.url == "" {
		return nil
	}
	u, err := url.Parse(f.url)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || !loopback(u.Hostname()) {
		return usage("--forward is %q: want an http address on this machine, such as http://localhost:3000/webhooks", f.url)
	}
	if f.secret == "" {
		raw := make([]byte, 32)
		_, _ = rand.Read(raw) // crypto/rand.Read never returns an error
		f.secret = secretPrefix + base64.StdEncoding.EncodeToString(raw)
		_, _ = fmt.Fprintf(out, "forwarded events are signed with the secret %s\n", f.secret)
	}
	if f.signer, err = signerOf(f.secret); err != nil {
		return err
	}
	f.client = http.Client{Timeout: forwardTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return nil
}

const secretPrefix = "whsec_"

// signerOf accepts the secrets that every SDK accepts.
func signerOf(secret string) (*standardwebhooks.Webhook, error) {
	encoded, prefixed := strings.CutPrefix(secret, secretPrefix)
	raw, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if !prefixed || err != nil || len(raw) < 24 || len(raw) > 64 || strings.ContainsAny(encoded, "\r\n") {
		return nil, usage("COUNTERSIGN_WEBHOOK_SECRET is not a webhook secret: want whsec_ and the base64 of 24 to 64 bytes, " +
			"such as the output of: echo whsec_$(openssl rand -base64 32)")
	}
	return standardwebhooks.NewWebhookRaw(raw)
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// send posts one event, prints what came back and reports whether the receiver took it. Without an address it does nothing.
func (f *forwarder) send(ctx context.Context, id string, body []byte) bool {
	if f.url == "" {
		return true
	}
	at := clock.System()
	now := at.Now()
	signature, err := f.signer.Sign(id, now, body)
	if err != nil {
		_, _ = fmt.Fprintf(f.out, "  %s was not signed: %v\n", id, err)
		return false
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url, bytes.NewReader(body))
	if err != nil {
		_, _ = fmt.Fprintf(f.out, "  %s was not sent: %v\n", id, err)
		return false
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("webhook-id", id)
	req.Header.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
	req.Header.Set("webhook-signature", signature)
	res, err := f.client.Do(req)
	if err != nil {
		_, _ = fmt.Fprintf(f.out, "  %s was not delivered: %v\n", id, err)
		return false
	}
	said := ""
	if res.StatusCode/100 != 2 {
		said = excerpt(res.Body)
	}
	_ = res.Body.Close()
	_, _ = fmt.Fprintf(f.out, "  %s -> %d in %d ms%s\n", id, res.StatusCode, at.Now().Sub(now).Milliseconds(), said)
	return res.StatusCode/100 == 2
}

const excerptBytes = 200

// excerpt returns the beginning of a refusal on one line, without what a terminal would interpret.
func excerpt(body io.Reader) string {
	read, _ := io.ReadAll(io.LimitReader(body, excerptBytes+1))
	text, more := string(read), ""
	if len(read) > excerptBytes {
		text, more = text[:excerptBytes], "..."
	}
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || !unicode.IsPrint(r) }), " ")
	if text == "" {
		return ", with an empty body"
	}
	return ": " + text + more
}

func newEventID() string { return ids.New(ids.Event) }

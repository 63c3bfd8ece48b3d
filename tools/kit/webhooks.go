package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
)

const event = `{"type":"hold.approved","timestamp":"2026-11-21T09:30:00.000Z","data":{"authorization":"azn_1","child_authorization":"azn_2"}}`

func secret(name string) string {
	sum := sha256.Sum256([]byte("countersign kit webhook " + name))
	return "whsec_" + base64.StdEncoding.EncodeToString(sum[:])
}

// stamp is a signature of Standard Webhooks.
func stamp(secret, id string, at int64, body string) string {
	return sealed(secret, id, strconv.FormatInt(at, 10), body)
}

// sealed is stamp with the time as it is written.
func sealed(secret, id, at, body string) string {
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		panic(err)
	}
	mac := hmac.New(sha256.New, raw)
	mac.Write([]byte(id + "." + at + "." + body))
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// webhookCase is a delivery and whether a receiver takes it.
type webhookCase struct {
	Name     string            `json:"name"`
	Guard    string            `json:"guard"`
	Accepted bool              `json:"accepted"`
	Secrets  []string          `json:"secrets"`
	Headers  map[string]string `json:"headers"`
	Body     string            `json:"body"`
}

func webhooks() (any, error) {
	current, next := secret("current"), secret("next")
	of := func(name, guard string, accepted bool, change func(*webhookCase)) webhookCase {
		c := webhookCase{Name: name, Guard: guard, Accepted: accepted, Secrets: []string{current}, Body: event, Headers: map[string]string{
			"webhook-id": "evt_1", "webhook-timestamp": strconv.Itoa(now), "webhook-signature": stamp(current, "evt_1", now, event),
		}}
		change(&c)
		return c
	}
	set := func(name, value string) func(*webhookCase) { return func(c *webhookCase) { c.Headers[name] = value } }
	at := func(t int64) func(*webhookCase) {
		return func(c *webhookCase) {
			c.Headers["webhook-timestamp"], c.Headers["webhook-signature"] = strconv.FormatInt(t, 10), stamp(current, "evt_1", t, event)
		}
	}
	good := stamp(current, "evt_1", now, event)
	cases := []webhookCase{
		of("genuine", "none", true, func(*webhookCase) {}),
		of("by the next secret during a rotation", "none", true, func(c *webhookCase) {
			c.Secrets, c.Headers["webhook-signature"] = []string{current, next}, stamp(next, "evt_1", now, event)
		}),
		of("two signatures, the second matches", "none", true, set("webhook-signature", stamp(next, "evt_1", now, event)+" "+good)),
		of("five minutes old", "none", true, at(now-300)),
		of("by a secret that has ended", "signature", false, func(c *webhookCase) { c.Secrets = []string{next} }),
		of("a changed body", "signature", false, func(c *webhookCase) { c.Body = strings.Replace(event, "approved", "rejected", 1) }),
		of("a changed id", "signature", false, set("webhook-id", "evt_2")),
		of("a changed time", "signature", false, set("webhook-timestamp", strconv.Itoa(now+1))),
		of("another version of signature", "version", false, set("webhook-signature", strings.Replace(good, "v1,", "v2,", 1))),
		of("a signature that is cut", "signature", false, set("webhook-signature", good[:len(good)-4])),
		of("more than five minutes old", "timestamp", false, at(now-301)),
		of("more than five minutes early", "timestamp", false, at(now+301)),
		of("a time that is not a number", "headers", false, set("webhook-timestamp", "soon")),
		of("a time with a sign, signed so", "headers", false, func(c *webhookCase) {
			c.Headers["webhook-timestamp"], c.Headers["webhook-signature"] = "+"+strconv.Itoa(now), sealed(current, "evt_1", "+"+strconv.Itoa(now), event)
		}),
		of("an empty id, signed so", "headers", false, func(c *webhookCase) {
			c.Headers["webhook-id"], c.Headers["webhook-signature"] = "", sealed(current, "", strconv.Itoa(now), event)
		}),
		of("no id", "headers", false, func(c *webhookCase) { delete(c.Headers, "webhook-id") }),
		of("no time", "headers", false, func(c *webhookCase) { delete(c.Headers, "webhook-timestamp") }),
		of("no signature", "headers", false, func(c *webhookCase) { delete(c.Headers, "webhook-signature") }),
		of("an empty signature", "headers", false, set("webhook-signature", "")),
		of("a body that is not JSON", "json", false, func(c *webhookCase) {
			c.Body, c.Headers["webhook-signature"] = "<html>", stamp(current, "evt_1", now, "<html>")
		}),
	}
	return object{"version": version, "now": now, "tolerance_seconds": 300, "event": object{"id": "evt_1", "type": "hold.approved"}, "cases": cases}, nil
}

package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// pageSubject and pagesOf are the list whose pages the scripts play: the passkeys of a subject.
const (
	pageSubject = "user-1"
	pagesOf     = "/api/v1/subjects/" + pageSubject + "/passkeys"
)

// pageScript lists the responses to one traversal of a list by a client that retries twice, and the cursor of each request, empty for none.
// Entries are the ids that the client returns if the outcome is entries.
type pageScript struct {
	Name    string   `json:"name"`
	Guard   string   `json:"guard"`
	Steps   []step   `json:"steps"`
	Cursors []string `json:"cursors"`
	Entries []string `json:"entries,omitempty"`
	Outcome string   `json:"outcome"`
}

func passkeys(link string, ids ...string) step {
	s := step{Status: 200, Headers: map[string]string{"Content-Type": "application/json"}}
	if link != "" {
		s.Headers["Link"] = link
	}
	entries := []string{}
	for _, id := range ids {
		entries = append(entries, fmt.Sprintf(`{"id":%q,"created_at":"2026-11-21T09:30:00.000Z","last_used_at":null}`, id))
	}
	s.Body = "[" + strings.Join(entries, ",") + "]"
	return s
}

func pages() (any, error) {
	next := func(cursor string) string { return "<" + pagesOf + "?limit=2&cursor=" + cursor + `>; rel="next"` }
	gone := problemStep(503, "unavailable", "Retry-After", "0")
	last := passkeys("", "pk_9")
	scripts := []pageScript{
		{"one page", "none", []step{passkeys("", "pk_1", "pk_2")}, []string{""}, []string{"pk_1", "pk_2"}, "entries"},
		{"no entries", "none", []step{passkeys("")}, []string{""}, nil, "entries"},
		{"three pages", "none", []step{passkeys(next("c2"), "pk_1", "pk_2"), passkeys(next("c3"), "pk_3"), last}, []string{"", "c2", "c3"}, []string{"pk_1", "pk_2", "pk_3", "pk_9"}, "entries"},
		{"an empty page before the last", "none", []step{passkeys(next("c2"), "pk_1"), passkeys(next("c3")), last}, []string{"", "c2", "c3"}, []string{"pk_1", "pk_9"}, "entries"},
		{"an unavailable service between two pages", "none", []step{passkeys(next("c2"), "pk_1"), gone, {Drop: true}, last}, []string{"", "c2", "c2", "c2"}, []string{"pk_1", "pk_9"}, "entries"},
		{"a cursor with characters that are escaped", "none", []step{passkeys(next("a%2Bb%2Fc%3D%26"), "pk_1"), last}, []string{"", "a+b/c=&"}, []string{"pk_1", "pk_9"}, "entries"},
		{"a link without quotation marks", "none", []step{passkeys("<"+pagesOf+"?cursor=c2>; rel=next", "pk_1"), last}, []string{"", "c2"}, []string{"pk_1", "pk_9"}, "entries"},
		{"the second of two links", "none", []step{passkeys("<"+pagesOf+`?cursor=c0>; rel="prev", `+next("c2"), "pk_1"), last}, []string{"", "c2"}, []string{"pk_1", "pk_9"}, "entries"},
		{"a link to what is no next page", "none", []step{passkeys("<"+pagesOf+`?cursor=c2>; rel="prev"`, "pk_1")}, []string{""}, []string{"pk_1"}, "entries"},
		{"a link to another host, from which only the cursor is taken", "page_host", []step{passkeys(`<http://127.0.0.1:9/elsewhere?cursor=c2>; rel="next"`, "pk_1"), last}, []string{"", "c2"}, []string{"pk_1", "pk_9"}, "entries"},
		{"a page that links to itself", "page_repeated", []step{passkeys(next("c2"), "pk_1"), passkeys(next("c2"), "pk_2"), last}, []string{"", "c2"}, nil, protocol},
		{"a second page that is refused by something in between", "none", []step{passkeys(next("c2"), "pk_1"), {Status: 404, Headers: map[string]string{"Content-Type": "text/html"}, Body: "<html>"}}, []string{"", "c2"}, nil, refused},
	}
	return object{"version": version, "operation": "listPasskeys", "subject": pageSubject, "limit": 2, "scripts": scripts}, nil
}

// streamScript lists the connections of one stream of events and the Last-Event-ID of each, empty for none. The client connects again
// until it has the events, or ends with another outcome.
type streamScript struct {
	Name        string        `json:"name"`
	Guard       string        `json:"guard"`
	LastEventID string        `json:"last_event_id,omitempty"`
	Steps       []step        `json:"steps"`
	Resumed     []string      `json:"resumed"`
	Events      []streamEvent `json:"events,omitempty"`
	Outcome     string        `json:"outcome"`
}

type streamEvent struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	Data any    `json:"data"`
}

func streams() (any, error) {
	sent := func(body string) step {
		return step{Status: 200, Headers: map[string]string{"Content-Type": "text/event-stream"}, Body: body}
	}
	message := func(id string) string { return "id: " + id + "\nevent: hold.opened\ndata: {\"id\":\"" + id + "\"}\n\n" }
	event := func(id string) streamEvent { return streamEvent{id, "hold.opened", object{"id": id}} }
	payee := "Jürgen\u2028Groß\u0085😀"
	scripts := []streamScript{
		{"two events", "none", "", []step{sent(message("evt_1") + message("evt_2"))}, []string{""}, []streamEvent{event("evt_1"), event("evt_2")}, "events"},
		{"continued after the last event", "resume", "evt_0", []step{sent(": hello\n\n" + message("evt_1")), sent(message("evt_2") + ": heartbeat\n\n")},
			[]string{"evt_0", "evt_1"}, []streamEvent{event("evt_1"), event("evt_2")}, "events"},
		{"an event that was cut comes again", "resume", "", []step{sent(message("evt_1") + "id: evt_2\nevent: hold.opened\ndata: {}\n"), sent(message("evt_2"))},
			[]string{"", "evt_1"}, []streamEvent{event("evt_1"), event("evt_2")}, "events"},
		{"continued from the position before the first event", "resume", "", []step{
			sent("id: pos_1\nretry: 2000\n\n"), sent("id: pos_1\nretry: 2000\n\nid: evt_0\nevent: hold.opened\nda"), sent("retry: 2000\n\n" + message("evt_1"))},
			[]string{"", "pos_1", "pos_1"}, []streamEvent{event("evt_1")}, "events"},
		{"a gap that cannot be sent", "none", "evt_0", []step{sent("id: pos_3\nevent: resync\ndata: {\"reason\":\"too_old\"}\n\n"), sent(message("evt_1"))},
			[]string{"evt_0", "pos_3"}, []streamEvent{{"pos_3", "resync", object{"reason": "too_old"}}, event("evt_1")}, "events"},
		{"line ends of HTTP", "none", "", []step{sent(strings.ReplaceAll("id: pos_1\n\n"+message("evt_1"), "\n", "\r\n"))}, []string{""}, []streamEvent{event("evt_1")}, "events"},
		{"data in two lines, and separators of other standards", "lines", "",
			[]step{sent("id: evt_1\nevent: hold.opened\ndata: {\"payee\":\ndata: \"" + payee + "\"}\n\n"), sent(message("evt_9"))}, []string{""},
			[]streamEvent{{"evt_1", "hold.opened", object{"payee": payee}}}, "events"},
		{"after a quota and an unavailable service", "none", "evt_0", []step{problemStep(429, "too_many_streams"), problemStep(503, "unavailable"), {Drop: true}, sent(message("evt_1"))},
			[]string{"evt_0", "evt_0", "evt_0", "evt_0"}, []streamEvent{event("evt_1")}, "events"},
		{"after a portal's page", "content_type", "", []step{{Status: 200, Headers: map[string]string{"Content-Type": "text/html"}, Body: message("evt_9")}, sent(message("evt_1"))},
			[]string{"", ""}, []streamEvent{event("evt_1")}, "events"},
		{"a refusal", "refusal", "", []step{problemStep(403, "insufficient_scope"), sent(message("evt_9"))}, []string{""}, nil, refused},
		{"data that are no JSON", "json", "", []step{sent("id: evt_1\nevent: hold.opened\ndata: {half\n\n"), sent(message("evt_9"))}, []string{""}, nil, protocol},
	}
	return object{"version": version, "operation": "streamEvents", "scripts": scripts}, nil
}

// keyScript lists the responses for one key set and the verifications that need it: at seconds after the first, a genuine proof of a
// kid. Fetches is how many of the responses are asked for.
type keyScript struct {
	Name    string    `json:"name"`
	Guard   string    `json:"guard"`
	Steps   []step    `json:"steps"`
	Checks  []keyCase `json:"checks"`
	Fetches int       `json:"fetches"`
}

type keyCase struct {
	At      int64  `json:"at"`
	Kid     string `json:"kid"`
	Proof   string `json:"proof"`
	Outcome string `json:"outcome"` // valid, proof_key_unknown or unavailable
}

func keySets() (any, error) {
	set := func(age string, kids ...string) step {
		keys := []string{}
		for _, kid := range kids {
			keys = append(keys, string(must(json.Marshal(jwk(key(kid), kid, nil)))))
		}
		return step{Status: 200, Headers: map[string]string{"Content-Type": "application/json", "Cache-Control": "public, max-age=" + age}, Body: `{"keys":[` + strings.Join(keys, ",") + `]}`}
	}
	gone := problemStep(503, "unavailable")
	checked := func(at int64, kid, outcome string) keyCase {
		times := object{"iat": now + at - 60, "nbf": now + at - 60, "exp": now + at + 240}
		return keyCase{at, kid, sign(key(kid), `{"alg":"ES256","kid":"`+kid+`","typ":"poa+jwt"}`, claims(times)), outcome}
	}
	const valid, unknown = "valid", "proof_key_unknown"
	scripts := []keyScript{
		{"fetched once", "none", []step{set("300", "k1")}, []keyCase{checked(0, "k1", valid), checked(1, "k1", valid), checked(299, "k1", valid)}, 1},
		{"fetched again after its time", "max_age", []step{set("60", "k1")}, []keyCase{checked(0, "k1", valid), checked(59, "k1", valid), checked(61, "k1", valid)}, 2},
		{"a key that was removed", "max_age", []step{set("60", "k1", "k2"), set("60", "k2")}, []keyCase{checked(0, "k1", valid), checked(61, "k1", unknown), checked(62, "k2", valid)}, 2},
		{"kept for ten seconds at least", "least", []step{set("0", "k1")}, []keyCase{checked(0, "k1", valid), checked(9, "k1", valid), checked(11, "k1", valid)}, 2},
		{"kept for an hour at most", "most", []step{set("86400", "k1"), set("86400", "k2")}, []keyCase{checked(0, "k1", valid), checked(3700, "k1", unknown)}, 2},
		{"a new key", "none", []step{set("300", "k1"), set("300", "k1", "k2")}, []keyCase{checked(0, "k1", valid), checked(20, "k2", valid), checked(21, "k1", valid)}, 2},
		{"an unknown key causes one fetch in ten seconds", "refetch", []step{set("300", "k1")},
			[]keyCase{checked(0, "k1", valid), checked(1, "k9", unknown), checked(20, "k9", unknown), checked(21, "k9", unknown), checked(29, "k9", unknown)}, 2},
		{"known keys while the service is unavailable", "none", []step{set("60", "k1"), gone}, []keyCase{checked(0, "k1", valid), checked(61, "k1", valid), checked(62, "k1", valid)}, 2},
		{"an unknown key while the service is unavailable", "failed", []step{set("300", "k1"), gone}, []keyCase{checked(0, "k1", valid), checked(20, "k2", "unavailable")}, 2},
		{"an hour after the last fetch", "beyond_an_hour", []step{set("60", "k1"), gone}, []keyCase{checked(0, "k1", valid), checked(3700, "k1", "unavailable")}, 2},
		{"unavailable from the beginning", "failed", []step{gone}, []keyCase{checked(0, "k1", "unavailable")}, 1},
		{"a portal's page", "key_set", []step{{Status: 200, Headers: map[string]string{"Content-Type": "text/html"}, Body: "<html>"}}, []keyCase{checked(0, "k1", "unavailable")}, 1},
		{"an object that is no key set", "key_set", []step{{Status: 200, Headers: map[string]string{"Content-Type": "application/json"}, Body: `{"k1":{}}`}}, []keyCase{checked(0, "k1", "unavailable")}, 1},
		{"a key set with another status", "status", []step{{Status: 500, Headers: set("300").Headers, Body: set("300", "k1").Body}}, []keyCase{checked(0, "k1", "unavailable")}, 1},
		{"a redirect", "redirect", []step{{Status: 302, Headers: map[string]string{"Location": "/elsewhere"}}, set("300", "k1")}, []keyCase{checked(0, "k1", "unavailable")}, 1},
	}
	return object{"version": version, "issuer": issuer, "environment": environment, "audience": audience, "now": now,
		"expect": object{"action": "payments.transfer", "subject": "user-1", "resource": object{"type": "account", "id": "acc-1"}, "context": payment}, "scripts": scripts}, nil
}

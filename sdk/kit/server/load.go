package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"net/url"
	"strings"
)

// scripted is one case of the kit: what the client receives, and what it should send.
type scripted struct {
	File, Name, Guard string
	Outcome           string // what the client should make of it; empty if the kit's file says more than a word
	Steps             []step // sent in turn; after the last, the first again
	Calls             []call // wanted; a single one stands for every call
	Least, Most       int    // number of calls
}

// path is the case's base URL on the server.
func (c *scripted) path() string { return "/" + c.File + "/" + url.PathEscape(c.Name) }

// wanted returns the call that is expected as the n-th, counted from 0; nil if any is.
func (c *scripted) wanted(n int) *call {
	switch {
	case len(c.Calls) == 1:
		return &c.Calls[0]
	case n < len(c.Calls):
		return &c.Calls[n]
	}
	return nil
}

// step is one response; Drop closes the connection instead, and Length declares a longer body than is sent.
type step struct {
	Status  int
	Headers map[string]string
	Body    string
	Drop    bool
	Length  int `json:"content_length"`
}

// call describes a request. A header that is empty must be missing, one that is * may have any value. A nil Query or Body is not compared.
type call struct {
	Method   string
	Segments []string
	Query    map[string]string
	Headers  map[string]string
	Body     any
}

var bearer = map[string]string{"Authorization": "Bearer *", "Accept": "application/json"}

// recorded is a request for a decision.
type recorded struct{ Request any }

func (r recorded) call() call {
	return call{Method: "POST", Segments: []string{"api", "v1", "authorize"}, Headers: bearer, Body: r.Request}
}

// load reads the cases of every file of the kit.
func load(kit fs.FS) ([]*scripted, error) {
	var out []*scripted
	seen := map[string]bool{}
	for _, file := range []struct {
		name string
		read func(text []byte) ([]*scripted, error)
	}{
		{"requests", requests}, {"responses", responses}, {"retries", retries}, {"pages", pages}, {"streams", streams}, {"keys", keys},
		{"proofs", proofs}, {"webhooks", webhooks}, {"canonical", canonical},
	} {
		text, err := fs.ReadFile(kit, file.name+".json")
		if err != nil {
			return nil, err
		}
		cases, err := file.read(text)
		if err != nil {
			return nil, fmt.Errorf("%s.json: %w", file.name, err)
		}
		for _, c := range cases {
			c.File = file.name
			if seen[c.path()] || len(c.Steps) == 0 {
				return nil, fmt.Errorf("%s.json: the case %q is there twice, or has no response", file.name, c.Name)
			}
			seen[c.path()] = true
		}
		out = append(out, cases...)
	}
	return out, nil
}

func requests(text []byte) (out []*scripted, err error) {
	var set struct {
		Cases []struct {
			Name, Guard string
			Request     call
			Response    step
		}
	}
	err = json.Unmarshal(text, &set)
	for _, c := range set.Cases {
		if c.Request.Query == nil {
			c.Request.Query = map[string]string{}
		}
		out = append(out, &scripted{Name: c.Name, Guard: c.Guard, Outcome: "no error", Steps: []step{c.Response}, Calls: []call{c.Request}, Least: 1, Most: 1})
	}
	return out, err
}

func responses(text []byte) (out []*scripted, err error) {
	var set struct {
		Recorded []recorded
		Cases    []struct {
			step
			Name, Guard, Outcome string
			Of                   int
		}
	}
	err = json.Unmarshal(text, &set)
	for _, c := range set.Cases {
		out = append(out, &scripted{Name: c.Name, Guard: c.Guard, Outcome: c.Outcome, Steps: []step{c.step}, Calls: []call{set.Recorded[c.Of].call()}, Least: 1, Most: 1})
	}
	return out, err
}

func retries(text []byte) (out []*scripted, err error) {
	var set struct {
		Recorded recorded
		Scripts  []struct {
			Name, Guard, Outcome string
			Steps                []step
			Attempts             int
		}
	}
	err = json.Unmarshal(text, &set)
	for _, s := range set.Scripts {
		out = append(out, &scripted{Name: s.Name, Guard: s.Guard, Outcome: s.Outcome, Steps: s.Steps, Calls: []call{set.Recorded.call()}, Least: s.Attempts, Most: s.Attempts})
	}
	return out, err
}

func pages(text []byte) (out []*scripted, err error) {
	var set struct {
		Subject string
		Limit   int
		Scripts []struct {
			Name, Guard, Outcome string
			Steps                []step
			Cursors              []string
		}
	}
	err = json.Unmarshal(text, &set)
	for _, s := range set.Scripts {
		c := &scripted{Name: s.Name, Guard: s.Guard, Outcome: s.Outcome, Steps: s.Steps, Least: len(s.Cursors), Most: len(s.Cursors)}
		for _, cursor := range s.Cursors {
			query := map[string]string{"limit": fmt.Sprint(set.Limit)}
			if cursor != "" {
				query["cursor"] = cursor
			}
			c.Calls = append(c.Calls, call{Method: "GET", Segments: []string{"api", "v1", "subjects", set.Subject, "passkeys"}, Query: query, Headers: bearer})
		}
		out = append(out, c)
	}
	return out, err
}

func streams(text []byte) (out []*scripted, err error) {
	var set struct {
		Scripts []struct {
			Name, Guard, Outcome string
			Steps                []step
			Resumed              []string
		}
	}
	err = json.Unmarshal(text, &set)
	for _, s := range set.Scripts {
		c := &scripted{Name: s.Name, Guard: s.Guard, Outcome: s.Outcome, Steps: s.Steps, Least: len(s.Resumed), Most: len(s.Resumed)}
		for _, id := range s.Resumed {
			c.Calls = append(c.Calls, call{Method: "GET", Segments: []string{"api", "v1", "events", "stream"},
				Headers: map[string]string{"Authorization": "Bearer *", "Accept": "text/event-stream", "Last-Event-ID": id}})
		}
		out = append(out, c)
	}
	return out, err
}

// keySet is the request for the keys of an issuer, which has no credential.
func keySet(issuer string) call {
	return call{Method: "GET", Segments: []string{".well-known", "service-proof-keys.json"}, Query: map[string]string{"issuer": issuer}, Headers: map[string]string{"Authorization": ""}}
}

func keys(text []byte) (out []*scripted, err error) {
	var set struct {
		Issuer  string
		Scripts []struct {
			Name, Guard string
			Steps       []step
			Checks      []struct {
				At           int
				Kid, Outcome string
			}
			Fetches int
		}
	}
	err = json.Unmarshal(text, &set)
	for _, s := range set.Scripts {
		var checks []string
		for _, c := range s.Checks {
			checks = append(checks, fmt.Sprintf("%s after %d s: %s", c.Kid, c.At, c.Outcome))
		}
		out = append(out, &scripted{Name: s.Name, Guard: s.Guard, Outcome: strings.Join(checks, ", "), Steps: s.Steps, Calls: []call{keySet(set.Issuer)}, Least: s.Fetches, Most: s.Fetches})
	}
	return out, err
}

func proofs(text []byte) (out []*scripted, err error) {
	var set struct {
		Issuer string
		JWKS   json.RawMessage
		Cases  []struct {
			Name, Guard, Code string
			JWKS              json.RawMessage
		}
	}
	err = json.Unmarshal(text, &set)
	for _, c := range set.Cases {
		if c.JWKS == nil {
			c.JWKS = set.JWKS
		}
		if c.Code == "" {
			c.Code = "valid"
		}
		served := step{Status: 200, Headers: map[string]string{"Content-Type": "application/json"}, Body: string(c.JWKS)}
		out = append(out, &scripted{Name: c.Name, Guard: c.Guard, Outcome: c.Code, Steps: []step{served}, Calls: []call{keySet(set.Issuer)}, Most: 1})
	}
	return out, err
}

// webhooks serves each delivery as a response, with its headers and its body.
func webhooks(text []byte) (out []*scripted, err error) {
	var set struct {
		Cases []struct {
			step
			Name, Guard string
			Accepted    bool
		}
	}
	err = json.Unmarshal(text, &set)
	for _, c := range set.Cases {
		outcome := "refused"
		if c.Accepted {
			outcome = "accepted"
		}
		c.Status = 200
		out = append(out, &scripted{Name: c.Name, Guard: c.Guard, Outcome: outcome, Steps: []step{c.step}, Most: math.MaxInt})
	}
	return out, err
}

func canonical(text []byte) (out []*scripted, err error) {
	var set struct {
		Cases, Refused []struct{ Name, Guard, JSON, Canonical string }
	}
	err = json.Unmarshal(text, &set)
	for _, c := range append(set.Cases, set.Refused...) {
		outcome := c.Canonical
		if outcome == "" {
			outcome = "refused"
		}
		served := step{Status: 200, Headers: map[string]string{"Content-Type": "application/json"}, Body: c.JSON}
		out = append(out, &scripted{Name: c.Name, Guard: c.Guard, Outcome: outcome, Steps: []step{served}, Most: math.MaxInt})
	}
	return out, err
}

package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/middleware"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/strictjson"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

// A batch that ran out of quota is not stored for its Idempotency-Key: a repeat must not return its denials.
func TestABatchThatPartlyFailedIsNotStored(t *testing.T) {
	t.Parallel()
	const limit = 3
	l := newLimited(t, limit)
	ask := func() (*http.Response, string) {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, pathAccessBatch, strings.NewReader(
			`{"subject":{"type":"user","id":"u"},"resource":{"type":"account","id":"a"},"evaluations":[{"action":{"name":"one"}},{"action":{"name":"two"}}]}`))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", "batch-1")
		res, body := l.send(t, req)
		require.Equal(t, http.StatusOK, res.StatusCode, "%s", body)
		return res, body
	}

	for range limit - 1 {
		l.credential(t)
	}
	_, body := ask()
	require.Contains(t, body, `"status":429`)

	l.clock.Advance(2 * time.Hour)
	res, body := ask()
	require.Empty(t, res.Header.Get(middleware.HeaderReplayed))
	require.Equal(t, 2, strings.Count(body, `"status":404`), "%s", body)
	res, again := ask()
	require.Equal(t, "true", res.Header.Get(middleware.HeaderReplayed), "a batch whose denials are final is stored")
	require.Equal(t, body, again)
}

// The validated request is decided: encoding/json would take the first of these names for the second.
func TestAccessRequestsAreReadByTheirExactNames(t *testing.T) {
	t.Parallel()
	valid := func() map[string]any {
		return map[string]any{
			"subject": map[string]any{"type": "user", "id": "alice", "properties": map[string]any{"a": 1.0, "A": 2.0}}, "action": map[string]any{"name": "transfer"},
			"resource": map[string]any{"type": "account", "id": "1"}, "context": map[string]any{"countersign": map[string]any{"nonce": "n"}, "Amount": 1.0},
		}
	}
	in, err := readAccess(valid())
	require.NoError(t, err)
	require.Equal(t, []string{"alice", "transfer", "n"}, []string{in.Subject.ID, in.Action.Name, in.options.Nonce})
	for name, put := range map[string]func(v map[string]any){
		"ſubject":    func(v map[string]any) { v["ſubject"] = map[string]any{"type": "user", "id": "mallory"} },
		"Subject":    func(v map[string]any) { v["Subject"] = nil },
		"ID":         func(v map[string]any) { v["subject"].(map[string]any)["ID"] = "mallory" },
		"Name":       func(v map[string]any) { v["action"].(map[string]any)["Name"] = "erase" },
		"Properties": func(v map[string]any) { v["resource"].(map[string]any)["Properties"] = 1.0 },
		"CONTEXT":    func(v map[string]any) { v["CONTEXT"] = map[string]any{} },
		"AUDIENCE": func(v map[string]any) {
			v["context"].(map[string]any)["countersign"].(map[string]any)["AUDIENCE"] = "x"
		},
	} {
		v := valid()
		put(v)
		_, err := readAccess(v)
		require.ErrorContains(t, err, "validation_error", name)
	}
}

// The service decides the values that the text of a request has under the exact names of the contract, or refuses the request: for
// 10,000 bodies with members that are sent twice, differ in case or by a letter that folds to another, or are unknown.
func TestAccessRequestsMeanWhatTheirTextSays(t *testing.T) {
	t.Parallel()
	s := newContract(t)
	force := &action.InForce{Contract: policy.Contract{AllowedAudiences: []string{"payments"}}}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	decided, refused := 0, 0
	for i := range uint64(10_000) {
		w := accessWriter{Rand: rand.New(rand.NewPCG(seed, i))} // #nosec G404 -- inputs of a test
		batch := w.IntN(3) == 0
		text := w.request(batch)
		got, err := accessOf(s, text, batch, force)
		if err != nil {
			p := request.ProblemOf(middleware.AsBadRequest(err))
			require.True(t, decidesFalse(p) && problem.Of(p.Code).Status >= http.StatusBadRequest, "seed %d, body %d: %v\n%s", seed, i, err, text)
			refused++
			continue
		}
		want, err := exactAccess(text, batch)
		require.NoError(t, err, "seed %d, body %d was decided\n%s", seed, i, text)
		if want.Nonce == "" {
			want.Nonce = got.Nonce // a random one
		}
		got.IdempotencyKey, got.RequestedAt = "", 0
		require.Equal(t, want, got, "seed %d, body %d\n%s", seed, i, text)
		decided++
	}
	require.Greater(t, decided, 1000, "seed %d", seed)
	require.Greater(t, refused, 1000, "seed %d", seed)
}

// accessOf returns the request that the routes decide for a body; its action is the one that the body names.
func accessOf(s middleware.Contract, text string, batch bool, force *action.InForce) (authorization.Request, error) {
	operation := evaluateAccess
	if batch {
		operation = "evaluateAccessBatch"
	}
	value, err := s.Decode(operation, []byte(text), strictjson.Limits{})
	if err != nil {
		return authorization.Request{}, err
	}
	body := value.(map[string]any)
	if batch {
		item, _ := body["evaluations"].([]any)[0].(map[string]any)
		body = merged(body, item)
		if err := s.Check(evaluateAccess, body); err != nil {
			return authorization.Request{}, err
		}
	}
	in, err := readAccess(body)
	if err != nil {
		return authorization.Request{}, err
	}
	named := *force
	named.Action.Key = in.Action.Name
	return in.request(&named, time.Unix(0, 0))
}

// accessWriter writes random bodies of the Authorization API.
type accessWriter struct{ *rand.Rand }

// request returns a body with all that is required, and odd members at random places.
func (w accessWriter) request(batch bool) string {
	part := func(members ...string) string {
		if w.IntN(3) == 0 {
			members = append(members, `"properties":`+w.object([]string{`"limit":1`}, "limit"))
		}
		return w.object(members, "type", "id", "name", "properties")
	}
	options := []string{`"session":` + w.text()}
	if w.IntN(2) == 0 {
		options = append(options, `"audience":`+w.text())
	}
	if w.IntN(2) == 0 {
		options = append(options, `"nonce":`+w.text())
	}
	context := []string{`"amount":` + strconv.Itoa(w.IntN(9))}
	if w.IntN(2) == 0 {
		context = append(context, `"countersign":`+w.object(options, "audience", "nonce", "session"))
	}
	parts := []string{
		`"subject":` + part(`"type":"user"`, `"id":`+w.text()), `"action":` + part(`"name":`+w.text()),
		`"resource":` + part(`"type":"account"`, `"id":`+w.text()), `"context":` + w.object(context, "countersign", "amount"),
	}
	names := []string{"subject", "action", "resource", "context"}
	if !batch {
		return w.object(parts, names...)
	}
	item := []string{`"action":` + part(`"name":`+w.text())}
	if w.IntN(2) == 0 {
		item = append(item, `"subject":`+part(`"id":`+w.text()))
	}
	return w.object(append(parts, `"evaluations":[`+w.object(item, names...)+`]`), append(names, "evaluations")...)
}

// object writes members in a random order, and sometimes an odd one beside them, whose name resembles one of names.
func (w accessWriter) object(members []string, names ...string) string {
	for w.IntN(12) == 0 {
		members = append(members, w.name(names[w.IntN(len(names))])+":"+w.value())
	}
	w.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return "{" + strings.Join(members, ",") + "}"
}

// name returns a name like the given one, as JSON.
func (w accessWriter) name(like string) string {
	at := w.IntN(len(like))
	switch w.IntN(6) {
	case 0:
		return strconv.Quote(like)
	case 1:
		return fmt.Sprintf(`"%s\u%04x%s"`, like[:at], like[at], like[at+1:])
	case 2:
		return strconv.Quote(like[:at] + strings.ToUpper(like[at:at+1]) + like[at+1:])
	case 3:
		return strconv.Quote(strings.NewReplacer("s", "ſ", "k", "\u212a").Replace(like))
	case 4:
		return fmt.Sprintf(`"\ufeff%s"`, like)
	}
	return strconv.Quote(like + strconv.Itoa(w.IntN(3)))
}

func (w accessWriter) value() string {
	return []string{w.text(), "null", "1", `{"type":"user","id":"mallory","name":"erase"}`, `[]`, `{"audience":"other"}`}[w.IntN(6)]
}

func (w accessWriter) text() string { return fmt.Sprintf(`"value-of-16-or-more-%d"`, w.IntN(1000)) }

// exactAccess reads a body by exact names alone. A name that occurs twice in one object is an error.
func exactAccess(text string, batch bool) (authorization.Request, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	tree, err := exactValue(decoder)
	if err != nil {
		return authorization.Request{}, err
	}
	body := tree.(map[string]any)
	at := func(part string) map[string]any {
		members, _ := body[part].(map[string]any)
		if !batch {
			return members
		}
		own, replaced := body["evaluations"].([]any)[0].(map[string]any)[part].(map[string]any)
		if !replaced {
			return members
		}
		out := maps.Clone(own)
		for _, name := range required[part] {
			if _, given := out[name]; !given {
				out[name] = members[name]
			}
		}
		return out
	}
	r := authorization.Request{Audience: "payments"}
	r.Subject, _ = at("subject")["id"].(string)
	r.Action, _ = at("action")["name"].(string)
	r.Resource.Type, _ = at("resource")["type"].(string)
	r.Resource.ID, _ = at("resource")["id"].(string)
	details := maps.Clone(at("context"))
	if options, given := details["countersign"].(map[string]any); given {
		if audience, given := options["audience"].(string); given {
			r.Audience = audience
		}
		r.Nonce, _ = options["nonce"].(string)
		if session, given := options["session"].(string); given {
			r.Session = &session
		}
	}
	delete(details, "countersign")
	for _, part := range []string{"subject", "action", "resource"} {
		if properties, _ := at(part)["properties"].(map[string]any); len(properties) > 0 {
			details[part+"_properties"] = properties
		}
	}
	r.Context, err = json.Marshal(details)
	return r, err
}

// exactValue reads the next value token by token.
func exactValue(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		out := map[string]any{}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			if _, twice := out[name.(string)]; twice {
				return nil, fmt.Errorf("%q occurs twice", name)
			}
			if out[name.(string)], err = exactValue(d); err != nil {
				return nil, err
			}
		}
		_, err = d.Token()
		return out, err
	case json.Delim('['):
		out := []any{}
		for d.More() {
			item, err := exactValue(d)
			if err != nil {
				return nil, err
			}
			out = append(out, item)
		}
		_, err = d.Token()
		return out, err
	}
	return token, nil
}

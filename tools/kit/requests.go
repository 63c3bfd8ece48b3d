package main

import "maps"

// requestCase is a call and the request that a client sends for it. Segments of the path are as they are before they are escaped. Of the
// headers, one that is empty must be missing, and one that is * may have any value.
type requestCase struct {
	Name      string            `json:"name"`
	Guard     string            `json:"guard"`
	Operation string            `json:"operation"`
	Path      object            `json:"path,omitempty"`
	Query     object            `json:"query,omitempty"`
	Body      object            `json:"body,omitempty"`
	Request   request           `json:"request"`
	Response  step              `json:"response"`
	Headers   map[string]string `json:"headers,omitempty"` // that the caller sets
}

type request struct {
	Method   string            `json:"method"`
	Segments []string          `json:"segments"`
	Query    map[string]string `json:"query"`
	Headers  map[string]string `json:"headers"`
	Body     any               `json:"body"` // null: none
}

func requests() (any, error) {
	set, err := recordings()
	if err != nil {
		return nil, err
	}
	with := func(context object) object {
		body := maps.Clone(set[0].Request)
		body["context"] = context
		return body
	}
	bearer := func(more ...string) map[string]string {
		h := map[string]string{"Authorization": "Bearer sk_test_x", "Accept": "application/json"}
		for i := 0; i+1 < len(more); i += 2 {
			h[more[i]] = more[i+1]
		}
		return h
	}
	authorize := func(name, guard string, body object) requestCase {
		return requestCase{Name: name, Guard: guard, Operation: "authorize", Body: body, Response: step{Status: 200, Headers: jsonType, Body: set[0].Answer},
			Request: request{"POST", []string{"api", "v1", "authorize"}, nil, bearer("Content-Type", "application/json"), body}}
	}
	link := func(name, guard, id string) requestCase {
		return requestCase{Name: name, Guard: guard, Operation: "createChallengeLink", Path: object{"challenge_id": id},
			Response: step{Status: 201, Headers: jsonType, Body: `{"url":"https://countersign.example/c/1","expires_at":"2026-11-21T09:30:00.000Z"}`},
			Request:  request{"POST", []string{"api", "v1", "challenges", id, "link"}, nil, bearer("Idempotency-Key", "*"), nil}}
	}
	list := func(name, guard, subject string, query object, sent map[string]string) requestCase {
		return requestCase{Name: name, Guard: guard, Operation: "listPasskeys", Path: object{"subject_id": subject}, Query: query, Response: passkeys("", "pk_1"),
			Request: request{"GET", []string{"api", "v1", "subjects", subject, "passkeys"}, sent, bearer("Content-Type", "", "Idempotency-Key", ""), nil}}
	}
	cases := []requestCase{
		authorize("a decision", "none", set[0].Request),
		authorize("a context with texts of every kind", "none", with(object{"payee": "Jürgen Groß 😀", "lines": "a\n\t\u2028\"\\</script>", "empty": ""})),
		authorize("a context with numbers, truth values and nested members", "none", with(object{"amount": 120.5, "small": 0.000001, "most": 9007199254740991, "yes": true, "none": nil,
			"nested": object{"list": []any{1, "2", []any{}}}})),
		link("an id in the path", "none", "chl_1"),
		link("an id that is escaped", "escaping", "chl/1 ü?#%&+;="),
		list("a list", "none", "user-1", nil, nil),
		list("a list of a subject that is escaped, with a query", "escaping", "a/b c+d", object{"limit": 2, "cursor": "a+b/c=& ü"}, map[string]string{"limit": "2", "cursor": "a+b/c=& ü"}),
	}
	return object{"version": version, "key": "sk_test_x", "cases": cases}, nil
}

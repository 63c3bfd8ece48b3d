package main

// step is one response of a script; Drop closes the connection instead.
type step struct {
	Status  int               `json:"status,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    string            `json:"body,omitempty"`
	Drop    bool              `json:"drop,omitempty"`
}

// script lists the responses to one call of authorize by a client that retries twice, and how often the client tries. After the last step
// the script begins again. Attempts must have one idempotency key.
type script struct {
	Name     string `json:"name"`
	Guard    string `json:"guard"`
	Steps    []step `json:"steps"`
	Attempts int    `json:"attempts"`
	Outcome  string `json:"outcome"`
}

// problemStep is a refusal by the service.
func problemStep(status int, code string, headers ...string) step {
	h := map[string]string{"Content-Type": "application/problem+json"}
	for i := 0; i+1 < len(headers); i += 2 {
		h[headers[i]] = headers[i+1]
	}
	return step{Status: status, Headers: h, Body: `{"type":"about:blank","title":"T","detail":"D.","code":"` + code + `","request_id":"req_1"}`}
}

func retries() (any, error) {
	set, err := recordings()
	if err != nil {
		return nil, err
	}
	whole := step{Status: 200, Headers: jsonType, Body: set[0].Answer}
	busy, gone, lost := problemStep(429, "rate_limited", "Retry-After", "0"), problemStep(503, "unavailable", "Retry-After", "0"), step{Drop: true}
	portal := step{Status: 200, Headers: map[string]string{"Content-Type": "text/html"}, Body: "<html>"}
	scripts := []script{
		{"at once", "none", []step{whole}, 1, decision},
		{"after a quota", "none", []step{busy, whole}, 2, decision},
		{"after it was unavailable", "none", []step{gone, whole}, 2, decision},
		{"after a lost response", "none", []step{lost, whole}, 2, decision},
		{"after a garbled response", "none", []step{portal, whole}, 2, decision},
		{"after two failures", "none", []step{lost, gone, whole}, 3, decision},
		{"never", "bounded", []step{gone}, 3, unavailable},
		{"lost for ever", "bounded", []step{lost}, 3, unavailable},
		{"a quota for ever", "bounded", []step{busy}, 3, limited},
		{"a quota, then nothing", "limit_remembered", []step{busy, lost, lost}, 3, limited},
		{"a quota for an hour", "longest_pause", []step{problemStep(429, "rate_limited", "Retry-After", "3600")}, 1, limited},
		{"a quota for longer than a number of seconds holds", "longest_pause", []step{problemStep(429, "rate_limited", "Retry-After", "18446744073709551616")}, 1, limited},
		{"a quota for longer than a duration holds", "longest_pause", []step{problemStep(503, "unavailable", "Retry-After", "10000000000")}, 1, unavailable},
		{"a refusal is not repeated", "refusal", []step{problemStep(404, "not_found"), whole}, 1, refused},
		{"a refusal by something in between is not repeated", "refusal", []step{{Status: 403, Headers: portal.Headers, Body: "<html>"}, whole}, 1, refused},
		{"a redirect is not repeated", "redirect", []step{{Status: 302, Headers: map[string]string{"Location": "/elsewhere"}}, whole}, 1, protocol},
	}
	return object{"version": version, "recorded": set[0], "scripts": scripts}, nil
}

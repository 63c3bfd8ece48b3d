package integration_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// misread are texts that a person reads as something else, or that hide a part of themselves.
var misread = map[string]string{
	"direction": "Pay\u202ekcab", "invisible": "Pay\u200bment", "a mark of direction": "Pay\u200ement", "a joiner": "Pay\u200dment", "a filler": "Pay\u3164ment", "a tag": "Pay\U000e0041",
	"two scripts": "P\u0430yment", "digits of two scripts": "Pay 1\u06623", "a ligature": "\ufb01nance", "no character": "Pay\uffff", "a control": "Pay\u0085ment",
}

// Every text that people read before they approve something is refused if it can be misread, whichever operation stores it.
func TestNoNameIsReadAsAnother(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	id, _ := w.action(t, "enforce", allowing)
	version := func(requirements object) func(text string) response {
		return func(text string) response {
			return w.Server.post(t, "/api/v1/actions/"+id+"/policy-versions", with(object{"requirements": with(allowing, requirements)}, object{"reason": text}))
		}
	}
	action := func(field string, value func(text string) any) func(text string) response {
		return func(text string) response {
			return w.Server.post(t, "/api/v1/actions", with(object{"key": "k" + unique(), "name": "N", "consequence": "C.", "allowed_audiences": []string{"a"}}, object{field: value(text)}))
		}
	}
	alone := func(text string) any { return text }
	environment := func(field string) func(text string) response {
		return func(text string) response { return w.Admin.patch(t, "/api/v1/environment", object{field: text}) }
	}
	for field, send := range map[string]func(text string) response{
		"the name of an action":          action("name", alone),
		"the consequence of an action":   action("consequence", alone),
		"the resource type of an action": action("resource_type", alone),
		"an audience":                    action("allowed_audiences", func(text string) any { return []string{text} }),
		"the reason of a version":        version(object{}),
		"the name of the relying party":  environment("rp_name"),
		"the address of the case system": func(text string) response { return environment("case_link")("https://crm.example/" + text) },
		"the name of the brand": func(text string) response {
			return w.Admin.patch(t, "/api/v1/environment", object{"brand": object{"name": text}})
		},
		"the name of a key": func(text string) response {
			return w.Admin.post(t, "/api/v1/credentials", object{"name": text, "scope": "server"})
		},
		"the name of a team": func(text string) response {
			return w.Admin.post(t, "/api/v1/teams", object{"key": "t" + unique(), "name": text})
		},
		"the name of an evaluation": func(text string) response {
			return w.Server.post(t, "/api/v1/evaluations", object{"name": text, "action_keys": []string{"a"}})
		},
		"the description of a list": func(text string) response {
			return w.Admin.post(t, "/api/v1/lists", object{"name": "l" + unique(), "kind": "text", "description": text})
		},
		"the description of an endpoint": func(text string) response {
			return w.Admin.post(t, "/api/v1/webhook-endpoints", object{"url": "http://127.0.0.1:9/" + unique(), "events": []string{"hold.*"}, "description": text})
		},
		"the reference of a recovery": func(text string) response {
			return w.Server.post(t, "/api/v1/subjects/"+w.subject(t)+"/recovery", object{"anchor": "none", "reference": text})
		},
		"the address of a webhook": func(text string) response {
			return w.Admin.post(t, "/api/v1/webhook-endpoints", object{"url": "https://hooks.example/" + text, "events": []string{"hold.*"}})
		},
		"the id of a subject": func(text string) response { return w.Server.post(t, "/api/v1/subjects", object{"id": text}) },
		"the key of a team":   func(text string) response { return w.Admin.post(t, "/api/v1/teams", object{"key": text, "name": "N"}) },
		"the name of a list": func(text string) response {
			return w.Admin.post(t, "/api/v1/lists", object{"name": text, "kind": "text"})
		},
		"the reason of a rule": func(text string) response {
			return version(object{"rules": []object{{"name": "r", "when": "true", "requirements": holdMatched, "reason": text}}})("R.")
		},
		"the name of a rule": func(text string) response {
			return version(object{"rules": []object{{"name": text, "when": "true", "requirements": holdMatched, "reason": "R."}}})("R.")
		},
		"the name of a step": func(text string) response {
			return version(object{"review": object{"steps": []object{{"name": text, "entries": []object{{"approvals": 1}}}}}})("R.")
		},
		"the label of a detail": func(text string) response {
			return w.Server.post(t, "/api/v1/actions/"+id+"/policy-versions", object{"requirements": allowing, "context_schema": object{
				"type": "object", "properties": object{"a": object{"type": "string", "x-countersign-display": object{"label": text, "format": "text"}}},
			}})
		},
	} {
		for kind, text := range misread {
			got := send(text)
			require.Equal(t, 422, got.status, "%s, %s: %s", field, kind, got.body)
			require.NotEmpty(t, got.faults())
		}
	}
}

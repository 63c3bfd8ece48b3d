package events

import "slices"

// Envelope fields as a type's schema names them: required, or optional.
var (
	subject       = req("subject", text)
	maybeSubject  = opt("subject", text)
	action        = req("action", text)
	maybeAction   = opt("action", text)
	authorization = req("authorization", text)
	maybeAuthz    = opt("authorization", text)
	decision      = req("decision", enum("allow", "challenge", "hold", "deny"))
	maybeDecision = opt("decision", enum("allow", "challenge", "hold", "deny"))
	verdict       = req("decision", enum("accept", "challenge", "reject"))
)

// public defines a type that is shown outside the audit log. The example is the data as it is shown, envelope fields included.
func public(data Data, description string, example map[string]any, envelope ...field) Definition {
	example["environment"] = "env_01jqx3k5v8e2sbyk0c4m7t9wzd"
	return Definition{Type: data.EventType(), Public: true, Description: description,
		Schema: object(append(envelope, fieldsOf(data)...)), Example: example, data: []Data{data}}
}

// audit defines an audit-only type. A type whose events have different fields names a struct for each.
func audit(description string, data ...Data) Definition {
	envelope := []field{maybeSubject, maybeAction, maybeAuthz, opt("decision", text)}
	return Definition{Type: data[0].EventType(), Description: description, Schema: auditObject(envelope, data), data: data}
}

// catalogue has the events of every file data_*.go, which declares their types, data and descriptions. docs/events.md repeats the
// descriptions (a test compares them). The public part is a published contract: testdata/catalogue.jsonl pins its order, schemas and examples.
var catalogue = slices.Concat(
	decisionEvents, changeEvents, subjectEvents, outcomeEvents, operationEvents, accountEvents,
	teamEvents, listEvents, noticeEvents, backgroundEvents, consoleEvents, historiesEvents, directoryEvents, signalEvents, destinationEvents,
)

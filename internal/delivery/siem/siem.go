// Package siem shows the sealed log of an environment to a SIEM: as OCSF 1.8.0 events and as OTLP logs. It reads the log in the order of its chain and
// nothing else, so that a receiver loses no entry and has them in order, and no decision waits for it.
//
// The values are those of the log, under its privacy rules: of an erased entry only the time, the type and the actor are left. The mapping of each type
// is in package events.
package siem

import (
	"encoding/json"
	"strings"

	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/events"
)

// OCSFVersion is the version of the schema.
const OCSFVersion = "1.8.0"

const category = 3 // Identity & Access Management

// The captions of the schema.
var (
	classNames = map[events.Class]string{
		events.ClassAccount: "Account Change", events.ClassAuthentication: "Authentication", events.ClassEntity: "Entity Management",
		events.ClassAccess: "User Access Management", events.ClassGroup: "Group Management",
	}
	activityNames = map[events.Class]map[events.ActivityID]string{
		events.ClassAccount:        {events.AccountCreate: "Create", events.AccountEnable: "Enable", events.AccountDelete: "Delete"},
		events.ClassAuthentication: {events.SignIn: "Logon", events.SignOut: "Logoff"},
		events.ClassAccess:         {events.AccessAssign: "Assign Privileges", events.AccessRevoke: "Revoke Privileges"},
		events.ClassGroup:          {events.GroupDelete: "Delete", events.GroupCreate: "Create"},
		events.ClassEntity: {
			events.ActivityCreate: "Create", events.ActivityRead: "Read", events.ActivityUpdate: "Update", events.ActivityDelete: "Delete",
			events.ActivityEnroll: "Enroll", events.ActivityEnable: "Enable", events.ActivityActivate: "Activate", events.ActivityDeactivate: "Deactivate",
		},
	}
	severityNames = map[events.Severity]string{events.Informational: "Informational", events.Low: "Low", events.Medium: "Medium", events.High: "High"}
)

// Source says where entries come from: the environment's tenant and the version of the service.
type Source struct{ Tenant, Environment, Version string }

// OCSF returns a sealed entry as an OCSF event. The id of the entry is metadata.uid, by which a receiver recognises a repetition; its number in the
// chain is metadata.sequence.
func (s Source) OCSF(l audit.Link) (map[string]any, error) {
	e := l.Event
	data, err := events.Payload(*e)
	if err != nil {
		return nil, err
	}
	kind := events.Type(e.Type)
	m, _ := events.MappingOf(kind)
	definition, _ := events.Lookup(kind)
	activity, name := m.Activity, activityNames[m.Class][m.Activity]
	if m.Class == events.ClassAccess {
		activity, name = access(data)
	}
	if name == "" {
		name = e.Type
	}
	status, statusName := 1, "Success"
	if m.Failed {
		status, statusName = 2, "Failure"
	}
	out := map[string]any{
		"category_uid": category, "category_name": "Identity & Access Management", "class_uid": int(m.Class), "class_name": classNames[m.Class],
		"activity_id": int(activity), "activity_name": name, "type_uid": int(m.Class)*100 + int(activity), "type_name": classNames[m.Class] + ": " + name,
		"severity_id": int(m.Severity), "severity": severityNames[m.Severity], "status_id": status, "status": statusName,
		"time": e.At.UnixMilli(), "message": definition.Description, "actor": map[string]any{"user": user(e.Actor)}, "metadata": s.metadata(l), "unmapped": data,
	}
	for attribute, value := range about(m.Class, kind, data, e.Actor) {
		out[attribute] = value
	}
	return out, nil
}

func (s Source) metadata(l audit.Link) map[string]any {
	out := map[string]any{
		"version": OCSFVersion, "uid": l.Event.ID, "sequence": l.Seq, "event_code": l.Event.Type, "log_name": s.Environment, "tenant_uid": s.Tenant,
		"logged_time": l.SealedAt.UnixMilli(), "product": map[string]any{"name": "Countersign", "vendor_name": "Countersign", "version": s.Version},
	}
	if l.Event.RequestID != nil {
		out["correlation_uid"] = *l.Event.RequestID
	}
	return out
}

// about returns what an event is about, in the attributes of its class.
func about(class events.Class, kind events.Type, data map[string]any, actor string) map[string]any {
	switch class {
	case events.ClassAccount, events.ClassAuthentication, events.ClassAccess:
		of := map[string]any{"name": "unknown", "type_id": 0, "type": "Unknown"} // a failed sign-in of no one who is known
		if person := word(data, "person"); person != "" {
			of = user("person:" + person)
		} else if strings.HasPrefix(actor, "person:") {
			of = user(actor)
		}
		out := map[string]any{"user": of}
		if class == events.ClassAuthentication {
			out["service"] = map[string]any{"name": "Countersign console"}
		}
		if class == events.ClassAccess {
			out["privileges"] = append(words(data, "granted"), words(data, "withdrawn")...)
		}
		return out
	case events.ClassGroup:
		return map[string]any{"group": named(word(data, "team"), word(data, "key"), kind)}
	}
	noun, _, _ := strings.Cut(string(kind), ".")
	of := named(target(noun, data), "", kind)
	of["type"], of["type_id"] = noun, int(events.ActivityOther)
	return map[string]any{"entity": of}
}

// named returns an object with an id or a name: the schema demands one.
func named(uid, name string, kind events.Type) map[string]any {
	out := map[string]any{}
	if uid != "" {
		out["uid"] = uid
	}
	if name != "" {
		out["name"] = name
	}
	if len(out) == 0 {
		out["name"], _, _ = strings.Cut(string(kind), ".")
	}
	return out
}

// target returns the id of what changed: the field of the noun or of one of its names, or what the entry is about otherwise.
func target(noun string, data map[string]any) string {
	for _, name := range []string{noun, noun + "_id", "target", "credential", "endpoint", "token", "session", "authorization", "subject", "action", "environment"} {
		if id := word(data, name); id != "" {
			return id
		}
	}
	return ""
}

// access returns the activity of a change of roles.
func access(data map[string]any) (events.ActivityID, string) {
	switch given, taken := len(words(data, "granted")) > 0, len(words(data, "withdrawn")) > 0; {
	case given && taken:
		return events.ActivityOther, "Assign and Revoke Privileges"
	case taken:
		return events.AccessRevoke, activityNames[events.ClassAccess][events.AccessRevoke]
	}
	return events.AccessAssign, activityNames[events.ClassAccess][events.AccessAssign]
}

// user returns an actor. Programs are services of the schema, what the service does by itself is the system.
func user(actor string) map[string]any {
	kind, _, _ := strings.Cut(actor, ":")
	switch kind {
	case "person":
		return map[string]any{"uid": actor, "type_id": 1, "type": "User"}
	case "credential", "directory", "identity_provider", "signal_stream":
		return map[string]any{"uid": actor, "type_id": 4, "type": "Service"}
	case "cli":
		return map[string]any{"uid": actor, "type_id": 2, "type": "Admin"}
	}
	return map[string]any{"uid": actor, "type_id": 3, "type": "System"}
}

func word(data map[string]any, name string) string {
	s, _ := data[name].(string)
	return s
}

func words(data map[string]any, name string) []string {
	out := []string{}
	list, _ := data[name].([]any)
	for _, item := range list {
		if s, ok := item.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// severityNumbers are those of the data model of OpenTelemetry logs.
var severityNumbers = map[events.Severity]int{events.Informational: 9, events.Low: 10, events.Medium: 13, events.High: 17}

// OTLP returns sealed entries as a request of OTLP logs in JSON, as the file exporter of a collector writes it: resource, scope, one record an entry. The id
// of an entry is the attribute event.id.
func (s Source) OTLP(links ...audit.Link) (map[string]any, error) {
	records := make([]any, len(links))
	for i, l := range links {
		var err error
		if records[i], err = logRecord(l); err != nil {
			return nil, err
		}
	}
	resource := []any{
		text("service.name", "countersign"), text("service.version", s.Version), text("countersign.tenant", s.Tenant), text("countersign.environment", s.Environment),
	}
	return map[string]any{"resourceLogs": []any{map[string]any{
		"resource":  map[string]any{"attributes": resource},
		"scopeLogs": []any{map[string]any{"scope": map[string]any{"name": "countersign.audit"}, "logRecords": records}},
	}}}, nil
}

func logRecord(l audit.Link) (map[string]any, error) {
	e := l.Event
	data, err := events.Payload(*e)
	if err != nil {
		return nil, err
	}
	m, _ := events.MappingOf(events.Type(e.Type))
	body, err := json.Marshal(data)
	if err != nil {
		return nil, err
	}
	attributes := []any{text("event.id", e.ID), text("enduser.id", e.Actor), map[string]any{"key": "countersign.sequence", "value": map[string]any{"intValue": number(l.Seq)}}}
	if e.RequestID != nil {
		attributes = append(attributes, text("countersign.request_id", *e.RequestID))
	}
	return map[string]any{
		"timeUnixNano": number(e.At.UnixNano()), "observedTimeUnixNano": number(l.SealedAt.UnixNano()), "severityNumber": severityNumbers[m.Severity],
		"severityText": severityNames[m.Severity], "eventName": e.Type, "body": map[string]any{"stringValue": string(body)}, "attributes": attributes,
	}, nil
}

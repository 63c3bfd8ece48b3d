package siem_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/delivery/siem"
	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/models"
)

var source = siem.Source{Tenant: "tnt_1", Environment: "env_1", Version: "1.1.0"}

// linkOf returns a sealed entry of a type with data.
func linkOf(t *testing.T, kind events.Type, actor string, data map[string]any) audit.Link {
	t.Helper()
	var raw models.JSON
	if data != nil {
		var err error
		raw, err = json.Marshal(data)
		require.NoError(t, err)
	}
	request := "req_1"
	at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	return audit.Link{Seq: 7, EventID: "evt_1", SealedAt: at, Event: &models.Event{
		ID: "evt_1", TenantID: "tnt_1", EnvironmentID: "env_1", Type: string(kind), At: at, Actor: actor, RequestID: &request, Data: raw,
	}}
}

// decoded returns a value as a receiver reads it.
func decoded(t *testing.T, event map[string]any) map[string]any {
	t.Helper()
	raw, err := json.Marshal(event)
	require.NoError(t, err)
	var out map[string]any
	require.NoError(t, json.Unmarshal(raw, &out))
	return out
}

func TestEveryTypeIsAValidOCSFEvent(t *testing.T) {
	t.Parallel()
	s := readSchema(t)
	for _, kind := range events.Types() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			_, mapped := events.MappingOf(kind)
			require.True(t, mapped, "internal/platform/events/ocsf.go lacks the type")
			for name, data := range map[string]map[string]any{
				"full":   {"person": "prs_1", "team": "tem_1", "key": "finance", "granted": []string{"reviewer"}, "withdrawn": []string{"auditor"}, "authorization": "azn_1"},
				"erased": nil,
			} {
				for _, actor := range []string{"person:prs_2", "credential:crd_1", "directory:dtk_1", "cli:migrate", "workflow"} {
					event, err := source.OCSF(linkOf(t, kind, actor, data))
					require.NoError(t, err)
					require.Empty(t, s.faults(decoded(t, event)), "%s by %s", name, actor)
				}
			}
		})
	}
}

func TestValidatorFindsFaults(t *testing.T) {
	t.Parallel()
	s := readSchema(t)
	for name, spoil := range map[string]func(map[string]any){
		"an unknown attribute":      func(e map[string]any) { e["colour"] = "red" },
		"a missing one":             func(e map[string]any) { delete(e, "entity") },
		"a value out of the enum":   func(e map[string]any) { e["activity_id"] = 77.0 },
		"a text for a number":       func(e map[string]any) { e["time"] = "now" },
		"neither name nor id":       func(e map[string]any) { e["entity"] = map[string]any{} },
		"an unknown one in a part":  func(e map[string]any) { e["actor"].(map[string]any)["colour"] = "red" },
		"a type of another class":   func(e map[string]any) { e["type_uid"] = 300101.0 },
		"a version that is another": func(e map[string]any) { e["metadata"].(map[string]any)["version"] = "1.9.0" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			event, err := source.OCSF(linkOf(t, events.HoldOpened, "credential:crd_1", map[string]any{"authorization": "azn_1"}))
			require.NoError(t, err)
			out := decoded(t, event)
			require.Empty(t, s.faults(out))
			spoil(out)
			require.NotEmpty(t, s.faults(out))
		})
	}
}

func TestOTLPRecordHasTheIdTheOrderAndTheData(t *testing.T) {
	t.Parallel()
	event, err := source.OTLP(linkOf(t, events.HoldOpened, "credential:crd_1", map[string]any{"authorization": "azn_1"}))
	require.NoError(t, err)
	raw, err := json.Marshal(event)
	require.NoError(t, err)
	for _, part := range []string{
		`"key":"event.id","value":{"stringValue":"evt_1"}`, `"key":"countersign.sequence","value":{"intValue":"7"}`, `"timeUnixNano":"1772355600000000000"`,
		`"eventName":"hold.opened"`, `azn_1`, `"severityNumber":10`,
	} {
		require.Contains(t, string(raw), part)
	}
}

// schema is the part of OCSF in testdata.
type schema struct {
	classes    map[int]definition
	objects    map[string]definition
	dictionary map[string]attribute
}

type definition struct {
	Extends     string               `json:"extends"`
	UID         int                  `json:"uid"`
	Name        string               `json:"name"`
	Attributes  map[string]attribute `json:"attributes"`
	Constraints map[string][]string  `json:"constraints"`
}

type attribute struct {
	Type        string         `json:"type"`
	Requirement string         `json:"requirement"`
	IsArray     bool           `json:"is_array"`
	Enum        map[string]any `json:"enum"`
}

func readSchema(t *testing.T) schema {
	t.Helper()
	s := schema{classes: map[int]definition{}, objects: map[string]definition{}}
	var dictionary struct {
		Attributes map[string]attribute `json:"attributes"`
	}
	read(t, "testdata/ocsf/dictionary.json", &dictionary)
	s.dictionary = dictionary.Attributes
	named := map[string]definition{}
	for _, folder := range []string{"events", "objects"} {
		files, err := filepath.Glob(filepath.Join("testdata", "ocsf", folder, "*.json"))
		require.NoError(t, err)
		for _, file := range files {
			var raw map[string]json.RawMessage
			read(t, file, &raw)
			var attributes map[string]json.RawMessage
			require.NoError(t, json.Unmarshal(raw["attributes"], &attributes))
			delete(attributes, "$include") // profiles, none of which is used
			raw["attributes"], _ = json.Marshal(attributes)
			whole, err := json.Marshal(raw)
			require.NoError(t, err)
			var d definition
			require.NoError(t, json.Unmarshal(whole, &d), file)
			named[strings.TrimSuffix(filepath.Base(file), ".json")] = d
		}
	}
	for name := range named {
		d := s.inherit(named, name)
		if d.UID > 0 {
			s.classes[3000+d.UID] = d
		}
		s.objects[name] = d
	}
	return s
}

func read(t *testing.T, file string, to any) {
	t.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, to), file)
}

// inherit adds the attributes of what a definition extends. A value that the definition leaves out is that of the dictionary.
func (s schema) inherit(named map[string]definition, name string) definition {
	d := named[name]
	if d.Extends != "" {
		base := s.inherit(named, d.Extends)
		for key, a := range base.Attributes {
			own, has := d.Attributes[key]
			if own.Requirement == "" {
				own.Requirement = a.Requirement
			}
			if !has || own.Enum == nil {
				own.Enum = a.Enum
			} else {
				for value, caption := range a.Enum {
					own.Enum[value] = caption
				}
			}
			d.Attributes[key] = own
		}
		if d.Constraints == nil {
			d.Constraints = base.Constraints
		}
	}
	return d
}

// faults returns what is wrong with an event.
func (s schema) faults(event map[string]any) (out []string) {
	class, _ := event["class_uid"].(float64)
	d, known := s.classes[int(class)]
	if !known {
		return []string{fmt.Sprintf("unknown class %v", event["class_uid"])}
	}
	if activity, _ := event["activity_id"].(float64); event["type_uid"] != class*100+activity {
		out = append(out, "type_uid is not that of the class and the activity")
	}
	if metadata, _ := event["metadata"].(map[string]any); metadata["version"] != siem.OCSFVersion {
		out = append(out, "metadata.version is not the version of the schema")
	}
	return append(out, s.check(d.Name, d, event)...)
}

func (s schema) check(path string, d definition, object map[string]any) (out []string) {
	for name, a := range d.Attributes {
		if _, has := object[name]; !has && a.Requirement == "required" {
			out = append(out, path+" lacks "+name)
		}
	}
	if one := d.Constraints["at_least_one"]; len(one) > 0 && !slices.ContainsFunc(one, func(name string) bool { return object[name] != nil }) {
		out = append(out, fmt.Sprintf("%s has none of %v", path, one))
	}
	for name, value := range object {
		a, has := d.Attributes[name]
		if !has {
			out = append(out, path+" has the unknown attribute "+name)
			continue
		}
		general := s.dictionary[name]
		if a.Type == "" {
			a.Type = general.Type
		}
		enum := maps.Clone(general.Enum)
		if enum == nil {
			enum = map[string]any{}
		}
		maps.Copy(enum, a.Enum)
		a.Enum = enum
		out = append(out, s.value(path+"."+name, a, general.IsArray, value)...)
	}
	return out
}

func (s schema) value(path string, a attribute, isArray bool, value any) (out []string) {
	if list, ok := value.([]any); isArray && ok {
		for _, item := range list {
			out = append(out, s.value(path, a, false, item)...)
		}
		return out
	}
	wrong := []string{fmt.Sprintf("%s is %v: not %s", path, value, a.Type)}
	switch a.Type {
	case "string_t", "url_t", "email_t", "username_t":
		if _, ok := value.(string); !ok {
			return wrong
		}
	case "integer_t", "long_t", "timestamp_t":
		n, ok := value.(float64)
		if !ok || n != float64(int64(n)) {
			return wrong
		}
		if _, listed := a.Enum[fmt.Sprint(int64(n))]; len(a.Enum) > 0 && !listed && !strings.HasSuffix(path, "class_uid") && !strings.HasSuffix(path, "category_uid") {
			return wrong
		}
	case "boolean_t":
		if _, ok := value.(bool); !ok {
			return wrong
		}
	case "json_t":
	default:
		object, ok := value.(map[string]any)
		d, known := s.objects[a.Type]
		if !ok || !known && a.Type != "object" {
			return wrong
		}
		if a.Type != "object" {
			return s.check(path, d, object)
		}
	}
	return out
}

package main

import (
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
)

// wired are the schemas that become types of api/wire, with those that they refer to. A schema for which a service has a type of its own is
// not among them.
var wired = []string{
	"ActionUpdate", "AdaptationFreeze", "AfterReviewVerdict", "Background", "Brand", "ChallengeCancelled", "ChallengeCompleteRequest", "ChallengeLink",
	"ChallengeLinkRequest", "ChallengePublicView", "ChangeReason", "ChangeRequest", "ClaimInfo", "ClientTokenCreate", "ClientTokenCreated",
	"CredentialCreate", "CredentialIdentity", "CredentialWithKey", "Destination", "DestinationSet", "Enrollment", "EnrollmentComplete", "ErasureReceipt",
	"EvaluationCreate", "HeldReview", "LegacyEnrol", "LegacySessionEnd", "LegacySessionStart", "ManualReviewRequest", "NamedList", "NamedListChange",
	"NamedListEntry", "OutcomeReport", "Passkey", "PasskeyAssertionOptionsRequest", "PasskeyRegistered", "PasskeyRegistrationComplete",
	"PasskeyRegistrationGrant", "PasskeyRegistrationOptionsRequest", "PasskeyRules", "PersonManager", "PersonManagerUpdate", "PolicySimulationRequest",
	"PolicyVersion", "ProofStatus", "ProofVerifyRequest", "ProtectedAction", "Reason", "RelatedOrigins", "ResearchConsentRecord", "ResearchConsentRequest",
	"ReviewAssign", "ReviewAssignment", "ReviewCounts", "RotateRequest", "SessionCreate", "SessionStatus", "SigningKey", "StandingApprovalOpened",
	"StandingLink", "Subject", "SubjectAliases", "SubjectAliasesUpdate", "SubjectCreate", "SubjectReinstate", "Team", "TeamCreate", "TeamUpdate", "Template",
	"TemplateRollback", "WebhookAttempt", "WebhookEndpointWithSecret", "WebhookReplay", "WebhookReplayRequest", "WebhookTestResult",
}

// raw are the schemas whose values are passed on as the JSON that they are: those of other specifications, and what is stored as JSON.
var raw = []string{"AuthenticationResponseJSON", "ChallengeDisplay", "PolicyRequirements", "RegistrationResponseJSON"}

// owned are the types of services and models that stand for a schema.
var owned = map[string]string{
	"ActionText":          "models.ActionText",
	"ChallengeDescriptor": "internal/authz/authorization.ChallengeDescriptor",
	"ChangeDifference":    "internal/authz/change.Difference",
	"DisplayedDetails":    "internal/authz/authorization.Shown",
	"EvaluationCriteria":  "internal/authz/evaluation.Criteria",
	"HoldDescriptor":      "internal/authz/authorization.HoldDescriptor",
	"HoldStep":            "internal/authz/hold.Stage",
	"KeyedCount":          "internal/authz/hold.KeyedCount",
	"NamedListRemoved":    "internal/authz/lists.Removed",
	"Permission":          "models.Permission",
	"PolicySimulation":    "internal/authz/authorization.Simulation",
	"PolicyWarning":       "internal/authz/policy.Warning",
	"ReviewApprovals":     "internal/authz/hold.Approvals",
	"StandingApproval":    "internal/authz/standing.View",
	"SubjectAlias":        "internal/subject/alias.Name",
	"WantedTeam":          "internal/authz/hold.Wanted",
}

// extends are schemas that have all properties of another. The Go type embeds it, so that a handler fills in the common part once.
var extends = map[string]string{
	"CredentialWithKey": "Credential", "LegacyEnrol": "LegacyAuth", "Passkey": "PasskeySummary", "SessionStatus": "Session", "WebhookEndpointWithSecret": "WebhookEndpoint",
}

// present are the optional texts of responses that are written even if they are empty.
var present = []string{"PolicyVersion.reason"}

const module = "github.com/countersign-dev/countersign/"

// wire generates the types of api/wire. In a request an optional value is a pointer only if its absence means something that no value
// means; defaults of the contract are set before it is decoded. In a response null is nil, and what is optional is omitted if it is empty;
// numbers, flags and times have no empty value and are always written.
type wire struct {
	*generator
	requests map[string]bool // the schemas that requests refer to
	reading  bool            // the type of a request is generated
	imports  []string
}

func wireTypes(doc document) (string, error) {
	w := &wire{generator: &generator{doc: doc}, requests: map[string]bool{}}
	for _, item := range doc.Paths {
		for _, op := range item {
			if op.Body != nil {
				for _, content := range op.Body.Content {
					w.reach(content.Schema, w.requests)
				}
			}
		}
	}
	for _, name := range slices.Concat(wired, raw, sortedKeys(owned), sortedKeys(extends)) {
		if doc.Components.Schemas[name] == nil {
			return "", fmt.Errorf("the contract has no schema %s", name)
		}
	}
	all := map[string]bool{}
	for _, name := range wired {
		w.reach(&schema{Ref: name}, all)
	}
	var b strings.Builder
	for _, name := range sortedKeys(all) {
		if s := doc.Components.Schemas[name]; w.isStruct(s) {
			text, err := w.structure(name, s)
			if err != nil {
				return "", err
			}
			b.WriteString(text)
		}
	}
	slices.Sort(w.imports)
	return "import (\n\"encoding/json\"\n\n\"" + strings.Join(slices.Compact(w.imports), "\"\n\"") + "\"\n)\n\n" + b.String(), nil
}

// reach adds the schemas that s refers to.
func (w *wire) reach(s *schema, to map[string]bool) {
	if s == nil {
		return
	}
	if s.Ref != "" {
		name := refName(s.Ref)
		if to[name] || owned[name] != "" || slices.Contains(raw, name) {
			return
		}
		to[name] = true
		if base := extends[name]; base != "" {
			w.reach(&schema{Ref: base}, to)
		}
		w.reach(w.doc.Components.Schemas[name], to)
		return
	}
	for _, p := range s.Properties {
		w.reach(p, to)
	}
	for _, p := range s.AnyOf {
		w.reach(p, to)
	}
	w.reach(s.Items, to)
	w.reach(s.Additional.schema, to)
}

func (w *wire) structure(name string, s *schema) (string, error) {
	var b, defaults strings.Builder
	w.reading = w.requests[name]
	b.WriteString(comment("", fmt.Sprintf("%s: %s", name, s.Description)))
	fmt.Fprintf(&b, "type %s struct {\n", typeName(name))
	base := w.doc.Components.Schemas[extends[name]]
	if base != nil {
		b.WriteString(typeName(extends[name]) + "\n")
		for key, p := range base.Properties {
			if !reflect.DeepEqual(bare(p), bare(s.Properties[key])) || slices.Contains(s.Required, key) != slices.Contains(base.Required, key) {
				return "", fmt.Errorf("%s does not extend %s: %s is different", name, extends[name], key)
			}
		}
	}
	for _, key := range s.order {
		p := s.Properties[key]
		if base != nil && base.Properties[key] != nil {
			continue
		}
		goType, tag := w.goType(p), key
		if w.reading {
			goType = w.read(name, key, goType)
			if p.Default != nil && p.Default != false {
				fmt.Fprintf(&defaults, "v.%s = %#v\n", exported(key), p.Default)
			}
		} else {
			var omit bool
			goType, omit = w.written(p, slices.Contains(s.Required, key), goType)
			if omit && !slices.Contains(present, name+"."+key) {
				tag += omission(goType)
			}
		}
		fmt.Fprintf(&b, "\t%s %s `json:%q`\n", exported(key), goType, tag)
	}
	b.WriteString("}\n\n")
	if defaults.Len() > 0 {
		fmt.Fprintf(&b, "// SetDefaults sets the values of what a request omits.\nfunc (v *%s) SetDefaults() {\n%s}\n\n", typeName(name), defaults.String())
	}
	return b.String(), nil
}

// bare is a schema without what explains it.
func bare(s *schema) schema {
	if s == nil {
		return schema{}
	}
	out := *s
	out.Description = ""
	return out
}

// read returns the type of a property of a request.
func (w *wire) read(name, key, goType string) string {
	s := w.doc.Components.Schemas[name]
	p := s.Properties[key]
	null, required := nullable(p), slices.Contains(s.Required, key)
	pointer := false
	switch {
	case required && !null, strings.HasPrefix(goType, "map["), goType == "json.RawMessage", goType == "any":
	case strings.HasPrefix(goType, "[]"):
		pointer = strings.HasSuffix(name, "Update")
	case strings.HasSuffix(name, "Update"):
		pointer = true
	case goType == "string":
		pointer = null && p.MinLength == 0 && len(p.Enum) == 0
	case goType == "bool":
	case goType == "int", goType == "float64":
		pointer = p.Default == nil
	default:
		pointer = true // times and objects
	}
	if pointer {
		return "*" + goType
	}
	return goType
}

// written returns the type of a property of a response, and whether its zero value is omitted.
func (w *wire) written(p *schema, required bool, goType string) (string, bool) {
	list := strings.HasPrefix(goType, "[]")
	switch {
	case nullable(p) && !list && goType != "json.RawMessage":
		return "*" + goType, false
	case required || nullable(p), goType == "bool", goType == "int", goType == "float64", goType == "Time":
		return goType, false
	case list, strings.HasPrefix(goType, "map["), goType == "json.RawMessage", goType == "any", goType == "string":
		return goType, true
	default:
		return "*" + goType, true
	}
}

// omission is the option of a tag. Stored JSON that is absent may be empty and not nil.
func omission(goType string) string {
	if goType == "json.RawMessage" {
		return ",omitempty"
	}
	return ",omitzero"
}

func nullable(p *schema) bool {
	return p.Ref != "" && refName(p.Ref) == "TimestampOrNull" || slices.Contains(p.Type, "null") || slices.ContainsFunc(p.AnyOf, (*schema).null)
}

// goType returns the Go type of a value that is not null.
func (w *wire) goType(s *schema) string {
	if s.Ref != "" {
		return w.refType(refName(s.Ref))
	}
	if other := slices.DeleteFunc(slices.Clone(s.AnyOf), (*schema).null); len(other) > 0 {
		if len(other) > 1 {
			return "json.RawMessage"
		}
		return w.goType(other[0])
	}
	kinds := slices.DeleteFunc(slices.Clone([]string(s.Type)), func(kind string) bool { return kind == "null" })
	if len(kinds) != 1 {
		return "any"
	}
	switch kinds[0] {
	case "string":
		if s.Format == "date-time" {
			return "Time"
		}
		for name, of := range owned {
			if enum := w.doc.Components.Schemas[name].Enum; len(enum) > 0 && reflect.DeepEqual(enum, s.Enum) {
				return w.named(of)
			}
		}
		return "string"
	case "integer":
		return "int"
	case "number":
		return "float64"
	case "boolean":
		return "bool"
	case "array":
		return "[]" + w.goType(s.Items)
	}
	switch {
	case !w.reading:
		return "json.RawMessage"
	case s.Additional.schema != nil:
		return "map[string]" + w.goType(s.Additional.schema)
	}
	return "map[string]any"
}

func (w *wire) refType(name string) string {
	switch target := w.doc.Components.Schemas[name]; {
	case owned[name] != "":
		return w.named(owned[name])
	case slices.Contains(raw, name):
		return "json.RawMessage"
	case w.isStruct(target):
		return typeName(name)
	default:
		return w.goType(target)
	}
}

// named returns the name of a type of another package, and imports it.
func (w *wire) named(of string) string {
	from, name, _ := strings.Cut(path.Base(of), ".")
	w.imports = append(w.imports, module+path.Join(path.Dir(of), from))
	return from + "." + name
}

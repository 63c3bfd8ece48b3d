package policytest

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/lists"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/rules"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/yamlfile"
)

// maxFile is the maximum size of a file in bytes, and maxCases the maximum number of its cases.
const (
	maxFile  = 1 << 20
	maxCases = 1000
)

// File is a policy with its test cases.
type File struct {
	Cases    []Case
	Warnings []policy.Warning

	// The policy, compiled once for all cases.
	draft  action.Draft
	set    *rules.Set
	kind   policy.EnvironmentKind
	action rules.Action
	lists  map[string]lists.Sample
}

// document is the form of a file.
type document struct {
	Environment policy.EnvironmentKind `yaml:"environment"`
	Action      struct {
		Key       string `yaml:"key"`
		Mode      string `yaml:"mode"`
		RiskClass string `yaml:"risk_class"`
	} `yaml:"action"`
	Policy struct {
		Requirements  yaml.Node `yaml:"requirements"`
		ContextSchema yaml.Node `yaml:"context_schema"`
	} `yaml:"policy"`
	Lists   map[string]lists.Sample `yaml:"lists"` // of the environment
	Cases   []Case                  `yaml:"cases"`
	Anchors yaml.Node               `yaml:"anchors"` // for values that cases share by YAML anchors
}

// Case is one request with the expected decision. Fields that are left out have the values of newCase.
type Case struct {
	Name     string `yaml:"name"`
	Now      moment `yaml:"now"`
	Audience string `yaml:"audience"`
	Resource struct {
		Type string `yaml:"type"`
		ID   string `yaml:"id"`
	} `yaml:"resource"`
	Context            yaml.Node     `yaml:"context"`
	Subject            Subject       `yaml:"subject"`
	Assurance          Assurance     `yaml:"assurance"`
	Counts             []Count       `yaml:"counts"`
	Signals            []Signal      `yaml:"signals"`
	Earlier            []Earlier     `yaml:"earlier"`
	ChallengesUsed     int           `yaml:"challenges_used"`
	ChallengeCompleted policy.Method `yaml:"challenge_completed"`
	HoldApproved       bool          `yaml:"hold_approved"`
	Expect             Expectation   `yaml:"expect"`

	Line int `yaml:"-"`
	in   request
}

// Subject is the subject of a case. Fields whose zero is a value of its own are pointers: no passkey differs from the default of
// one, and an age of zero from that of thirty days.
type Subject struct {
	ID                string         `yaml:"id"`
	Enrollment        string         `yaml:"enrollment"`
	Age               *time.Duration `yaml:"age"`
	Passkeys          *int           `yaml:"passkeys"`
	RecentlyRecovered bool           `yaml:"recently_recovered"`
	Revoked           bool           `yaml:"revoked"`
	Suspected         bool           `yaml:"suspected"` // a security event requires a challenge
}

// Assurance is the recorded assurance of the subject. A case without any has coverage none and insufficient evidence.
type Assurance struct {
	Coverage             policy.Coverage  `yaml:"coverage"`
	FreshnessMS          *int64           `yaml:"freshness_ms"`
	InsufficientEvidence *bool            `yaml:"insufficient_evidence"`
	ReasonCodes          []string         `yaml:"reason_codes"`
	Claims               map[string]Claim `yaml:"claims"`
}

// Claim is one claim. Its coverage and age are those of the profile unless it has its own.
type Claim struct {
	Status      policy.Status   `yaml:"status"`
	Coverage    policy.Coverage `yaml:"coverage"`
	FreshnessMS *int64          `yaml:"freshness_ms"`
	ReasonCodes []string        `yaml:"reason_codes"`
}

// Count is a number of earlier decisions about the subject, in the words of subject.decisions(action, outcome, window). One that a
// case leaves out is zero, as for a subject without decisions.
type Count struct {
	Action  string `yaml:"action"`
	Outcome string `yaml:"outcome"`
	Window  string `yaml:"window"`
	Count   int    `yaml:"count"`
}

// Signal is a number of security events about the subject, in the words of subject.signals(type, window). One that a case leaves out is zero.
type Signal struct {
	Type   string `yaml:"type"`
	Window string `yaml:"window"`
	Count  int    `yaml:"count"`
}

// Earlier is a decision of before, by which the rules count, add up and look for values. Fields that are left out are those
// of the case, and the decision is allow.
type Earlier struct {
	Ago      time.Duration `yaml:"ago"`
	Action   string        `yaml:"action"`
	Decision policy.Effect `yaml:"decision"`
	Subject  string        `yaml:"subject"`
	Resource string        `yaml:"resource"` // its id
	Context  yaml.Node     `yaml:"context"`
	// NotExecuted gives back what the decision counts towards a rule that reserves.
	NotExecuted bool `yaml:"not_executed"`
	// ByPerson says of an allow that it followed a challenge or a hold, or a standing approval.
	ByPerson bool `yaml:"approved_by_person"`
}

// Expectation is the expected decision. Lists that are left out are not compared, and an empty list is: it expects none. Their
// order is compared as well, since reason codes are in order of precedence.
type Expectation struct {
	Decision    policy.Effect `yaml:"decision"`
	ReasonCodes []string      `yaml:"reason_codes"`
	Rules       []string      `yaml:"rules"`
	BreakGlass  []string      `yaml:"break_glass"` // who approves it alone, as policy.BreakGlass writes it
	Standing    []string      `yaml:"standing"`    // by whose standing approvals the request would be allowed, in the order of the policy
	Steps       []string      `yaml:"steps"`       // who approves a held request, as policy.Step writes it, in order
}

// moment is a time in a file.
type moment struct{ time.Time }

// UnmarshalYAML implements yaml.Unmarshaler. An error names the line and the form.
func (m *moment) UnmarshalYAML(node *yaml.Node) error {
	at, err := apitime.Parse(node.Value)
	if err != nil {
		return yamlfile.At(node.Line, "now is %q: it must be a time such as 2027-03-01T09:00:00Z", node.Value)
	}
	m.Time = at
	return nil
}

// Parse reads a file in YAML, or in JSON, which is YAML. Every error is a *yamlfile.Fault.
func Parse(raw []byte) (*File, error) {
	if len(raw) > maxFile {
		return nil, yamlfile.At(0, "the file has a maximum of %d bytes; this one has %d", maxFile, len(raw))
	}
	var doc document
	decoder := yaml.NewDecoder(bytes.NewReader(raw))
	decoder.KnownFields(true)
	if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, yamlfile.At(0, "the file is empty; it needs policy and cases")
	} else if fault := (*yamlfile.Fault)(nil); errors.As(err, &fault) {
		return nil, fault
	} else if err != nil {
		return nil, yamlfile.FaultOf(err)
	}
	f := &File{Cases: doc.Cases, kind: doc.Environment, action: rules.Action{Key: doc.Action.Key, Mode: doc.Action.Mode, RiskClass: doc.Action.RiskClass}}
	if err := f.fillIn(); err != nil {
		return nil, err
	}
	if err := f.policy(doc); err != nil {
		return nil, err
	}
	return f, f.cases(raw)
}

// fillIn checks the bounds of the file and sets the defaults of the policy's environment and action.
func (f *File) fillIn() error {
	if f.kind == "" {
		f.kind = policy.Live
	}
	if f.kind != policy.Live && f.kind != policy.Sandbox {
		return yamlfile.At(0, "environment is live or sandbox, not %q", f.kind)
	}
	for _, d := range []struct {
		field    *string
		fallback string
	}{{&f.action.Key, "test.action"}, {&f.action.Mode, "enforce"}, {&f.action.RiskClass, "high"}} {
		if *d.field == "" {
			*d.field = d.fallback
		}
	}
	switch {
	case len(f.Cases) == 0:
		return yamlfile.At(0, "cases is missing or empty: list at least one request with the expected decision")
	case len(f.Cases) > maxCases:
		return yamlfile.At(0, "a file has at most %d cases; this one has %d", maxCases, len(f.Cases))
	default:
		return nil
	}
}

// policy checks the policy as the service does when a version is created.
func (f *File) policy(doc document) error {
	node := doc.Policy.Requirements
	if node.IsZero() {
		return yamlfile.At(0, "policy.requirements is missing")
	}
	var requirements policy.Requirements
	if err := strictly(&node, &requirements); err != nil {
		return err
	}
	schema := []byte("{}")
	if !doc.Policy.ContextSchema.IsZero() {
		var err error
		if schema, err = toJSON(&doc.Policy.ContextSchema); err != nil {
			return err
		}
	}
	var err error
	if f.draft, err = action.NewDraft(requirements, schema, f.kind); err != nil {
		return refusal(node.Line, err)
	}
	f.Warnings = rules.Warnings(f.draft.Requirements, f.draft.ContextSchema)
	set, faults := rules.Compile(requirements.Rules, f.draft.ContextSchema)
	if len(faults) > 0 {
		worst := faults[0]
		return yamlfile.At(ruleLine(&node, worst.Rule), "the condition of the rule %q: %s", worst.Name, worst.Error())
	}
	f.set, f.lists = set, doc.Lists
	return f.listed()
}

// listed checks that the file has the lists that the rules read, and no other.
func (f *File) listed() error {
	read := map[string]bool{}
	for _, l := range f.set.Lists() {
		read[l.Name] = true
		if _, ok := f.lists[l.Name]; !ok {
			return yamlfile.At(0, "the rule %q reads the list %q: add it to lists, with its kind and entries", l.At.Name, l.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.lists)) {
		if !read[name] {
			return yamlfile.At(0, "no rule reads the list %q", name)
		}
		if err := f.lists[name].Check(name); err != nil {
			return yamlfile.At(0, "%s", err.Error())
		}
	}
	return nil
}

// cases completes the cases with their lines and inputs. The file is parsed a second time, because the decoder of the first pass,
// which refuses unknown properties, does not report lines.
func (f *File) cases(raw []byte) error {
	var root yaml.Node
	if err := yaml.Unmarshal(raw, &root); err != nil {
		return yamlfile.FaultOf(err)
	}
	lines := value(root.Content[0], "cases")
	for i := range f.Cases {
		c := &f.Cases[i]
		c.Line = lines.Content[i].Line
		if err := c.prepare(f); err != nil {
			return err
		}
	}
	return nil
}

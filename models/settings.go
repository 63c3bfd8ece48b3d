package models

import (
	"reflect"
	"strings"
)

// Settings are the settings of an environment that its admins change one by one: with the permission config in the API, and with the right
// ChangeSettings in the console. A new one is a field here, its declaration below and a column of environments of the same name: the
// contract, the API, the console, the command line, events, change requests and the row's MAC read them.
type Settings struct {
	RPName    string  `json:"rp_name" gorm:"column:rp_name"`
	RPOrigins Strings `json:"origins" gorm:"column:rp_origins" schema:"null"`
	// PageOrigin is the origin of the hosted pages; nil is the service's own. ReturnOrigins are origins that they may return people to, in
	// addition to RPOrigins, and FrameAncestors origins that may show them in a frame.
	PageOrigin             *string `json:"page_origin"`
	ReturnOrigins          Strings `json:"return_origins" schema:"null"`
	FrameAncestors         Strings `json:"frame_ancestors" schema:"null"`
	ChallengeTTLSeconds    int     `json:"challenge_ttl_seconds" gorm:"column:challenge_ttl_seconds"`
	HoldTTLSeconds         int     `json:"hold_ttl_seconds" gorm:"column:hold_ttl_seconds"`
	ChangeTTLSeconds       int     `json:"change_ttl_seconds" gorm:"column:change_ttl_seconds"`
	FederatedKeyDays       int     `json:"federated_key_days"` // applies to the keys that exist as well
	BarSelfReview          bool    `json:"bar_self_review"`
	SecondApproverRequired bool    `json:"second_approver_required"`
	// Background names what people are compared with, and so whether the environment learns from its own.
	Background              BackgroundChoice `json:"background"`
	EnrollmentGrantRequired bool             `json:"enrollment_grant_required"`
	KeyExpiryRequired       bool             `json:"key_expiry_required"`
	ReviewNotes             bool             `json:"review_notes"`
	CaseLink                string           `json:"case_link" schema:"empty"` // a template, see tenancy.CaseLink
}

// Setting declares a setting.
type Setting struct {
	Name string // in the API, events, change requests and configuration files
	// Help describes it in the contract, whose sources describe texts and lists.
	Help string
	// Label and Hint are its texts in the console; {rp_id} stands for the environment's RP ID.
	Label, Hint string
	Min, Max    int      // of a number
	Kept        bool     // a form without a value keeps it; otherwise an empty text or list removes the setting, and a number is required
	Choices     []Choice // of a text
}

// Choice is a value of a setting and what it means.
type Choice struct{ Value, Text string }

// DeclaredSettings are the declarations of all settings, in the order of the console.
var DeclaredSettings = []Setting{
	{Name: "rp_name", Label: "Name shown to users", Kept: true},
	{
		Name: "origins", Label: "Origins on which passkeys are used",
		Hint: "One on each line: https with the host {rp_id}, one of the further RP IDs below, or a subdomain; or android:apk-key-hash: with the digest of an Android app's certificate.",
	},
	{Name: "page_origin", Label: "Origin of links to hosted pages", Hint: "One of the origins above; empty for the service's own."},
	{Name: "return_origins", Label: "Further origins that hosted pages link back to"},
	{Name: "frame_ancestors", Label: "Origins that may embed hosted pages in a frame"},
	{
		Name: "challenge_ttl_seconds", Min: 30, Max: 900, Help: "Life of a challenge (seconds).",
		Label: "Life of a challenge (seconds)", Hint: "30 to 900, for new challenges.",
	},
	{
		Name: "hold_ttl_seconds", Min: 60, Max: 2592000, Help: "Life of a hold (seconds).",
		Label: "Life of a hold (seconds)", Hint: "60 to 2592000, for new holds.",
	},
	{
		Name: "change_ttl_seconds", Min: 300, Max: 2592000, Help: "Life of a change request (seconds).",
		Label: "Life of a change request (seconds)", Hint: "300 to 2592000, for new requests.",
	},
	{
		Name: "federated_key_days", Min: 0, Max: 3650, Kept: true,
		Help:  "Days without a sign-in after which the API keys of staff lapse whom an identity provider signs in; 0 is never.",
		Label: "Days after which API keys of single sign-on staff lapse without a sign-in", Hint: "0 to 3650; 0 is never. Empty keeps the value.",
	},
	{
		Name: "bar_self_review", Label: "No one reviews a hold that they requested",
		Help: "Bars self-review of every hold, including pending ones, with any credential. A policy's `self_review` cannot allow it again.",
	},
	{
		Name: "second_approver_required", Label: "Activations, modes, teams and these settings wait for a second approver",
		Help: "Makes activations of policy versions, changes of an action's mode and changes of these settings wait for a second approver. Switching it off waits too.",
	},
	{
		Name: "background", Label: "What people are compared with", Hint: "A change to prior deletes what the environment has learned.",
		Choices: []Choice{
			{string(BackgroundPrior), "prior: the stated model; nothing is learned"},
			{string(BackgroundOwn), "own: learned from people who enroll here"},
			{string(BackgroundShared), "shared: learned with every environment that shares; it contains sums over your people"},
		},
	},
	{
		Name: "enrollment_grant_required", Label: "Enrollment frames require a client token with the purpose enroll",
		Help: "Whether client tokens send enrollment frames only if their `purposes` name `enroll`.",
	},
	{
		Name: "key_expiry_required", Label: "New API keys must expire",
		Help: "Refuses new API keys without `expires_at`, unless the key that issues them expires. Keys that exist and those of the operator are not affected.",
	},
	{
		Name: "review_notes", Label: "Colleagues can read the notes of reviews",
		Help: "Stores the notes of reviews from now on, sealed, so that colleagues can read them; true by default. Of a note with control characters or letters that are easily misread only the digest is stored.",
		Hint: "Notes are stored, sealed, from now on; they are exported and erased with the subject. Otherwise only their digests are stored.",
	},
	{
		Name: "case_link", Label: "URL of a decision in your case system",
		Hint: "https, with {decision_id}, {subject} and {action} in its path or query; the console shows it at each decision.",
	},
}

func (s Setting) field() reflect.StructField {
	for f := range reflect.TypeFor[Settings]().Fields() {
		if f.Tag.Get("json") == s.Name {
			return f
		}
	}
	panic("models: Settings has no field " + s.Name)
}

// Value returns a pointer to the value of the setting.
func (s Setting) Value(of *Settings) any {
	return reflect.ValueOf(of).Elem().FieldByIndex(s.field().Index).Addr().Interface()
}

// Field returns the name of the field of Settings, which is the name of the argument of a statement.
func (s Setting) Field() string { return s.field().Name }

// Column returns the column of environments.
func (s Setting) Column() string {
	if column, named := strings.CutPrefix(s.field().Tag.Get("gorm"), "column:"); named {
		return column
	}
	return s.Name
}

func settingColumns() []string {
	var out []string
	for _, s := range DeclaredSettings {
		out = append(out, s.Column())
	}
	return out
}

package models

import (
	"reflect"
	"slices"
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
	PageOrigin          *string `json:"page_origin"`
	ReturnOrigins       Strings `json:"return_origins" schema:"null"`
	FrameAncestors      Strings `json:"frame_ancestors" schema:"null"`
	ChallengeTTLSeconds int     `json:"challenge_ttl_seconds" gorm:"column:challenge_ttl_seconds"`
	HoldTTLSeconds      int     `json:"hold_ttl_seconds" gorm:"column:hold_ttl_seconds"`
	ChangeTTLSeconds    int     `json:"change_ttl_seconds" gorm:"column:change_ttl_seconds"`
	// ResourceReservationSeconds is how long a request that waits reserves the room of its resource under a limit.
	ResourceReservationSeconds int  `json:"resource_reservation_seconds" gorm:"default:900"`
	FederatedKeyDays           int  `json:"federated_key_days"` // applies to the keys that exist as well
	BarSelfReview              bool `json:"bar_self_review"`
	SecondApproverRequired     bool `json:"second_approver_required"`
	// Background names what people are compared with, and so whether the environment learns from its own.
	Background              BackgroundChoice `json:"background"`
	EnrollmentGrantRequired bool             `json:"enrollment_grant_required"`
	KeyExpiryRequired       bool             `json:"key_expiry_required"`
	ReviewNotes             bool             `json:"review_notes"`
	CaseLink                string           `json:"case_link" schema:"empty"` // a template, see tenancy.CaseLink
	// WorkingZone, WorkingHours and Holidays are the calendar that policies count working time by (tenancy.Calendar). Without WorkingHours there is none.
	WorkingZone  string  `json:"working_zone" schema:"empty"`
	WorkingHours Strings `json:"working_hours" schema:"null"`
	Holidays     Strings `json:"holidays" schema:"null"`
}

// Setting declares a setting.
type Setting struct {
	Name string // in the API, events, change requests and configuration files
	// Help describes it in the contract, whose sources describe texts and lists.
	Help string
	// Question is the question in the console for the settings from this one on.
	Question string
	// Label and Hint are its texts in the console; {rp_id} stands for the environment's RP ID.
	Label, Hint string
	Min, Max    int      // of a number
	Duration    bool     // a number of seconds
	Kept        bool     // a form without a value keeps it; otherwise an empty text or list removes the setting, and a number is required
	Choices     []Choice // of a text
}

// Choice is a value of a setting and what it means.
type Choice struct{ Value, Text string }

// DefaultSettings are the settings of a new environment.
func DefaultSettings(kind EnvironmentKind) Settings {
	out := Settings{ChallengeTTLSeconds: 300, HoldTTLSeconds: 72 * 3600, ChangeTTLSeconds: 24 * 3600, ResourceReservationSeconds: 15 * 60, ReviewNotes: true, Background: BackgroundOwn}
	if kind == Live {
		out.Background, out.BarSelfReview, out.FederatedKeyDays = BackgroundPrior, true, 90
	}
	return out
}

// DeclaredSettings are the declarations of all settings, in the order of the console.
var DeclaredSettings = []Setting{
	{Name: "rp_name", Question: "Who asks your users to confirm?", Label: "Name shown to users", Hint: "They see it when they register a passkey.", Kept: true},
	{
		Name: "origins", Question: "Where do users confirm, and with which passkeys?", Label: "Addresses of your site",
		Hint: "One on each line: https with the host {rp_id}, one of the other RP IDs below, or a subdomain of one; for an Android app android:apk-key-hash: and the digest of its certificate.",
	},
	{Name: "page_origin", Label: "Address of the hosted pages", Hint: "One of the addresses above; empty for the address of this service."},
	{Name: "return_origins", Label: "Other sites that the hosted pages may return users to", Hint: "One https address on each line."},
	{Name: "frame_ancestors", Label: "Sites that may show the hosted pages in a frame", Hint: "One https address on each line."},
	{
		Name: "challenge_ttl_seconds", Question: "How long does a request wait?", Min: 30, Max: 900, Duration: true, Help: "Time limit of a challenge (seconds).",
		Label: "Time limit for users to confirm", Hint: "30 s to 15 min, for new challenges.",
	},
	{
		Name: "hold_ttl_seconds", Min: 60, Max: 2592000, Duration: true, Help: "Time limit of a hold (seconds).",
		Label: "Time limit of a review", Hint: "1 min to 30 days, for new holds. Then the request is denied.",
	},
	{
		Name: "change_ttl_seconds", Min: 300, Max: 2592000, Duration: true, Help: "Time limit of a change request (seconds).",
		Label: "Time limit of a change request", Hint: "5 min to 30 days, for new change requests.",
	},
	{
		Name: "resource_reservation_seconds", Min: 60, Max: 2592000, Duration: true, Kept: true,
		Help:  "Time for which a challenge or a hold reserves room under the limit of its resource (seconds). After it others may use the room, and the follow-up decision is counted anew.",
		Label: "Time for which a waiting request reserves the limit of its account", Hint: "1 min to 30 days, for new requests.",
	},
	{
		Name: "working_zone", Label: "Time zone of the working hours",
		Hint: "Such as Europe/Berlin.",
	},
	{
		Name: "working_hours", Label: "Working hours",
		Hint: "A day or a range of days with its hours on each line, such as mon-thu 09:00-17:30. Empty for none.",
	},
	{Name: "holidays", Label: "Days without work", Hint: "A date on each line, such as 2026-12-24."},
	{
		Name: "bar_self_review", Question: "Who must approve?", Label: "No one may approve their own request",
		Hint: "Applies to every hold, open ones included. Policies cannot allow it again.",
		Help: "Bars self-review of every hold, including pending ones, with any credential. A policy's `self_review` cannot allow it again.",
	},
	{
		Name: "second_approver_required", Label: "Changes of policies, lists, teams, webhooks and these settings need a second approver",
		Hint: "A different person or key approves them. Switching this off needs one too.",
		Help: "Makes activations of policy versions, changes of an action's mode and changes of these settings wait for a second approver. Switching it off waits too.",
	},
	{
		Name: "review_notes", Question: "What do reviewers see?", Label: "Colleagues can read the notes of reviews",
		Help: "Stores the notes of reviews from now on, sealed, so that colleagues can read them; true by default. Of a note with control characters or letters that are easily misread only the digest is stored.",
		Hint: "Notes are stored encrypted from now on, and exported and erased with the user's data. Otherwise only a digest is stored.",
	},
	{
		Name: "case_link", Label: "Link from a decision to your case system",
		Hint: "An https URL with {decision_id}, {subject} and {action} in its path or query.",
	},
	{
		Name: "background", Question: "What is typing compared with?", Label: "What typing is compared with", Hint: "Changing this to prior deletes what the environment has learned.",
		Choices: []Choice{
			{string(BackgroundPrior), "prior: published averages; nothing is learned"},
			{string(BackgroundOwn), "own: learned from the users who enroll here"},
			{string(BackgroundShared), "shared: learned with every environment that shares; it contains sums over your users"},
		},
	},
	{
		Name: "enrollment_grant_required", Label: "Only pages that you name may enroll users",
		Hint: "Client tokens enroll only with the purpose enroll. Otherwise every client token of a user can.",
		Help: "Whether client tokens send enrollment frames only if their `purposes` name `enroll`.",
	},
	{
		Name: "key_expiry_required", Question: "Which API keys are accepted?", Label: "New API keys must expire",
		Help: "Refuses new API keys without `expires_at`, unless the key that issues them expires. Keys that exist and those of the operator are not affected.",
	},
	{
		Name: "federated_key_days", Min: 0, Max: 3650, Kept: true,
		Help:  "Days without a sign-in after which the API keys of staff lapse whom an identity provider signs in; 0 is never.",
		Label: "Days without a sign-in after which keys of single sign-on staff stop working", Hint: "0 to 3650; 0 for never.",
	},
}

// SettingNamed returns the declaration of a setting, and whether there is one.
func SettingNamed(name string) (Setting, bool) {
	i := slices.IndexFunc(DeclaredSettings, func(s Setting) bool { return s.Name == name })
	if i < 0 {
		return Setting{}, false
	}
	return DeclaredSettings[i], true
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

// SettingColumns returns the columns of all declared settings, in the order of their declaration.
func SettingColumns() []string {
	var out []string
	for _, s := range DeclaredSettings {
		out = append(out, s.Column())
	}
	return out
}

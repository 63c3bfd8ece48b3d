package models

import (
	"slices"
	"strings"
	"time"
)

// Team is a group of reviewers of one environment. Policies name it by its key.
type Team struct {
	ID            string `gorm:"primaryKey"`
	TenantID      string
	EnvironmentID string
	Key           string
	Name          string
	CreatedAt     time.Time
	CreatedBy     string
	RowMAC        []byte `gorm:"column:row_mac"` // see pg.Table
}

// TeamMember is one member of a team: an actor that may review, person:<id> or credential:<id>.
type TeamMember struct {
	TeamID        string `gorm:"primaryKey"`
	TenantID      string
	EnvironmentID string
	Member        string `gorm:"primaryKey"`
	AddedAt       time.Time
	AddedBy       string
	RowMAC        []byte `gorm:"column:row_mac"` // see pg.Table
}

// HoldTeam says how many approvals a hold requires of a team, or that it requires the approval of one person. Members of EscalateTeam may give
// them as well from EscalateAt on.
type HoldTeam struct {
	AuthorizationID string `gorm:"primaryKey"`
	TenantID        string
	EnvironmentID   string
	Team            string `gorm:"primaryKey"` // the key of the team; of an entry that names a person, ApproverPrefix and the entry's approver
	Step            int    `gorm:"primaryKey"` // the position of the step, from 0
	Approvals       int
	EscalateTeam    *string
	EscalateAt      *time.Time // nil for a later step, whose opening is not known yet
	EscalateAfter   *int64     // seconds from the opening of a later step; if they count working hours, EscalateAt is set as the step opens
	EscalatedAt     *time.Time // when the escalation was recorded; it takes effect at EscalateAt
	// Of an entry that names a person: the team whose members approve instead, and the person whom the request names, empty for one who is not known and
	// nil for none.
	FallbackTeam *string
	Candidate    *string
	// Person is the one who approves, fixed when the step opens; FallbackReason is why members of FallbackTeam do instead.
	Person         *string
	FallbackReason *string
	RowMAC         []byte `gorm:"column:row_mac"` // see pg.Table
}

// ApproverPrefix begins Team of a row that names a person. No key of a team begins with it.
const ApproverPrefix = "@"

// NamedBy returns what names the person of the row: the policy's approver. It is empty for a row about a team.
func (t HoldTeam) NamedBy() string {
	by, ok := strings.CutPrefix(t.Team, ApproverPrefix)
	if !ok {
		return ""
	}
	return by
}

// Fixed says who approves an entry that names a person, in the words of the log; empty before the step opens.
func (t HoldTeam) Fixed() string {
	switch {
	case t.Person != nil:
		return t.NamedBy() + ": " + *t.Person
	case t.FallbackReason != nil && t.FallbackTeam != nil:
		return t.NamedBy() + ": team " + *t.FallbackTeam + " (" + *t.FallbackReason + ")"
	default:
		return ""
	}
}

// FixedOf returns Fixed of the rows of a step that name people, in the order of Team.
func FixedOf(rows []HoldTeam, step int) []string {
	var out []string
	for _, t := range slices.SortedFunc(slices.Values(rows), func(a, b HoldTeam) int { return strings.Compare(a.Team, b.Team) }) {
		if text := t.Fixed(); t.Step == step && text != "" {
			out = append(out, text)
		}
	}
	return out
}

// EscalationsOf returns the teams of a later step whose time of escalation was fixed when it opened, each with the time, in the order of Team.
func EscalationsOf(rows []HoldTeam, step int) []string {
	var out []string
	for _, t := range slices.SortedFunc(slices.Values(rows), func(a, b HoldTeam) int { return strings.Compare(a.Team, b.Team) }) {
		if t.Step == step && t.EscalateAfter != nil && t.EscalateAt != nil {
			out = append(out, t.Team+": "+t.EscalateAt.UTC().Format(time.RFC3339))
		}
	}
	return out
}

// HoldStep is one of the steps of a hold, in which its approvals are given. A hold without such rows is one step.
type HoldStep struct {
	AuthorizationID string `gorm:"primaryKey"`
	TenantID        string
	EnvironmentID   string
	Step            int `gorm:"primaryKey"` // its position, from 0
	Name            string
	Approvals       int        // those of its rows in hold_teams, and further ones of any reviewer
	WithinSeconds   int64      // 0: as long as the hold waits
	TimeoutTeam     *string    // whose members may approve as well from DueAt on; nil: the hold expires then
	OpenedAt        *time.Time // nil: not yet
	DueAt           *time.Time
	SatisfiedAt     *time.Time // when it was approved first; an approver may have lost their authority since
	RowMAC          []byte     `gorm:"column:row_mac"` // see AttestedTables
}

// Deputy is a person who may approve in the place of another for a period.
type Deputy struct {
	ID            string `gorm:"primaryKey"`
	TenantID      string
	EnvironmentID string
	PersonID      string // who is absent
	DeputyID      string
	StartsAt      time.Time
	EndsAt        time.Time // exclusive; the time of the withdrawal if the person withdrew it
	CreatedAt     time.Time
	RowMAC        []byte `gorm:"column:row_mac"` // see pg.Table
}

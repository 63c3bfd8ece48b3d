package hold_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/docs"
	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/models"
)

// staff has the facts about people that the oracle knows: who has lost their authority, who is deputy of whom and when, who may break the glass, and who broke it
// until when it is to be reviewed.
type staff struct {
	revoked        map[string]bool
	absent, deputy string
	from, until    time.Time
	incident       []string
	broken         map[string]time.Time
}

// seat is one step of a hold: who may approve it, and who may as well once it is escalated. One approval is enough.
type seat struct {
	members, seconds  []string
	within, escalates time.Duration // from its opening; it is never escalated if escalates is 0
	opened            time.Time     // zero before
	votes             map[string]time.Time
}

// oracle is a hold, written as plainly as possible.
type oracle struct {
	*staff
	seats  []seat
	status models.HoldStatus
}

// mayFill reports whether a person may approve a step in their own right.
func (o *oracle) mayFill(i int, who string, at time.Time) bool {
	s := o.seats[i]
	escalated := s.escalates > 0 && !s.opened.IsZero() && !at.Before(s.opened.Add(s.escalates))
	return slices.Contains(s.members, who) || escalated && slices.Contains(s.seconds, who)
}

// inPlace reports whether a vote at a time is also one in the place of the absent person.
func (o *oracle) inPlace(by string, voted time.Time) bool {
	return by == o.deputy && !o.revoked[o.absent] && !voted.Before(o.from) && voted.Before(o.until)
}

// open returns the first step without an approval that counts, and who approved the steps before it.
func (o *oracle) open(at time.Time) (int, map[string]bool) {
	spent := map[string]bool{}
	for i, s := range o.seats {
		var voters []string
		for by := range s.votes {
			if !o.revoked[by] && !spent[by] {
				voters = append(voters, by)
			}
		}
		counted, after := false, maps.Clone(spent)
		for _, by := range voters {
			alone := o.mayFill(i, by, at)
			forAbsent := o.inPlace(by, s.votes[by]) && o.mayFill(i, o.absent, at)
			counted = counted || alone || forAbsent && !spent[o.absent] && !slices.Contains(voters, o.absent)
			after[by] = true
			if forAbsent && !alone {
				after[o.absent] = true
			}
		}
		if !counted {
			return i, spent
		}
		if i == len(o.seats)-1 {
			break
		}
		spent = after
	}
	return len(o.seats), spent
}

// approve returns whether the approval is taken.
func (o *oracle) approve(by string, at time.Time) bool {
	if o.expire(at); o.status != models.HoldPending {
		return false
	}
	open, spent := o.open(at)
	i := min(open, len(o.seats)-1)
	for j, s := range o.seats {
		if _, voted := s.votes[by]; voted && j != i {
			return false
		}
	}
	if spent[by] || !o.mayFill(i, by, at) && (!o.inPlace(by, at) || !o.mayFill(i, o.absent, at)) {
		return false
	}
	_, again := o.seats[i].votes[by]
	if open == len(o.seats) { // an approver returned: repeating the last approval is enough
		if again {
			o.status = models.HoldApproved
		}
		return false
	}
	if again {
		return false
	}
	o.seats[i].votes[by] = at
	if next, _ := o.open(at); next == len(o.seats) {
		o.status = models.HoldApproved
	} else if o.seats[next].opened.IsZero() {
		o.seats[next].opened = at
	}
	return true
}

// breakGlass returns whether one person approves the hold alone.
func (o *oracle) breakGlass(by string, at time.Time) bool {
	if o.expire(at); o.status != models.HoldPending || !slices.Contains(o.incident, by) {
		return false
	}
	for other, due := range o.broken {
		if other == by || !at.Before(due) {
			return false
		}
	}
	o.broken[by], o.status = at.Add(time.Hour), models.HoldApproved
	return true
}

// expire ends the hold once the time of its last opened step is over.
func (o *oracle) expire(at time.Time) {
	var due time.Time
	for _, s := range o.seats {
		if !s.opened.IsZero() {
			due = s.opened.Add(s.within)
		}
	}
	if end := now.Add(life); due.After(end) {
		due = end
	}
	if o.status == models.HoldPending && !at.Before(due) {
		o.status = models.HoldExpired
	}
}

// modelled is a hold with its oracle.
type modelled struct {
	models.Hold
	*oracle
}

// model draws the steps of two holds, and who may approve them.
func (b *bundle) model(r *rand.Rand, seed uint64, people []string, s *staff) []modelled {
	var seats []seat
	var parts []part
	team := func(name string) (key string, members []string) {
		key = fmt.Sprintf("%s_%d", name, seed)
		b.team(key)
		for _, p := range people {
			if r.IntN(2) == 0 {
				members = append(members, p)
				b.member(key, "person:"+p)
			}
		}
		return key, members
	}
	seconds, members := team("seconds")
	glass, incident := team("incident")
	s.incident = incident
	for i := range 1 + r.IntN(3) {
		key, may := team(fmt.Sprintf("step%d", i))
		one := seat{members: may, within: time.Duration(1+r.IntN(40)) * time.Hour, votes: map[string]time.Time{}}
		if r.IntN(2) == 0 {
			one.seconds, one.escalates = members, one.within/4
		}
		seats = append(seats, one)
		parts = append(parts, part{name: fmt.Sprint("s", i), approvals: 1, within: one.within, teams: []wants{{team: key, approvals: 1}}})
	}
	var out []modelled
	for range 2 {
		m := modelled{b.holdIn(false, parts...), &oracle{staff: s, status: models.HoldPending}}
		for i, one := range seats {
			if one.votes = map[string]time.Time{}; i == 0 {
				one.opened = now
			}
			m.seats = append(m.seats, one)
			if one.escalates > 0 {
				b.Exec("update hold_teams set escalate_team = $3, escalate_after = $4 where authorization_id = $1 and step = $2", m.AuthorizationID, i, seconds, int64(one.escalates.Seconds()))
			}
		}
		b.breakable(m.Hold, glass)
		out = append(out, m)
	}
	return out
}

// transitionsOf returns what leads from one state of a hold to another, as docs/states.md says.
func transitionsOf(t *testing.T) []string {
	t.Helper()
	text, err := docs.Files.ReadFile("states.md")
	require.NoError(t, err)
	_, after, found := strings.Cut(string(text), "## Hold")
	require.True(t, found)
	var out []string
	for _, line := range regexp.MustCompile(`(?m)^    (\S+) --> (\w+): (.+)$`).FindAllStringSubmatch(after[:strings.Index(after, "## ")], -1) {
		for _, cause := range strings.Split(line[3], "; ") {
			out = append(out, line[1]+" to "+line[2]+": "+cause)
		}
	}
	return out
}

// causes are the transitions of docs/states.md, with the rows that show that each was made.
var causes = map[string]string{
	"[*] to pending: authorize decides hold":                                      "holds",
	"pending to pending: reminder at half time":                                   "events where type = 'hold.reminder'",
	"pending to pending: an approval of several":                                  "events where type = 'hold.reviewed'",
	"pending to pending: the next step":                                           "events where type = 'hold.step_opened'",
	"pending to pending: an escalation":                                           "events where type = 'hold.escalated'",
	"pending to approved: POST review, the last required approval":                "events where type = 'hold.approved' and data->>'break_glass' is null",
	"pending to approved: POST review, a break-glass":                             "events where type = 'hold.approved' and data->>'break_glass' = 'true'",
	"pending to rejected: POST review reject":                                     "events where type = 'hold.rejected'",
	"pending to expired: timer at due_at (72 h by default, or the end of a step)": "events where type = 'hold.expired'",
	"pending to withdrawn: POST withdraw":                                         "events where type = 'hold.withdrawn'",
}

// Whatever reviewers, deputies, undone reviews, a break-glass, withdrawals, time, a change of the policy and lost authority do in whichever order, a hold is
// in the state that the oracle says; and every transition of docs/states.md is made.
func TestHoldsAgreeWithAnOracle(t *testing.T) {
	t.Parallel()
	require.ElementsMatch(t, transitionsOf(t), slices.Collect(maps.Keys(causes)), "the transitions that the documentation has")
	people := []string{"prs_a", "prs_b", "prs_c", "prs_d", "prs_e"}
	b := setup(t)
	who := map[string]identity.Principal{}
	for _, p := range people {
		who[p] = b.person(p)
	}
	b.deputy("prs_a", "prs_b", 2*time.Hour, 30*time.Hour)
	reached := map[models.HoldStatus]int{}
	deputised, refused := 0, 0
	for seed := range uint64(14) {
		r := rand.New(rand.NewPCG(seed, 52)) // #nosec G404 -- a trace to repeat
		b.clock.Set(now)
		b.Exec("update people set revoked_at = null")
		s := &staff{revoked: map[string]bool{}, broken: map[string]time.Time{}, absent: "prs_a", deputy: "prs_b", from: now.Add(2 * time.Hour), until: now.Add(30 * time.Hour)}
		both := b.model(r, seed, people, s)
		opened := map[string]string{} // the hold whose glass a person broke
		for n := range 24 {
			at, by, m := b.clock.Now(), people[r.IntN(len(people))], both[r.IntN(2)]
			move := hold.Move{ID: m.AuthorizationID, Environment: m.EnvironmentID, At: at, WorkflowID: "hold/" + m.AuthorizationID}
			approved := m.status == models.HoldApproved
			trace := fmt.Sprintf("seed %d, move %d by %s", seed, n, by)
			vote := func(resolution string) error {
				note := "It is urgent."
				p, err := b.service.PrepareReview(t.Context(), who[by], m.AuthorizationID, hold.Vote{Resolution: resolution, Note: &note})
				if err == nil && p.Request != "" {
					_, err = b.service.Review(t.Context(), b.moved(t, p, m.AuthorizationID))
				}
				return err
			}
			switch r.IntN(15) {
			case 0:
				b.clock.Advance(time.Duration(r.IntN(20)) * time.Hour)
			case 1:
				s.revoked[by] = !s.revoked[by]
				b.Exec("update people set revoked_at = case when $2 then $3::timestamptz end where id = $1", by, s.revoked[by], at.Add(-time.Second))
			case 2:
				m.expire(at)
				_, err := b.service.Expire(t.Context(), move)
				require.NoError(t, err, trace)
			case 3:
				_, err := b.service.Remind(t.Context(), move)
				require.NoError(t, err, trace)
			case 4:
				_, err := b.service.Escalate(t.Context(), move)
				require.NoError(t, err, trace)
			case 5:
				if m.expire(at); n > 15 && m.status == models.HoldPending && !s.revoked[by] {
					m.status = models.HoldRejected
					require.NoError(t, vote(hold.Reject), trace)
				}
			case 6:
				if m.expire(at); n < 16 {
					continue
				}
				_, err := b.service.Withdraw(t.Context(), b.Principal("crd_bob"), m.AuthorizationID)
				may := m.status == models.HoldPending || m.status == models.HoldWithdrawn
				require.Equal(t, may, err == nil, "%s: %v", trace, err)
				if may {
					m.status = models.HoldWithdrawn
				}
			case 7: // a review that is undone in time changes nothing
				_, err := b.service.Give(t.Context(), who[by], hold.Vote{Resolution: hold.Reject}, m.AuthorizationID)
				require.NoError(t, err)
				_, err = b.service.Undo(t.Context(), who[by], m.AuthorizationID)
				require.NoError(t, err)
			case 8: // a change of the policy decides what follows, and not what the hold asks for
				b.decision = map[string]string{"allow": "deny", "deny": "allow"}[b.decision]
				b.Exec("update actions set active_policy_version = coalesce(active_policy_version, 0) + 1")
			case 9, 10:
				if len(opened) > 0 && r.IntN(2) == 0 {
					by = slices.Min(slices.Collect(maps.Keys(opened))) // who broke one before
				}
				if s.revoked[by] {
					continue
				}
				before := m.status
				if want, err := m.breakGlass(by, at), vote(hold.BreakGlass); want {
					require.NoError(t, err, trace)
					opened[by] = m.AuthorizationID
				} else if before == models.HoldPending && slices.Contains(s.incident, by) {
					require.Error(t, err, trace)
					refused++
				}
			case 11: // another person closes the review of a break-glass
				for breaker, id := range opened {
					if breaker != by && !s.revoked[by] {
						require.NoError(t, b.verdictBy(t, who[by], id), trace)
						delete(s.broken, breaker)
						delete(opened, breaker)
					}
				}
			default:
				if s.revoked[by] {
					continue // its requests do not arrive
				}
				want, before := m.approve(by, at), len(b.reviewsOf(t, m.Hold))
				err := vote(hold.Approve)
				require.Equal(t, want, err == nil && len(b.reviewsOf(t, m.Hold)) > before, "%s: %v", trace, err)
				if want && m.inPlace(by, at) {
					deputised++
				}
			}
			for _, m := range both {
				row, err := hold.GetHold(t.Context(), b.Store.Q, b.Scope, m.AuthorizationID)
				require.NoError(t, err)
				m.expire(b.clock.Now())
				require.Equal(t, m.status, hold.Effective(row, b.clock.Now()), trace)
			}
			if m.status == models.HoldApproved && !approved {
				require.Equal(t, 1, b.Count(`select count(*) from holds h join authorizations a on a.id = h.child_authorization_id where h.authorization_id = $1
					and a.decision = $2`, m.AuthorizationID, b.decision), "%s: the policy decides what follows", trace)
			}
		}
		for breaker, id := range opened {
			require.NoError(t, b.verdictBy(t, who[people[(slices.Index(people, breaker)+1)%len(people)]], id))
		}
		for _, m := range both {
			reached[m.status]++
		}
	}
	for cause, rows := range causes {
		require.NotZero(t, b.Count("select count(*) from "+rows), cause)
	}
	for _, status := range []models.HoldStatus{models.HoldPending, models.HoldApproved, models.HoldRejected, models.HoldExpired, models.HoldWithdrawn} {
		require.NotZero(t, reached[status], status)
	}
	require.NotZero(t, deputised, "approvals by a deputy")
	require.NotZero(t, refused, "a glass that could not be broken")
}

func (b *bundle) reviewsOf(t *testing.T, h models.Hold) []models.Review {
	t.Helper()
	var rows []models.Review
	require.NoError(t, b.Store.Gorm(t.Context()).Where("environment_id = ? and authorization_id = ?", h.EnvironmentID, h.AuthorizationID).Find(&rows).Error)
	return rows
}

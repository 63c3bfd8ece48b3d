package gate_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/integration/gatetest"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// visit is one request of a client. A state is of one visit, and so is each authorization.
type visit struct {
	person             int
	method, path, body string
}

// clients are random clients of routes whose requests wait for people, who settle some of them meanwhile.
type clients struct {
	*entrance
	*oracle
	rng    *rand.Rand
	tokens []string // by person
	bodies bool     // the gate sees them

	mu      sync.Mutex
	waiting []waiting
	of      map[string]visit // the first request of each authorization
	settled map[string]bool  // authorizations that a person has confirmed or approved
	passed  int              // requests with a state
	asked   map[visit]int    // authorizations that may have been made at most
	keys    map[string]bool  // visits with their Idempotency-Key
}

// waiting is a response that a client can come back with.
type waiting struct {
	state, authorization string
	visit
}

// attempt is one request.
type attempt struct {
	visit
	key, state string
}

func (c *clients) visit() visit {
	v := visit{person: c.rng.IntN(2), method: []string{"POST", "POST", "GET"}[c.rng.IntN(3)],
		path: []string{"/challenge/1", "/challenge/2", "/hold/1", "/hold/2"}[c.rng.IntN(4)] + []string{"", "?amount=1", "?amount=2"}[c.rng.IntN(3)]}
	if c.bodies && c.rng.IntN(3) == 0 {
		v.method, v.path, v.body = "POST", "/body/1", []string{`{"amount":1}`, `{"amount":2}`}[c.rng.IntN(2)]
	}
	return v
}

// swapped is a visit that differs from v in one thing.
func (c *clients) swapped(v visit) visit {
	for before := v; v == before; {
		w := c.visit()
		switch c.rng.IntN(3) {
		case 0:
			v.person = w.person
		case 1:
			if v.body == "" {
				v.method = w.method
			} else {
				v.body = w.body
			}
		case 2:
			v.path = w.path
		}
	}
	return v
}

// latest is one of the latest responses, or now and then an old one.
func (c *clients) latest() waiting {
	from := max(0, len(c.waiting)-3)
	if c.rng.IntN(8) == 0 {
		from = 0
	}
	return c.waiting[from+c.rng.IntN(len(c.waiting)-from)]
}

// attempt brings a state back in some way, or begins anew.
func (c *clients) attempt() attempt {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) == 0 || c.rng.IntN(4) == 0 {
		a := attempt{visit: c.visit()}
		if c.rng.IntN(3) > 0 {
			a.key = []string{"one", "two"}[c.rng.IntN(2)]
		}
		return a
	}
	w := c.latest()
	switch c.rng.IntN(6) {
	case 0:
		return attempt{visit: c.swapped(w.visit), state: w.state}
	case 1:
		return attempt{visit: c.visit(), state: w.state}
	case 2:
		at := c.rng.IntN(len(w.state))
		return attempt{visit: w.visit, state: w.state[:at] + string("AZaz09-_."[c.rng.IntN(9)]) + w.state[at+1:]}
	}
	return attempt{visit: w.visit, state: w.state}
}

// round sends some requests at once, each a few times, while people settle some of what waits.
func (c *clients) round(t *testing.T) {
	var wait sync.WaitGroup
	for range 3 {
		a := c.attempt()
		for range 1 + c.rng.IntN(3) {
			wait.Go(func() { c.try(t, a) })
		}
	}
	for range c.rng.IntN(3) {
		c.mu.Lock()
		var w waiting
		if len(c.waiting) > 0 {
			w = c.latest()
		}
		c.mu.Unlock()
		approves := c.rng.IntN(4) > 0
		if w.authorization != "" {
			wait.Go(func() { c.settle(t, w, approves) })
		}
	}
	wait.Wait()
	for _, r := range c.upstream.Take() {
		require.Empty(t, c.wrong(t, r), "%s %s %v %q", r.Method, r.Target, r.Header, r.Body)
	}
}

// expect counts the authorization that a request may make: one for all with the same key, and none with a state.
func (c *clients) expect(a attempt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := fmt.Sprint(a.visit, a.key)
	if a.state == "" && (a.key == "" || !c.keys[key]) {
		c.asked[a.visit]++
	}
	c.keys[key] = true
}

// try sends a request, and remembers what a client could bring back.
func (c *clients) try(t *testing.T, a attempt) {
	header := map[string]string{"Authorization": "Bearer " + c.tokens[a.person]}
	if a.body != "" {
		header["Content-Type"] = "application/json"
	}
	if a.key != "" {
		header["Idempotency-Key"] = a.key
	}
	if a.state != "" {
		header["Countersign-State"] = a.state
	}
	c.expect(a)
	r := c.send(t, call{a.method, a.path, header, a.body})
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.status == 200 {
		if a.state != "" {
			c.passed++
		}
		return
	}
	var p problem
	if json.Unmarshal([]byte(r.body), &p) != nil || p.State == "" {
		return
	}
	if first, known := c.of[p.Authorization]; known {
		if first != a.visit {
			t.Errorf("the authorization of %v is that of %v too", first, a.visit)
		}
		return
	}
	c.of[p.Authorization] = a.visit
	c.waiting = append(c.waiting, waiting{p.State, p.Authorization, a.visit})
}

// settle is the person who confirms, or the reviewer. What is settled already is refused.
func (c *clients) settle(t *testing.T, w waiting, approves bool) {
	if approves {
		c.mu.Lock()
		c.settled[w.authorization] = true // before it can pass
		c.mu.Unlock()
	}
	var err error
	switch a, read := c.w.GetAuthorization(t.Context(), w.authorization); {
	case read != nil:
		err = read
	case a.Challenge == nil:
		_, err = c.w.ReviewAuthorization(t.Context(), w.authorization, countersign.ManualReviewRequest{Resolution: map[bool]string{true: "approve", false: "reject"}[approves]})
	case approves:
		_, err = c.w.CompleteChallenge(t.Context(), a.Challenge.ID, countersign.ChallengeCompleteRequest{Method: "sandbox_confirm"})
	default:
		_, err = c.w.CancelChallenge(t.Context(), a.Challenge.ID)
	}
	if countersign.Unavailable(err) {
		t.Error(err)
	}
}

// wrong says what is wrong with a request that reached the application: the proof must be of an authorization that a person has settled, and whose
// first request was this one.
func (c *clients) wrong(t *testing.T, r gatetest.Reached) string {
	claims, why := c.spent(t, r.Header.Get("Countersign-Proof"))
	if why != "" {
		return why
	}
	if len(r.Header.Values("Countersign-State")) > 0 {
		return "the state was forwarded"
	}
	z, err := c.w.GetAuthorization(t.Context(), claims.Authorization)
	require.NoError(t, err)
	is := visit{person: slices.Index(c.tokens, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")), method: r.Method, path: r.Target, body: r.Body}
	c.mu.Lock()
	defer c.mu.Unlock()
	first, known := c.of[z.Parent]
	switch {
	case !known || first != is:
		return fmt.Sprintf("the proof is of the request %v", first)
	case !c.settled[z.Parent]:
		return "no person has settled it"
	case subjectOf(c.tokens[is.person]) != claims.Subject:
		return "the proof is of a different person"
	}
	return ""
}

// subjectOf is the person of a token.
func subjectOf(token string) string {
	var claims struct{ Sub string }
	text, _ := base64.RawURLEncoding.DecodeString(strings.Split(token+"..", ".")[1])
	_ = json.Unmarshal(text, &claims) // no one's, if it is none
	return claims.Sub
}

// counted requires that repeated requests and states have made no authorization of their own.
func (c *clients) counted(t *testing.T, subjects []string) {
	made, asked := map[string]int{}, map[string]int{}
	for v, n := range c.asked {
		action, _, _ := strings.Cut(v.path[1:], "/")
		asked[subjects[v.person]+" "+c.actions[action]] += n
	}
	for _, subject := range subjects {
		for z, err := range c.w.AllAuthorizations(t.Context(), countersign.ListAuthorizationsParams{Subject: subject}) {
			require.NoError(t, err)
			if z.Parent == "" {
				made[z.Subject+" "+z.Action]++
			}
		}
	}
	for name, n := range made {
		require.LessOrEqual(t, n, asked[name], name)
	}
	require.NotEmpty(t, made)
}

// TestNothingPassesUnsettled sends random requests that wait for people through each way in, with states that are foreign, altered, replayed
// and brought by several requests at once. What reaches the application is the request that a person settled, once.
func TestNothingPassesUnsettled(t *testing.T) {
	t.Parallel()
	for _, name := range ways {
		for _, seed := range seeds {
			t.Run(fmt.Sprintf("%s %d", name, seed), func(t *testing.T) {
				t.Parallel()
				w, issuer := newWorld(t), gatetest.StartIssuer(t)
				actions := map[string]string{"challenge": w.action(t, "enforce", challenging), "hold": w.action(t, "enforce", holding), "body": w.action(t, "enforce", challenging)}
				bodies := gatetest.ModeOf(name) != "forward_auth"
				e := enter(t, name, gatetest.Config{ServiceURL: shared.url, Key: w.gate, Issuer: issuer, Routes: waitingRoutes(actions, bodies)})
				subjects := []string{w.subject(t), w.subject(t)}
				c := &clients{entrance: e, oracle: &oracle{w: w, actions: actions, used: map[string]bool{}}, rng: rand.New(rand.NewPCG(seed, 51)), bodies: bodies,
					of: map[string]visit{}, settled: map[string]bool{}, asked: map[visit]int{}, keys: map[string]bool{},
					tokens: []string{issuer.Token(t, subjects[0], nil), issuer.Token(t, subjects[1], nil)}}
				for range requests(t, 120) / 6 {
					c.round(t)
				}
				c.counted(t, subjects)
				require.NotZero(t, c.passed, "some requests passed with a state")
			})
		}
	}
}

// waitingRoutes are routes of which none allows at once.
func waitingRoutes(actions map[string]string, bodies bool) string {
	text := routes(map[string]string{"challenge": actions["challenge"], "hold": actions["hold"]})
	if bodies {
		text += fmt.Sprintf(`- {name: body, hosts: [%s], methods: [POST], path: "/body/{id}", upstream: UPSTREAM, action: %s, audience: payments, resource: {type: payment, id: request.params.id}, context: {amount: request.body.amount}}`+"\n",
			host, actions["body"])
	}
	return text
}

// TestExpiredState waits until a state has expired: the approval that comes later does not carry it.
func TestExpiredState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	issuer, subject := gatetest.StartIssuer(t), w.subject(t)
	e := enter(t, "inline", gatetest.Config{ServiceURL: shared.url, Key: w.gate, Issuer: issuer, StateTTL: "2s", Routes: routes(map[string]string{"hold": w.action(t, "enforce", holding)})})
	header := map[string]string{"Authorization": "Bearer " + issuer.Token(t, subject, nil)}
	held := e.send(t, call{"POST", "/hold/4711", header, ""}).problem(t)
	header["Countersign-State"] = held.State
	require.Eventually(t, func() bool {
		return e.send(t, call{"POST", "/hold/4711", header, ""}).problem(t).Code == "state_invalid"
	}, time.Minute, 100*time.Millisecond)
	_, err := w.ReviewAuthorization(t.Context(), held.Authorization, countersign.ManualReviewRequest{Resolution: "approve"})
	require.NoError(t, err)
	require.Equal(t, 403, e.send(t, call{"POST", "/hold/4711", header, ""}).status)
	e.untouched(t)
}

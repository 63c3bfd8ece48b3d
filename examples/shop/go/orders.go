package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"log"
	"net/http"
	"time"

	countersign "github.com/countersign-dev/countersign/sdk/go"
	"github.com/countersign-dev/countersign/sdk/go/proof"
)

var items = map[string]struct {
	action string
	amount int
}{"book": {"shop.pay", 12}, "gift_card": {"shop.gift_card", 200}}

func (s *shop) userOf(r *http.Request) (user, bool) {
	cookie, err := r.Cookie("shop")
	if err != nil {
		return user{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u, known := s.users[cookie.Value]
	return u, known
}

func (s *shop) signIn(w http.ResponseWriter, r *http.Request) {
	if u, known := s.userOf(r); known {
		respond(w, http.StatusOK, map[string]string{"session": u.session, "countersign": s.base})
		return
	}
	subject, err := s.client.CreateSubject(r.Context(), nil) // a real shop uses the id of its own user
	if err != nil {
		fail(w, err)
		return
	}
	session, err := s.client.CreateSession(r.Context(), countersign.SessionCreate{Subject: subject.ID, DeviceClass: "desktop"})
	if err != nil {
		fail(w, err)
		return
	}
	cookie := rand.Text()
	s.mu.Lock()
	s.users[cookie] = user{subject.ID, session.ID}
	s.mu.Unlock()
	//nolint:gosec // on localhost there is no TLS; behind TLS, set Secure
	http.SetCookie(w, &http.Cookie{Name: "shop", Value: cookie, HttpOnly: true, SameSite: http.SameSiteLaxMode, Path: "/"})
	respond(w, http.StatusOK, map[string]string{"session": session.ID, "countersign": s.base})
}

// signedIn requires a signed-in user and passes it to next. Never take the subject from what a page sends.
func (s *shop) signedIn(next func(http.ResponseWriter, *http.Request, user)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if u, known := s.userOf(r); known {
			next(w, r, u)
			return
		}
		respond(w, http.StatusUnauthorized, map[string]string{"status": "refused"})
	}
}

func (s *shop) token(w http.ResponseWriter, r *http.Request, u user) {
	token, err := s.client.CollectorToken(r.Context(), countersign.CollectorTokenAsk{Subject: u.subject, Session: u.session, Origin: s.origin})
	if err != nil {
		fail(w, err)
		return
	}
	respond(w, http.StatusOK, token)
}

func (s *shop) buy(w http.ResponseWriter, r *http.Request, u user) {
	var body struct{ Item string }
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<10)).Decode(&body)
	item, known := items[body.Item]
	if err != nil || !known {
		respond(w, http.StatusBadRequest, map[string]string{"status": "refused"})
		return
	}
	o := &order{id: rand.Text(), user: u, status: "refused"}
	o.request = countersign.AuthorizeRequest{
		Subject: u.subject, Session: u.session, Action: item.action, Audience: s.verifier.Audience, Context: map[string]any{"amount": item.amount},
		Resource:    countersign.Resource{Type: "order", ID: o.id},
		RequestedAt: time.Now().Unix(), //nolint:forbidigo // the shop is not part of the service
		Nonce:       rand.Text(), IdempotencyKey: rand.Text(),
	}
	decided, err := s.client.Authorize(r.Context(), o.request)
	if countersign.Unavailable(err) || countersign.RateLimited(err) {
		respond(w, http.StatusServiceUnavailable, map[string]string{"status": "unavailable"}) // never paid without a decision
		return
	}
	if err != nil {
		fail(w, err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o.authorization, s.orders[o.id] = decided.ID, o
	answer := map[string]string{"id": o.id}
	switch decided.Decision {
	case countersign.DecisionAllow:
		err = s.pay(r.Context(), o, decided.ID, decided.Proof)
	case countersign.DecisionChallenge:
		o.status = "step_up"
		var link *countersign.ChallengeLink
		link, err = s.client.CreateChallengeLink(r.Context(), decided.Challenge.ID, &countersign.ChallengeLinkRequest{ReturnURL: s.origin + "/?order=" + o.id})
		if err == nil {
			answer["confirm"] = link.URL
		}
	case countersign.DecisionHold:
		o.status = "held"
	}
	if err != nil {
		fail(w, err)
		return
	}
	answer["status"] = o.status
	respond(w, http.StatusOK, answer)
}

func (s *shop) show(w http.ResponseWriter, r *http.Request, u user) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.orders[r.PathValue("id")]
	if o == nil || o.user.subject != u.subject {
		respond(w, http.StatusNotFound, map[string]string{"status": "refused"})
		return
	}
	if o.status == "step_up" { // a webhook may be late or lost
		if err := s.settle(r.Context(), o); err != nil {
			fail(w, err)
			return
		}
	}
	respond(w, http.StatusOK, map[string]string{"id": o.id, "status": o.status})
}

// event receives webhooks. An event is recorded after the work: if that failed, the service sends it again.
func (s *shop) event(w http.ResponseWriter, r *http.Request) {
	event, err := s.webhooks.Read(r)
	if err != nil {
		http.Error(w, "refused", http.StatusBadRequest)
		return
	}
	var about struct{ Authorization string }
	if err := json.Unmarshal(event.Data, &about); err != nil {
		http.Error(w, "refused", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.orders {
		if o.authorization != about.Authorization || s.seen[event.ID] {
			continue
		}
		switch event.Type {
		case "hold.approved", "hold.rejected", "hold.expired", "challenge.completed":
			if err := s.settle(r.Context(), o); err != nil {
				fail(w, err)
				return
			}
		}
	}
	s.seen[event.ID] = true
	w.WriteHeader(http.StatusNoContent)
}

// settle settles an order by the follow-up decision, if there is one.
func (s *shop) settle(ctx context.Context, o *order) error {
	first, err := s.client.GetAuthorization(ctx, o.authorization)
	if err != nil {
		return err
	}
	if first.ReviewStatus == "rejected" || first.ReviewStatus == "expired" {
		o.status = "refused"
	}
	if first.ChildAuthorization == "" {
		return nil
	}
	followUp, err := s.client.GetAuthorization(ctx, first.ChildAuthorization)
	if err != nil {
		return err
	}
	if followUp.Decision != countersign.DecisionAllow || followUp.Proof == nil {
		o.status = "refused"
		return nil
	}
	return s.pay(ctx, o, followUp.ID, followUp.Proof.Compact)
}

// pay ships the order if the proof is valid for exactly this order. It is verified offline, with the service's published keys.
func (s *shop) pay(ctx context.Context, o *order, decision, compact string) error {
	if o.status == "paid" {
		return nil
	}
	digest, err := proof.ContextDigest(o.request.Context)
	if err != nil {
		return err
	}
	_, err = s.verifier.Verify(ctx, compact, proof.Expect{
		Action: o.request.Action, Subject: o.user.subject, ResourceType: "order", ResourceID: o.id, Nonce: o.request.Nonce, Context: digest,
	})
	if err != nil {
		return err
	}
	o.status = "paid" // one order, one proof: in a database, an update of the order that stores the proof's jti under a unique key
	// Limits and evaluations rest on what became of a decision. The order is paid, whatever becomes of the report.
	if _, err := s.client.ReportOutcome(ctx, decision, countersign.OutcomeReport{Outcome: "executed"}); err != nil {
		log.Print(err)
	}
	return nil
}

func respond(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func fail(w http.ResponseWriter, err error) {
	log.Print(err)
	respond(w, http.StatusInternalServerError, map[string]string{"status": "unavailable"})
}

package integration_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// paymentSchema shows amount and payee of a payment, and the account it goes to, which is the resource.
var paymentSchema = object{
	"type": "object", "x-countersign-display": object{"label": "To account", "format": "account"},
	"properties": object{
		"amount":   object{"type": "number", "x-countersign-display": object{"label": "Amount", "labels": object{"de": "Betrag"}, "format": "money", "currency": "/currency"}},
		"currency": object{"type": "string"},
		"payee":    object{"type": "string", "x-countersign-display": object{"label": "Payee", "format": "text", "title": true}},
		"memo":     object{"type": "string"},
	},
}

// shownPayment lists the details that paymentSchema displays of payment.
var shownPayment = toAny([]any{
	object{"label": "Amount", "value": "1,250.50 EUR", "format": "money", "canonical": "1250.50 EUR", "labels": object{"de": "Betrag"}},
	object{"label": "To account", "value": "DE89 3704 0044 0532 0130 00", "format": "account", "canonical": "DE89370400440532013000"},
	object{"label": "Payee", "value": "Müller & Söhne", "format": "text", "title": true},
}).([]any)

// showing makes an action in mode enforce with a policy and paymentSchema.
func (w world) showing(t *testing.T, requirements object) string {
	t.Helper()
	key := "payment.shown_" + unique()
	id := w.Server.post(t, "/api/v1/actions", object{
		"key": key, "name": "Send a payment", "consequence": "Money leaves the account.", "allowed_audiences": []string{audience},
		"resource_type": "account", "context_schema": paymentSchema,
	}).is(201).string("id")
	w.Server.post(t, "/api/v1/actions/"+id+"/policy-versions", object{"requirements": requirements}).is(201)
	w.Server.post(t, "/api/v1/actions/"+id+"/policy-versions/1/activate", nil).is(200)
	w.Server.patch(t, "/api/v1/actions/"+id, object{"mode": "enforce"}).is(200)
	return key
}

func payment(subject, action string) object {
	return with(request(subject, action), object{
		"resource": object{"type": "account", "id": "DE89370400440532013000"},
		"context":  object{"amount": 1250.5, "currency": "EUR", "payee": "Müller & Söhne", "memo": "secret-memo"},
	})
}

// canonicalDigest is the digest of a JSON document as docs/passkeys.md defines it: keys sorted, no white space.
func canonicalDigest(t *testing.T, document any) string {
	t.Helper()
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	require.NoError(t, encoder.Encode(document))
	sum := sha256.Sum256(bytes.TrimSuffix(text.Bytes(), []byte("\n")))
	return "sha256:" + hex.EncodeToString(sum[:])
}

func TestChallengeShowsWhatThePasskeySigns(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	action := w.showing(t, with(challenging, object{"challenge_methods": []string{"passkey"}}))
	subject := w.subject(t)
	device := w.device(t, subject)
	asked := w.Server.post(t, "/api/v1/authorize", payment(subject, action)).is(200)
	challenge := asked.string("challenge.id")

	shown := w.Server.get(t, "/api/v1/challenges/"+challenge).is(200)
	require.Equal(t, shownPayment, toAny(shown.value("display.details")))
	require.Equal(t, canonicalDigest(t, shownPayment), shown.string("display.details_digest"))
	opened := w.events(t, "challenge.requested", asked.string("id"))
	display := shown.value("display").(map[string]any)
	delete(display, "details")
	require.Equal(t, canonicalDigest(t, display), opened["display_digest"], "the display digest covers the digest of the details")

	w.Server.post(t, "/api/v1/challenges/"+challenge+"/complete", object{"method": "passkey", "assertion": w.sign(t, device, challenge)}).is(200)
	trace := w.Server.get(t, "/api/v1/authorizations/"+asked.string("id")).is(200)
	require.Equal(t, shownPayment, toAny(trace.value("display.details")))
	followUp := w.Server.get(t, "/api/v1/authorizations?subject="+subject).is(200).list()[0]
	require.Equal(t, map[string]any{"details": shownPayment}, toAny(followUp["display"]), "the follow-up decision is about the same request")
}

func TestChangedDetailRefusesTheAssertion(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"taken from another decision": `with other as materialized (select details from shown_details where authorization_id = $2)
			update shown_details s set details = other.details from other where s.authorization_id = $1`,
		"removed": `delete from shown_details where authorization_id = $1 and $2::text is not null`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newSandbox(t)
			action := w.showing(t, challenging)
			subject := w.subject(t)
			first := w.Server.post(t, "/api/v1/authorize", payment(subject, action)).is(200)
			second := w.Server.post(t, "/api/v1/authorize", payment(subject, action)).is(200)
			_, err := shared.Store.Pool().Exec(t.Context(), change, first.string("id"), second.string("id"))
			require.NoError(t, err)

			path := "/api/v1/challenges/" + first.string("challenge.id")
			display := w.Server.get(t, path).is(200).value("display").(map[string]any)
			require.NotContains(t, display, "details", "details that are not those it was opened with are not shown")
			require.Contains(t, display, "details_digest")
			w.Server.post(t, path+"/complete", object{"method": "sandbox_confirm"}).problem(400, "assertion_display_changed")
			w.Server.post(t, "/api/v1/challenges/"+second.string("challenge.id")+"/complete", object{"method": "sandbox_confirm"}).is(200)
		})
	}
}

func TestHeldRequestShowsItsDetailsToReviewers(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	action := w.showing(t, holding)
	subject := w.subject(t)
	held := w.Server.post(t, "/api/v1/authorize", payment(subject, action)).is(200).string("id")
	queue := w.Admin.get(t, "/api/v1/reviews?action="+action).is(200).list()
	require.Len(t, queue, 1)
	require.Equal(t, map[string]any{"details": shownPayment}, toAny(queue[0]["display"]))
	require.Equal(t, shownPayment, toAny(w.Server.get(t, "/api/v1/authorizations/"+held).is(200).value("display.details")))
}

func TestWebhookOfAHoldIncludesDetailsByChoice(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	including, plain := newReceiver(t), newReceiver(t)
	hook := w.subscribe(t, including, "hold.opened")
	w.subscribe(t, plain, "hold.opened")
	require.Equal(t, false, w.Admin.get(t, hook).is(200).value("include_details"))
	require.Equal(t, true, w.Admin.patch(t, hook, object{"include_details": true}).is(200).value("include_details"))
	w.Server.post(t, "/api/v1/authorize", payment(w.subject(t), w.showing(t, holding))).is(200)
	for r, want := range map[*receiver]any{including: map[string]any{"details": shownPayment}, plain: nil} {
		eventually(t, func() bool { return len(r.types()) == 1 }, "the hold is delivered")
		require.Equal(t, want, r.first().Display)
	}
}

func TestDetailsAreSealedExportedAndErased(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	action := w.showing(t, denying)
	subject := w.subject(t)
	id := w.Server.post(t, "/api/v1/authorize", payment(subject, action)).is(200).string("id")

	var stored []byte
	require.NoError(t, shared.Store.Pool().QueryRow(t.Context(), "select details from shown_details where authorization_id = $1", id).Scan(&stored))
	require.NotContains(t, string(stored), "1,250")
	export := w.Server.post(t, "/api/v1/subjects/"+subject+"/export", nil).is(200)
	rows := export.value("data.shown_details").([]any)
	require.Len(t, rows, 1)
	require.Equal(t, shownPayment, toAny(rows[0].(map[string]any)["details"]))
	require.NotContains(t, string(export.body), "secret-memo", "what is not annotated is not stored")

	w.Server.delete(t, "/api/v1/subjects/"+subject).is(202)
	eventually(t, func() bool {
		var left int
		err := shared.Store.Pool().QueryRow(t.Context(), "select count(*) from shown_details where authorization_id = $1", id).Scan(&left)
		return err == nil && left == 0
	}, "the details are erased with the subject")
}

func TestActionWithoutAnnotationsShowsNoDetails(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", challenging)
	asked := w.authorize(t, w.subject(t), action, "challenge")
	display := w.Server.get(t, "/api/v1/challenges/"+asked.string("challenge.id")).is(200).value("display").(map[string]any)
	require.NotContains(t, display, "details")
	require.NotContains(t, display, "details_digest")
	require.Nil(t, w.Server.get(t, "/api/v1/authorizations/"+asked.string("id")).is(200).value("display"))
}

func TestAnnotationThatCannotBeShownIsRefusedWithItsPlace(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	refused := w.Server.post(t, "/api/v1/actions", object{
		"key": "payment.bad_" + unique(), "name": "Pay", "consequence": "Money leaves.", "allowed_audiences": []string{audience},
		"context_schema": object{"properties": object{"amount": object{"x-countersign-display": object{"label": "Amount", "format": "money"}}}},
	}).is(422)
	require.Contains(t, string(refused.body), "context_schema/properties/amount/x-countersign-display: currency is required for money")
}

// toAny compares what was decoded with literals: objects become plain maps.
func toAny(v any) any {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	var out any
	if err := json.Unmarshal(raw, &out); err != nil {
		panic(err)
	}
	return out
}

// first returns the first message that came.
func (r *receiver) first() delivered {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got[0]
}

// events returns the data of the newest event of a type about an authorization.
func (w world) events(t *testing.T, typ, authorization string) map[string]any {
	t.Helper()
	for _, e := range w.Server.get(t, "/api/v1/activity?type="+typ).is(200).list() {
		if e["authorization"] == authorization {
			return e["data"].(map[string]any)
		}
	}
	require.Failf(t, "no event", "%s of %s", typ, authorization)
	return nil
}

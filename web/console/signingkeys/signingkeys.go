package signingkeys

import (
	"cmp"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/signing"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console/forms"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

// keyRow is one key that signs, signed or will sign proofs.
type keyRow struct {
	KID     string
	Status  show.Tag
	Does    string // what the key does in this status
	Backend string
	Age     string // since it began to sign, or was created
	Created show.Stamp
	Used    *show.Stamp
	Ends    *show.Stamp // of a retiring key: when it verifies nothing any more
}

// does says what a key does in each status.
var does = map[models.KeyStatus]string{
	models.KeyActive: "signs new proofs", models.KeyNext: "is published and signs after the next rotation",
	models.KeyRetiring: "signs nothing; proofs that it signed are still valid", models.KeyRetired: "signs and verifies nothing",
}

// tones are the tones of the statuses.
var tones = map[models.KeyStatus]string{models.KeyActive: "good", models.KeyRetiring: "warn"}

// order is the order of the statuses in the list.
var order = []models.KeyStatus{models.KeyActive, models.KeyNext, models.KeyRetiring, models.KeyRetired}

// backends say where the private key is.
var backends = map[string]string{"software": "sealed in the database of the service"}

type keysView struct {
	Rows   []keyRow
	Rotate *forms.Ask // nil without the right
	Notice *show.Notice
}

func (c *Pages) keys(v *shell.Visit) error {
	rows, err := c.Signing.Keys(v.Context, v.Scope())
	if err != nil {
		return err
	}
	view := keysView{}
	now := show.Stamps{Now: c.Clock.Now()}
	slices.SortStableFunc(rows, func(a, b models.SigningKey) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Status), slices.Index(order, b.Status)), b.CreatedAt.Compare(a.CreatedAt))
	})
	for _, k := range rows {
		view.Rows = append(view.Rows, rowOf(k, now))
	}
	if v.May(shell.ManageCredentials) {
		view.Rotate = &forms.Ask{
			ID: "rotate", Label: "Rotate", To: v.At("signing-keys", "rotate"), Verb: "rotate the keys",
			Text: "The next key signs from now on, and a new next key is published. Proofs of the previous key stay valid until they expire.",
		}
	}
	if v.Query("done") == "rotated" {
		view.Notice = &show.Notice{Tone: "good", Text: "The keys are rotated. The previous key stays published until its proofs have expired."}
	}
	return v.Page(fiber.StatusOK, "signing-keys.html", "Signing keys", "signing-keys", view)
}

func rowOf(k models.SigningKey, now show.Stamps) keyRow {
	since := k.CreatedAt
	if k.ActivatedAt != nil {
		since = *k.ActivatedAt
	}
	row := keyRow{
		KID: k.KID, Status: show.Tag{Text: string(k.Status), Tone: tones[k.Status]}, Does: does[k.Status], Age: show.Span(max(now.Now.Sub(since), time.Duration(0))),
		Backend: cmp.Or(backends[k.Backend], k.Backend), Created: now.At(k.CreatedAt), Used: now.Maybe(k.LastUsedAt),
	}
	if k.RetiringAt != nil && k.Status == models.KeyRetiring {
		ends := now.At(k.RetiringAt.Add(signing.Overlap))
		row.Ends = &ends
	}
	return row
}

func (c *Pages) rotate(v *shell.Visit) error {
	if err := v.Sure(); err != nil {
		return err
	}
	if _, err := c.Signing.RotateFor(v.Context, v.Principal()); err != nil {
		return err
	}
	return v.Redirect(v.At("signing-keys")+"?done=rotated", fiber.StatusSeeOther)
}

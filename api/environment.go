package api

import (
	"cmp"
	"encoding/base64"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/transport/request"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/models"
)

// environmentHandlers handles the settings of the caller's environment.
type environmentHandlers struct {
	Tenancy *tenancy.Service
	Changes *change.Service
}

type environmentView struct {
	ID                  string                 `json:"id"`
	Tenant              string                 `json:"tenant"`
	Kind                models.EnvironmentKind `json:"kind"`
	RPID                string                 `json:"rp_id"`
	RPName              string                 `json:"rp_name"`
	Origins             []string               `json:"origins"`
	ChallengeTTLSeconds int                    `json:"challenge_ttl_seconds"`
	HoldTTLSeconds      int                    `json:"hold_ttl_seconds"`
	BarSelfReview       bool                   `json:"bar_self_review"`
	ResearchEnabled     bool                   `json:"research_enabled"`
	PageOrigin          *string                `json:"page_origin"`
	ReturnOrigins       []string               `json:"return_origins"`
	FrameAncestors      []string               `json:"frame_ancestors"`
	CreatedAt           string                 `json:"created_at"`

	EnrollmentGrantRequired bool `json:"enrollment_grant_required"`
	SecondApproverRequired  bool `json:"second_approver_required"`
	ChangeTTLSeconds        int  `json:"change_ttl_seconds"`

	Background  models.BackgroundChoice `json:"background"`
	ReviewNotes bool                    `json:"review_notes"`

	FederatedKeyDays int `json:"federated_key_days"`

	CaseLink string `json:"case_link"`

	Brand    brandView    `json:"brand"`
	Passkeys passkeyRules `json:"passkeys"`
}

// passkeyRules are the rules of passkeys beside the RP ID and the origins.
type passkeyRules struct {
	RPIDs            []string `json:"rp_ids"`
	RelatedOrigins   []string `json:"related_origins"`
	Attestation      string   `json:"attestation"`
	AttestationRoots []string `json:"attestation_roots"`
	AAGUIDs          []string `json:"aaguids"`
}

// brandView is the look of the hosted pages. Settings that are not set are empty.
type brandView struct {
	Name     string `json:"name"`
	Accent   string `json:"accent"`
	Language string `json:"language"`
	Logo     string `json:"logo"` // base64
}

func viewEnvironment(e models.Environment) environmentView {
	return environmentView{
		ID: e.ID, Tenant: e.TenantID, Kind: e.Kind, RPID: e.RPID, RPName: e.RPName, Origins: nonNil(e.RPOrigins),
		ChallengeTTLSeconds: e.ChallengeTTLSeconds, HoldTTLSeconds: e.HoldTTLSeconds, BarSelfReview: e.BarSelfReview, ResearchEnabled: e.ResearchEnabled,
		PageOrigin: e.PageOrigin, ReturnOrigins: nonNil(e.ReturnOrigins), FrameAncestors: nonNil(e.FrameAncestors), CreatedAt: apitime.Time(e.CreatedAt),
		EnrollmentGrantRequired: e.EnrollmentGrantRequired, SecondApproverRequired: e.SecondApproverRequired, ChangeTTLSeconds: e.ChangeTTLSeconds,
		Background:  e.Background,
		ReviewNotes: e.ReviewNotes, FederatedKeyDays: e.FederatedKeyDays, CaseLink: e.CaseLink,
		Passkeys: passkeyRules{
			RPIDs: nonNil(e.Passkeys.RPIDs), RelatedOrigins: nonNil(e.Passkeys.RelatedOrigins), Attestation: cmp.Or(e.Passkeys.Attestation, models.AttestationNone),
			AttestationRoots: nonNil(e.Passkeys.AttestationRoots), AAGUIDs: nonNil(e.Passkeys.AAGUIDs),
		},
		Brand: brandView{Name: e.Brand.Name, Accent: e.Brand.Accent, Language: e.Brand.Language, Logo: base64.StdEncoding.EncodeToString(e.Brand.Logo)},
	}
}

func (h *environmentHandlers) get(c *fiber.Ctx) error {
	e, err := h.Tenancy.Environment(request.Context(c), principal(c).Store())
	if err != nil {
		return err
	}
	return send(c, fiber.StatusOK, viewEnvironment(e))
}

func (h *environmentHandlers) update(c *fiber.Ctx) error {
	in, err := bind[tenancy.Settings](c)
	if err != nil {
		return err
	}
	made, err := h.Changes.UpdateSettings(request.Context(c), principal(c), in)
	return sendMade(c, made, err, viewEnvironment, fiber.StatusOK)
}

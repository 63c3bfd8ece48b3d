package models

import (
	"slices"
	"strings"

	"github.com/google/uuid"
)

// Values of PasskeyRules.Attestation.
const (
	AttestationNone     = "none"
	AttestationRequired = "required"
)

// PasskeyRules are the rules of an environment's passkeys beside its own RP ID and origins. Empty fields are not set.
type PasskeyRules struct {
	RPIDs            Strings `gorm:"column:rp_ids"` // in addition to Environment.RPID
	RelatedOrigins   Strings // of other sites that may use passkeys of the RP IDs
	Attestation      string  // AttestationNone, also if empty, or AttestationRequired
	AttestationRoots Strings // certificates in PEM that an attestation must lead to
	AAGUIDs          Strings `gorm:"column:aaguids"` // models of authenticators that may be registered; empty permits all
	// Given are the RP IDs that the operator has given to the tenant; RPIDs may be no others. Environments().Branded reads them.
	Given Strings `gorm:"-"`
}

// EnvironmentPasskeys is the row of the rules of an environment's passkeys. Every environment has one.
type EnvironmentPasskeys struct {
	EnvironmentID string `gorm:"primaryKey"`
	TenantID      string
	PasskeyRules
	RowMAC []byte `gorm:"column:row_mac"` // see pg.Table
}

// TableName implements schema.Tabler.
func (EnvironmentPasskeys) TableName() string { return "environment_passkeys" }

// RPID is an RP ID that is given to a tenant.
type RPID struct {
	RPID     string `gorm:"column:rp_id;primaryKey"`
	TenantID string
	RowMAC   []byte `gorm:"column:row_mac"` // see pg.Table
}

// TableName implements schema.Tabler.
func (RPID) TableName() string { return "rp_ids" }

// RPIDsOf returns every RP ID of an environment, its own first.
func (r PasskeyRules) RPIDsOf(env Environment) []string {
	return append([]string{env.RPID}, r.RPIDs...)
}

// AppOrigin begins the origin of a native Android app, which ends with the SHA-256 of its signing certificate in base64url.
const AppOrigin = "android:apk-key-hash:"

// OriginsByKind returns the origins that passkeys are used from: those of browsers, related ones included, and those of apps.
func (e Environment) OriginsByKind() (web, apps []string) {
	for _, o := range append(slices.Clone(e.RPOrigins), e.Passkeys.RelatedOrigins...) {
		if strings.HasPrefix(o, AppOrigin) {
			apps = append(apps, o)
		} else {
			web = append(web, o)
		}
	}
	return web, apps
}

// RPIDOf returns the RP ID that a passkey is bound to.
func (p Passkey) RPIDOf(env Environment) string {
	if p.RPID == nil {
		return env.RPID
	}
	return *p.RPID
}

// Model returns the AAGUID of the authenticator's model in lower case; nil if the authenticator does not disclose it.
func (p Passkey) Model() *string {
	id, err := uuid.FromBytes(p.AAGUID)
	if err != nil || id == uuid.Nil {
		return nil
	}
	s := id.String()
	return &s
}

// OfModels returns the passkeys whose authenticator is of one of the models; all for an empty list.
func OfModels(passkeys []Passkey, aaguids []string) []Passkey {
	if len(aaguids) == 0 {
		return passkeys
	}
	return slices.DeleteFunc(slices.Clone(passkeys), func(p Passkey) bool {
		model := p.Model()
		return model == nil || !slices.Contains(aaguids, *model)
	})
}

// Permits reports whether an authenticator's model may be registered. One that is not disclosed is permitted only if all are.
func (r PasskeyRules) Permits(aaguid *string) bool {
	return len(r.AAGUIDs) == 0 || aaguid != nil && slices.Contains(r.AAGUIDs, *aaguid)
}

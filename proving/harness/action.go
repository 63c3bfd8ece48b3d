package harness

import (
	"context"

	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// Audience is the relying party that the harness's actions issue proofs for.
const Audience = "payments"

// NewAction creates an action in enforce mode with one active policy version.
func NewAction(ctx context.Context, api *countersign.Client, key string, requirements countersign.PolicyRequirements) error {
	return NewActionWithPolicy(ctx, api, key, countersign.PolicyVersionCreate{Requirements: requirements})
}

// NewActionWithPolicy is NewAction with a whole policy version.
func NewActionWithPolicy(ctx context.Context, api *countersign.Client, key string, policy countersign.PolicyVersionCreate) error {
	action, err := api.CreateAction(ctx, countersign.ActionCreate{
		Key: key, Name: "Release a payment", Consequence: "Money leaves the account.", AllowedAudiences: []string{Audience},
	})
	if err != nil {
		return err
	}
	version, err := api.CreatePolicyVersion(ctx, action.ID, policy)
	if err != nil {
		return err
	}
	if _, err := api.ActivatePolicyVersion(ctx, action.ID, version.Version); err != nil {
		return err
	}
	_, err = api.UpdateAction(ctx, action.ID, countersign.ActionUpdate{Mode: string(countersign.ModeEnforce)})
	return err
}

// NewSession creates a session of a subject on a desktop computer.
func NewSession(ctx context.Context, api *countersign.Client, subject string) (id string, err error) {
	session, err := api.CreateSession(ctx, countersign.SessionCreate{Subject: subject, DeviceClass: "desktop"})
	if err != nil {
		return "", err
	}
	return session.ID, nil
}

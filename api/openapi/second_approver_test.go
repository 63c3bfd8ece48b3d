package openapi_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/openapi"
)

// alone are the operations that one principal performs in an environment that requires a second approver, each with the reason. What a
// person is shown or signs, and what decides, is in none of them.
var alone = map[string]string{
	"createAction":          "decides nothing before its first policy version is activated",
	"archiveAction":         "requests are refused from then on",
	"createPolicyVersion":   "a draft; its activation waits",
	"simulatePolicyVersion": "changes nothing",
	"explainChange":         "a text beside the change, which the approver judges by its differences",
	"approveChange":         "is the second approval", "rejectChange": "makes nothing looser", "withdrawChange": "makes nothing looser",
	"createCredential": "a key counts as its issuer", "revokeCredential": "makes nothing looser", "rotateCredential": "by the same principal only",
	"rotateSigningKey":      "verifiers follow the published keys",
	"deleteWebhookEndpoint": "makes nothing looser", "rotateWebhookSecret": "the receiver trusts no secret that it was not given",
	"testWebhookEndpoint": approved, "enableWebhookEndpoint": approved, "replayWebhookEndpoint": approved, "setDestinationCredentials": approved,
	"setSubjectAliases": "a security event only restricts whom it names",
	"createList":        "a list without entries decides nothing",
	"createEvaluation":  "a measurement", "closeEvaluation": "a measurement",
	"createSubject": business, "deleteSubject": business, "freezeAdaptation": business, "completeEnrollment": business, "rollbackTemplate": business,
	"exportSubject": business, "importPasskey": business, "createPasskeyGrant": business, "passkeyRegisterOptions": business, "passkeyRegisterComplete": business,
	"revokePasskey": business, "beginRecovery": business, "setResearchConsent": business, "revokeSubject": business, "createClientToken": business,
	"createSession": business, "submitEvidence": business, "endSession": business, "authorize": business, "reportOutcome": business,
	"reviewAuthorization": business, "withdrawAuthorization": business, "giveAfterReview": business, "createStandingApproval": business, "createStandingLink": business, "revokeStandingApproval": business, "assignReview": business, "unassignReview": business, "challengePasskeyOptions": business, "completeChallenge": business,
	"cancelChallenge": business, "createChallengeLink": business, "verifyProof": business, "evaluateAccess": business, "evaluateAccessBatch": business,
	"legacySessionStart": business, "legacyIngest": business, "legacySessionEnd": business, "legacyEnrol": business, "legacyAuth": business,
}

const approved = "sends to a URL that was approved"

const business = "concerns one subject or one request, not the configuration"

// Every write operation either waits for a second approver, with all its fields, or says in alone why not. TestSecondApproverApprovesEveryField
// sends the fields of those that wait.
func TestWriteOperationsWaitForASecondApprover(t *testing.T) {
	t.Parallel()
	var document struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	require.NoError(t, json.Unmarshal(openapi.Document(), &document))
	var waiting []string
	seen := map[string]bool{}
	for _, operations := range document.Paths {
		for _, method := range []string{"post", "patch", "put", "delete"} {
			if operations[method] == nil {
				continue
			}
			var op struct {
				ID        string `json:"operationId"`
				Responses map[string]struct {
					Content map[string]struct {
						Schema struct {
							Ref string `json:"$ref"`
						} `json:"schema"`
					} `json:"content"`
				} `json:"responses"`
			}
			require.NoError(t, json.Unmarshal(operations[method], &op))
			if op.Responses["202"].Content["application/json"].Schema.Ref == "#/components/schemas/ChangeRequest" {
				waiting = append(waiting, op.ID)
				require.Empty(t, alone[op.ID], op.ID)
				continue
			}
			require.NotEmpty(t, alone[op.ID], "%s: let it wait for a second approver, or say in alone why one principal may do it", op.ID)
			seen[op.ID] = true
		}
	}
	require.ElementsMatch(t, []string{"activatePolicyVersion", "updateAction", "updateEnvironment", "createTeam", "updateTeam", "deleteTeam", "setManager", "createWebhookEndpoint", "updateWebhookEndpoint", "changeListEntries", "deleteList", "reinstateSubject", "setDestination", "removeDestination"}, waiting)
	for id := range alone {
		require.True(t, seen[id], "%s is no operation", id)
	}
}

package events

// Types of the events of webhooks, research, retention and audit.
const (
	WebhookTest             Type = "webhook.test"
	WebhookFailing          Type = "webhook.failing"
	WebhookRecovered        Type = "webhook.recovered"
	WebhookDisabled         Type = "webhook.disabled"
	BackgroundActivated     Type = "background.activated"
	WebhookEndpointCreated  Type = "webhook_endpoint.created"
	WebhookEndpointUpdated  Type = "webhook_endpoint.updated"
	WebhookEndpointDeleted  Type = "webhook_endpoint.deleted"
	WebhookEndpointEnabled  Type = "webhook_endpoint.enabled"
	WebhookSecretRotated    Type = "webhook_endpoint.secret_rotated"
	WebhookEndpointReplayed Type = "webhook_endpoint.replayed"
	WebhookEndpointTested   Type = "webhook_endpoint.tested"
	ResearchVectorsRemoved  Type = "research.vectors_removed"
	ResearchSaltDestroyed   Type = "research.salt_destroyed"
	BackgroundLearned       Type = "background.learned"
	RetentionExecuted       Type = "retention.executed"
	AuditExported           Type = "audit.exported"
)

// WebhookTestData names the endpoint that a test is sent to.
type WebhookTestData struct {
	Endpoint string `json:"endpoint"`
}

// WebhookFailingData describes an endpoint that fails. Failures counts consecutive failed deliveries.
type WebhookFailingData struct {
	Endpoint     string `json:"endpoint"`
	Reason       string `json:"reason"`
	FailingSince string `json:"failing_since,omitempty" schema:"date-time"`
	Failures     *int   `json:"failures,omitempty"`
}

// WebhookRecoveredData has the fields of WebhookFailingData.
type WebhookRecoveredData WebhookFailingData

// WebhookDisabledData has the fields of WebhookFailingData.
type WebhookDisabledData WebhookFailingData

// WebhookEndpointCreatedData has digests of the endpoint's address, patterns, description and status.
type WebhookEndpointCreatedData struct {
	Endpoint string `json:"endpoint"`
	Change
}

// WebhookEndpointUpdatedData has the fields of WebhookEndpointCreatedData.
type WebhookEndpointUpdatedData WebhookEndpointCreatedData

// WebhookEndpointDeletedData has the fields of WebhookEndpointCreatedData.
type WebhookEndpointDeletedData WebhookEndpointCreatedData

// WebhookEndpointReplayedData counts the deliveries that were scheduled.
type WebhookEndpointReplayedData struct {
	Endpoint  string `json:"endpoint"`
	Scheduled int64  `json:"scheduled"`
	Change
}

// WebhookEndpointEnabledData counts the missed deliveries that were scheduled.
type WebhookEndpointEnabledData WebhookEndpointReplayedData

// WebhookEndpointTestedData names the endpoint.
type WebhookEndpointTestedData struct {
	Endpoint string `json:"endpoint"`
}

// WebhookSecretRotatedData says how long the previous secret signs as well.
type WebhookSecretRotatedData struct {
	Endpoint       string `json:"endpoint"`
	OverlapSeconds int    `json:"overlap_seconds"`
	Change
}

// ResearchVectorsRemovedData counts research vectors.
type ResearchVectorsRemovedData struct {
	Removed int64 `json:"removed"`
}

// ResearchSaltDestroyedData names the research period that ended.
type ResearchSaltDestroyedData struct {
	Period string `json:"period"`
}

// BackgroundActivatedData names the background model in force. Digest is "embedded" for a model built into the binary.
type BackgroundActivatedData struct {
	Background string `json:"background"`
	Modality   string `json:"modality"`
	Digest     string `json:"digest"`
}

// BackgroundLearnedData counts the environment's vectors that a background model was trained on, and its people overall.
type BackgroundLearnedData struct {
	Version  string `json:"version"`
	Modality string `json:"modality"`
	People   int    `json:"people"`
	Vectors  int64  `json:"vectors"`
}

// RetentionExecutedData counts the rows of one class that were removed because they were older than a time.
type RetentionExecutedData struct {
	Class     string `json:"class"`
	Removed   int64  `json:"removed"`
	OlderThan string `json:"older_than" schema:"date-time"`
}

// AuditExportedData counts the exported entries.
type AuditExportedData struct {
	Entries int64 `json:"entries"`
}

func (WebhookTestData) EventType() Type             { return WebhookTest }
func (WebhookFailingData) EventType() Type          { return WebhookFailing }
func (WebhookRecoveredData) EventType() Type        { return WebhookRecovered }
func (WebhookDisabledData) EventType() Type         { return WebhookDisabled }
func (WebhookEndpointCreatedData) EventType() Type  { return WebhookEndpointCreated }
func (WebhookEndpointUpdatedData) EventType() Type  { return WebhookEndpointUpdated }
func (WebhookEndpointDeletedData) EventType() Type  { return WebhookEndpointDeleted }
func (WebhookEndpointReplayedData) EventType() Type { return WebhookEndpointReplayed }
func (WebhookEndpointEnabledData) EventType() Type  { return WebhookEndpointEnabled }
func (WebhookEndpointTestedData) EventType() Type   { return WebhookEndpointTested }
func (WebhookSecretRotatedData) EventType() Type    { return WebhookSecretRotated }
func (ResearchVectorsRemovedData) EventType() Type  { return ResearchVectorsRemoved }
func (ResearchSaltDestroyedData) EventType() Type   { return ResearchSaltDestroyed }
func (BackgroundActivatedData) EventType() Type     { return BackgroundActivated }
func (BackgroundLearnedData) EventType() Type       { return BackgroundLearned }
func (RetentionExecutedData) EventType() Type       { return RetentionExecuted }
func (AuditExportedData) EventType() Type           { return AuditExported }

var operationEvents = []Definition{
	public(WebhookTestData{}, "A test, sent on request to one endpoint. It is not in the log.",
		map[string]any{"endpoint": exampleEndpoint}),
	public(WebhookFailingData{}, "An endpoint keeps failing; deliveries to it wait for a probe to succeed.",
		map[string]any{"endpoint": exampleEndpoint, "reason": "status_500", "failing_since": "2026-03-01T09:00:00.000Z"}),
	public(WebhookRecoveredData{}, "An endpoint that was failing accepts deliveries again.",
		map[string]any{"endpoint": exampleEndpoint, "reason": "probe_succeeded"}),
	public(WebhookDisabledData{}, "An endpoint was disabled: it failed for five days, or returned 410.",
		map[string]any{"endpoint": exampleEndpoint, "reason": "failing", "failing_since": "2026-03-01T09:00:00.000Z"}),
	audit("A webhook endpoint was created.", WebhookEndpointCreatedData{}),
	audit("A webhook endpoint changed.", WebhookEndpointUpdatedData{}),
	audit("A webhook endpoint was deleted.", WebhookEndpointDeletedData{}),
	audit("A webhook endpoint was enabled again.", WebhookEndpointEnabledData{}),
	audit("A webhook endpoint got a new signing secret.", WebhookSecretRotatedData{}),
	audit("Events were queued again for a webhook endpoint.", WebhookEndpointReplayedData{}),
	audit("A test was sent to a webhook endpoint.", WebhookEndpointTestedData{}),
	audit("Research vectors were removed.", ResearchVectorsRemovedData{}),
	audit("A research period ended and its salt was destroyed.", ResearchSaltDestroyedData{}),
	audit("A different background model was activated for the whole deployment.", BackgroundActivatedData{}),
	audit("A background model was learned from research vectors.", BackgroundLearnedData{}),
	audit("Data past its retention was removed.", RetentionExecutedData{}),
	audit("The audit log was exported.", AuditExportedData{}),
}

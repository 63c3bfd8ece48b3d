package events

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
func (WebhookSecretRotatedData) EventType() Type    { return WebhookSecretRotated }
func (ResearchVectorsRemovedData) EventType() Type  { return ResearchVectorsRemoved }
func (ResearchSaltDestroyedData) EventType() Type   { return ResearchSaltDestroyed }
func (BackgroundActivatedData) EventType() Type     { return BackgroundActivated }
func (BackgroundLearnedData) EventType() Type       { return BackgroundLearned }
func (RetentionExecutedData) EventType() Type       { return RetentionExecuted }
func (AuditExportedData) EventType() Type           { return AuditExported }

package scoring

// Reason codes of profiles, claims and evidence acknowledgements. Codes are stable: policies name them.
const (
	ReasonNotEnrolled        = "not_enrolled"
	ReasonNoTemplateDevice   = "no_template_for_device"
	ReasonTemplateModel      = "template_other_model"
	ReasonTooLittle          = "evidence_too_little"
	ReasonNoEvidence         = "evidence_none"
	ReasonStale              = "evidence_stale"
	ReasonMatch              = "continuity_match"
	ReasonWeakMatch          = "continuity_weak_match"
	ReasonUndecided          = "continuity_undecided"
	ReasonMismatch           = "continuity_mismatch"
	ReasonShortMismatch      = "continuity_recent_mismatch"
	ReasonUnattributed       = "activity_unattributed"
	ReasonPointerOnly        = "pointer_only"
	ReasonProvisional        = "provisional_enrollment"
	ReasonSingleSession      = "single_session_enrollment"
	ReasonInconsistent       = "enrollment_inconsistent"
	ReasonRecoveryCap        = "recovery_cap"
	ReasonRecoveryCooling    = "recovery_cooling_down"
	ReasonNotGranted         = "enrollment_not_granted"
	ReasonVetoAutomation     = "vetoed_by_automation"
	ReasonVetoReplay         = "vetoed_by_replay"
	ReasonAutomationTyping   = "automation_typing_pattern"
	ReasonAutomationPointer  = "automation_pointer_pattern"
	ReasonAutomationRange    = "automation_range"
	ReasonAutomationHint     = "automation_suspected"
	ReasonImitation          = "imitation_suspected"
	ReasonHuman              = "human_pattern"
	ReasonReplayExact        = "replay_exact"
	ReasonReplayNear         = "replay_near_duplicate"
	ReasonReplayElsewhere    = "replay_other_session"
	ReasonNoReplay           = "no_replay_seen"
	ReasonOperatorChange     = "operator_change_suspected"
	ReasonMandates           = "agent_mandate_unsupported"
	ReasonOverlap            = "frames_overlap"
	ReasonOutOfOrder         = "frames_out_of_order"
	ReasonClock              = "clock_inconsistent"
	ReasonCoarseClock        = "clock_coarse"
	ReasonContradictDuration = "frame_contradicts_duration"
	ReasonFewCells           = "few_transition_classes"
	ReasonOtherPopulation    = "background_other_population"
	ReasonNotLocal           = "background_not_local"
	ReasonFewPeople          = "background_few_people"
	ReasonDeviceUnknown      = "device_unknown"
	ReasonNotScored          = "modality_not_scored"
	ReasonTouchNotScored     = "touch_not_scored"
	ReasonExperimental       = "experimental"
	ReasonAdapted            = "template_adapted"
)

// Reason describes one code for the catalogue.
type Reason struct {
	Code, Kind, Description, Remedy string
}

// Reasons lists every code this package and the feature parser use, for the one catalogue of the service.
func Reasons() []Reason {
	return append(parserReasons(), append(continuityReasons(), presenceReasons()...)...)
}

// parserReasons are the codes of the feature parser and of frames that contradict each other.
func parserReasons() []Reason {
	const kind = "evidence"
	return []Reason{
		{"features_malformed", kind, "The features object does not match the feature schema.", "Send an object that matches the published feature schema."},
		{"features_schema_unsupported", kind, "The frame has an unsupported feature schema version.", "Use a collector for the schema version published in /meta."},
		{"features_raw_content", kind, "The frame contains text, keys, positions or images, or a field that could contain them.", "Send derived cells only; use the published collector."},
		{"features_unknown_cell", kind, "The frame has a cell or field that is not in the schema.", "Send only cells of the published schema."},
		{"features_impossible_value", kind, "A value is outside the range of its formula.", "Compute cells by the published formulas."},
		{"features_counts_not_binned", kind, "An event count is not one of the bins 0, 2, 7.", "Bin counts in the collector: exact counts can single out a known text."},
		{"features_contradictory", kind, "Parts of the frame contradict each other.", "Use the published collector unchanged."},
		{"features_empty", kind, "The frame has no input events.", "None needed: send frames only when there is input."},
		{ReasonContradictDuration, kind, "The active time of the frame exceeds its duration.", "Send the true duration of the frame."},
		{ReasonOverlap, kind, "Frames of the session overlap in time.", "Cut frames one after the other, with one collector per page."},
		{ReasonOutOfOrder, kind, "A frame is older than one already received.", "Send frames in order."},
		{ReasonClock, kind, "A frame's time is inconsistent with the service's clock.", "Set the device's clock; send frames soon after they end."},
		{ReasonCoarseClock, kind, "The collector's clock is coarse, so its timing is less informative.", "Use a browser or setting with a finer clock; accuracy is lower until then."},
		{ReasonNotScored, kind, "Only modalities without a background model have been seen; they are stored but not scored.", "Have the person type or use the pointer."},
		{ReasonTouchNotScored, kind, "The session is on a phone or a tablet, and nothing was typed on keys or pointed at with a mouse. What a finger does is neither recorded nor scored.", "Ask for the passkey at once: there is no evidence to wait for."},
	}
}

// continuityReasons are the codes about the operator's identity and the enrollment behind it.
func continuityReasons() []Reason {
	const kind, enrolment = "continuity", "enrollment"
	return []Reason{
		{ReasonNoEvidence, kind, "No usable evidence has arrived in the session.", "Run the collector before asking for a decision."},
		{ReasonTooLittle, kind, "There is too little evidence for a claim.", "Wait for more typing or pointer use, or step up."},
		{ReasonStale, kind, "The last evidence that can be compared with a template is more than ten minutes old.", "Have the person type, or step up."},
		{ReasonMatch, kind, "The behaviour matches the enrolled person.", "None needed."},
		{ReasonWeakMatch, kind, "The behaviour resembles the enrolled person, with less certainty.", "Wait for more evidence, which may confirm it."},
		{ReasonUndecided, kind, "The behaviour fits the enrolled person and other people equally well.", "Wait for more evidence, or step up."},
		{ReasonMismatch, kind, "The behaviour does not match the enrolled person.", "Step up or hold; re-enroll a person whose behaviour has changed."},
		{ReasonShortMismatch, kind, "The most recent behaviour does not match the enrolled person.", "Step up; someone else may have taken over."},
		{ReasonUnattributed, kind, "For a while there was only activity that no template can attribute to the person: scrolling, pasting, or a pointer that is not enrolled or does not match.", "Have the person type, or step up; another person may have sat down."},
		{ReasonPointerOnly, kind, "There is only pointer evidence, which never confirms alone.", "Have the person type, or step up."},
		{ReasonOperatorChange, kind, "The session matched the enrolled person before and does not now. Experimental.", "Step up."},
		{ReasonExperimental, kind, "The claim is experimental and should not decide alone.", "None needed."},
		{ReasonFewCells, kind, "Few kinds of transition were seen, for example typing with one hand.", "Collect more varied typing, or step up."},
		{ReasonOtherPopulation, kind, "The background was trained on other classes of device.", "Train a background on your own population."},
		{ReasonFewPeople, kind, "The background rests on fewer than 30 people, so claims are capped at likely.", "Train a background on your own population: countersign background learn."},
		{ReasonNotLocal, kind, "The background is stated or was trained on people outside this deployment.", "Train a background on your own population: countersign background learn."},
		{ReasonNotEnrolled, enrolment, "The subject has no template.", "Complete an enrollment."},
		{ReasonNoTemplateDevice, enrolment, "The subject is enrolled on another class of device.", "Enroll on this class of device."},
		{ReasonTemplateModel, enrolment, "The template was trained with another model version.", "Retrain or re-enroll the subject."},
		{ReasonProvisional, enrolment, "The enrollment is provisional, so claims are capped at likely.", "Collect three sessions of 100 keys."},
		{ReasonSingleSession, enrolment, "The enrollment has only one session.", "Enroll on further days."},
		{ReasonInconsistent, enrolment, "The sessions of the enrollment are inconsistent with each other.", "Re-enroll; make sure one person typed all of it."},
		{ReasonRecoveryCap, enrolment, "After a recovery, claims are capped at likely for a while.", "Wait for the cap to end."},
		{ReasonRecoveryCooling, enrolment, "A recovery of the subject is cooling down; evidence from this time is not learned from.", "Wait until the time in ready_at, then enroll."},
		{ReasonNotGranted, enrolment, "The environment requires an explicit grant to enroll, and there is none.", "Create a client token whose purposes include enroll, and collect with it."},
		{ReasonDeviceUnknown, enrolment, "The class of device is unknown.", "Send device_class when the session starts."},
		{ReasonAdapted, enrolment, "The template has adapted to confirmed sessions since enrollment.", "None needed."},
		{ReasonMandates, "mandate", "Agent mandates are not supported.", "None."},
	}
}

// presenceReasons are the codes about automation and replay.
func presenceReasons() []Reason {
	const kind, replay = "presence", "replay"
	return []Reason{
		{ReasonHuman, kind, "Timing varies with the input as it does for people.", "None needed."},
		{ReasonAutomationTyping, kind, "Typing times do not depend on the keys as they do for people.", "Deny or step up."},
		{ReasonAutomationPointer, kind, "Pointer movement is as regular as that of scripts.", "Deny or step up."},
		{ReasonAutomationRange, kind, "Timing statistics are outside the range of people.", "Deny or step up."},
		{ReasonAutomationHint, kind, "One test suggests automation, which is not enough for a conclusion.", "Wait for more evidence."},
		{ReasonImitation, kind, "Typing differs from one passage to the next as noise around a person's averages does: a program may imitate the person. Rules out confirmed and likely.", "Step up by passkey."},
		{ReasonVetoAutomation, kind, "Signs of automation rule out confirmed and likely.", "Step up."},
		{ReasonVetoReplay, replay, "Signs of replay rule out confirmed and likely.", "Step up."},
		{ReasonReplayExact, replay, "A frame repeats an earlier frame exactly.", "Deny or step up; check whether the collector resends frames."},
		{ReasonReplayNear, replay, "A frame is more similar to an earlier frame than two recordings of one person are.", "Deny or step up."},
		{ReasonReplayElsewhere, replay, "A frame was seen before in another session or of another subject.", "Deny."},
		{ReasonNoReplay, replay, "No frame repeats another.", "None needed."},
	}
}

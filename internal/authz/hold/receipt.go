package hold

import "encoding/json"

// approvedReceipt is the contract's ReviewApprovedReceipt. It is stored without the proof of its decision.
type approvedReceipt struct {
	Authorization string          `json:"authorization"`
	Resolution    string          `json:"resolution"`
	Decision      json.RawMessage `json:"decision"`
	SelfReviewed  bool            `json:"self_reviewed,omitempty"` // the requester is among those who approved
	BreakGlass    bool            `json:"break_glass,omitempty"`   // one person approved alone
}

// rejectedReceipt is the contract's ReviewRejectedReceipt.
type rejectedReceipt struct {
	Authorization string         `json:"authorization"`
	Resolution    string         `json:"resolution"`
	Outcome       outcomeReceipt `json:"outcome"`
}

// Withdrawn is the contract's ReviewWithdrawal.
type Withdrawn struct {
	Authorization string `json:"authorization"`
	ReviewStatus  string `json:"review_status"`
	WithdrawnAt   string `json:"withdrawn_at"`
}

// outcomeReceipt is the contract's OutcomeReceipt.
type outcomeReceipt struct {
	Authorization string `json:"authorization"`
	Outcome       string `json:"outcome"`
	ReportedAt    string `json:"reported_at"`
}

package authorization

import "github.com/countersign-dev/countersign/internal/account/subjectrow"

// FactTally is the statement that counts decisions with the facts of one.
var FactTally = factTally(subjectrow.ByExternalID)

// FactUnapproved is the one that counts decisions which no person approved.
var FactUnapproved = factUnapproved(subjectrow.ByExternalID)

// UnknownTally is a tally that is not known.
const UnknownTally = unknownTally

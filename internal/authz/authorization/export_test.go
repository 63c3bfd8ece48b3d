package authorization

// FactTally is the statement that counts decisions with the facts of one.
var FactTally = factTally(byExternalID)

// FactUnapproved is the one that counts decisions which no person approved.
var FactUnapproved = factUnapproved(byExternalID)

// UnknownTally is a tally that is not known.
const UnknownTally = unknownTally

package authorization

// FactTally is the statement that counts decisions with the facts of one.
var FactTally = factTally(byExternalID)

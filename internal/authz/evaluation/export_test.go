package evaluation

// TallyStatement is the statement that counts the decisions of a report.
const TallyStatement = tally

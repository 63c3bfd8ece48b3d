// Package display derives the details that a person sees before approving a request, such as "Amount: 250.00 EUR", from
// the annotations of an action's context_schema and the values of a request.
//
// A property of the schema is shown if it carries the annotation "x-countersign-display" with a label and a format; the
// resource is shown if the schema itself carries it. The text of a detail is exact: a number is never rounded, and a
// character that could change how the rest is read is replaced by its number, such as [U+202E]. The text that is shown is
// the text whose digest a passkey signs.
//
// It is pure except for Vault, which seals details for storage. It may not read a clock or the database.
package display

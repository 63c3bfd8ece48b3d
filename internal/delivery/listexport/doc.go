// Package listexport writes the lists of the console to files of any length: CSV (RFC 4180) or JSON Lines, page by page, so that
// memory and database connections do not depend on the length of the list. Each export is recorded in the audit log.
//
// It may not choose the rows or check rights: the caller passes a source that reads what the user sees.
package listexport

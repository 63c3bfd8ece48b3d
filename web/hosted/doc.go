// Package hosted has what the pages for a customer's users share: their texts in several languages, and the customer's brand.
//
// A language is a file of messages. The package may not know what a page does; it never changes a text that a passkey signs.
package hosted

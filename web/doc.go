// Package web is the shell of what people open in a browser: layout, style, scripts, headers, error pages. The pages
// themselves are sections (Section), each mounted under a prefix of its own beside the API.
//
// It may not decide anything, touch the database, or know a page's business; it imports no workflow. What it answers
// carries no inline script or style, asks no other host for anything, and shows text from outside through Visible alone.
package web

//go:generate go run -C ../tools/bundle . ../../web/assets/src ../../web/assets/dist

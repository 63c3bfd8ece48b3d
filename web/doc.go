// Package web serves the pages that people open in a browser. It has what all pages share: layout, styles, scripts, security
// headers and error pages. The pages themselves are sections (Section), each mounted under a prefix beside the API.
//
// It may not decide anything, access the database, know what a page is for, or import api or workflows. Its responses contain
// no inline script or style and load nothing from other hosts, and external text is rendered through Visible only.
package web

//go:generate go run -C ../tools/check ./bundle ../../web/assets/src ../../web/assets/dist

// Package accuracy measures error rates on recordings. It runs the service's own extraction, scoring and claim rules
// under published protocols and reports error rates with error bars. It writes reports and curves only; it may not write
// anything of a recording or of a recorded person.
package accuracy

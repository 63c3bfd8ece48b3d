// Package lab is the room of offline measurement: error rates on recorded people (accuracy), reading the recordings
// (recordings) and learning the background model from them (training).
//
// It may import behavior. It may not import a room that serves requests, nor may such a room import it: only cmd does, for
// the commands accuracy and background.
package lab

// Package recordings reads recorded human behaviour in the gzip CSV formats the accuracy command measures on, and finds
// such files by name. What it returns is raw content: it may be fed to extraction and nothing of it may be written out.
package recordings

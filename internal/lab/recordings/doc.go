// Package recordings reads recorded human behaviour in the gzip CSV formats that the accuracy command measures, and finds
// such files by name. What it returns is raw content: it may be fed to extraction and nothing of it may be written out.
package recordings

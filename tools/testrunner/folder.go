package main

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
)

// memory is where Linux keeps files in memory.
const memory = "/dev/shm"

// inMemory are settings of a server whose files are in memory: its log has a quarter of what it has on a disk.
var inMemory = []string{"max_wal_size=1GB"}

// databaseFolder returns the folder in which the servers make theirs, and Postgres's settings for it. It is in memory if so many bytes of that are free:
// the databases of the tests that run at the same time, and the server's log. A run makes some thousands of databases of 1,700 files each: in memory one
// takes 35 ms of CPU to make and delete, and on a disk 50 to 250 ms.
func databaseFolder(needs uint64) (dir string, settings []string) {
	meminfo, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return os.TempDir(), nil
	}
	var s syscall.Statfs_t
	if err := syscall.Statfs(memory, &s); err != nil || s.Bavail*uint64(s.Bsize) < needs || available(meminfo) < needs { // #nosec G115 -- a size
		return os.TempDir(), nil
	}
	return memory, inMemory
}

// available returns how much memory is free or can be freed, in bytes, by the text of /proc/meminfo; 0 if it does not say.
func available(meminfo []byte) uint64 {
	const name = "MemAvailable:"
	for line := range bytes.Lines(meminfo) {
		var kB uint64
		if _, err := fmt.Sscanf(string(line), name+"%d kB", &kB); err == nil {
			return kB << 10
		}
	}
	return 0
}

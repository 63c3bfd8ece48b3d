package cluster

import (
	"fmt"
	"syscall"
)

// mount puts a file system in memory at dir. Only root may.
func mount(dir string, mebibytes int) error {
	return syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm,mode=0700", mebibytes))
}

// freeShare returns the share of the file system of dir that is free; 1 if that is not known.
func freeShare(dir string) float64 {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil || s.Blocks == 0 {
		return 1
	}
	return float64(s.Bavail) / float64(s.Blocks)
}

// unmount removes it, even while a file in it is open.
func unmount(dir string) error { return syscall.Unmount(dir, syscall.MNT_DETACH) }

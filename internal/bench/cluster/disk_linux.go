package cluster

import (
	"fmt"
	"syscall"
)

// mount puts a file system in memory at dir. Only root may.
func mount(dir string, mebibytes int) error {
	return syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm,mode=0700", mebibytes))
}

// unmount removes it, even while a file in it is open.
func unmount(dir string) error { return syscall.Unmount(dir, syscall.MNT_DETACH) }

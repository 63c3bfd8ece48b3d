//go:build !linux

package subprocess

import "syscall"

// dieWithParent does nothing: only Linux can signal a child whose parent
// has died. devstack watches its parent by itself (--parent-pid); a
// Postgres without a parent is stopped by the next start.
func dieWithParent(*syscall.SysProcAttr, syscall.Signal) {}

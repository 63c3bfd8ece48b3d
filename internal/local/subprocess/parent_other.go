//go:build !linux

package child

import "syscall"

// dieWithParent does nothing: only Linux tells a child that its parent has died. Children that can watch their parent
// by themselves (devstack's --parent-pid) do; the others are found and stopped by the next start.
func dieWithParent(*syscall.SysProcAttr, syscall.Signal) {}

package subprocess

import "syscall"

// dieWithParent has the kernel send sig to the child when the thread that starts it ends.
func dieWithParent(attr *syscall.SysProcAttr, sig syscall.Signal) { attr.Pdeathsig = sig }

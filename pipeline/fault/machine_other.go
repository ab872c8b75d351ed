//go:build !windows

package fault

import "syscall"

var machineStates = [...]state{
	{syscall.EMFILE, tooManyFiles},
	{syscall.ENFILE, tooManyOnMachine},
	{syscall.ENOMEM, outOfMemory},
	{syscall.EIO, unreadable},
}

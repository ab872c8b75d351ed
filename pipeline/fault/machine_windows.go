package fault

import "golang.org/x/sys/windows"

var machineStates = [...]state{
	{windows.ERROR_TOO_MANY_OPEN_FILES, tooManyFiles},
	{windows.ERROR_NO_SYSTEM_RESOURCES, tooManyOnMachine},
	{windows.ERROR_NOT_ENOUGH_MEMORY, outOfMemory},
	{windows.ERROR_OUTOFMEMORY, outOfMemory},
	{windows.ERROR_COMMITMENT_LIMIT, outOfMemory},
	{windows.ERROR_CRC, unreadable},
	{windows.ERROR_NOT_READY, unreadable},
	{windows.ERROR_IO_DEVICE, unreadable},
}

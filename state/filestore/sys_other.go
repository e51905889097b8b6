//go:build !unix

package filestore

import (
	"errors"
	"syscall"
)

// Windows' ERROR_HANDLE_DISK_FULL and ERROR_DISK_FULL.
const (
	errorHandleDiskFull syscall.Errno = 39
	errorDiskFull       syscall.Errno = 112
)

func isFull(err error) bool {
	return errors.Is(err, errorDiskFull) || errors.Is(err, errorHandleDiskFull)
}

func isReadOnly(error) bool { return false }

// syncDir does nothing: a directory cannot be flushed there, and a rename is journalled by the file system.
func syncDir(string) error { return nil }

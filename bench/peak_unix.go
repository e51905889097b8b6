//go:build unix

package main

import (
	"os"
	"syscall"
)

// peakOf is the most memory that a process had, in bytes (Linux; elsewhere Maxrss has another unit).
func peakOf(ended *os.ProcessState) int64 {
	if usage, ok := ended.SysUsage().(*syscall.Rusage); ok {
		return usage.Maxrss << 10
	}
	return 0
}

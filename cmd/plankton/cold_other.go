//go:build !linux

package main

import (
	"github.com/planktonml/plankton/pipeline/datum"
)

// evict is for Linux only.
func evict(datum.Source) (int64, error) {
	return 0, usagef("--cold: only Linux lets a program drop files from the page cache")
}

package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/planktonml/plankton/dataset"
	"github.com/planktonml/plankton/internal/anydata"
	"github.com/planktonml/plankton/internal/terminal"
)

// openData opens --data until it is interrupted. What was opened stays usable, and
// the caller closes it.
func openData(std *stdio, data string) (*dataset.Data, error) {
	ctx, cancel := context.WithCancel(context.Background())
	interrupted, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	defer context.AfterFunc(interrupted, cancel)()
	options, closeLine := openOptions(std, 0)
	defer closeLine()
	return anydata.Open(ctx, data, options)
}

// openOptions says how a command opens --data: indexes of shards are kept in the user's
// cache folder, and looking at shards shows on a terminal. The line must be removed
// afterwards.
func openOptions(std *stdio, readAhead int) (o dataset.Options, closeLine func()) {
	line := terminal.On(std.err)
	o = dataset.Options{ReadAhead: readAhead, Progress: func(done, shards int) {
		if line.Due() {
			line.Set(fmt.Sprintf("looking at the shards: %d of %d", done, shards))
		}
	}}
	if dir, err := os.UserCacheDir(); err == nil {
		o.Cache = filepath.Join(dir, "plankton", "indexes")
	}
	return o, line.Clear
}

package main

import (
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/planktonml/plankton/internal/printable"
	"github.com/planktonml/plankton/storage/cache"
)

// cacheCmd says what a folder of --cache holds.
type cacheCmd struct {
	Dir   string `arg:"" help:"Folder that bench --cache or a program's cache.Options named."`
	Check bool   `xor:"do" help:"Read all of it and remove what is damaged."`
	Clean bool   `xor:"do" help:"Remove all of it; no program may be using it."`
	JSON  bool   `name:"json" help:"Print JSON."`
}

func (c *cacheCmd) Run(std *stdio) error {
	if c.Clean {
		if err := cache.Clean(c.Dir); err != nil {
			return ofCache(c.Dir, err)
		}
	}
	look := cache.Look
	if c.Check {
		look = cache.Check
	}
	found, err := look(c.Dir)
	if err != nil {
		return ofCache(c.Dir, err)
	}
	if c.JSON {
		return printJSON(std.out, found)
	}
	fmt.Fprintf(std.out, "%s of %s\n", plural(found.Chunks, "chunk"), byteCount(found.Bytes))
	w := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	for _, f := range found.Folders {
		fmt.Fprintf(w, "%s\t%s\t%s\n", printable.Name(f.Name), byteCount(f.Bytes), plural(f.Files, "file"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if found.Bad > 0 {
		what := "are damaged; --check removes what is"
		if c.Check {
			what = "were damaged and are removed; what they held is fetched again"
		}
		fmt.Fprintf(std.out, "%s %s\n", plural(found.Bad, "chunk"), what)
	}
	return nil
}

// ofCache makes an error name the folder.
func ofCache(dir string, err error) error {
	if errors.Is(err, cache.ErrInUse) {
		return fmt.Errorf("%s: %w", printable.Name(dir), err)
	}
	return err
}

// byteCount writes a number of bytes for a person.
func byteCount(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

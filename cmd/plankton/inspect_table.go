package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/planktonml/plankton/internal/printable"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/readers/parquet"
)

// tableLook is what is known of Parquet files without reading their rows.
type tableLook struct {
	Columns   []string `json:"columns"` // of the files, with their types
	RowGroups int      `json:"row_groups"`
	MostRows  int64    `json:"most_rows"` // of a row group
	PageRows  float64  `json:"page_rows"` // that are decoded for a row that is read alone

	// FullShuffle is how often everything is decoded in an epoch of a full shuffle.
	FullShuffle float64 `json:"full_shuffle"`
}

// lookAtTable says what is in a table and what its orders cost; nothing of other sources.
func (f *inspection) lookAtTable(source datum.Source) error {
	t, ok := source.(*parquet.Source)
	if !ok {
		return nil
	}
	cost, err := t.Cost(context.Background())
	if err != nil {
		return err
	}
	f.Table = &tableLook{Columns: t.Columns(), RowGroups: len(t.Groups()), MostRows: t.Block(), PageRows: cost.PageRows, FullShuffle: cost.FullShuffle}
	return nil
}

// print writes the look for a person; nothing where there is no table.
func (t *tableLook) print(std *stdio) {
	if t == nil {
		return
	}
	fmt.Fprintf(std.out, "columns: %s\n", printable.Line(strings.Join(t.Columns, ", ")))
	fmt.Fprintf(std.out, "%s of up to %s, pages of %.0f\n", plural(int64(t.RowGroups), "row group"), plural(t.MostRows, "row"), t.PageRows)
	if t.FullShuffle < 1.05 {
		fmt.Fprintln(std.out, "a full shuffle decodes everything about once: the pages fit into the reader's cache")
		return
	}
	fmt.Fprintf(std.out, "a full shuffle decodes everything %.1f times, a shuffle by blocks of %d (iterator.Options.ShuffleBlock) about once\n", t.FullShuffle, t.MostRows)
}

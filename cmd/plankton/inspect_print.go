package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/planktonml/plankton/internal/printable"
	"github.com/planktonml/plankton/internal/terminal"
)

// longestList is how many entries of a list are printed for a person.
const longestList = 20

// print writes the inspection for a person.
func (f *inspection) print(std *stdio) {
	w := std.out
	fmt.Fprintf(w, "%s, %.1f MB\n", plural(f.Samples, "sample"), float64(f.Bytes)/1e6)
	f.Shards.print(std, f.Format)
	f.Table.print(std)
	printCounts(std, "formats", f.Formats)
	printCounts(std, "channels", f.Channels)
	if f.Width != nil {
		fmt.Fprintf(w, "width   %d … %d, median %d, mean %.0f\n", f.Width.Min, f.Width.Max, f.Width.Median, f.Width.Mean)
		fmt.Fprintf(w, "height  %d … %d, median %d, mean %.0f\n", f.Height.Min, f.Height.Max, f.Height.Median, f.Height.Mean)
	}
	if f.Mean != nil {
		fmt.Fprintf(w, "mean and deviation of the pixels, every picture counting alike:\n  Mean: %s, Std: %s,\n", goLiteral(f.Mean), goLiteral(f.Std))
	}
	if n := len(f.Classes); n > 0 {
		most := slices.MaxFunc(f.Classes, func(a, b classCount) int { return cmp.Compare(a.Samples, b.Samples) }).Samples
		fmt.Fprintln(w, plural(int64(n), "class"))
		for _, c := range head(f.Classes) {
			fmt.Fprintf(w, "  %s %6d  %s\n", terminal.Bar(float64(c.Samples)/float64(max(1, most)), 20), c.Samples, printable.Name(c.Name))
		}
		more(std, n)
	}
	if n := len(f.Misnamed); n > 0 {
		fmt.Fprintln(w, plural(int64(n), "file"), "of another format than the name says")
		for _, m := range head(f.Misnamed) {
			fmt.Fprintf(w, "  %s: %s\n", printable.Name(m.Source), m.Format)
		}
		more(std, n)
	}
	damaged, undecodable := []badFile{}, []badFile{}
	for _, b := range f.Bad {
		if b.Decodable {
			damaged = append(damaged, b)
		} else {
			undecodable = append(undecodable, b)
		}
	}
	fmt.Fprintf(w, "%s\n", plural(int64(len(f.Bad)), "bad file"))
	printFiles(std, "damaged, but decodable, as libjpeg does with a warning (--damaged keep)", damaged)
	printFiles(std, "not decodable", undecodable)
	for _, text := range f.Warnings {
		fmt.Fprintf(w, "warning: %s\n", text)
	}
}

func printFiles(std *stdio, title string, files []badFile) {
	if len(files) == 0 {
		return
	}
	fmt.Fprintf(std.out, "%d %s\n", len(files), title)
	for _, b := range head(files) {
		fmt.Fprintf(std.out, "  %s: %s\n", printable.Name(b.Source), printable.Line(b.Error))
	}
	more(std, len(files))
}

// goLiteral writes numbers as a program has them.
func goLiteral(values []float64) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = strconv.FormatFloat(v, 'f', -1, 64)
	}
	return "[]float64{" + strings.Join(words, ", ") + "}"
}

func printCounts(std *stdio, name string, counts map[string]int64) {
	var parts []string
	for k, n := range counts {
		parts = append(parts, fmt.Sprintf("%d %s", n, k))
	}
	slices.Sort(parts)
	if len(parts) > 0 {
		fmt.Fprintf(std.out, "%s: %s\n", name, strings.Join(parts, ", "))
	}
}

// head returns the part of a list that is printed.
func head[E any](list []E) []E { return list[:min(len(list), longestList)] }

// more says how much of a list of n entries was left out.
func more(std *stdio, n int) {
	if n > longestList {
		fmt.Fprintf(std.out, "  … and %d more (--json lists all)\n", n-longestList)
	}
}

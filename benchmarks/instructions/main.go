// Command instructions counts what an arm64 program executes, by function, on any machine
// with qemu-aarch64: times in an emulator say nothing, but instructions repeat.
//
//	CGO_ENABLED=0 GOARCH=arm64 go build -o plankton.arm64 ./cmd/plankton
//	go run ./benchmarks/instructions -in internal/jpeg,internal/imaging -per 20 \
//		./plankton.arm64 bench --workload=train --data=FOLDER --threads=1 --batch=4 --entropy-index=off
//
// counts what decoding and resizing a picture take where FOLDER has 20 of them. What schedulers
// and garbage collectors execute differs from run to run. A memory access counts as one
// instruction, however much it moves.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"text/tabwriter"
)

func main() {
	in := flag.String("in", "", "comma-separated parts of the names of packages, such as internal/jpeg; none for all")
	per := flag.Int("per", 1, "pictures that the program decodes, to divide by")
	top := flag.Int("top", 30, "functions to list")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: instructions [-in PACKAGES] [-per N] [-top N] PROGRAM ARGUMENTS...")
		os.Exit(2)
	}
	counts, err := run(flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if *in != "" {
		parts := strings.Split(*in, ",")
		maps.DeleteFunc(counts, func(name string, _ int) bool {
			return !slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(name, part) })
		})
	}
	report(os.Stdout, counts, *per, *top)
}

// run runs the program in the emulator and returns the instructions by function.
func run(args []string) (map[string]int, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	// Every block of instructions is written once when it is translated and, as blocks are not
	// chained, by a line each time when it is run.
	cmd := exec.Command("qemu-aarch64", append([]string{"-d", "in_asm,exec,nochain", "-D", "/dev/fd/3"}, args...)...)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = os.Stderr, os.Stderr, []*os.File{w}
	cmd.Env = append(os.Environ(), "GODEBUG=asyncpreemptoff=1")
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	counts, err := count(r)
	if err != nil {
		return nil, err
	}
	return counts, cmd.Wait()
}

// A block is a piece of a function without jumps but at its end.
type block struct{ instructions, runs int }

// count reads the log of the emulator.
func count(log io.Reader) (map[string]int, error) {
	counts := map[string]int{}
	blocks := map[string]*block{}
	names := map[string]string{}
	settle := func(at string) {
		if b := blocks[at]; b != nil {
			counts[names[at]] += b.instructions * b.runs
		}
	}
	var open *block // the one that is being listed
	lines := bufio.NewReaderSize(log, 1<<20)
	for {
		line, err := lines.ReadSlice('\n')
		switch {
		case err == io.EOF:
			for at := range blocks {
				settle(at)
			}
			return counts, nil
		case err != nil:
			return nil, err
		case bytes.HasPrefix(line, []byte("IN: ")):
			open = new(block)
			names[""] = string(bytes.TrimSpace(line[4:]))
		case open != nil && bytes.HasPrefix(line, []byte("0x")):
			if open.instructions == 0 {
				at := fmt.Sprintf("%016s", line[2:bytes.IndexByte(line, ':')])
				settle(at)
				blocks[at], names[at] = open, names[""]
			}
			open.instructions++
		case bytes.HasPrefix(line, []byte("Trace ")):
			open = nil
			_, rest, _ := bytes.Cut(line, []byte("/"))
			at, _, _ := bytes.Cut(rest, []byte("/"))
			b := blocks[string(at)]
			if b == nil {
				return nil, fmt.Errorf("a block that was not listed was run: %s", line)
			}
			b.runs++
		}
	}
}

func report(to io.Writer, counts map[string]int, per, top int) {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	total := 0
	for _, n := range counts {
		total += n
	}
	t := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, n int) {
		_, _ = fmt.Fprintf(t, "%d\t%.1f %%\t %s\n", n/per, 100*float64(n)/float64(max(total, 1)), name)
	}
	row("all", total)
	for _, name := range names[:min(top, len(names))] {
		row(name, counts[name])
	}
	_ = t.Flush()
}

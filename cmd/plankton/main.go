// Command plankton looks at folders of pictures and at shards, converts and indexes them,
// measures and traces input pipelines, plans epochs and streams, says which samples a step
// had, and runs operators on explicit data. Every subcommand prints
// JSON with --json.
//
// Exit status: 0 on success, 1 when the work failed or inspect found bad files, 2 on bad
// usage. Errors are one line on standard error.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/planktonml/plankton/internal/printable"
)

// cli is the whole command line: one field per subcommand, each with a
// Run(*stdio) error method in a file of its own.
type cli struct {
	Plan    planCmd    `cmd:"" help:"Print which rank reads which samples when."`
	Streams streamsCmd `cmd:"" help:"Assign the nodes of a graph to streams."`
	Bench   benchCmd   `cmd:"" help:"Measure an input pipeline on a folder of images."`
	Serve   serveCmd   `cmd:"" help:"Make rows of a workload for bench --remote, until interrupted."`
	Trace   traceCmd   `cmd:"" help:"Run a workload like bench, and write a trace and a report of where the time goes."`
	Inspect inspectCmd `cmd:"" help:"Say what is in a folder of pictures, shards or IDX files."`
	Index   indexCmd   `cmd:"" help:"Write the index of shards beside them."`
	Convert convertCmd `cmd:"" help:"Write pictures and labels into tar or TFRecord shards."`
	Cache   cacheCmd   `cmd:"" help:"Say what a folder of bench --cache holds, or clean it."`
	Which   whichCmd   `cmd:"" help:"Name the samples of a step, or the steps of a sample, from the plan alone."`
	Apply   applyCmd   `cmd:"" help:"Run operators on explicit arrays."`
}

// stdio is where a command reads and writes; tests replace it.
type stdio struct {
	out, err io.Writer
}

// usageError marks an error as bad usage: exit status 2.
type usageError struct{ error }

func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

func main() {
	os.Exit(run(os.Args[1:], &stdio{os.Stdout, os.Stderr}))
}

// run executes one command line, prints its error on one line, and returns its exit
// status.
func run(args []string, std *stdio) int {
	out := &output{w: std.out}
	err := execute(args, &stdio{out, std.err})
	if out.err != nil {
		err = out.err
	}
	if err == nil {
		return 0
	}
	fmt.Fprintf(std.err, "plankton: %s\n", oneLine(err))
	if errors.As(err, new(usageError)) {
		return 2
	}
	return 1
}

// oneLine writes an error, also one of several, on a line that a terminal shows as it
// is, whatever names of files are in it.
func oneLine(err error) string {
	parts := strings.Split(strings.TrimSpace(err.Error()), "\n")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return printable.Line(strings.Join(parts, "; "))
}

// warn prints what is legal and surely not meant.
func (s *stdio) warn(format string, args ...any) {
	fmt.Fprintf(s.err, "plankton: warning: %s\n", printable.Line(fmt.Sprintf(format, args...)))
}

// execute runs the command that args name.
func execute(args []string, std *stdio) error {
	var c cli
	helped := false
	parser, err := kong.New(&c,
		kong.Name("plankton"),
		kong.Description("An input pipeline for Gorgonia: plan, measure, inspect."),
		kong.Writers(std.out, std.err),
		kong.Exit(func(int) { helped = true }),
		kong.Bind(std),
	)
	if err != nil {
		return err
	}
	ctx, err := parser.Parse(args)
	if helped {
		return nil
	}
	if wrong := (*kong.ParseError)(nil); errors.As(err, &wrong) {
		return usagef("%w; see %s --help", err, strings.Join(append([]string{"plankton"}, commands(wrong.Context)...), " "))
	}
	if err != nil {
		return usageError{err}
	}
	return ctx.Run()
}

// commands returns the name of the command that a command line got to, if any.
func commands(ctx *kong.Context) (names []string) {
	for _, p := range ctx.Path {
		if p.Command != nil {
			names = append(names, p.Command.Name)
		}
	}
	return names
}

// output keeps the first error of a writer, which printing for a person does not
// look at: a full disk must not pass for success.
type output struct {
	w   io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

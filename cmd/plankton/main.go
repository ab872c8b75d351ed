// Command plankton plans epochs and streams, runs operators on explicit data
// and measures input pipelines. Every subcommand prints JSON with --json.
//
// Exit status: 0 on success, 1 when the work failed, 2 on bad usage. Errors
// are one line on standard error.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"
)

// cli is the whole command line: one field per subcommand, each with a
// Run(*stdio) error method in a file of its own.
type cli struct {
	Plan    planCmd    `cmd:"" help:"Print which rank reads which samples when."`
	Streams streamsCmd `cmd:"" help:"Assign the nodes of a graph to streams."`
	Bench   benchCmd   `cmd:"" help:"Measure an input pipeline on a folder of images."`
	Trace   traceCmd   `cmd:"" help:"Run a workload like bench, and write a trace and a report of where the time goes."`
	Inspect inspectCmd `cmd:"" help:"Say what is in a folder of pictures or IDX files."`
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

// run executes one command line and returns its exit status.
func run(args []string, std *stdio) int {
	var c cli
	exit := -1
	parser, err := kong.New(&c,
		kong.Name("plankton"),
		kong.Description("An input pipeline for Gorgonia: plan, measure, inspect."),
		kong.Writers(std.out, std.err),
		kong.Exit(func(code int) { exit = code }),
		kong.Bind(std),
	)
	if err != nil {
		return fail(std, err, 1)
	}
	ctx, err := parser.Parse(args)
	if exit >= 0 { // --help
		return exit
	}
	if err != nil {
		return fail(std, err, 2)
	}
	if err := ctx.Run(); err != nil {
		var usage usageError
		if errors.As(err, &usage) {
			return fail(std, err, 2)
		}
		return fail(std, err, 1)
	}
	return 0
}

// fail prints err on one line and returns code.
func fail(std *stdio, err error, code int) int {
	line := strings.Join(strings.Fields(strings.ReplaceAll(err.Error(), "\n", "; ")), " ")
	fmt.Fprintf(std.err, "plankton: %s\n", line)
	return code
}

// Command table prints the table of a folder of results, which benchmarks/gpu/run.sh made.
// Its exit status is 1 where a line failed, and with the flag -all also where no test judged
// a line.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/planktonml/plankton/benchmarks/gpu/verdict"
)

func main() {
	all := flag.Bool("all", false, "fail where no test judged a line")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: table [-all] RESULTS")
		os.Exit(2)
	}
	c, err := verdict.Write(os.Stdout, flag.Arg(0))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if err != nil || c.Fail > 0 || *all && c.Unjudged > 0 {
		os.Exit(1)
	}
}

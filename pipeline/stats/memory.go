package stats

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/planktonml/plankton/memstats"
)

// Memory says, per operator and output, how much memory samples needed.
type Memory []OperatorMemory

// OperatorMemory is the memory of one operator or reader, in bytes, with an entry
// for each of its outputs. The figures are NVIDIA DALI's, under its names.
//
// The results of an operator lie in the batches if they are outputs of the pipeline, and
// else in scratch memory of each worker. Real and Reserved are sums over all batches or
// workers; MaxReal and MaxReserved are of a single sample.
type OperatorMemory struct {
	Name        string  `json:"name"`                     // with #2 and so on where others have the same
	Real        []int64 `json:"real_memory_size"`         // what the latest samples take
	MaxReal     []int64 `json:"max_real_memory_size"`     // what the largest sample took so far
	Reserved    []int64 `json:"reserved_memory_size"`     // what the buffers hold
	MaxReserved []int64 `json:"max_reserved_memory_size"` // what the largest buffer held so far

	Kind      []memstats.Kind `json:"memory_kind"`            // of each output: host memory, or what operators for whole batches ask for
	Beside    int64           `json:"beside_memory_size"`     // what kernels, such as decoders, hold beside the outputs (datum.Sample.Reserve)
	MaxBeside int64           `json:"max_beside_memory_size"` // the most that one worker's kernel held so far

	Presizable []bool `json:"-"` // by output: its buffer follows a hint
}

// Hint returns what to set Options.BytesPerSampleHint to, as Go source. Dense
// outputs need no hint: they have 0.
func (s Memory) Hint() string {
	var entries []string
	for _, o := range s {
		any := false
		var sizes []string
		for i, n := range o.MaxReal {
			if !o.Presizable[i] {
				n = 0
			}
			any = any || n > 0
			sizes = append(sizes, fmt.Sprint(n))
		}
		if any {
			entries = append(entries, fmt.Sprintf("%q: {%s}", o.Name, strings.Join(sizes, ", ")))
		}
	}
	return fmt.Sprintf("BytesPerSampleHint: map[string][]int{%s},", strings.Join(entries, ", "))
}

// String writes the figures as a table, and the hint to set.
func (s Memory) String() string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "operator\toutput\tmemory\treal\tmax real\treserved\tmax reserved\tbeside\tmax beside")
	for _, o := range s {
		for i := range o.Real {
			fmt.Fprintf(t, "%s\t%d\t%s\t%d\t%d\t%d\t%d\t", o.Name, i, o.Kind[i], o.Real[i], o.MaxReal[i], o.Reserved[i], o.MaxReserved[i])
			if i == 0 {
				fmt.Fprintf(t, "%d\t%d\n", o.Beside, o.MaxBeside)
			} else {
				fmt.Fprint(t, "\t\n")
			}
		}
	}
	t.Flush()
	return b.String() + s.Hint() + "\n"
}

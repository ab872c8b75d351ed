package main

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Marks of a sample or row in the table.
const (
	repeatedMark = "*"
	paddedMark   = "+"
	emptyRow     = "-"
	leftOut      = "(left out)"
)

// tableWidth is how wide a table may get before its steps are wrapped.
const tableWidth = 110

// planTable prints the epochs of a run for people: ranks down, steps across.
type planTable struct {
	*planRun
	out *bufio.Writer

	seen                    []uint64 // one bit per sample of the epoch
	last                    []int64  // the last sample of each rank, -1 if none
	repeated, padded, empty int64
	marks                   map[string]bool // that were used
}

func (r *planRun) writeTable(out *bufio.Writer) {
	t := &planTable{planRun: r, out: out, marks: map[string]bool{}}
	for epoch := r.first; epoch <= r.last; epoch++ {
		t.epoch(epoch)
	}
	for _, legend := range []struct{ mark, means string }{
		{repeatedMark, "repeated: the epoch has read this sample before"},
		{paddedMark, "padded: repeats the last sample of the rank"},
		{emptyRow, "padded: a row without a sample"},
		{leftOut, "the iterator returns no batch of this rank"},
	} {
		if t.marks[legend.mark] {
			fmt.Fprintf(out, "%s  %s\n", legend.mark, legend.means)
		}
	}
	if err := r.plan.CheckSteps(); err != nil {
		fmt.Fprintln(out, strings.TrimPrefix(err.Error(), "shard: "))
	}
}

func (t *planTable) epoch(epoch int64) {
	cfg := t.plan.Config()
	ids := idsOf(&cfg)
	t.seen = make([]uint64, (ids+63)/64)
	t.last = make([]int64, cfg.Shards)
	for i := range t.last {
		t.last[i] = -1
	}
	t.repeated, t.padded, t.empty = 0, 0, 0
	if epoch == t.first && t.read != nil {
		t.readBefore(epoch)
	}
	from, to := t.steps(epoch)
	fmt.Fprintf(t.out, "epoch %d: %s of %s × %s", epoch, plural(to-from, "step"), plural(int64(cfg.Shards), "rank"), plural(int64(cfg.Batch), "row"))
	if from > 0 {
		fmt.Fprintf(t.out, ", from step %d on", from)
	}
	if said := t.plan.Len(epoch); said != to {
		fmt.Fprintf(t.out, ", where len says %d", said)
	}
	fmt.Fprintln(t.out)
	for from < to {
		from = t.band(epoch, from, to)
	}
	fmt.Fprintf(t.out, "  %d repeated, %d padded, ", t.repeated, t.padded+t.empty)
	t.missing(ids)
	if cfg.Groups != nil {
		fmt.Fprintf(t.out, "  %s\n", t.groupCost(epoch))
	}
}

// plural returns "1 step", "2 steps".
func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "s") {
		noun += "e"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// readBefore notes what was read before the position that the run resumes.
func (t *planTable) readBefore(epoch int64) {
	var ids []int64
	for step := range t.readSteps {
		for rank := range t.read.Config().Shards {
			ids = t.read.AppendBatch(ids[:0], epoch, step, rank)
			for _, id := range ids {
				t.see(id)
			}
		}
	}
}

// see notes a sample and reports whether the epoch had it before.
func (t *planTable) see(id int64) bool {
	bit := uint64(1) << (id % 64)
	before := t.seen[id/64]&bit != 0
	t.seen[id/64] |= bit
	return before
}

// band prints as many steps as fit beside each other and returns the next one.
func (t *planTable) band(epoch, from, to int64) int64 {
	cfg := t.plan.Config()
	rank := len("rank ") + len(strconv.Itoa(cfg.Shards-1))
	cell := cfg.Batch*(len(strconv.FormatInt(idsOf(&cfg)-1, 10))+2) + 2
	to = min(to, from+int64(max(1, (tableWidth-rank)/cell)))

	rows := make([][]string, cfg.Shards+1)
	rows[0] = []string{""}
	for r := range cfg.Shards {
		rows[r+1] = []string{fmt.Sprintf("rank %d", r)}
	}
	for step := from; step < to; step++ {
		rows[0] = append(rows[0], fmt.Sprintf("step %d", step))
		for r := range cfg.Shards {
			rows[r+1] = append(rows[r+1], t.cell(epoch, step, r, cfg.Batch, cfg.PadLastBatch))
		}
	}
	t.columns(rows)
	return to
}

// cell returns the samples of one batch with their marks.
func (t *planTable) cell(epoch, step int64, rank, batch int, pad bool) string {
	ids, ok := t.rank(nil, epoch, step, rank)
	if !ok {
		t.marks[leftOut] = true
		return leftOut
	}
	words := make([]string, 0, batch)
	for _, id := range ids {
		word := strconv.FormatInt(id, 10)
		switch {
		case !t.see(id):
		case pad && id == t.last[rank]:
			t.padded++
			word = t.mark(word, paddedMark)
		default:
			t.repeated++
			word = t.mark(word, repeatedMark)
		}
		t.last[rank] = id
		words = append(words, word)
	}
	for range batch - len(ids) {
		t.empty++
		words = append(words, t.mark("", emptyRow))
	}
	return strings.Join(words, " ")
}

func (t *planTable) mark(word, mark string) string {
	t.marks[mark] = true
	return word + mark
}

// columns prints rows with every column as wide as its widest cell.
func (t *planTable) columns(rows [][]string) {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, c := range row {
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	for _, row := range rows {
		line := ""
		for i, c := range row {
			line += fmt.Sprintf("  %-*s", width[i], c)
		}
		fmt.Fprintln(t.out, strings.TrimRight(line, " "))
	}
}

// missing prints which samples the epoch has not read.
func (t *planTable) missing(samples int64) {
	var ranges []string
	count := int64(0)
	for id := int64(0); id < samples; id++ {
		first := id
		for id < samples && t.seen[id/64]&(1<<(id%64)) == 0 {
			id++
		}
		switch n := id - first; {
		case n == 1:
			ranges = append(ranges, strconv.FormatInt(first, 10))
		case n > 1:
			ranges = append(ranges, fmt.Sprintf("%d-%d", first, id-1))
		}
		count += id - first
	}
	fmt.Fprintf(t.out, "%d missing", count)
	if count > 0 {
		fmt.Fprintf(t.out, ": %s", strings.Join(ranges, ", "))
	}
	fmt.Fprintln(t.out)
}

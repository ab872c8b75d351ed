package verdict

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// A Line of the table.
type Line struct {
	Name string // by which a test judges it
	What string
	Goal string // "" where running to the end is all that is asked for
	Step string // of run.sh, which judges it
	GPU  bool   // on the fake driver the answer would mean nothing

	// Known is why the line fails, where that is the fault of others: then the run does not.
	Known string
}

// All are the lines of the table in their order.
var All = []Line{
	{Name: "kernels-plankton", What: "plankton's kernels by name, against the host", Goal: "equal to the bit", Step: "measurements"},
	{Name: "kernels-elembinop", What: "Gorgonia's operators of two inputs by name, against the host", Goal: "equal but for rounding, special values too", Step: "measurements"},
	{Name: "kernels-elemunaryop", What: "Gorgonia's operators of one input by name, against the host", Goal: "equal but for rounding, special values too", Step: "measurements"},
	{Name: "train-layer", What: "training steps of a dense layer, against the host", Goal: "losses within 0.1 %", Step: "gorgonia"},
	{Name: "train-conv", What: "training steps of a convolutional net, windows laid out by the host, against the host", Goal: "losses within 0.1 %", Step: "gorgonia"},
	{Name: "train-cudnn", What: "training steps of a convolutional net by cuDNN, against the host", Goal: "losses within 0.1 %", Step: "cudnn",
		Known: "Gorgonia v0.9.18 adds results to what the memory held, and gives gradients the wrong inputs"},
	{Name: "resume-training", What: "training resumed on another machine of Gorgonia's", Goal: "the same losses, bit for bit", Step: "gorgonia"},
	{Name: "resume-batches", What: "batches resumed on another device", Goal: "the same bits", Step: "measurements"},
	{Name: "uploads", What: "batches that RunAll uploads", Goal: "0", Step: "gorgonia"},
	{Name: "waits", What: "time that RunAll waits for data", Goal: "0 % of the training", Step: "gorgonia", GPU: true},
	{Name: "overlap", What: "share of the uploads' time in which the GPU computes", Goal: "80 %", Step: "measurements", GPU: true},
	{Name: "pinned", What: "uploads in a pipeline, as a share of page-locked bandwidth", Goal: "95 %", Step: "measurements", GPU: true},
	{Name: "normalise", What: "the normalise kernel, as a share of memory bandwidth", Goal: "80 %", Step: "measurements", GPU: true},
	{Name: "growth", What: "1,000 steps without growth of any memory", Goal: "0 bytes on the GPU", Step: "measurements", GPU: true},
	{Name: "images-host", What: "images/s of a pipeline that decodes on the host", Step: "measurements", GPU: true},
	{Name: "images-device", What: "images/s of a pipeline that decodes on the GPU", Step: "measurements", GPU: true},
	{Name: "training-host", What: "images/s of a training that decodes on the host", Step: "gorgonia", GPU: true},
	{Name: "training-device", What: "images/s of a training that decodes on the GPU", Step: "gorgonia", GPU: true},
}

// word is a verdict.
type word string

const (
	pass   word = "pass"
	fail   word = "fail"
	known  word = "fail, as is known"
	notRun word = "not run"
)

// said is what a test says of a line.
type said struct {
	Line    string `json:"line"`
	Verdict word   `json:"verdict"`
	Figures string `json:"figures"` // or why it was not run
}

// Lines is the name of the file that tests append to.
const Lines = "lines.json"

// Machine is what the tests of a program run on.
type Machine struct {
	Fake bool // the fake driver
}

// Judge says whether the goal of a line is met, and fails the test where it is not. On the
// fake driver a line that needs a GPU is not run. A line whose failure is known fails
// without the test.
func (m Machine) Judge(t testing.TB, line string, met bool, format string, args ...any) {
	t.Helper()
	s := said{line, pass, fmt.Sprintf(format, args...)}
	switch {
	case find(t, line).GPU && m.Fake:
		s.Verdict, s.Figures = notRun, "needs a GPU"
	case !met && find(t, line).Known != "":
		s.Verdict = known
		s.Figures += "; " + find(t, line).Known
	case !met:
		s.Verdict = fail
		t.Errorf("%s: the goal is missed: %s", line, s.Figures)
	}
	say(t, s)
}

// NotRun says why a line was not run.
func (m Machine) NotRun(t testing.TB, line string, why error) {
	t.Helper()
	s := said{line, notRun, why.Error()}
	if find(t, line).GPU && m.Fake {
		s.Figures = "needs a GPU"
	}
	say(t, s)
}

func find(t testing.TB, name string) Line {
	t.Helper()
	for _, l := range All {
		if l.Name == name {
			return l
		}
	}
	t.Fatalf("the table has no line %q", name)
	return Line{}
}

func say(t testing.TB, s said) {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("verdict: %s\n", text)
	dir := os.Getenv("PLANKTON_RESULTS")
	if dir == "" {
		return
	}
	f, err := os.OpenFile(filepath.Join(dir, Lines), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(append(text, '\n')); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

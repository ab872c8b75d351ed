package verdict

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Count says how many lines have which verdict.
type Count struct {
	Pass, Fail, NotRun int
	Known              int // those that fail by the fault of others
	Unjudged           int // those not run of which no test said why
}

// Write writes what is in a folder of results: machine.txt, which says what they were made
// on, the table, what became of the steps of run.sh, and what their logs have beside the
// table that is to be read. The file STEP.outcome says what became of a step; it is also why
// a line of the step was not run, if no test judged the line.
func Write(w io.Writer, dir string) (c Count, err error) {
	judged, err := read(filepath.Join(dir, Lines))
	if err != nil {
		return c, err
	}
	outcomes, err := files(dir, ".outcome")
	if err != nil {
		return c, err
	}
	logs, err := files(dir, ".log")
	if err != nil {
		return c, err
	}
	machine, err := os.ReadFile(filepath.Join(dir, "machine.txt"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	var out bytes.Buffer
	out.Write(machine)
	out.WriteString("\n| Judged | Goal | Verdict | Figures |\n| --- | --- | --- | --- |\n")
	for _, l := range All {
		s, ok := judged[l.Name]
		if !ok {
			s = said{l.Name, notRun, "the step " + l.Step + " was left out"}
			if became, ok := outcomes[l.Step]; ok {
				s.Figures = "the step " + l.Step + ": " + strings.TrimSpace(became)
			}
			c.Unjudged++
		}
		verdict, figures := string(s.Verdict), s.Figures
		switch s.Verdict {
		case pass:
			c.Pass++
		case fail:
			c.Fail++
		case known:
			c.Known++
		default:
			c.NotRun++
			verdict, figures = verdict+": "+figures, ""
		}
		fmt.Fprintf(&out, "| %s | %s | %s | %s |\n", l.What, cell(l.Goal), cell(verdict), cell(figures))
	}
	fmt.Fprintf(&out, "\n%d pass, %d fail, %d fail as is known, %d not run\n\n", c.Pass, c.Fail, c.Known, c.NotRun)
	for _, step := range slices.Sorted(maps.Keys(outcomes)) {
		fmt.Fprintf(&out, "%s: %s\n", step, strings.TrimSpace(outcomes[step]))
	}
	out.WriteByte('\n')
	for _, step := range slices.Sorted(maps.Keys(logs)) {
		for line := range strings.Lines(logs[step]) {
			if line = strings.TrimSpace(line); slices.ContainsFunc(beside, func(p string) bool { return strings.HasPrefix(line, p) }) {
				fmt.Fprintln(&out, line)
			}
		}
	}
	_, err = w.Write(out.Bytes())
	return c, err
}

// beside is how lines of logs begin that are to be read beside the table.
var beside = []string{"question:", "overlap", "images,", "resize of", "memory after", "memory 1,000", "Benchmark", "--- FAIL", "panic:"}

// files returns the texts of a folder's files with an ending, by what comes before it.
func files(dir, ending string) (map[string]string, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*"+ending))
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all[strings.TrimSuffix(filepath.Base(name), ending)] = string(text)
	}
	return all, nil
}

// cell is a text in a cell of the table.
func cell(s string) string {
	if s == "" {
		return "–"
	}
	return strings.NewReplacer("\n", "; ", "|", "/").Replace(s)
}

// read returns what was said, by line.
func read(name string) (map[string]said, error) {
	all := map[string]said{}
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var s said
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all[s.Line] = s
	}
	return all, lines.Err()
}

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/planktonml/plankton/internal/atomicfile"
	"github.com/planktonml/plankton/internal/printable"
	"github.com/planktonml/plankton/streams"
)

// streamsCmd plans the graphs of a file.
type streamsCmd struct {
	Policy string `required:"" placeholder:"POLICY" enum:"single,per-backend,per-operator,ranked,optimal" help:"Rule that gives nodes their streams: ${enum}."`
	Budget int    `placeholder:"K" help:"Largest number of streams; 0 sets no bound."`
	SVG    string `name:"svg" type:"path" placeholder:"FILE" help:"Draw the plan as lanes with waits into FILE."`
	JSON   bool   `name:"json" help:"Print JSON: per graph streams, assignment, waits, signals, order and makespan."`
	Graph  string `arg:"" name:"graph.json" help:"One graph or a list: {\"n\":3,\"edges\":[[0,2],[1,2]]}, optional name, cmds, cost, backends (cpu, gpu, mixed), devices and metadata. Nodes are numbered in topological order."`
}

// graphFile is one graph of the file.
type graphFile struct {
	Name     string            `json:"name"`
	N        *int              `json:"n"`
	Edges    [][]int           `json:"edges"`
	Cmds     []int             `json:"cmds"`
	Cost     []float64         `json:"cost"`
	Backends []streams.Backend `json:"backends"`
	Devices  [][]int           `json:"devices"`
	Metadata [][]int           `json:"metadata"`
}

// planFile is what is printed for one graph.
type planFile struct {
	Name       string   `json:"name"`
	Streams    int      `json:"streams"`
	Assignment any      `json:"assignment"` // []int, or [][]int where devices are given
	Waits      [][2]int `json:"waits"`
	Signals    []int    `json:"signals"`
	Order      []int    `json:"order"`
	Makespan   float64  `json:"makespan"`
}

func (c *streamsCmd) Run(std *stdio) error {
	var policy streams.Policy
	if err := policy.UnmarshalText([]byte(c.Policy)); err != nil {
		return usageError{err}
	}
	if c.Budget < 0 {
		return usagef("--budget is %d, expected a number of streams, or 0 for no bound", c.Budget)
	}
	graphs, list, err := readGraphs(c.Graph)
	if err != nil {
		return err
	}
	var drawings []streams.Drawing
	for i, g := range graphs {
		plan, err := streams.Assign(g, policy, streams.Options{Budget: c.Budget})
		if err == nil {
			err = streams.Verify(g, plan)
		}
		if err != nil {
			return fmt.Errorf("%s: graph %d: %w", c.Graph, i, err)
		}
		drawings = append(drawings, streams.Drawing{Graph: g, Plan: plan})
	}
	if c.SVG != "" {
		draw := func(w io.Writer) error { return streams.WriteSVG(w, drawings...) }
		if err := atomicfile.Write(c.SVG, draw); err != nil {
			return fmt.Errorf("--svg: %w", err)
		}
	}
	if !c.JSON {
		return printPlans(std.out, drawings)
	}
	files := make([]planFile, len(drawings))
	for i, d := range drawings {
		files[i] = newPlanFile(d)
	}
	if list {
		return printJSON(std.out, files)
	}
	return printJSON(std.out, files[0])
}

// readGraphs reads a file with one graph or a list of them.
func readGraphs(path string) (graphs []*streams.Graph, list bool, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, false, fmt.Errorf("%w; give a file of a graph or a list of graphs in JSON, see plankton streams --help", err)
	}
	list = bytes.HasPrefix(bytes.TrimSpace(data), []byte("["))
	files := make([]graphFile, 1)
	if list {
		err = json.Unmarshal(data, &files)
	} else {
		err = json.Unmarshal(data, &files[0])
	}
	if err != nil {
		return nil, false, wrongJSON(path, data, "one graph or a list of graphs", err)
	}
	for i, f := range files {
		g, err := f.graph()
		if err != nil {
			return nil, false, fmt.Errorf("%s: graph %d: %w", path, i, err)
		}
		graphs = append(graphs, g)
	}
	return graphs, list, nil
}

func (f *graphFile) graph() (*streams.Graph, error) {
	if f.N == nil || f.Edges == nil {
		return nil, errors.New(`"n" (the number of nodes) and "edges" (a list of [producer, consumer], [] for none) are required`)
	}
	g := &streams.Graph{Name: f.Name, N: *f.N, Cmds: f.Cmds, Cost: f.Cost, Backends: f.Backends, Devices: f.Devices}
	index := map[[2]int][]int{}
	for i, pair := range f.Edges {
		if len(pair) != 2 {
			return nil, fmt.Errorf("edge %d is %v, expected [producer, consumer]", i, pair)
		}
		index[[2]int(pair)] = append(index[[2]int(pair)], i)
		g.Edges = append(g.Edges, streams.Edge{From: pair[0], To: pair[1]})
	}
	for i, pair := range f.Metadata {
		if len(pair) != 2 || index[[2]int(pair)] == nil {
			return nil, fmt.Errorf("metadata edge %d is %v, expected one of the edges", i, pair)
		}
		for _, e := range index[[2]int(pair)] {
			g.Edges[e].Kind = streams.Metadata
		}
	}
	return g, nil
}

func newPlanFile(d streams.Drawing) planFile {
	p := d.Plan
	f := planFile{
		Name:     d.Graph.Name,
		Streams:  p.Used(),
		Waits:    [][2]int{},
		Signals:  append([]int{}, p.Signals...),
		Order:    p.Order,
		Makespan: p.Makespan,
	}
	for _, w := range p.Waits {
		f.Waits = append(f.Waits, [2]int{w.Producer, w.Consumer})
	}
	if d.Graph.Devices != nil {
		lists := make([][]int, d.Graph.N)
		for v, list := range p.Streams {
			lists[v] = append([]int{}, list...)
		}
		f.Assignment = lists
		return f
	}
	one := make([]int, d.Graph.N)
	for v, list := range p.Streams {
		one[v] = -1
		if len(list) > 0 {
			one[v] = list[0]
		}
	}
	f.Assignment = one
	return f
}

// printPlans prints, per graph, the lanes with the waits in them, and what they mean.
func printPlans(w io.Writer, drawings []streams.Drawing) error {
	var b strings.Builder
	example := ""
	for i, d := range drawings {
		if i > 0 {
			b.WriteByte('\n')
		}
		if d.Graph.Name != "" {
			fmt.Fprintf(&b, "%s: ", printable.Name(d.Graph.Name))
		}
		fmt.Fprintf(&b, "%d nodes, %v\n", d.Graph.N, d.Plan)
		example = cmp.Or(example, printLanes(&b, d.Plan))
	}
	b.WriteString("\nA line per stream, and one for what the host runs: nodes, in the order in which they run")
	if example != "" {
		fmt.Fprintf(&b, "; %s", example)
	}
	b.WriteString(".\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// printLanes prints a line per stream, in the order of issue; "7(2,5)" is node
// 7, which waits for nodes 2 and 5. It returns the first such node in words.
func printLanes(b *strings.Builder, p *streams.Plan) (example string) {
	waits := map[int][]string{}
	for _, w := range p.Waits {
		waits[w.Consumer] = append(waits[w.Consumer], fmt.Sprint(w.Producer))
	}
	lanes := make([][]string, p.NumStreams+1) // the last is the host
	for _, v := range p.Order {
		text := fmt.Sprint(v)
		if list := strings.Join(waits[v], ","); list != "" {
			text += "(" + list + ")"
			if example == "" {
				example = fmt.Sprintf("%s is node %d, which waits until node %s is done", text, v, strings.ReplaceAll(list, ",", " and "))
			}
		}
		for _, s := range p.Streams[v] {
			lanes[s] = append(lanes[s], text)
		}
		if len(p.Streams[v]) == 0 {
			lanes[p.NumStreams] = append(lanes[p.NumStreams], text)
		}
	}
	for s, nodes := range lanes {
		if nodes == nil {
			continue
		}
		name := "host"
		if s < p.NumStreams {
			name = fmt.Sprintf("stream %d", s)
			if slices.Max(p.Device) > 0 {
				name += fmt.Sprintf(" (device %d)", p.Device[s])
			}
		}
		fmt.Fprintf(b, "  %-10s %s\n", name, strings.Join(nodes, " "))
	}
	return example
}

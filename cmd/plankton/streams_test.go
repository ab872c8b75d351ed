package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/streams"
)

// runStreams runs plankton streams on a graph file with the given text.
func runStreams(t *testing.T, graph string, args ...string) (code int, stdout, stderr string) {
	path := filepath.Join(t.TempDir(), "graph.json")
	require.NoError(t, os.WriteFile(path, []byte(graph), 0o600))
	var out, errs bytes.Buffer
	code = run(append(append([]string{"streams"}, args...), path), &stdio{out: &out, err: &errs})
	return code, out.String(), errs.String()
}

func TestStreamsJSON(t *testing.T) {
	const diamond = `{"name":"d","n":4,"edges":[[0,1],[0,2],[1,3],[2,3]],"cost":[1,2,3,1.5]`
	for _, c := range []struct{ name, args, graph, want string }{
		{"one graph", "--policy optimal", diamond + `}`,
			`{"name":"d","streams":2,"assignment":[0,0,1,0],"waits":[[0,2],[2,3]],"signals":[0,2],"order":[0,1,2,3],"makespan":5.5}`},
		{"a list", "--policy single", `[` + diamond + `},{"n":1,"edges":[]}]`,
			`[{"name":"d","streams":1,"assignment":[0,0,0,0],"waits":[],"signals":[],"order":[0,1,2,3],"makespan":7.5},
			  {"name":"","streams":1,"assignment":[0],"waits":[],"signals":[],"order":[0],"makespan":1}]`},
		{"an empty list", "--policy single", `[]`, `[]`},
		{"a budget", "--policy ranked --budget 1", diamond + `}`,
			`{"name":"d","streams":1,"assignment":[0,0,0,0],"waits":[],"signals":[],"order":[0,2,1,3],"makespan":7.5}`},
		{"backends", "--policy per-backend", diamond + `,"backends":["cpu","mixed","gpu","cpu"]}`,
			`{"name":"d","streams":2,"assignment":[-1,0,1,1],"waits":[[0,1],[0,2],[1,3]],"signals":[0,1],"order":[0,1,2,3],"makespan":5.5}`},
		{"metadata", "--policy per-operator", diamond + `,"backends":["gpu","gpu","gpu","cpu"],"metadata":[[1,3],[2,3]]}`,
			`{"name":"d","streams":2,"assignment":[0,0,1,-1],"waits":[[0,2]],"signals":[0],"order":[0,1,2,3],"makespan":4}`},
		{"devices", "--policy ranked", diamond + `,"devices":[[0],[0],[1],[1,0]]}`,
			`{"name":"d","streams":2,"assignment":[[0],[0],[1],[0,1]],"waits":[[0,2],[1,3],[2,3]],"signals":[0,1,2],"order":[0,1,2,3],"makespan":5.5}`},
		{"devices and a host node", "--policy optimal", `{"n":2,"edges":[[0,1]],"backends":["gpu","cpu"],"metadata":[[0,1]],"devices":[[0],[]]}`,
			`{"name":"","streams":1,"assignment":[[0],[]],"waits":[],"signals":[],"order":[0,1],"makespan":1}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, errs := runStreams(t, c.graph, append(strings.Fields(c.args), "--json")...)
			require.Zero(t, code, errs)
			assert.JSONEq(t, c.want, out)
		})
	}
}

func TestStreamsTable(t *testing.T) {
	code, out, _ := runStreams(t, `[{"name":"d","n":4,"edges":[[0,1],[0,2],[1,3],[2,3]]},
		{"n":2,"edges":[[0,1]],"backends":["cpu","gpu"],"devices":[[],[1]]}]`, "--policy", "optimal")
	require.Zero(t, code)
	assert.Equal(t, `d: 4 nodes, optimal: 2 streams, 2 waits, 2 events, makespan 3
  stream 0   0 1 3(2)
  stream 1   2(0)

2 nodes, optimal: 1 stream, 1 wait, 1 event, makespan 2
  stream 0 (device 1) 1(0)
  host       0

A line per stream, and one for what the host runs: nodes, in the order in which they run; 2(0) is node 2, which waits until node 0 is done.
`, out)
	_, out, _ = runStreams(t, `{"n":2,"edges":[[0,1]]}`, "--policy", "single")
	assert.True(t, strings.HasSuffix(out, "\n\nA line per stream, and one for what the host runs: nodes, in the order in which they run.\n"), out)
}

func TestStreamsSVG(t *testing.T) {
	svg := filepath.Join(t.TempDir(), "plan.svg")
	code, out, errs := runStreams(t, `{"n":2,"edges":[[0,1]]}`, "--policy", "single", "--json", "--svg", svg)
	require.Zero(t, code, errs)
	assert.True(t, json.Valid([]byte(out)))
	picture, err := os.ReadFile(svg)
	require.NoError(t, err)
	assert.True(t, bytes.HasPrefix(picture, []byte("<svg ")))

	code, _, errs = runStreams(t, `{"n":1,"edges":[]}`, "--policy", "single", "--svg", filepath.Join(svg, "below-a-file"))
	assert.Equal(t, 1, code)
	assert.NotEmpty(t, errs)
}

func TestStreamsErrors(t *testing.T) {
	const good = `{"n":2,"edges":[[0,1]]}`
	for _, c := range []struct {
		name, graph, args string
		code              int
		want              string
	}{
		{"no policy", good, "", 2, "--policy"},
		{"unknown policy", good, "--policy fast", 2, "--policy must be one of"},
		{"negative budget", good, "--policy single --budget=-1", 2, "--budget is -1"},
		{"no number", good, "--policy single --budget many", 2, "--budget"},
		{"unknown flag", good, "--policy single --colour", 2, "--colour"},
		{"no JSON", `{"n":2,`, "--policy single", 1, "line 1: unexpected end of JSON input; the file must hold one graph or a list of graphs in JSON"},
		{"text behind", good + `x`, "--policy single", 1, "in JSON"},
		{"wrong type", `{"n":"two","edges":[]}`, "--policy single", 1, `line 1: "n" is a JSON string, not a whole number`},
		{"backend as a number", `{"n":1,"edges":[],"backends":[1]}`, "--policy single", 1, `line 1: "backends" is a JSON number, not a string`},
		{"no nodes", `{"edges":[]}`, "--policy single", 1, `"n"`},
		{"no edges", `{"n":1}`, "--policy single", 1, `"edges"`},
		{"edge of three", `{"n":3,"edges":[[0,1,2]]}`, "--policy single", 1, "edge 0 is [0 1 2]"},
		{"cycle", `{"n":2,"edges":[[0,1],[1,0]]}`, "--policy single", 1, "topological order"},
		{"out of range", `[` + good + `,{"name":"h","n":2,"edges":[[0,2]]}]`, "--policy single", 1, `graph 1: streams: bad graph "h": edge 0 is 0→2, nodes are 0 to 1`},
		{"metadata that is no edge", `{"n":3,"edges":[[0,1]],"metadata":[[0,2]]}`, "--policy single", 1, "metadata edge 0 is [0 2]"},
		{"unknown backend", `{"n":1,"edges":[],"backends":["tpu"]}`, "--policy single", 1, `unknown backend "tpu"`},
		{"costs", `{"n":2,"edges":[],"cost":[1]}`, "--policy single", 1, "1 costs for 2 nodes"},
		{"too large", `{"n":1000000000,"edges":[]}`, "--policy single", 1, "at most"},
		{"budget below the devices", `{"n":2,"edges":[],"devices":[[0],[1]]}`, "--policy single --budget 1", 1, "1 streams for 2 devices"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, errs := runStreams(t, c.graph, strings.Fields(c.args)...)
			assert.Equal(t, c.code, code)
			assert.Empty(t, out)
			assert.Contains(t, errs, c.want)
			assert.Equal(t, 1, strings.Count(errs, "\n"), "not one line: %q", errs)
		})
	}
	var errs bytes.Buffer
	assert.Equal(t, 1, run([]string{"streams", "--policy", "single", "/nowhere/graph.json"}, &stdio{out: &errs, err: &errs}))
	assert.Contains(t, errs.String(), "no such file")
}

// FuzzGraphFile plans whatever can be read as a small graph.
func FuzzGraphFile(f *testing.F) {
	f.Add([]byte(`{"name":"d","n":4,"edges":[[0,1],[0,2],[1,3],[2,3]],"cost":[1,2,3,1.5],"cmds":[1,2,1,2]}`))
	f.Add([]byte(`{"n":2,"edges":[[0,1]],"backends":["gpu","cpu"],"devices":[[0,1],[]],"metadata":[[0,1]]}`))
	f.Add([]byte(`{"n":1,"edges":[[0,0,0]]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var file graphFile
		if json.Unmarshal(data, &file) != nil {
			return
		}
		g, err := file.graph()
		if err != nil || g.N > 64 {
			return
		}
		for _, policy := range []streams.Policy{streams.Single, streams.PerBackend, streams.PerOperator, streams.Ranked, streams.Optimal} {
			plan, err := streams.Assign(g, policy, streams.Options{})
			if err != nil {
				return
			}
			if err := streams.Verify(g, plan); err != nil {
				t.Fatal(policy, err)
			}
			if _, err := json.Marshal(newPlanFile(streams.Drawing{Graph: g, Plan: plan})); err != nil {
				t.Fatal(policy, err)
			}
		}
	})
}

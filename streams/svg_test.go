package streams

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// element is what the tests look at in a picture.
type element struct {
	name, class, text string
	x, y, w, h        float64
}

// parse reads a picture and fails if it is not well-formed.
func parse(t require.TestingT, svg []byte) []element {
	var list []element
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return list
		}
		require.NoError(t, err)
		switch x := token.(type) {
		case xml.StartElement:
			e := element{name: x.Name.Local}
			for _, a := range x.Attr {
				number, _ := strconv.ParseFloat(a.Value, 64)
				switch a.Name.Local {
				case "class":
					e.class = a.Value
				case "x":
					e.x = number
				case "y":
					e.y = number
				case "width":
					e.w = number
				case "height":
					e.h = number
				}
			}
			list = append(list, e)
		case xml.CharData:
			if len(list) > 0 {
				list[len(list)-1].text += string(x)
			}
		}
	}
}

func count(list []element, name, class string) int {
	n := 0
	for _, e := range list {
		if e.name == name && e.class == class {
			n++
		}
	}
	return n
}

func TestWriteSVG(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawRichGraph(t, 20)
		p := plan(t, g, rapid.SampledFrom(allPolicies).Draw(t, "policy"), Options{})
		var out bytes.Buffer
		require.NoError(t, WriteSVG(&out, Drawing{g, p}))
		list := parse(t, out.Bytes())

		boxes, waits, carried := 0, 0, 0
		for _, on := range p.Streams {
			boxes += max(1, len(on))
		}
		for _, w := range p.Waits {
			if w.Distance > 0 {
				carried++
			} else {
				waits++
			}
		}
		require.Equal(t, boxes, count(list, "rect", "box"))
		require.Equal(t, waits, count(list, "path", "wait"))
		require.Equal(t, carried, count(list, "path", "wait carried"))
		require.Equal(t, p.NumStreams, count(list, "rect", "lane"))

		// Everything is inside, and boxes do not cover each other.
		var drawn []element
		for _, e := range list {
			if e.name == "rect" && e.class == "box" {
				require.True(t, e.x >= 0 && e.x+e.w <= list[0].w && e.y >= 0 && e.y+e.h <= list[0].h, "%+v in %+v", e, list[0])
				for _, o := range drawn {
					apart := e.x+e.w <= o.x+.2 || o.x+o.w <= e.x+.2 || e.y+e.h <= o.y || o.y+o.h <= e.y
					free := e.w < 5 || o.w < 5 // what costs nothing may coincide
					require.True(t, apart || free, "%+v covers %+v", e, o)
				}
				drawn = append(drawn, e)
			}
		}
	})
}

func TestWriteSVGText(t *testing.T) {
	g := &Graph{Name: `a<b&"c"`, N: 2, Edges: DataEdges(0, 1), Devices: [][]int{{0}, {1}}}
	p := plan(t, g, Optimal, Options{})
	var out bytes.Buffer
	require.NoError(t, WriteSVG(&out, Drawing{g, p}, Drawing{worked(), plan(t, worked(), Optimal, Options{})}))
	var texts []string
	for _, e := range parse(t, out.Bytes()) {
		if e.name == "text" {
			texts = append(texts, strings.TrimSpace(e.text))
		}
	}
	assert.Contains(t, texts, `a<b&"c"`)
	assert.Contains(t, texts, "graph")
	assert.Contains(t, texts, "stream 1 · dev 1")
	assert.Contains(t, texts, "9 nodes · optimal: 4 streams, 5 waits, 4 events, makespan 6")

	out.Reset()
	require.NoError(t, WriteSVG(&out))
	parse(t, out.Bytes())
	assert.Error(t, WriteSVG(full{}, Drawing{g, p}))
}

// full refuses everything, as a full disk does.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("full") }

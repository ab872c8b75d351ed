//go:build !cuda

package gorgoniaplugin_test

import (
	"testing"

	"github.com/planktonml/plankton/gorgoniaplugin"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/streams/cuda"
	"github.com/planktonml/plankton/streams/cuda/fakedriver"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
)

func TestBatchesOnAGPUNeedTheTag(t *testing.T) {
	require.Nil(t, gorgoniaplugin.Device())
	d, err := cuda.OpenWith(0, cuda.Options{Library: fakedriver.Open(t).Library})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	p, err := pipeline.New(pipeline.Options{BatchSize: 4, Device: d}, func(g *pipeline.Graph) {
		x, _ := dataset(8, 1)
		g.Output("x", ops.ToDevice(g, readers.Slices(g, readers.SlicesOptions{}, readers.Rows(x, features))[0]))
	})
	require.NoError(t, err)
	l, err := iterator.New(drop, p)
	require.NoError(t, err)
	defer l.Close()
	_, err = gorgoniaplugin.New(gorgonia.NewGraph(), l)
	var bind *gorgoniaplugin.BindError
	require.ErrorAs(t, err, &bind)
	require.Equal(t, "x", bind.Output)
	require.ErrorContains(t, err, "build it with -tags cuda")
}

package readers

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/internal/alloctest"
	"github.com/planktonml/plankton/internal/feedtest"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// rowsOfTokens returns the places of n sequences.
func rowsOfTokens(s *tokenSource, n int) []datum.Rows {
	specs, out := s.Outputs(), make([]datum.Rows, 4)
	for k := range out {
		out[k] = datum.Rows{Spec: &specs[k], Data: datum.BytesOf(make([]int32, n*s.length))}
	}
	return out
}

// gathers reports whether sequences can be copied by one call.
func gathers(s *tokenSource, index []int64) (made bool) {
	defer func() {
		if recover() != nil { // memory that faults
			made = false
		}
	}()
	return s.Gather(index, rowsOfTokens(s, len(index)))
}

// gatheredAsRead copies sequences in any order by one call, and compares those of them that are wanted
// with what Read makes.
func gatheredAsRead(t *rapid.T, s *tokenSource) {
	if !s.Gathers() {
		return
	}
	index := rapid.SliceOfN(rapid.Int64Range(0, s.Len()-1), 1, 20).Draw(t, "gathered")
	wanted := rapid.SliceOfN(rapid.Bool(), 4, 4).Draw(t, "wanted")
	out := rowsOfTokens(s, len(index))
	for k := range out {
		if !wanted[k] {
			out[k].Data = nil
		}
	}
	require.True(t, s.Gather(append([]int64(nil), index...), out))
	for i, x := range index {
		q := readSequence(t, s, x)
		for k, want := range [][]int32{q.tokens, q.targets, q.documents, q.positions} {
			if wanted[k] {
				require.Equal(t, want, datum.View[int32](out[k].Data)[i*s.length:][:s.length], "output %d of sequence %d", k, x)
			}
		}
	}
}

func TestTokensAreGatheredWithoutAllocating(t *testing.T) {
	dir := t.TempDir()
	documents := [][]int32{{11, 12, 13, 14, 15}, {16, 17}, {18}, {19, 20, 21}}
	for _, o := range []TokensOptions{{}, {Pack: 2}, {PermuteDocuments: true}} {
		o.Length, o.Files = 3, []string{writeTokens(t, filepath.Join(dir, "f"), "index16", documents)}
		s, err := newTokenSource(&o)
		require.NoError(t, err)
		defer s.close()
		if !s.Gathers() {
			t.Skip("files are not mapped here")
		}
		out := rowsOfTokens(s, 3)
		out[0].Data = nil
		alloctest.None(t, 100, func() { require.True(t, s.Gather([]int64{2, 0, 1}, out)) })
	}
}

// Of sequences that are made together, those fail, by their names, that have a token which is too large,
// also as the target of another one, and none else.
func TestTokensThatAreTooLargeFailTheirSequence(t *testing.T) {
	const length, batch = 4, 24
	path := filepath.Join(t.TempDir(), "f.bin")
	content := make([]byte, 4*length*batch)
	for i := range length * batch {
		binary.LittleEndian.PutUint32(content[4*i:], uint32(i))
	}
	content[4*length*7+3] = 0x80
	require.NoError(t, os.WriteFile(path, content, 0o600))
	for _, policy := range []pipeline.ErrorPolicy{pipeline.Skip, pipeline.Replace} {
		p, err := pipeline.New(pipeline.Options{BatchSize: batch, Workers: 1, OnError: policy}, func(g *pipeline.Graph) {
			v := Tokens(g, TokensOptions{Files: []string{path}, Bits: 32, Length: length})
			g.Output("tokens", v.Tokens)
			g.Output("targets", v.Targets)
		})
		require.NoError(t, err)
		r, err := p.Engine().NewRunner(feedtest.Once(batch, batch))
		require.NoError(t, err)
		f, err := r.Next(t.Context())
		require.NoError(t, err)
		b := (*pipeline.Batch)(f)
		for row, err := range b.Errors() {
			if row != 6 && row != 7 {
				require.Nil(t, err, row)
				require.EqualValues(t, row*length, b.Int32s("tokens")[row*length])
				continue
			}
			require.ErrorContains(t, err, fmt.Sprintf("f.bin: tokens from %d on", row*length))
			require.ErrorContains(t, err, "byte 112: token 2147483676 is larger than 2147483647")
		}
		f.Release()
		require.NoError(t, r.Close())
	}
}

package benchmarks

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/readers"
)

const (
	tokens   = 100_000_000
	endToken = 0 // one in about 370 of them
)

// BenchmarkTokens reads sequences of a mapped file of 10⁸ tokens of 16 bits in a random order:
// tokens and targets, and all that can be had where the file has documents. A plain loop makes
// the same of the same map (besideLoop).
func BenchmarkTokens(b *testing.B) {
	all := make([]uint16, tokens)
	for i := range all {
		all[i] = uint16(i*7919%49_999 + 1)
	}
	for i, state := 0, uint32(1); i < tokens; i += 1 + int(state>>22)*740/1024 {
		all[i] = endToken
		state = state*1664525 + 1013904223
	}
	path := filepath.Join(b.TempDir(), "tokens.bin")
	require.NoError(b, os.WriteFile(path, datum.BytesOf(all), 0o600))
	file, err := os.Open(path)
	require.NoError(b, err)
	defer file.Close()
	mapped, err := unix.Mmap(int(file.Fd()), 0, 2*tokens, unix.PROT_READ, unix.MAP_SHARED)
	require.NoError(b, err)
	defer func() { require.NoError(b, unix.Munmap(mapped)) }()
	data := datum.View[uint16](mapped)
	for _, length := range []int{32, 128, 1024} {
		for _, batch := range []int{64, 512} {
			var made [4][]int32
			for i := range made {
				made[i] = make([]int32, batch*length)
			}
			n := tokens / length // the last sequence is cut short, and left to the loader
			b.Run(fmt.Sprintf("pairs/length=%d/batch=%d", length, batch), func(b *testing.B) {
				besideLoop(b, n, batch, func(samples []int) {
					for i, id := range samples {
						x, y := made[0][i*length:][:length], made[1][i*length:][:length]
						row := data[id*length:][:length]
						for k, v := range row {
							x[k] = int32(v)
						}
						copy(y, x[1:])
						y[length-1] = -1
						if next := (id + 1) * length; next < tokens {
							y[length-1] = int32(data[next])
						}
					}
				}, func(g *pipeline.Graph) {
					v := readers.Tokens(g, readers.TokensOptions{Files: []string{path}, Length: length, Shuffle: true})
					g.Output("tokens", v.Tokens)
					g.Output("targets", v.Targets)
				})
			})
			b.Run(fmt.Sprintf("documents/length=%d/batch=%d", length, batch), func(b *testing.B) {
				besideLoop(b, n, batch, func(samples []int) {
					for i, id := range samples {
						x, y := made[0][i*length:][:length], made[1][i*length:][:length]
						documents, positions := made[2][i*length:][:length], made[3][i*length:][:length]
						document, position := int32(0), int32(0)
						for k, v := range data[id*length:][:length] {
							x[k], documents[k], positions[k] = int32(v), document, position
							if position++; v == endToken {
								document, position = document+1, 0
							}
						}
						for k := range y {
							y[k] = -1
							if next := id*length + k + 1; x[k] != endToken && next < tokens {
								y[k] = int32(data[next])
							}
						}
					}
				}, func(g *pipeline.Graph) {
					v := readers.Tokens(g, readers.TokensOptions{Files: []string{path}, Length: length, End: endToken, HasEnd: true, Shuffle: true})
					g.Output("tokens", v.Tokens)
					g.Output("targets", v.Targets)
					g.Output("documents", v.Documents)
					g.Output("positions", v.Positions)
				})
			})
		}
	}
}

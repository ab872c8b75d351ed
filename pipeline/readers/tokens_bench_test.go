package readers

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/planktonml/plankton/pipeline/datum"
)

// BenchmarkTokens reads sequences of 1,024 of 20 million tokens in the page cache, in a
// scattered order, and opens the reader. Documents have lengths of a log-normal distribution,
// of a mean of about 370.
func BenchmarkTokens(b *testing.B) {
	const tokens, length = 20_000_000, 1024
	content := make([]byte, 2*tokens)
	end, lengths := 0, rand.New(rand.NewPCG(1, 2))
	for i := range tokens {
		token := uint16(i*7919%50_000 + 10)
		if end--; end < 0 {
			token, end = endToken, int(math.Exp(5.5+0.9*lengths.NormFloat64()))
		}
		binary.LittleEndian.PutUint16(content[2*i:], token)
	}
	path := filepath.Join(b.TempDir(), "tokens.bin")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		o    TokensOptions
	}{
		{"cut", TokensOptions{}}, {"cut, documents", TokensOptions{HasEnd: true, End: endToken}}, {"packed", TokensOptions{HasEnd: true, End: endToken, Pack: 1000}},
		{"packed, documents kept", TokensOptions{HasEnd: true, End: endToken, Pack: 1000, KeepDocuments: true}},
	} {
		c.o.Files, c.o.Length = []string{path}, length
		s, err := newTokenSource(&c.o)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(c.name, func(b *testing.B) {
			specs, out := s.Outputs(), make([]*datum.Tensor, 4)
			for i := range out {
				out[i] = boundTensor(&specs[i], make([]byte, 4*length))
			}
			b.ReportAllocs()
			for i := int64(0); b.Loop(); i++ {
				if err := s.Read(b.Context(), i*7919%s.Len(), out); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/length, "ns/token")
			b.ReportMetric(100*float64(tokens)/float64(s.Len()*length), "%full")
		})
		b.Run(c.name+"/open", func(b *testing.B) {
			for b.Loop() {
				s, err := newTokenSource(&c.o)
				if err != nil {
					b.Fatal(err)
				}
				s.close()
			}
		})
		s.close()
	}
}

package readers

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/internal/feedtest"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

const endToken = 7 // of flat files; other tokens count from 10 on

// writeTokens writes documents in a format: flat files of 16 or 32 bits, or an index with
// its data. It returns the name to open.
func writeTokens(t require.TestingT, base, format string, documents [][]int32) string {
	var data, lengths, places, firsts bytes.Buffer
	width, code := int64(2), byte(8)
	if format == "flat32" || format == "index32" {
		width, code = 4, 4
	}
	put := func(b *bytes.Buffer, x any) { require.NoError(t, binary.Write(b, binary.LittleEndian, x)) }
	sequences := int64(0)
	for _, d := range documents {
		put(&firsts, sequences)
		for half := range 2 { // each document of an index has two sequences
			s := [2][]int32{d[:len(d)/2], d[len(d)/2:]}[half]
			put(&lengths, int32(len(s)))
			put(&places, int64(data.Len()))
			sequences++
			for _, token := range s {
				if width == 2 {
					put(&data, uint16(token))
				} else {
					put(&data, token)
				}
			}
		}
	}
	put(&firsts, sequences)
	require.NoError(t, os.WriteFile(base+".bin", data.Bytes(), 0o600))
	if format == "flat16" || format == "flat32" {
		return base + ".bin"
	}
	var index bytes.Buffer
	index.WriteString("MMIDIDX\x00\x00")
	put(&index, uint64(1))
	index.WriteByte(code)
	put(&index, uint64(sequences))
	put(&index, uint64(len(documents)+1))
	for _, b := range []*bytes.Buffer{&lengths, &places, &firsts} {
		index.Write(b.Bytes())
	}
	require.NoError(t, os.WriteFile(base+".idx", index.Bytes(), 0o600))
	return base + ".idx"
}

// tokenRow is what a source reads.
type tokenRow struct{ tokens, targets, documents, positions []int32 }

// boundTensor returns a tensor whose samples lie in a row.
func boundTensor(spec *datum.Spec, row []byte) *datum.Tensor {
	c := new(datum.Cell)
	c.Declare(spec)
	c.Bind(row)
	return &c.Tensor
}

func readSequence(t require.TestingT, s *tokenSource, index int64) tokenRow {
	out := make([]*datum.Tensor, 4)
	specs := s.Outputs()
	for i := range out {
		out[i] = boundTensor(&specs[i], make([]byte, 4*s.length))
	}
	require.NoError(t, s.Read(context.Background(), index, out))
	return tokenRow{out[0].Int32s(), out[1].Int32s(), out[2].Int32s(), out[3].Int32s()}
}

// Whatever the files, the length and the packing, every token comes once, with the token
// behind it in its document as target; packed documents stay whole.
func TestTokensComeOnce(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		o := TokensOptions{Length: rapid.IntRange(1, 12).Draw(t, "length"), Pack: rapid.SampledFrom([]int{0, 0, 1, 3, 100}).Draw(t, "pack"), Pad: 3}
		format := rapid.SampledFrom([]string{"flat16", "flat32", "index16", "index32"}).Draw(t, "format")
		flat := format == "flat16" || format == "flat32"
		if o.HasEnd = flat && rapid.Bool().Draw(t, "has end"); o.HasEnd {
			o.End = endToken
		}
		if flat {
			fmt.Sscanf(format, "flat%d", &o.Bits)
		}
		token := int32(10)
		target, documentOf, sizes, total := map[int32]int32{}, map[int32]int32{}, map[int32]int{}, 0
		for i := range rapid.IntRange(1, 3).Draw(t, "files") {
			var documents [][]int32
			for _, n := range rapid.SliceOfN(rapid.IntRange(0, 30), 1, 9).Draw(t, "documents") {
				var d []int32
				for range n {
					d = append(d, token)
					token++
				}
				if o.HasEnd {
					d = append(d, endToken)
				}
				documents = append(documents, d)
			}
			if documents[0] == nil {
				documents[0] = []int32{token}
				token++
			}
			whole := slices.DeleteFunc(slices.Clone(documents), func(d []int32) bool { return len(d) == 0 })
			if flat && !o.HasEnd {
				whole = [][]int32{slices.Concat(documents...)}
			}
			for _, d := range whole {
				for k, x := range d {
					target[x], documentOf[x] = -1, int32(len(sizes))
					if k+1 < len(d) {
						target[x] = d[k+1]
					}
				}
				sizes[int32(len(sizes))] = len(d)
				total += len(d)
			}
			o.Files = append(o.Files, writeTokens(t, filepath.Join(dir, fmt.Sprint("f", i)), format, documents))
		}
		target[endToken] = -1
		if len(sizes) > 1 && rapid.Bool().Draw(t, "permuted") {
			o.PermuteDocuments, o.DocumentSeed = true, rapid.Uint64().Draw(t, "document seed")
		}

		s, err := newTokenSource(&o)
		require.NoError(t, err)
		defer s.close()
		seen, count := map[int32]bool{}, 0
		for index := range s.Len() {
			q := readSequence(t, s, index)
			within := map[int32]int{}
			for i, x := range q.tokens {
				if q.documents[i] < 0 {
					require.Equal(t, [4]int32{3, -1, -1, 0}, [4]int32{x, q.targets[i], q.documents[i], q.positions[i]})
					continue
				}
				count++
				require.Equal(t, target[x], q.targets[i], "token %d", x)
				switch {
				case i == 0:
					require.Equal(t, [2]int32{0, 0}, [2]int32{q.documents[0], q.positions[0]})
				case q.documents[i] == q.documents[i-1]:
					require.Equal(t, q.positions[i-1]+1, q.positions[i])
					require.Equal(t, q.targets[i-1], x)
				default:
					require.Equal(t, [2]int32{q.documents[i-1] + 1, 0}, [2]int32{q.documents[i], q.positions[i]})
				}
				if x == endToken {
					continue
				}
				require.False(t, seen[x], "token %d comes twice", x)
				seen[x] = true
				within[documentOf[x]]++
			}
			for document, n := range within {
				if size := sizes[document]; o.Pack > 0 && !o.HasEnd && size <= o.Length {
					require.Equal(t, size, n, "document %d is cut", document)
				}
			}
			require.NotEqual(t, int32(-1), q.documents[0], "a sequence without a token")
			require.NotEmpty(t, s.Describe(index))
		}
		require.Equal(t, total, count)
		gatheredAsRead(t, s)
		if o.PermuteDocuments && o.Pack == 0 {
			require.EqualValues(t, (total+o.Length-1)/o.Length, s.Len(), "only the last sequence of all files is not full")
		}
	})
}

// Documents of all files share sequences, in an order that the seed alone selects.
func TestTokensOfPermutedDocuments(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for f := range int32(2) {
		var documents [][]int32
		for d := range int32(50) {
			documents = append(documents, slices.Repeat([]int32{100*f + d}, 1+int(d)%7))
		}
		files = append(files, writeTokens(t, filepath.Join(dir, fmt.Sprint("f", f)), "index16", documents))
	}
	order := func(seed uint64, pack int) (all []int32) {
		s, err := newTokenSource(&TokensOptions{Files: files, Length: 8, Pack: pack, PermuteDocuments: true, DocumentSeed: seed})
		require.NoError(t, err)
		defer s.close()
		for i := range s.Len() {
			q := readSequence(t, s, i)
			for k, x := range q.tokens {
				if q.documents[k] >= 0 {
					all = append(all, x)
				}
			}
		}
		return all
	}
	for _, pack := range []int{0, 10} {
		one, another := order(1, pack), order(2, pack)
		require.Equal(t, one, order(1, pack))
		require.NotEqual(t, one, another)
		require.ElementsMatch(t, one, another)
		inOrder, changes := 0, 0
		for i := 1; i < len(one); i++ {
			if one[i] == one[i-1]+1 {
				inOrder++
			}
			if (one[i] < 100) != (one[i-1] < 100) {
				changes++
			}
		}
		require.Less(t, inOrder, 10, "neighbours in a file")
		require.Greater(t, changes, 20, "documents of the two files take turns")
	}
}

// Best fit fills sequences that the order of documents would not.
func TestTokensArePackedByBestFit(t *testing.T) {
	var documents [][]int32
	for i, n := range []int{5, 9, 3, 1, 7, 2, 4, 1} { // 32 in four sequences of 10
		documents = append(documents, slices.Repeat([]int32{int32(10 + i)}, n))
	}
	s, err := newTokenSource(&TokensOptions{Files: []string{writeTokens(t, filepath.Join(t.TempDir(), "f"), "index16", documents)}, Length: 10, Pack: 8})
	require.NoError(t, err)
	defer s.close()
	var got [][]int32
	for i := range s.Len() {
		got = append(got, slices.Compact(readSequence(t, s, i).tokens))
	}
	require.Equal(t, [][]int32{{11, 17}, {14, 12}, {10, 16, 13}, {15, 0}}, got)
}

func TestTokensInAPipeline(t *testing.T) {
	var tokens []int32
	for i := range int32(103) {
		tokens = append(tokens, 10+i)
	}
	file := writeTokens(t, filepath.Join(t.TempDir(), "f"), "flat16", [][]int32{tokens})
	p, err := pipeline.New(pipeline.Options{BatchSize: 4, Workers: 2}, func(g *pipeline.Graph) {
		v := Tokens(g, TokensOptions{Files: []string{file}, Length: 10, NumShards: 1})
		g.Output("tokens", v.Tokens)
		g.Output("targets", v.Targets)
		g.Output("documents", v.Documents)
		g.Output("positions", v.Positions)
	})
	require.NoError(t, err)
	require.EqualValues(t, 11, p.Readers()[0].Len())
	r, err := p.Engine().NewRunner(feedtest.Once(11, 4))
	require.NoError(t, err)
	defer r.Close()
	f, err := r.Next(t.Context())
	require.NoError(t, err)
	b := (*pipeline.Batch)(f)
	require.Equal(t, []int{4, 10}, b.Shape("tokens"))
	require.Equal(t, tokens[:40], b.Int32s("tokens"))
	require.Equal(t, tokens[1:41], b.Int32s("targets"))
	b.Release()
}

func TestTokenErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, content, 0o600))
		return path
	}
	index := writeTokens(t, filepath.Join(dir, "good"), "index16", [][]int32{{1, 2, 3}, {4, 5}})
	sound, err := os.ReadFile(index)
	require.NoError(t, err)
	edited := func(at int, x byte) []byte {
		all := slices.Clone(sound)
		all[at] = x
		return all
	}
	for name, content := range map[string][]byte{"cut": sound, "short": sound[:len(sound)-1], "head": sound[:20], "magic": edited(0, 'X'), "version": edited(9, 2), "type": edited(17, 7),
		"count": edited(18, 99), "many": edited(25, 99), "length": edited(34+3, 0x80), "place": edited(34+16+8, 9), "order": edited(34+16+32+8, 5), "last": edited(len(sound)-8, 3)} {
		write(name+".idx", content)
		write(name+".bin", make([]byte, 10))
	}
	write("cut.bin", make([]byte, 8))
	for _, c := range []struct {
		o    TokensOptions
		want string
	}{
		{TokensOptions{Length: 4}, "Files is empty"},
		{TokensOptions{Files: []string{index}}, "Length is 0"},
		{TokensOptions{Files: []string{index}, Length: 4, Bits: 8}, "Bits is 8"},
		{TokensOptions{Files: []string{index}, Length: 4, Pack: -1}, "Pack is -1"},
		{TokensOptions{Files: []string{index}, Length: 4, End: 3}, "set HasEnd"},
		{TokensOptions{Files: []string{index}, Length: 4, DocumentSeed: 3}, "set PermuteDocuments"},
		{TokensOptions{Files: []string{write("one.bin", make([]byte, 8))}, Length: 4, PermuteDocuments: true}, "the files are one document; set HasEnd and End"},
		{TokensOptions{Files: []string{filepath.Join(dir, "none.bin")}, Length: 4}, "none.bin"},
		{TokensOptions{Files: []string{filepath.Join(dir, "none.idx")}, Length: 4}, "none.idx"},
		{TokensOptions{Files: []string{write("odd.bin", make([]byte, 5))}, Length: 4}, "odd.bin: byte 4: the file ends within a token of 2 bytes; it was cut short, or Bits is wrong"},
		{TokensOptions{Files: []string{write("odd4.bin", make([]byte, 6))}, Length: 4, Bits: 32}, "byte 4: the file ends within a token of 4 bytes"},
		{TokensOptions{Files: []string{write("empty.bin", nil)}, Length: 4}, "the file is empty"},
		{TokensOptions{Files: []string{filepath.Join(dir, "cut.idx")}, Length: 4}, "cut.bin: byte 8: it has 8 bytes, but its index says 5 tokens of 2 bytes"},
		{TokensOptions{Files: []string{filepath.Join(dir, "short.idx")}, Length: 4}, "cut short"},
		{TokensOptions{Files: []string{filepath.Join(dir, "head.idx")}, Length: 4}, "ends within its head"},
		{TokensOptions{Files: []string{filepath.Join(dir, "magic.idx")}, Length: 4}, "does not begin with MMIDIDX"},
		{TokensOptions{Files: []string{filepath.Join(dir, "version.idx")}, Length: 4}, "version 2; want 1"},
		{TokensOptions{Files: []string{filepath.Join(dir, "type.idx")}, Length: 4}, "type 7; want 8 (uint16) or 4 (int32)"},
		{TokensOptions{Files: []string{filepath.Join(dir, "count.idx")}, Length: 4}, "99 sequences"},
		{TokensOptions{Files: []string{filepath.Join(dir, "many.idx")}, Length: 4}, "need another number"},
		{TokensOptions{Files: []string{filepath.Join(dir, "length.idx")}, Length: 4}, "sequence 0 has -2147483647 tokens"},
		{TokensOptions{Files: []string{filepath.Join(dir, "place.idx")}, Length: 4}, "sequence 1 begins at byte 9; want 2"},
		{TokensOptions{Files: []string{filepath.Join(dir, "order.idx")}, Length: 4}, "document 1 begins with sequence 5 of 4"},
		{TokensOptions{Files: []string{filepath.Join(dir, "last.idx")}, Length: 4}, "document 2 begins with sequence 3 of 4"},
	} {
		_, err := pipeline.New(pipeline.Options{BatchSize: 1}, func(g *pipeline.Graph) { g.Output("x", Tokens(g, c.o).Tokens) })
		require.ErrorContains(t, err, c.want)
	}
}

// A file that is cut while it is read fails the samples that it cannot give any more, and no other, however the
// bytes are read: within a page, between pages and within a token.
func TestTokenFilesThatAreCut(t *testing.T) {
	dir := t.TempDir()
	for _, bits := range []int{16, 32} {
		for _, size := range []int{3 * 4096, 3*4096 + 400} {
			path := filepath.Join(dir, fmt.Sprint(bits, size))
			var content []byte
			for i := range 8 * size / bits {
				x := uint32(i%3) * 257 // some with a zero byte at the end
				if bits == 32 {
					content = binary.LittleEndian.AppendUint32(content, x)
				} else {
					content = binary.LittleEndian.AppendUint16(content, uint16(x))
				}
			}
			for _, left := range []int{size - 1, size - 2, size - 3, size - 100, size - 399, 2 * 4096, 2*4096 + 1, 4096, 10, 0} {
				require.NoError(t, os.WriteFile(path, content, 0o600))
				s, err := newTokenSource(&TokensOptions{Files: []string{path}, Bits: bits, Length: 5})
				require.NoError(t, err)
				require.NoError(t, os.Truncate(path, int64(left)))
				specs := s.Outputs()
				out := make([]*datum.Tensor, 4)
				for i := range out {
					out[i] = boundTensor(&specs[i], make([]byte, 20))
				}
				for i := range s.Len() {
					err := s.Read(t.Context(), i, out)
					if s.Gathers() {
						require.Equal(t, err == nil, gathers(s, []int64{i}))
					}
					end := min((i+1)*5+1, int64(8*size/bits)) * int64(bits/8)
					if end <= int64(left) {
						require.NoError(t, err)
						continue
					}
					require.ErrorContains(t, err, "the file has become shorter")
				}
				s.close()
			}
		}
	}
}

// A file that is cut while it is read, or whose tokens are too large, fails the samples.
func TestTokenFilesThatChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.bin")
	content := make([]byte, 80)
	content[4*11+3] = 0x80
	require.NoError(t, os.WriteFile(path, content, 0o600))
	s, err := newTokenSource(&TokensOptions{Files: []string{path}, Bits: 32, Length: 5})
	require.NoError(t, err)
	defer s.close()
	require.NoError(t, os.Truncate(path, 72))
	specs := s.Outputs()
	out := make([]*datum.Tensor, 4)
	for i := range out {
		out[i] = boundTensor(&specs[i], make([]byte, 20))
	}
	var wrong *FormatError
	require.NoError(t, s.Read(t.Context(), 1, out))
	require.ErrorAs(t, s.Read(t.Context(), 3, out), &wrong)
	require.ErrorContains(t, wrong, "byte 72: the file has become shorter since it was opened")
	require.NoError(t, os.Truncate(path, 80))
	require.NoError(t, os.WriteFile(path, content, 0o600))
	if s.Gathers() {
		require.True(t, gathers(s, []int64{0}))
		require.False(t, gathers(s, []int64{0, 2}))
	}
	require.ErrorContains(t, s.Read(t.Context(), 2, out), "byte 44: token 2147483648 is larger than 2147483647; Bits may be wrong")
}

func TestTokenFingerprints(t *testing.T) {
	dir := t.TempDir()
	a := writeTokens(t, filepath.Join(dir, "a"), "index16", [][]int32{{1, 2, 3}, {4, 5}})
	b := writeTokens(t, filepath.Join(dir, "b"), "index16", [][]int32{{1, 2}, {3, 4, 5}})
	seen := map[uint64]bool{}
	for _, o := range []TokensOptions{
		{Files: []string{a}, Length: 4}, {Files: []string{b}, Length: 4}, {Files: []string{a, b}, Length: 4}, {Files: []string{a}, Length: 5}, {Files: []string{a}, Length: 4, Pack: 2},
		{Files: []string{a}, Length: 4, PermuteDocuments: true}, {Files: []string{a}, Length: 4, PermuteDocuments: true, DocumentSeed: 1}, {Files: []string{a}, Length: 4, PermuteDocuments: true, Pack: 2},
		{Files: []string{a[:len(a)-3] + "bin"}, Length: 4}, {Files: []string{a[:len(a)-3] + "bin"}, Length: 4, HasEnd: true, End: 3},
	} {
		s, err := newTokenSource(&o)
		require.NoError(t, err)
		s.close()
		require.False(t, seen[s.Meta().Fingerprint], "%+v", o)
		seen[s.Meta().Fingerprint] = true
	}
}

// Whatever an index holds, it is refused, or its documents lie one behind the other.
func FuzzMegatronIndex(f *testing.F) {
	path := writeTokens(f, filepath.Join(f.TempDir(), "f"), "index16", [][]int32{{1, 2, 3}, {}, {4, 5}})
	sound, err := os.ReadFile(path)
	require.NoError(f, err)
	f.Add(sound)
	f.Add(sound[:40])
	f.Fuzz(func(t *testing.T, all []byte) {
		x, err := parseMegatronIndex("f.idx", all)
		if err != nil {
			var wrong *FormatError
			require.ErrorAs(t, err, &wrong)
			return
		}
		require.NotEmpty(t, x.ends)
		require.True(t, slices.IsSorted(x.ends))
		require.True(t, x.ends[0] >= 0)
		require.Equal(t, x.tokens, x.ends[len(x.ends)-1])
	})
}

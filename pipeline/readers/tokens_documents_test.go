package readers

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// keptTokens writes a flat file of documents of 10 to 60 tokens that is an hour old. It is so large that
// its middle is in no fingerprint.
func keptTokens(t *testing.T) (path string, content []byte, written time.Time) {
	path = filepath.Join(t.TempDir(), "f.bin")
	content = make([]byte, 400<<10)
	next := 0
	for i := range len(content) / 2 {
		token := uint16(10 + i%1000)
		if i == next {
			token, next = endToken, i+10+i%51
		}
		binary.LittleEndian.PutUint16(content[2*i:], token)
	}
	written = time.Now().Add(-time.Hour).Truncate(time.Second)
	replaceTokens(t, path, content, written)
	return path, content, written
}

func replaceTokens(t *testing.T, path string, content []byte, written time.Time) {
	require.NoError(t, os.WriteFile(path, content, 0o600))
	require.NoError(t, os.Chtimes(path, written, written))
}

// packedAs opens a reader and returns its sequences and its fingerprint.
func packedAs(t *testing.T, path string, keep bool, end int32) (packed, uint64) {
	s, err := newTokenSource(&TokensOptions{Files: []string{path}, HasEnd: true, End: end, Length: 64, Pack: 100, KeepDocuments: keep})
	require.NoError(t, err)
	defer s.close()
	return *s.layout.(*packed), s.Meta().Fingerprint
}

func TestKeptDocumentsAreThoseOfTheTokens(t *testing.T) {
	path, content, written := keptTokens(t)
	beside := path + documentsSuffix
	want, print := packedAs(t, path, false, endToken)
	require.NoFileExists(t, beside)
	for range 2 { // once made, once read
		got, same := packedAs(t, path, true, endToken)
		require.Equal(t, want, got)
		require.Equal(t, print, same)
		require.FileExists(t, beside)
	}
	kept, err := os.ReadFile(beside)
	require.NoError(t, err)

	// The file beside is what is read: another end of a document within the tokens shows once
	// their time does.
	changed := slices.Clone(content)
	binary.LittleEndian.PutUint16(changed[200<<10:], endToken)
	replaceTokens(t, path, changed, written)
	got, _ := packedAs(t, path, true, endToken)
	require.Equal(t, want, got)
	replaceTokens(t, path, changed, written.Add(time.Second))
	other, _ := packedAs(t, path, false, endToken)
	require.NotEqual(t, want, other)
	got, _ = packedAs(t, path, true, endToken)
	require.Equal(t, other, got)

	replaceTokens(t, path, content, written)
	for name, spoil := range map[string]func(){
		"damaged":  func() { x := slices.Clone(kept); x[len(x)/2] ^= 1; require.NoError(t, os.WriteFile(beside, x, 0o600)) },
		"cut":      func() { require.NoError(t, os.WriteFile(beside, kept[:len(kept)-9], 0o600)) },
		"empty":    func() { require.NoError(t, os.WriteFile(beside, nil, 0o600)) },
		"as old":   func() { require.NoError(t, os.Chtimes(beside, written, written)) },
		"End":      func() { packedAs(t, path, true, 11) },
		"no index": func() { require.NoError(t, os.Remove(beside)) },
	} {
		require.NoError(t, os.WriteFile(beside, kept, 0o600))
		spoil()
		got, _ := packedAs(t, path, true, endToken)
		require.Equal(t, want, got, name)
		again, err := os.ReadFile(beside)
		require.NoError(t, err)
		require.Equal(t, kept, again, "%s: it is not made again", name)
		info, err := os.Stat(beside)
		require.NoError(t, err)
		require.True(t, info.ModTime().After(written), name)
	}

	shorter := content[:len(content)-2]
	replaceTokens(t, path, shorter, written)
	want, _ = packedAs(t, path, false, endToken)
	got, _ = packedAs(t, path, true, endToken)
	require.Equal(t, want, got, "another size")
}

func TestKeepDocumentsErrors(t *testing.T) {
	path, _, _ := keptTokens(t)
	for _, o := range []TokensOptions{{HasEnd: true}, {Pack: 3}, {}, {PermuteDocuments: true}} {
		o.Files, o.Length, o.KeepDocuments = []string{path}, 4, true
		_, err := newTokenSource(&o)
		require.ErrorContains(t, err, "KeepDocuments is set without HasEnd, or without Pack and PermuteDocuments")
	}
	require.NoError(t, os.Mkdir(path+documentsSuffix, 0o700))
	_, err := newTokenSource(&TokensOptions{Files: []string{path}, HasEnd: true, End: endToken, Length: 64, Pack: 100, KeepDocuments: true})
	require.ErrorContains(t, err, "cannot be kept beside the tokens")
	require.ErrorContains(t, err, "leave KeepDocuments out")
}

// Whatever a file beside tokens holds, it is not taken, or documents lie one behind the
// other and are all of the tokens.
func FuzzKeptDocuments(f *testing.F) {
	head := []byte("head\n")
	var sound bytes.Buffer
	require.NoError(f, writeEnds(&sound, head, []int64{3, 4, 300, 1000}))
	require.Equal(f, []int64{3, 4, 300, 1000}, parseEnds(sound.Bytes(), head, 1000))
	f.Add(sound.Bytes()[len(head) : sound.Len()-4])
	f.Add([]byte{2, 232, 7, 0})
	f.Add([]byte{3, 1})
	f.Fuzz(func(t *testing.T, body []byte) {
		all := slices.Concat(head, body)
		all = binary.LittleEndian.AppendUint32(all, crc32.ChecksumIEEE(all))
		ends := parseEnds(all, head, 1000)
		if ends == nil {
			return
		}
		require.True(t, slices.IsSorted(ends))
		require.Equal(t, len(ends), len(slices.Compact(slices.Clone(ends))))
		require.Positive(t, ends[0])
		require.EqualValues(t, 1000, ends[len(ends)-1])
	})
}

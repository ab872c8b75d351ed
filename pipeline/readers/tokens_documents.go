package readers

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"

	"github.com/planktonml/plankton/internal/atomicfile"
)

// documentsSuffix ends the name of the file beside a flat file that keeps where its documents end.
const documentsSuffix = ".documents"

// documents calls add with the first token and the end of each document that is not empty.
func (f *tokenFile) documents(add func(first, end int64)) error {
	ends := f.ends
	if ends == nil {
		var err error
		if ends, err = f.flatEnds(); err != nil {
			return err
		}
	}
	first := int64(0)
	for _, end := range ends {
		if end > first {
			add(first, end)
		}
		first = end
	}
	return nil
}

// flatEnds returns where the documents of a flat file end, from the file beside it if that is
// asked for and right. The file beside it is replaced where it is not.
func (f *tokenFile) flatEnds() ([]int64, error) {
	if !f.hasEnd {
		return []int64{f.tokens}, nil
	}
	if !f.keep {
		return f.scan()
	}
	head, err := f.keptHead()
	if err != nil {
		return nil, err
	}
	if ends := f.kept(head); ends != nil {
		return ends, nil
	}
	ends, err := f.scan()
	if err != nil {
		return nil, err
	}
	if now, err := f.keptHead(); err != nil {
		return nil, err
	} else if !bytes.Equal(now, head) {
		return nil, fmt.Errorf("%s: the file was changed while its documents were looked for; try again when it is complete", shown(f.path))
	}
	if err := atomicfile.Write(f.path+documentsSuffix, func(w io.Writer) error { return writeEnds(w, head, ends) }); err != nil {
		return nil, fmt.Errorf("where the documents end cannot be kept beside the tokens: %w; leave KeepDocuments out if the folder cannot be written", err)
	}
	return ends, nil
}

// scan reads all tokens, and returns where documents end.
func (f *tokenFile) scan() (ends []int64, err error) {
	buffer, tokens := make([]byte, 1<<20), make([]int32, 1<<20/f.width)
	for at := int64(0); at < f.tokens; at += int64(len(tokens)) {
		tokens = tokens[:min(int64(len(tokens)), f.tokens-at)]
		part := buffer[:int64(len(tokens))*f.width]
		if got, err := f.data.ReadAt(part, at*f.width); got < len(part) {
			return nil, &FormatError{Path: f.path, Offset: at*f.width + int64(got), Err: err}
		}
		f.decode(tokens, part)
		for i, token := range tokens {
			if token == f.end {
				ends = append(ends, at+int64(i)+1)
			}
		}
	}
	if len(ends) == 0 || ends[len(ends)-1] < f.tokens {
		ends = append(ends, f.tokens)
	}
	return ends, nil
}

// keptHead returns how a file that keeps the documents of the tokens begins: what the tokens
// are and when they were written. One that begins otherwise is of other tokens.
func (f *tokenFile) keptHead() ([]byte, error) {
	info, err := f.data.Stat()
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	if err := f.hash(h); err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "plankton documents 1\n%d bytes of %s, tokens of %d bits, documents end with %d\n%x\n",
		info.Size(), info.ModTime().UTC().Format("2006-01-02T15:04:05.000000000"), 8*f.width, f.end, h.Sum(nil)), nil
}

// kept returns what the file beside the tokens says, nil where there is none, or where it is
// of other tokens, not newer than the tokens, or damaged.
func (f *tokenFile) kept(head []byte) []int64 {
	name := f.path + documentsSuffix
	beside, err := os.Stat(name)
	if err != nil {
		return nil
	}
	// Of equal times the tokens may be the later ones: clocks of file systems are coarse.
	if tokens, err := f.data.Stat(); err != nil || !beside.ModTime().After(tokens.ModTime()) {
		return nil
	}
	all, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	return parseEnds(all, head, f.tokens)
}

// writeEnds writes a head, the lengths of the documents, and a checksum.
func writeEnds(w io.Writer, head []byte, ends []int64) error {
	all := binary.AppendUvarint(head[:len(head):len(head)], uint64(len(ends)))
	first := int64(0)
	for _, end := range ends {
		all = binary.AppendUvarint(all, uint64(end-first))
		first = end
	}
	_, err := w.Write(binary.LittleEndian.AppendUint32(all, crc32.ChecksumIEEE(all)))
	return err
}

// parseEnds reads what writeEnds wrote for so many tokens, nil where it is anything else.
func parseEnds(all, head []byte, tokens int64) []int64 {
	const sum = 4
	if len(all) < len(head)+sum || !bytes.HasPrefix(all, head) {
		return nil
	}
	rest, want := all[len(head):len(all)-sum], binary.LittleEndian.Uint32(all[len(all)-sum:])
	if crc32.ChecksumIEEE(all[:len(all)-sum]) != want {
		return nil
	}
	count, n := binary.Uvarint(rest)
	if n <= 0 || count == 0 || count > uint64(len(rest)) {
		return nil
	}
	rest = rest[n:]
	ends, last := make([]int64, count), uint64(0)
	for i := range ends {
		length, n := binary.Uvarint(rest)
		if n <= 0 || length == 0 || length > math.MaxInt64-last {
			return nil
		}
		rest, last = rest[n:], last+length
		ends[i] = int64(last)
	}
	if len(rest) > 0 || int64(last) != tokens {
		return nil
	}
	return ends
}

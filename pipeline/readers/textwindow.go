package readers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path"
	"strings"

	"github.com/planktonml/plankton/storage"
)

// textWindow goes through a file from its beginning to its end, and takes its checksum.
type textWindow struct {
	ctx   context.Context
	place storage.RangeReader
	name  string
	size  int64

	pos int64
	mem []byte
	sum uint32
}

// textWindowBytes is how much is read at a time.
const textWindowBytes = 1 << 20

// byteOrderMark is what some programs put in front of UTF-8.
const byteOrderMark = "\xef\xbb\xbf"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// next returns the next bytes and where they begin, or io.EOF.
func (w *textWindow) next() (text []byte, at int64, err error) {
	if w.pos == w.size {
		return nil, 0, io.EOF
	}
	if w.mem == nil {
		w.mem = make([]byte, min(textWindowBytes, w.size))
	}
	text = w.mem[:min(int64(len(w.mem)), w.size-w.pos)]
	if err := storage.ReadRange(w.ctx, w.place, w.name, w.pos, text); err != nil {
		return nil, 0, err
	}
	at = w.pos
	w.pos += int64(len(text))
	w.sum = crc32.Update(w.sum, castagnoli, text)
	if at == 0 && bytes.HasPrefix(text, []byte(byteOrderMark)) {
		return text[len(byteOrderMark):], int64(len(byteOrderMark)), nil
	}
	return text, at, nil
}

// refuseCompressed refuses a file that is compressed as a whole: a record in the middle
// could only be had by reading all before it.
func (w *textWindow) refuseCompressed() error {
	head := make([]byte, min(4, w.size))
	if err := storage.ReadRange(w.ctx, w.place, w.name, 0, head); err != nil {
		return err
	}
	plain := strings.TrimSuffix(path.Base(w.name), path.Ext(w.name))
	for _, c := range []struct{ kind, magic, command string }{
		{"gzip", "\x1f\x8b", "gunzip --keep"}, {"zstd", "\x28\xb5\x2f\xfd", "unzstd"},
		{"bzip2", "BZh", "bunzip2 --keep"}, {"xz", "\xfd7zX", "unxz --keep"},
	} {
		if bytes.HasPrefix(head, []byte(c.magic)) {
			return fmt.Errorf("the file is compressed by %s, so that no record can be read without all before it; decompress it once, by %s, and give %s", c.kind, c.command, shown(plain))
		}
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return errors.New("the file is no UTF-8 text: it has zero bytes; convert it to UTF-8")
	}
	return nil
}

// readPart reads a part of the file that next has passed.
func readPart(w *textWindow, at int64, part []byte) error {
	return storage.ReadRange(w.ctx, w.place, w.name, at, part)
}

package readers

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// maxLine is the longest line of a list, in bytes.
const maxLine = 1 << 16

// readList reads a list of files, which lies in a place or, without one, on the machine;
// see parseList.
func readList(place fs.FS, name string, classes int) (fileList, error) {
	f, err := openIn(place, name)
	if err != nil {
		return fileList{}, fmt.Errorf("List: %w; give a file with lines of a path and a label", err)
	}
	defer f.Close()
	return parseList(f, name, classes)
}

// blanks separate paths and labels. Others, such as an ideographic space, may begin or
// end a path.
const blanks = " \t"

// parseList reads lines of a path, blanks and a label. Lines are read from the
// right, so that paths may have blanks in them; empty lines do not count, nor does the
// byte order mark that some editors begin a file with. Labels must be below classes
// unless that is 0.
func parseList(r io.Reader, name string, classes int) (fileList, error) {
	var files fileList
	var lines []int32
	bad := func(line int, err error) (fileList, error) {
		return fileList{}, &FormatError{Path: name, Line: line, Err: err}
	}
	scan := bufio.NewScanner(r)
	scan.Buffer(make([]byte, 0, 1<<12), maxLine)
	line := 0
	for scan.Scan() {
		line++
		text := scan.Bytes()
		if line == 1 {
			if bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) {
				return bad(line, errors.New("the list is in UTF-16; save it in UTF-8"))
			}
			text = bytes.TrimPrefix(text, []byte("\uFEFF"))
		}
		text = bytes.Trim(text, blanks+"\r")
		if len(text) == 0 {
			continue
		}
		path, label, err := parseLine(text)
		if err == nil {
			err = checkLabel(label, classes)
		}
		if err != nil {
			return bad(line, err)
		}
		files.add([]byte(path), int32(label), -1)
		lines = append(lines, int32(line))
	}
	switch err := scan.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return bad(line+1, fmt.Errorf("longer than %d bytes; want a path and a label", maxLine))
	case err != nil:
		return fileList{}, fmt.Errorf("List: %w", err)
	case files.len() == 0:
		return fileList{}, fmt.Errorf("List %s names no files; write lines of a path and a label", name)
	}
	if a, b, ok := duplicate(&files); ok {
		return bad(int(lines[b]), fmt.Errorf("%s is already on line %d; a file can be on a list once", files.path(b), lines[a]))
	}
	return files, nil
}

// parseLine splits a line that neither begins nor ends with a blank.
func parseLine(text []byte) (path string, label int64, err error) {
	i := bytes.LastIndexAny(text, blanks)
	label, err = strconv.ParseInt(string(text[i+1:]), 10, 64)
	if err != nil || i < 0 {
		return "", 0, fmt.Errorf("%.80q: want a path, a blank and a label, as in \"cat/1.jpg 0\"", text)
	}
	path = string(bytes.Trim(text[:i], blanks))
	if strings.IndexByte(path, 0) >= 0 {
		return "", 0, fmt.Errorf("%.80q: a path has no zero bytes", path)
	}
	return filepath.ToSlash(filepath.Clean(path)), label, nil
}

// duplicate returns the places of two equal paths, the earlier one first.
func duplicate(l *fileList) (a, b int, found bool) {
	type key struct {
		hash  uint64
		place int
	}
	seed := maphash.MakeSeed()
	keys := make([]key, l.len())
	for i, c := 0, l.from(0); c.next(); i++ {
		keys[i] = key{maphash.Bytes(seed, c.path), i}
	}
	slices.SortFunc(keys, func(x, y key) int {
		if c := cmp.Compare(x.hash, y.hash); c != 0 {
			return c
		}
		return cmp.Or(cmp.Compare(l.path(x.place), l.path(y.place)), cmp.Compare(x.place, y.place))
	})
	for i := 1; i < len(keys); i++ {
		x, y := keys[i-1], keys[i]
		if x.hash == y.hash && l.path(x.place) == l.path(y.place) && (!found || y.place < b) {
			a, b, found = x.place, y.place, true
		}
	}
	return a, b, found
}

package index

import (
	"archive/tar"
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/planktonml/plankton/internal/printable"
)

// The index files of NVIDIA DALI's tool wds2idx: a line of the version and the number of
// samples, then a line per sample with ending, offset, size and, from version 1.2 on, the
// name of each member, all with blanks in between.

// BesideTar returns the name of the index file that wds2idx writes for an archive.
func BesideTar(archive string) string {
	dir, base := path.Split(archive)
	if i := strings.IndexByte(base[min(1, len(base)):], '.'); i >= 0 {
		base = base[:i+1]
	}
	return dir + base + ".idx"
}

// WriteWDS writes the index of one tar archive as wds2idx does, version 1.2. The index
// must be of one shard. The members of a sample are in the order of their places.
func WriteWDS(out io.Writer, x *Index) error {
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "v1.2 %d\n", x.Len())
	for i := range x.Len() {
		name := x.Name(i)
		if strings.ContainsAny(name, " \t\n") {
			return fmt.Errorf("the sample %s has a blank in its name, which index files of wds2idx cannot have", printable.Name(name))
		}
		for n, f := range x.inPlace(i) {
			if n > 0 {
				_ = w.WriteByte(' ')
			}
			p, ending := x.Part(i, f), x.fields[f].Name
			fmt.Fprintf(w, "%s %d %d %s.%s", ending, p.Offset, p.Length, name, ending)
		}
		_ = w.WriteByte('\n')
	}
	return w.Flush()
}

// inPlace returns the fields that a sample has, in the order in which they lie.
func (x *Index) inPlace(sample int64) []int {
	var fields []int
	for f := range x.fields {
		if x.Part(sample, f).Length == Absent {
			continue
		}
		at := len(fields)
		for at > 0 && x.Part(sample, fields[at-1]).Offset > x.Part(sample, f).Offset {
			at--
		}
		fields = append(fields[:at], append([]int{f}, fields[at:]...)...)
	}
	return fields
}

// readWDS takes the index of an archive from the file of wds2idx beside it, if there is
// one. Labels, which that file lacks, are read from the archive.
func readWDS(w *window, b *Builder, o *Options) (bool, error) {
	name := BesideTar(w.object.Name)
	text, err := besideText(w, name, "wds2idx")
	if text == nil || err != nil {
		return false, err
	}
	if err := parseWDS(text, b, len(b.x.objects)-1); err != nil {
		return false, fmt.Errorf("%s, the index of %s: %w; make it again with wds2idx or `plankton index`, or remove it", printable.Name(name), printable.Name(w.object.Name), err)
	}
	if err := belongs(w, &b.x); err != nil {
		return false, err
	}
	return true, labelsOf(w, &b.x, o)
}

const mostIndexBytes = 1 << 30

// besideText reads the index file of one shard that another tool wrote beside it, nil where
// there is none.
func besideText(w *window, name, tool string) ([]byte, error) {
	info, err := fs.Stat(w.place, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if older(info.ModTime(), w.object.Modified) {
		return nil, fmt.Errorf("%s is older than %s, so it may be of another file; make it again with %s or `plankton index`, remove it, or touch it if it is right", printable.Name(name), printable.Name(w.object.Name), tool)
	}
	if info.Size() > mostIndexBytes {
		return nil, fmt.Errorf("%s has %d bytes; an index file of one shard has at most %d", printable.Name(name), info.Size(), mostIndexBytes)
	}
	text := make([]byte, info.Size())
	if _, err := w.place.ReadRange(w.ctx, name, 0, text); err != nil {
		return nil, fmt.Errorf("%s: %w", printable.Name(name), err)
	}
	return text, nil
}

// parseWDS adds the samples of an index file to a builder.
func parseWDS(text []byte, b *Builder, object int) error {
	scan := bufio.NewScanner(bytes.NewReader(text))
	scan.Buffer(nil, 1<<20)
	if !scan.Scan() {
		return errors.New("the file is empty")
	}
	var version string
	var samples int64
	if _, err := fmt.Sscan(scan.Text(), &version, &samples); err != nil {
		return fmt.Errorf("line 1 is %.40q; want a version and the number of samples, as in \"v1.2 100\"", scan.Text())
	}
	words := map[string]int{"v1.1": 3, "v1.2": 4}[version]
	if words == 0 {
		return fmt.Errorf("the version is %.20q; v1.1 and v1.2 are known", version)
	}
	for line := 2; scan.Scan(); line++ {
		s, err := parseWDSLine(strings.Fields(scan.Text()), words, b)
		if err == nil {
			s.Object = object
			err = b.Add(s)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
	if scan.Err() != nil {
		return scan.Err()
	}
	if b.x.Len() != samples {
		return fmt.Errorf("it says that there are %d samples and has lines for %d", samples, b.x.Len())
	}
	return nil
}

// parseWDSLine makes a sample of a line.
func parseWDSLine(fields []string, words int, b *Builder) (s Sample, err error) {
	if len(fields) == 0 || len(fields)%words != 0 {
		return s, fmt.Errorf("%d words; want %d for each member", len(fields), words)
	}
	t := tarSamples{b: b, sample: Sample{Label: NoLabel}}
	for ; len(fields) > 0; fields = fields[words:] {
		offset, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil {
			return s, fmt.Errorf("the offset is %.30q; want a number", fields[1])
		}
		size, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil || size < 0 {
			return s, fmt.Errorf("the size is %.30q; want a number of bytes", fields[2])
		}
		if words > 3 && t.sample.Name == "" {
			t.sample.Name = strings.TrimSuffix(strings.TrimPrefix(fields[3], "./"), "."+fields[0])
		}
		if err := t.add(strings.ToLower(fields[0]), Part{offset, size}); err != nil {
			return s, err
		}
	}
	return t.sample, nil
}

// belongs looks whether an index is of this archive. Where members follow each other with
// one header in between, all of them are right if the first and the last are. Where there
// is more in between, a header is looked at: there wds2idx takes the headers of the next
// file for data of the one before, since it reckons from the next file's place.
func belongs(w *window, x *Index) error {
	var members []Part
	for i := range x.offset {
		if p := x.part(int64(i)); p.Length >= 0 {
			members = append(members, p)
		}
	}
	slices.SortFunc(members, func(a, b Part) int { return cmp.Compare(a.Offset, b.Offset) })
	end := int64(0)
	for i, p := range members {
		plain := p.Offset-end == tarBlock && i > 0 && i < len(members)-1
		end = p.Offset + (p.Length+tarBlock-1)/tarBlock*tarBlock
		if plain && members[i+1].Offset-end == tarBlock {
			continue
		}
		head, err := w.at(p.Offset-tarBlock, tarBlock)
		if w.ctx.Err() != nil {
			return err
		}
		if err != nil || !isHeader(head, p.Length) {
			return fmt.Errorf("%s does not fit %s, which has no file of %d bytes at byte %d (wds2idx is wrong about archives in the PAX format); make it again with `plankton index`, or remove it",
				printable.Name(BesideTar(w.object.Name)), printable.Name(w.object.Name), p.Length, p.Offset)
		}
	}
	return nil
}

// isHeader reports whether a block is the header of a regular file of a size.
func isHeader(block []byte, size int64) bool {
	h, err := tar.NewReader(bytes.NewReader(block)).Next()
	return err == nil && h.Typeflag == tar.TypeReg && h.Size == size
}

// labelsOf reads the labels of an archive's samples.
func labelsOf(w *window, x *Index, o *Options) error {
	for f, field := range x.fields {
		if !o.isLabel(field.Name, "cls") {
			continue
		}
		for i := range x.object {
			p := x.Part(int64(i), f)
			if p.Length <= 0 || p.Length > longestLabel {
				continue
			}
			text, err := w.at(p.Offset, int(p.Length))
			if err != nil {
				return err
			}
			x.label[i] = parseLabel(text)
		}
	}
	return nil
}

package index

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/planktonml/plankton/internal/printable"
)

// Tar archives as WebDataset has them: files that follow each other and have the same
// name up to the first dot are the members of a sample, by what is behind that dot.
func init() {
	add(&format{name: "tar", endings: []string{".tar"}, scan: scanTar, beside: readWDS})
}

func scanTar(w *window, b *Builder, o *Options) error {
	if err := refuseMagic(w); err != nil {
		return err
	}
	s := &tarSamples{b: b, o: o}
	r := tar.NewReader(w)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return tarError(w, err)
		}
		if err := s.member(r, h, w); err != nil {
			return err
		}
	}
	if err := s.flush(); err != nil {
		return err
	}
	return checkEnd(w)
}

// refuseMagic refuses an archive that is compressed, whatever its name says.
func refuseMagic(w *window) error {
	b, err := w.at(0, int(min(4, w.object.Size)))
	if err != nil {
		return err
	}
	if bytes.HasPrefix(b, []byte("\x1f\x8b")) || bytes.HasPrefix(b, []byte("\x28\xb5\x2f\xfd")) {
		return w.broken(0, "the archive is compressed as a whole, so its samples cannot be read one by one; unpack it: pictures hardly shrink by it")
	}
	return nil
}

// tarError explains an error of reading headers.
func tarError(w *window, err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return w.broken(w.object.Size, "the archive ends in the middle of a file: it was cut off; copy or write it again")
	case errors.Is(err, tar.ErrHeader):
		return w.broken(w.pos-tarBlock, "no header of a tar archive: the archive is damaged; copy or write it again")
	}
	return err
}

const tarBlock = 512

// checkEnd looks for what tar readers pass over at the end of an archive: an archive that
// was joined to it, or that the end is missing.
func checkEnd(w *window) error {
	end := w.pos
	if end < tarBlock || end > w.object.Size {
		return w.broken(w.object.Size, "the end of the archive is missing: it was cut off; copy or write it again")
	}
	b, err := w.at(end-tarBlock, tarBlock)
	if err != nil {
		return err
	}
	if len(bytes.Trim(b, "\x00")) > 0 {
		return w.broken(end, "the end of the archive is missing: it was cut off; copy or write it again")
	}
	for end < w.object.Size {
		n := int(min(int64(cap(w.mem)), w.object.Size-end))
		b, err := w.at(end, n)
		if err != nil {
			return err
		}
		if i := bytes.IndexFunc(b, func(r rune) bool { return r != 0 }); i >= 0 {
			return w.broken(end+int64(i), "there is more behind the end of the archive, as where archives were joined with cat; unpack them and write one archive")
		}
		end += int64(n)
	}
	return nil
}

// tarSamples makes samples of the files of an archive.
type tarSamples struct {
	b      *Builder
	o      *Options
	begun  bool
	sample Sample
}

// member adds a file of the archive.
func (s *tarSamples) member(r io.Reader, h *tar.Header, w *window) error {
	if sparse(h) {
		return w.broken(w.pos, "%s is a sparse file, whose bytes do not lie in one place; write the archive without --sparse", printable.Name(h.Name))
	}
	link := h.Typeflag == tar.TypeLink || h.Typeflag == tar.TypeSymlink
	if h.Typeflag != tar.TypeReg && !link {
		return nil
	}
	name, ending, ok := splitName(h.Name)
	if !ok {
		return nil
	}
	if err := s.begin(name); err != nil {
		return err
	}
	if link {
		s.wrong("%s is a link to %s: links in archives are not followed; write the archive with tar --dereference --hard-dereference", h.Name, h.Linkname)
		return nil
	}
	if err := s.add(ending, Part{w.pos, h.Size}); err != nil {
		return err
	}
	if !s.o.isLabel(ending, "cls") {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(r, longestLabel+1))
	if err != nil {
		return tarError(w, err)
	}
	s.sample.Label = parseLabel(text)
	return nil
}

// begin ends the sample before, where it has another name.
func (s *tarSamples) begin(name string) error {
	if s.begun && s.sample.Name == name {
		return nil
	}
	if err := s.flush(); err != nil {
		return err
	}
	s.begun = true
	s.sample = Sample{Object: len(s.b.x.objects) - 1, Name: name, Label: NoLabel, Parts: s.sample.Parts[:0]}
	return nil
}

// add adds a member to the sample.
func (s *tarSamples) add(ending string, p Part) error {
	f, err := s.b.Field(ending, Bytes)
	if err != nil {
		return err
	}
	for len(s.sample.Parts) <= f {
		s.sample.Parts = append(s.sample.Parts, Part{Length: Absent})
	}
	if s.sample.Parts[f].Length != Absent {
		s.wrong("%s.%s is in the archive twice, one behind the other; remove one of them", s.sample.Name, ending)
		return nil
	}
	s.sample.Parts[f] = p
	return nil
}

func (s *tarSamples) wrong(format string, args ...any) {
	if s.sample.Wrong == "" {
		s.sample.Wrong = printable.Line(fmt.Sprintf(format, args...))
	}
}

func (s *tarSamples) flush() error {
	if !s.begun {
		return nil
	}
	return s.b.Add(s.sample)
}

// sparse reports whether a file of an archive has holes.
func sparse(h *tar.Header) bool {
	if h.Typeflag == tar.TypeGNUSparse {
		return true
	}
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return false
}

// splitName returns the name of the sample that a file belongs to and the member that it
// is, which is in small letters: "a/b.seg.PNG" is member "seg.png" of sample "a/b". Files
// whose names begin with a dot or have none belong to no sample, and neither do those
// that WebDataset keeps for itself, such as "__meta__.json".
func splitName(file string) (sample, member string, ok bool) {
	file = strings.TrimPrefix(file, "./")
	dir, base := path.Split(file)
	stem, ending, found := strings.Cut(base, ".")
	if !found || stem == "" || ending == "" || strings.HasPrefix(stem, "__") && strings.HasSuffix(stem, "__") {
		return "", "", false
	}
	return dir + stem, strings.ToLower(ending), true
}

// longestLabel is how many bytes of a text are looked at for a label.
const longestLabel = 32

// parseLabel returns the label that a text is, or NoLabel.
func parseLabel(text []byte) int32 {
	if len(text) > longestLabel {
		return NoLabel
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 32)
	if err != nil || n < 0 {
		return NoLabel
	}
	return int32(n)
}

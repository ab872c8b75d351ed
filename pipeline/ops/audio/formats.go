package audio

import (
	"errors"
	"fmt"

	"github.com/planktonml/plankton/internal/flac"
	"github.com/planktonml/plankton/internal/magic"
)

// A Format is a kind of sound files that a program can decode, with a module of its choice for
// Ogg Vorbis, Opus or MP3. Decode is called by several workers at once; what it makes of a file
// must depend on the file's bytes alone.
type Format struct {
	Name   string // in errors, as "MP3"
	Magic  string // what files begin with; a question mark stands for any byte
	Decode func(file []byte) (Sound, error)
}

// Sound is a decoded file.
type Sound struct {
	Samples  []float32 // −1 … 1, channel by channel at each time; Decode has no use for it afterwards
	Channels int
	Rate     int // in Hz
}

// source is a file that was opened, whose samples can be read.
type source struct {
	format                 string
	rate, channels, frames int

	wav    wav
	ints   []int32   // instead, of FLAC
	floats []float32 // instead, of a Format
	kind   func(s *source, i int) (n int32, f float64)

	flac flac.Decoder
	mem  []int32 // of ints
}

// open looks at the first bytes of a file and, but for WAV, decodes it. Room is asked before the
// source's memory grows, with all bytes that it has then.
func (s *source) open(file []byte, formats []Format, room func(int64) error) error {
	for i := range formats {
		if magic.Begins(file, formats[i].Magic) {
			return s.openFormat(file, &formats[i])
		}
	}
	switch {
	case magic.Begins(file, flac.Magic):
		return s.openFLAC(file, room)
	case magic.Begins(file, "RIFF????WAVE"):
		w, err := parseWAV(file)
		s.format, s.rate, s.channels, s.wav, s.kind = "WAV", w.rate, w.channels, w, (*source).readWAV
		if err == nil {
			s.frames = w.frames()
		}
		return err
	}
	return notASound(file)
}

// openFLAC decodes a FLAC file. What fails leaves no memory behind.
func (s *source) openFLAC(file []byte, room func(int64) error) error {
	info, err := s.flac.Open(file)
	if err != nil {
		return err
	}
	mem := s.mem[:0]
	s.mem, s.ints = nil, nil // or the first one would be held beside those that it grows to
	if mem, err = s.flac.Decode(mem, mostOf(len(file)), room); err != nil {
		return err
	}
	s.mem = mem
	s.format, s.rate, s.channels, s.ints, s.kind = "FLAC", info.Rate, info.Channels, s.mem, (*source).readInts
	s.frames = len(s.mem) / info.Channels
	return nil
}

// openFormat decodes a file with a program's decoder.
func (s *source) openFormat(file []byte, f *Format) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the decoder panicked, so the file is damaged or of a kind that the decoder does not know: %v", p)
		}
		if err != nil {
			err = fmt.Errorf("%s file: %w", f.Name, err)
		}
	}()
	d, err := f.Decode(file)
	switch {
	case err != nil:
		return err
	case d.Channels < 1 || d.Rate < 1 || len(d.Samples)%d.Channels != 0:
		return fmt.Errorf("the decoder gave %d samples of %d channels at %d Hz", len(d.Samples), d.Channels, d.Rate)
	}
	s.format, s.rate, s.channels, s.floats, s.kind = f.Name, d.Rate, d.Channels, d.Samples, (*source).readFloats
	s.frames = len(d.Samples) / d.Channels
	return nil
}

// close forgets memory that is not the source's.
func (s *source) close() { s.wav, s.floats = wav{}, nil }

// reserved returns how many bytes the source keeps from file to file.
func (s *source) reserved() int64 { return s.flac.Reserved() + 4*int64(cap(s.mem)) }

// release gives them up.
func (s *source) release() { *s = source{} }

// read returns sample i of all channels: as an integer whose highest bit is that of 32, or as
// floating point.
func (s *source) read(i int) (n int32, f float64) { return s.kind(s, i) }

func (s *source) readWAV(i int) (int32, float64)    { return s.wav.read(i) }
func (s *source) readInts(i int) (int32, float64)   { return s.ints[i], 0 }
func (s *source) readFloats(i int) (int32, float64) { return 0, float64(s.floats[i]) }

// integers reports whether samples are integers.
func (s *source) integers() bool { return s.floats == nil && !s.wav.float }

// foreign are sounds that are not decoded without a Format, by what they begin with.
var foreign = []struct{ begin, name string }{
	{"OggS", "an Ogg file"},
	{"ID3", "an MP3 file"},
	{"\xff\xfb", "an MP3 file"},
	{"\xff\xf3", "an MP3 file"},
	{"\xff\xf2", "an MP3 file"},
	{"????ftyp", "an MP4 file"},
	{"FORM????AIF", "an AIFF file"},
	{"RF64", "a WAV file of the kind RF64"},
	{".snd", "an AU file"},
}

// notASound says what a file is that no decoder knows, where that can be told.
func notASound(file []byte) error {
	if len(file) == 0 {
		return errors.New("the file is empty; fetch it again, or leave it out")
	}
	begin := file[:min(8, len(file))]
	for _, f := range foreign {
		if magic.Begins(file, f.begin) {
			return fmt.Errorf("neither a WAV nor a FLAC file: it is %s; convert it, or give a decoder with DecodeOptions.Formats", f.name)
		}
	}
	return fmt.Errorf("neither a WAV nor a FLAC file: it begins with %q", begin)
}

// checkFormats refuses a Format that lacks something.
func checkFormats(formats []Format) error {
	for _, f := range formats {
		if f.Name == "" || f.Magic == "" || f.Decode == nil {
			return fmt.Errorf("the format %q lacks a name, the magic that its files begin with, or a function", f.Name)
		}
	}
	return nil
}

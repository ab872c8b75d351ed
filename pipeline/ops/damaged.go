package ops

import (
	"errors"
	"fmt"

	"github.com/planktonml/plankton/internal/jpeg"
	"github.com/planktonml/plankton/pipeline/datum"
)

// DamagedPolicy says what becomes of a JPEG file whose coded data are damaged but can
// be decoded: they hold codes that do not exist, zeros or markers in place of data, or
// end early, and there is an end marker. Files that are cut short, files whose headers
// are damaged and PNG files that are damaged are errors in any case.
type DamagedPolicy uint8

const (
	// Refuse makes the file an error of its sample.
	Refuse DamagedPolicy = iota
	// Keep delivers the picture that libjpeg-turbo makes of the file. What is missing is
	// grey, or as coarse as a progressive file has it so far. Stats.Warnings counts and
	// names such files.
	Keep
)

func (d DamagedPolicy) String() string {
	switch d {
	case Refuse:
		return "refuse"
	case Keep:
		return "keep"
	}
	return fmt.Sprintf("DamagedPolicy(%d)", uint8(d))
}

// damageOf returns the damage that a tolerant decoder goes past, or nil if err is
// something else.
func damageOf(err error) *jpeg.FormatError {
	if damage, ok := errors.AsType[*jpeg.FormatError](err); ok && damage.Decodable {
		return damage
	}
	return nil
}

// again reports whether a file whose decoding failed is to be decoded once more,
// tolerantly. Files that are whole never are, so that keeping others costs them nothing.
func (p *picturefile) again(err error) bool {
	p.jpeg.Tolerant = p.damaged == Keep && damageOf(err) != nil
	return p.jpeg.Tolerant
}

// kept ends the second decoding of a file in which damage was found.
func (p *picturefile) kept(s *datum.Sample, damage, err error) error {
	p.jpeg.Tolerant = false
	if err == nil {
		s.Warn(fmt.Errorf("a damaged picture was kept: %w", damage))
	}
	return err
}

// refused returns the error of a file that was decoded once, with what else could be
// done about it.
func refused(err error) error {
	if damageOf(err) != nil {
		return fmt.Errorf("%w; DecodeOptions.Damaged: Keep decodes the file as libjpeg does", err)
	}
	return err
}

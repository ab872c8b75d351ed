package solvers

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
)

// stateVersion is raised when a stored state is to be understood otherwise.
const stateVersion = 1

// State is what a solver keeps from step to step: the number of steps, the learning rate,
// and for every number of the model what its rule keeps, together with what is needed to
// notice that it belongs to another model or another solver. It is to be stored beside the
// weights of the model, which it does not hold. States are immutable values.
//
// The stored form is exact to the bit. As binary it is a line of JSON, the numbers as they
// are in memory, little-endian, and a checksum; as text, and in JSON, that in base64.
type State struct {
	head    stateHeader
	numbers []byte // of all nodes, slot by slot, little-endian
}

// stateHeader is the line of JSON in front of the numbers.
type stateHeader struct {
	Version   int                `json:"version"`
	Solver    string             `json:"solver"`
	Steps     int64              `json:"steps"`
	LearnRate float64            `json:"learn_rate"`
	Options   map[string]float64 `json:"options"`
	Slots     []string           `json:"slots"`
	Nodes     []nodeHeader       `json:"nodes"`
}

type nodeHeader struct {
	Name  string `json:"name"`
	Type  string `json:"type"` // float32 or float64
	Shape []int  `json:"shape"`
}

// size returns how many bytes a slot of the node takes, or -1 if no memory has so many.
func (h nodeHeader) size() int {
	size := map[string]int{"float32": 4, "float64": 8}[h.Type]
	for _, n := range h.Shape {
		if n < 1 || size > maxSize/n {
			return -1
		}
		size *= n
	}
	return size
}

const maxSize = 1 << 48

// bytes returns how many bytes the numbers take, or -1 if the header makes no sense.
func (h stateHeader) bytes() int {
	sum := 0
	for _, n := range h.Nodes {
		size := n.size()
		if size <= 0 || len(h.Slots) > 0 && size > maxSize/len(h.Slots)-sum {
			return -1
		}
		sum += size * len(h.Slots)
	}
	return sum
}

// Steps returns how many steps the solver had taken.
func (s State) Steps() int64 { return s.head.Steps }

// String says whose state it is, as in "Adam after 120 steps, 4 nodes, 1.2 kB".
func (s State) String() string {
	if s.head.Version == 0 {
		return "no state"
	}
	return fmt.Sprintf("%s after %d steps, %d nodes, %d bytes", s.head.Solver, s.head.Steps, len(s.head.Nodes), len(s.numbers))
}

// MarshalBinary implements encoding.BinaryMarshaler.
func (s State) MarshalBinary() ([]byte, error) {
	text, err := json.Marshal(s.head)
	if err != nil {
		return nil, err
	}
	data := slices.Grow(text, 1+len(s.numbers)+sha256.Size)
	data = append(append(data, '\n'), s.numbers...)
	sum := sha256.Sum256(data)
	return append(data, sum[:]...), nil
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler. The error wraps ErrVersion or
// ErrDamaged, and s is as it was.
func (s *State) UnmarshalBinary(data []byte) error {
	line, rest, ok := bytes.Cut(data, []byte("\n"))
	if !ok || len(rest) < sha256.Size {
		return fmt.Errorf("%w: it was cut short", ErrDamaged)
	}
	var version struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(line, &version); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if version.Version > stateVersion {
		return fmt.Errorf("%w: it has version %d, versions up to %d are known; use a newer release of plankton", ErrVersion, version.Version, stateVersion)
	}
	if version.Version < 1 {
		return fmt.Errorf("%w: the version is %d; it is no state, or was edited", ErrDamaged, version.Version)
	}
	end := len(data) - sha256.Size
	if sum := sha256.Sum256(data[:end]); !bytes.Equal(sum[:], data[end:]) {
		return fmt.Errorf("%w: the checksum is %x, that of the content %x; it was edited, or cut short", ErrDamaged, data[end:], sum)
	}
	var head stateHeader
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&head); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	numbers := rest[:len(rest)-sha256.Size]
	if head.bytes() != len(numbers) || head.Steps < 0 {
		return fmt.Errorf("%w: it has %d bytes of numbers, its header tells of %d, after %d steps", ErrDamaged, len(numbers), head.bytes(), head.Steps)
	}
	*s = State{head: head, numbers: bytes.Clone(numbers)}
	return nil
}

// MarshalText implements encoding.TextMarshaler, for JSON as well: the binary form in
// base64.
func (s State) MarshalText() ([]byte, error) {
	data, err := s.MarshalBinary()
	return base64.StdEncoding.AppendEncode(nil, data), err
}

// UnmarshalText implements encoding.TextUnmarshaler. The error wraps ErrVersion or
// ErrDamaged, and s is as it was.
func (s *State) UnmarshalText(text []byte) error {
	data, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return s.UnmarshalBinary(data)
}

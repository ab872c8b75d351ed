package iterator

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/planktonml/plankton/shard"
)

var (
	// ErrDamaged says that a stored state was cut short or edited.
	ErrDamaged = errors.New("iterator: damaged state")
	// ErrVersion says that a stored state is of a version that this one cannot
	// read.
	ErrVersion = errors.New("iterator: state of another version")
)

// stateVersion is raised when a stored state is to be understood otherwise.
const stateVersion = 1

// State is a place between two batches of a loader, and a description of the loader: the
// plan with its seed, the data sets, the pipelines and their kernels. By the description a
// loader notices a state that is not its own. A State is to be stored beside the weights of
// a model. It does not change.
//
// The stored form is a line of JSON of one or two kilobytes, with a version and
// a checksum. It serves encoding/json, and text and binary files as well.
type State struct {
	position shard.Position
	identity identity
}

// identity is what a state says of the loader that made it. It is the same for
// all ranks of a run, and does not depend on the place.
type identity struct {
	Plan      string             `json:"plan"`
	Pipelines []pipelineIdentity `json:"pipelines"`
}

// pipelineIdentity describes the pipelines of a loader that are equal but for
// their shard.
type pipelineIdentity struct {
	Readers []readerIdentity `json:"readers"`
	Lines   []string         `json:"operators"` // pipeline.Pipeline.Fingerprint
}

type readerIdentity struct {
	Name        string `json:"name"`
	Samples     int64  `json:"samples"`
	Fingerprint string `json:"fingerprint"`    // of the data
	Order       string `json:"plan,omitempty"` // of a reader that does not drive
}

// identify describes the pipelines of a loader.
func identify(plan *shard.Plan, parts []part) identity {
	if plan == nil {
		return identity{}
	}
	id := identity{Plan: plan.Fingerprint()}
	for i := range parts {
		p := pipelineIdentity{Lines: parts[i].pipe.Fingerprint()}
		for k, r := range parts[i].pipe.Readers() {
			p.Readers = append(p.Readers, readerIdentity{
				Name: r.Name, Samples: r.Len(), Fingerprint: hex(r.Meta().Fingerprint), Order: parts[i].orders.Fingerprint(k),
			})
		}
		if n := len(id.Pipelines); n == 0 || !reflect.DeepEqual(id.Pipelines[n-1], p) {
			id.Pipelines = append(id.Pipelines, p)
		}
	}
	return id
}

func hex(fingerprint uint64) string { return fmt.Sprintf("%016x", fingerprint) }

func world(shards, batch int) string { return fmt.Sprintf("%d×%d", shards, batch) }

// Position returns the place: the epoch, and how much of it was read by how many
// ranks.
func (s State) Position() shard.Position {
	return shard.Position{Epoch: s.position.Epoch, Phases: append([]shard.Phase(nil), s.position.Phases...)}
}

// String writes the place, as in "epoch 2, 40 steps of 4×16 rows, 3 of 2×16".
func (s State) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "epoch %d", s.position.Epoch)
	for i, ph := range s.position.Phases {
		if i == 0 {
			fmt.Fprintf(&b, ", %d steps of %s rows", ph.Steps, world(ph.Shards, ph.Batch))
		} else {
			fmt.Fprintf(&b, ", %d of %s", ph.Steps, world(ph.Shards, ph.Batch))
		}
	}
	return b.String()
}

// stored is the form of a state that is stored.
type stored struct {
	Version  int            `json:"version"`
	Position shard.Position `json:"position"`
	identity
	Checksum string `json:"checksum,omitempty"`
}

// sum returns the checksum of all the rest: whitespace and the order of fields
// do not matter.
func (s stored) sum() string {
	s.Checksum = ""
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // there are but numbers and strings
	}
	sum := sha256.Sum256(text)
	return fmt.Sprintf("%x", sum[:8])
}

// MarshalJSON implements json.Marshaler.
func (s State) MarshalJSON() ([]byte, error) {
	out := stored{Version: stateVersion, Position: s.position, identity: s.identity}
	out.Checksum = out.sum()
	return json.Marshal(out)
}

// UnmarshalJSON implements json.Unmarshaler. The error wraps ErrVersion or
// ErrDamaged, and s is as it was.
func (s *State) UnmarshalJSON(text []byte) error {
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if head.Version > stateVersion {
		return fmt.Errorf("%w: it has version %d, versions up to %d are known; use a newer release of plankton", ErrVersion, head.Version, stateVersion)
	}
	if head.Version < 1 {
		return fmt.Errorf("%w: the version is %d; it is no state, or was edited", ErrDamaged, head.Version)
	}
	var in stored
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if sum := in.sum(); sum != in.Checksum {
		return fmt.Errorf("%w: the checksum is %q, that of the content %q; it was edited, or cut short", ErrDamaged, in.Checksum, sum)
	}
	*s = State{position: in.Position, identity: in.identity}
	return nil
}

// MarshalText implements encoding.TextMarshaler with the JSON form.
func (s State) MarshalText() ([]byte, error) { return s.MarshalJSON() }

// UnmarshalText implements encoding.TextUnmarshaler; see UnmarshalJSON.
func (s *State) UnmarshalText(text []byte) error { return s.UnmarshalJSON(text) }

// MarshalBinary implements encoding.BinaryMarshaler with the JSON form.
func (s State) MarshalBinary() ([]byte, error) { return s.MarshalJSON() }

// UnmarshalBinary implements encoding.BinaryUnmarshaler; see UnmarshalJSON.
func (s *State) UnmarshalBinary(data []byte) error { return s.UnmarshalJSON(data) }

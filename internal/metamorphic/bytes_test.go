package metamorphic

import (
	"encoding/binary"
	"slices"

	"github.com/planktonml/plankton/pipeline/datum"
)

// digest is a number that depends on every element, extent and type of tensors.
func digest(salt uint64, ts []*datum.Tensor) uint64 {
	h := salt
	for _, t := range ts {
		h = hash(h ^ uint64(t.DType()) + 1)
		for _, n := range t.Shape() {
			h = hash(h ^ uint64(n) + 2)
		}
		h = digestBytes(h, t.Bytes())
	}
	return h
}

func digestBytes(h uint64, mem []byte) uint64 {
	for len(mem) >= 8 {
		h = hash(h ^ binary.LittleEndian.Uint64(mem) + 3)
		mem = mem[8:]
	}
	for _, x := range mem {
		h = hash(h ^ uint64(x) + 4)
	}
	return h
}

// extents makes a shape of a declared one: those not known follow from h. The first of
// them may be zero, and is large one time in eight.
func extents(declared []int, h uint64) []int {
	shape, first := slices.Clone(declared), true
	for i, n := range shape {
		if n >= 0 {
			continue
		}
		h = hash(h + 5)
		switch {
		case !first:
			shape[i] = int(h%5) + 1
		case h>>32%8 == 0:
			shape[i] = int(h % 3000)
		default:
			shape[i] = int(h % 40)
		}
		first = false
	}
	return shape
}

// write fills an output with elements that follow from h.
func write(out *datum.Tensor, spec datum.Spec, h uint64) error {
	mem, err := out.Resize(extents(spec.Shape, h)...)
	if err != nil {
		return err
	}
	scatter(mem, spec.DType, h)
	return nil
}

// scatter writes elements that follow from h; floats are small whole numbers.
func scatter(mem []byte, to datum.DType, h uint64) {
	if to == datum.Float32 {
		for i := range datum.View[float32](mem) {
			h = hash(h + 6)
			datum.View[float32](mem)[i] = float32(h%2001) - 1000
		}
		return
	}
	for i := range mem {
		if i%8 == 0 {
			h = hash(h + 7)
		}
		mem[i] = byte(h >> (i % 8 * 8))
	}
}

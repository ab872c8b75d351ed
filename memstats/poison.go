//go:build invariants

package memstats

// Invariants reports whether the build has the tag invariants.
const Invariants = true

// Poison overwrites memory that nobody may read any more, in builds with the tag
// invariants: floats become NaNs.
func Poison(mem []byte) {
	for i := range mem {
		mem[i] = 0xFF
	}
}

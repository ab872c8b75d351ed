// Package alloctest counts the allocations of tests, in one way that holds in every build.
//
// Two things make a plain count fail by chance. The runtime and goroutines that an earlier
// test left behind allocate too, and the count is the whole process's. And the race
// detector makes package sync drop one in four values of its pools, so that code allocates
// what it would have taken from a pool.
package alloctest

import "testing"

// tries is how many counts [PerRound] makes at most.
const tries = 4

// PerRound returns how many allocations a round of f makes, rounded down: the least
// of several counts of the given number of rounds. Each count runs f once more first, to warm it.
// A build with the race detector runs f as often as one count does, and returns 0.
func PerRound(rounds int, f func()) float64 {
	if race {
		for range rounds + 1 {
			f()
		}
		return 0
	}
	least := testing.AllocsPerRun(rounds, f)
	for range tries - 1 {
		if least == 0 {
			break
		}
		least = min(least, testing.AllocsPerRun(rounds, f))
	}
	return least
}

// None fails the test if a round of f allocates; the failure says what f is. It must
// be called by the goroutine of the test.
func None(t testing.TB, rounds int, f func(), what ...any) {
	t.Helper()
	if n := PerRound(rounds, f); n != 0 {
		t.Fatalf("a round makes %v allocations, and is to make none %+v", n, what)
	}
}

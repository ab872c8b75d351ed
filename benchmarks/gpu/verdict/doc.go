// Package verdict makes the table of benchmarks/gpu: tests judge its lines one by one, and
// Write collects what they said. A line has one verdict: pass, fail, or not run with the
// reason. Where the fault is known to be of others, fail does not fail the run.
//
// Tests append what they say to the file Lines in the folder $PLANKTON_RESULTS, one JSON
// object a line, at once: what a process said before it broke down stays. A line that was
// judged twice has the last verdict.
package verdict

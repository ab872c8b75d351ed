// Package layers holds the tests that read this module's own code, first of all the one that
// compares what each package imports with the table in docs/design.md.
package layers

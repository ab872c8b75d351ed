// Package layers holds the test that compares what each package of this module
// imports with the table in docs/design.md.
package layers

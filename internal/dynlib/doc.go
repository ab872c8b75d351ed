// Package dynlib opens shared libraries at run time and calls their functions, so
// that what binds one builds without a C compiler and runs where the library is
// not there.
package dynlib

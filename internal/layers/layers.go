// Package layers holds the test that pins which package of this module may
// import which.
package layers

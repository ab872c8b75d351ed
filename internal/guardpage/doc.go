// Package guardpage places the memory of tests next to pages that can be neither read
// nor written, so that an access beside it, which assembly makes without a check, ends
// the test. There are such pages on Unix only.
package guardpage

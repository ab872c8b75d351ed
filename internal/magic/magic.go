// Package magic tells files by what they begin with.
package magic

// Begins reports whether a file begins with magic, of which a question mark stands for any byte.
func Begins(file []byte, magic string) bool {
	if len(file) < len(magic) {
		return false
	}
	for i := range len(magic) {
		if magic[i] != '?' && magic[i] != file[i] {
			return false
		}
	}
	return true
}

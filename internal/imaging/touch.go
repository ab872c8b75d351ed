package imaging

// touched is how much of a picture Touch asks for: of what comes behind, the
// processor sees by itself that it will be read.
const touched = 2048

// Touch asks for memory that is about to be read to be brought into the caches,
// and does not wait for it. Where processors have no such instruction, or the
// build has the tag noasm, it does nothing.
func Touch(mem []byte) { touch(mem[:min(len(mem), touched)]) }

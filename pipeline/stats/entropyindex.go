package stats

// EntropyIndex is what decoders have kept of JPEG files (pipeline.Options.EntropyIndex).
type EntropyIndex struct {
	Pictures     int64  `json:"pictures"`                // of which there is an index in memory
	Bytes        int64  `json:"bytes"`                   // of memory
	FilePictures int64  `json:"file_pictures,omitempty"` // of which there is an index in EntropyIndex.File
	FileError    string `json:"file_error,omitempty"`    // why the file could not be written
	Lookups      int64  `json:"lookups"`                 // pictures that were decoded in part, all epochs together
	Hits         int64  `json:"hits"`                    // of these, pictures of which there was an index
}

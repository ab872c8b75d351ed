// Package png decodes PNG files into buffers that are kept from file to file, so
// that a warm [Decoder] allocates nothing. Of the kinds of the specification (W3C,
// "Portable Network Graphics (PNG) Specification (Third Edition)", 2025) it reads
// all but interlaced files. What it takes for a sound file and what it makes of one
// is what image/png does, with two exceptions. Compressed data behind the end of the
// stream are passed over. A compressed block that repeats bytes, but describes no code
// for distances, is read by the code of an earlier block, of this file or a former one,
// and refused only if the checksum of the pixels is wrong then.
//
// Pixels stay as the file has them, rows with 8 or 16 bits per channel; fewer bits
// are spread to 8. Alpha and transparent colours are not applied.
package png

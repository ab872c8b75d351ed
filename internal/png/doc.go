// Package png decodes PNG files, row by row, with buffers that are kept from file to
// file, so that a warm [Decoder] allocates nothing. It reads every kind of the
// specification (W3C, "Portable Network Graphics (PNG) Specification (Third Edition)",
// 2025). What it takes for a sound file and what it makes of one is what image/png does,
// with these exceptions:
//
//   - Compressed data behind the end of the stream are passed over.
//   - An ancillary chunk with a wrong checksum is passed over: the pixels do not need
//     it, and libpng drops such chunks, too.
//   - Pixels are converted to 8 bits, see [Format]: 16 bits to the nearest, as NVIDIA
//     DALI does. Alpha and transparent colours are not applied.
//
// Streams are expanded here, too, in turns of some tenths of a millisecond, into a window
// of 128 KiB that stays in the processor's cache; rows are made of it as it fills.
//
// A decoder holds two rows, some buffers of a fixed size and, of a file that has its
// compressed data in several chunks, a copy of these: whatever a file says, this is
// bounded by the file's size, since no stream stands for more than 1,032 times its
// bytes, and by [Decoder.MaxBytes].
package png

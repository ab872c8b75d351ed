// Package entropyindex keeps what JPEG decoders have noted of the pictures of a reader
// (jpeg.Skips), so that later epochs leap over what a crop does not show.
//
// A [Store] keeps it in memory, by the number of the sample in the data set. A record goes
// with the length and the CRC-32C of the file that it was made of, and is used for no other
// bytes: a file that has changed is decoded without one, and gets a new one. The sum costs
// about a hundredth of decoding. Memory is bounded; once it is full, what is there stays:
// an epoch shows every picture once, so none is better kept than another.
//
// Workers share a store without locks: a record is published by one atomic pointer, its
// entries are single words whose value depends on the file alone, so whoever writes them
// writes the same. Samples are bit for bit what they are without a store.
//
// # Files
//
// [Open] adds a file, shared by all processes that use it. It is only appended to, segment by
// segment, under a lock; what is there never changes, so it is mapped and read in place. The
// table of a segment has a sum, which is compared when the file is opened, and each record
// has one, which is compared whenever the record is used: what a crash has left half written
// is not seen, and the next segment takes its place. All numbers are words of 64 bits in the
// order of the machine.
//
//	file:    magic, samples, fingerprint, sum; zeros up to the first multiple of align
//	segment: magic, words of the segment, records, sum of the above and the table;
//	         the table; the entries of the records
//	table:   for each record the sample, length and CRC-32C of the picture's file, Every and
//	         number of entries, place of the first one in words from the segment's start and
//	         CRC-32C of the entries, number of entries that are set
//
// Segments begin at multiples of align. Of two records of a sample the later one counts.
package entropyindex

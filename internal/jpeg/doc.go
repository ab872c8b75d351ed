// Package jpeg decodes JPEG (ITU-T T.81) for training: only the region that is
// asked for, into buffers that are used again, as component planes or as exact
// pixels.
//
// [Decoder.Planes] yields the samples as the file stores them, chroma
// subsampled, at 1/1, 1/2, 1/4 or 1/8 of the size; converting colour after the
// resize is far cheaper than before. [Decoder.Pixels] yields packed RGB and its
// kin, bit for bit what libjpeg-turbo's default decoding yields (accurate
// integer IDCT, triangle-filtered chroma upsampling, integer colour tables). In
// both a region is the crop of the full picture, bit for bit.
//
// That holds for progressive files whose scans leave coefficients inexact, too: their
// blocks are smoothed as libjpeg-turbo 2.1.5 does it (other versions differ at the edges
// of the picture, and those before 2.1 everywhere). Reduced planes are smoothed likewise.
//
// Huffman-coded sequential and progressive files with 8 bits per sample and one,
// three or four components are read: grey, YCbCr, RGB, CMYK and YCCK, any
// sampling factors in which the largest is a multiple of the others, restart
// intervals, 16-bit quantisation tables and several scans. Anything else is
// refused with [ErrUnsupported] and its name.
//
// Damaged files are errors, unless [Decoder.Tolerant] is set: then what libjpeg-turbo
// makes of damaged coded data is made of them, to the bit at full size, and
// [Decoder.Damage] tells. [Decoder.Examine] tells files that are whole, damaged but
// decodable, and not decodable apart. Two things differ from libjpeg: zeros and flipped
// bits that no decoder notices are decoded as in a whole file, in which sums beyond 16
// bits may come out otherwise, and a picture of more than 2^14 blocks for which the file
// has less than one bit (sequential: two) a block is refused in any case.
//
// The work is bounded by the size of the file and the number of pixels: scans pass over
// blocks without coefficients at once, and by others a bounded number of times without
// reading a bit. [Decoder.Context] ends it between rows of blocks.
//
// A sequential scan is read through a window of fixed size, stops after the
// region's last row of blocks and skips restart intervals outside the region.
// Progressive files, and they alone, need memory for every coefficient of the
// picture; [Header.Bytes] says beforehand how much a call needs, and [Limits]
// refuses it before anything is allocated.
//
// The inverse DCT, the chroma upsampling and the colour conversion have AVX2
// versions that agree with their plain Go twins bit for bit, and NEON versions for arm64
// but for the smaller inverse DCTs; entropy decoding has an AVX2 version. The build tag
// noasm leaves them out. Other processors run the twins.
package jpeg

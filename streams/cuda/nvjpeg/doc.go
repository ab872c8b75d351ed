// Package nvjpeg decodes batches of JPEG files on an NVIDIA GPU, by NVIDIA's nvJPEG
// library. The library is opened at run time; where it is not there, Open returns
// ErrNoNVJPEG and the host decodes.
//
//	d, err := nvjpeg.Open(device, nvjpeg.Options{})
//	…
//	defer d.Close()
//	s.Do(func(c *streams.Context) error {
//		q, err := cuda.QueueOf(c)
//		if err != nil {
//			return err
//		}
//		return d.Decode(q, nvjpeg.RGB, batch)
//	})
//
// A decoder of New needs no device: it works on those that it meets, such as that of a
// machine of Gorgonia, which does not exist yet when the pipeline is built.
//
// # What comes out
//
// Decoders of JPEG agree on the coefficients of a file, and may differ in how they
// round what they make of them; NVIDIA's guide states no bound. Chroma is interpolated
// when it is enlarged, as libjpeg-turbo does, from version 12.1 of the library on;
// older ones repeat it. A test compares the pixels with those of libjpeg-turbo where
// there is a GPU: grey and 4:4:4 pictures must agree within 4 levels, pictures with
// subsampled chroma within 2 levels on average.
//
// The library reads baseline and progressive files of 8 bits, grey and YCbCr. It
// ignores the Exif orientation. A damaged file may be an error or a picture with a
// damaged part.
//
// # Memory and order
//
// The library allocates memory of its own, page-locked and of the device, that
// grows with the batches and is freed when the decoder is closed, or its device; it is in no
// statistics and no budget. Each stream has two states of the library that take turns: the host
// prepares one batch while the GPU works on the one before, and waits for the GPU
// only when it is two ahead.
package nvjpeg

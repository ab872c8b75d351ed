// Kernels of the operators for whole batches, in the part of CUDA C that is C as
// well. Pictures are rows of pixels of c interleaved channels; batches are dense.
// Arithmetic is that of the operators on the host, to the bit where nothing else
// is said: it must be compiled without contraction to fused multiply-adds.

#ifdef __CUDACC__
#define KERNEL extern "C" __global__ void
#endif

// What one sample asks of crop_mirror_normalize: where its region starts, and
// whether it is mirrored. All of it is 0 for a row that is not valid.
struct window {
	int y, x, mirror, valid;
};

// A thread makes one pixel of the output; blockIdx.z is the sample. Values of
// channel i become v*scale[i] + bias[i]. What lies outside of the picture, and
// channels that the picture does not have, are fill. planar is 1 for channels, rows, columns; 0 for interleaved.
#define CROP_MIRROR_NORMALIZE(NAME, TYPE, CAST)                                                                          \
	KERNEL NAME(TYPE *dst, const unsigned char *src, const struct window *windows, int src_h, int src_w, int src_c,   \
	            int h, int w, int c, int planar, float scale0, float scale1, float scale2, float scale3, float bias0, \
	            float bias1, float bias2, float bias3, float fill0, float fill1, float fill2, float fill3) {          \
		int i, x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;              \
		if (x >= w || y >= h) return;                                                                             \
		const float scale[4] = {scale0, scale1, scale2, scale3}, bias[4] = {bias0, bias1, bias2, bias3},          \
			    fill[4] = {fill0, fill1, fill2, fill3};                                                       \
		const struct window at = windows[blockIdx.z];                                                             \
		const long long plane = (long long)h * w, pixel = (long long)y * w + x;                                   \
		const int from_y = at.y + y, from_x = at.x + (at.mirror ? w - 1 - x : x);                                 \
		const int inside = from_y >= 0 && from_y < src_h && from_x >= 0 && from_x < src_w;                        \
		src += (((long long)blockIdx.z * src_h + (inside ? from_y : 0)) * src_w + (inside ? from_x : 0)) * src_c; \
		dst += (long long)blockIdx.z * plane * c + (planar ? pixel : pixel * c);                                  \
		for (i = 0; i < 4; i++) {                                                                                 \
			float v = 0;                                                                                      \
			if (i >= c) break;                                                                                \
			if (at.valid) {                                                                                   \
				if (i < src_c && inside) v = (float)src[i] * scale[i] + bias[i];                          \
				else v = fill[i];                                                                         \
			}                                                                                                 \
			dst[planar ? i * plane : i] = CAST(v);                                                            \
		}                                                                                                         \
	}

// Rounded to the nearest, ties away from zero; NaN is 0.
#define SATURATE(v) ((unsigned char)((v) > 0 ? ((v) < 255 ? roundf(v) : 255.0f) : 0.0f))
#define SAME(v) (v)

CROP_MIRROR_NORMALIZE(plankton_crop_mirror_normalize_float32, float, SAME)
CROP_MIRROR_NORMALIZE(plankton_crop_mirror_normalize_uint8, unsigned char, SATURATE)

// Resampling along rows, and then along columns. Output i of an axis is the sum
// over k < n of weight[i*n + k] times source sample first[i] + k. The order of
// summation is that of the host, so that results are the same to the bit. A
// thread makes one value; blockIdx.y is the row, blockIdx.z the sample.
//
// Along a row, from the first sample on; if wide is not 0, n is a multiple of 8, and
// eight sums of every eighth sample are added at the end: halves, quarters, neighbours.
#define RESIZE_ROWS(NAME, TYPE)                                                                                     \
	KERNEL NAME(float *dst, const TYPE *src, const int *first, const float *weight, int n, int wide, int h,     \
	            int w, int c, int out_w) {                                                                      \
		int j, k, i = blockIdx.x * blockDim.x + threadIdx.x, x = i / c;                                     \
		if (i >= out_w * c) return;                                                                         \
		const long long row = (long long)blockIdx.z * h + blockIdx.y;                                       \
		float sum = 0, part[8] = {0, 0, 0, 0, 0, 0, 0, 0};                                                  \
		src += (row * w + first[x]) * c + i % c;                                                            \
		weight += (long long)x * n;                                                                         \
		if (wide) {                                                                                         \
			for (k = 0; k < n; k += 8)                                                                  \
				for (j = 0; j < 8; j++) part[j] += (float)src[(long long)(k + j) * c] * weight[k + j]; \
			sum = ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7])); \
		} else {                                                                                            \
			for (k = 0; k < n; k++) sum += (float)src[(long long)k * c] * weight[k];                    \
		}                                                                                                   \
		dst[row * out_w * c + i] = sum;                                                                     \
	}

// Down a column, from the row of the source whose number is a multiple of n on, and
// behind the last row of the window from its first. line is the number of values in
// a row.
#define RESIZE_COLUMNS(NAME, TYPE, CAST)                                                                          \
	KERNEL NAME(TYPE *dst, const float *src, const int *first, const float *weight, int n, int h, int line,   \
	            int out_h) {                                                                                  \
		int k, left, i = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;                           \
		if (i >= line) return;                                                                            \
		float sum = 0;                                                                                    \
		src += ((long long)blockIdx.z * h + first[y]) * line + i;                                         \
		weight += (long long)y * n;                                                                       \
		k = (n - first[y] % n) % n;                                                                       \
		for (left = n; left > 0; left--) {                                                                \
			sum += src[(long long)k * line] * weight[k];                                              \
			k = k + 1 < n ? k + 1 : 0;                                                                \
		}                                                                                                 \
		dst[((long long)blockIdx.z * out_h + y) * line + i] = CAST(sum);                                  \
	}

// Rounded to the nearest, ties up.
#define TO_BYTE(v) ((unsigned char)(int)(((v) > 0 ? ((v) < 255 ? (v) : 255.0f) : 0.0f) + 0.5f))

RESIZE_ROWS(plankton_resize_rows_uint8, unsigned char)
RESIZE_ROWS(plankton_resize_rows_float32, float)
RESIZE_COLUMNS(plankton_resize_columns_uint8, unsigned char, TO_BYTE)
RESIZE_COLUMNS(plankton_resize_columns_float32, float, SAME)

// A thread writes one element of a vector of classes per label: on at the class
// that the label names, off elsewhere, and 0 where the row is not valid. A row has
// per_row labels; there are total elements.
#define ONE_HOT(NAME, TYPE)                                                                                              \
	KERNEL NAME(float *dst, const TYPE *labels, const unsigned char *valid, long long total, int per_row, int classes, \
	            float on, float off) {                                                                                \
		const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x, label = i / classes;                \
		if (i >= total) return;                                                                                   \
		dst[i] = !valid[label / per_row] ? 0 : labels[label] == i % classes ? on : off;                           \
	}

ONE_HOT(plankton_one_hot_int32, int)
ONE_HOT(plankton_one_hot_int64, long long)

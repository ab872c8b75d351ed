// Gorgonia's operators for single elements, under the names by which Gorgonia looks for
// kernels, in the part of CUDA C that is C as well. BINARY and UNARY choose the module.
//
// Gorgonia passes the number of elements as 64 bits. A thread takes every T-th
// element where there are T threads, so results do not depend on how a launch is cut.

#ifdef __CUDACC__
#define KERNEL extern "C" __global__ void
#define KEEP_LOOP _Pragma("unroll 1") // few threads take more than one element
#else
#define KEEP_LOOP
#endif

#define EACH(i, n) \
	KEEP_LOOP \
	for (long long i = (blockIdx.x + gridDim.x * (blockIdx.y + (long long)gridDim.y * blockIdx.z)) * \
				   ((long long)blockDim.x * blockDim.y * blockDim.z) + \
			   threadIdx.x + blockDim.x * (threadIdx.y + (long long)blockDim.y * threadIdx.z), \
		       threads = (long long)gridDim.x * gridDim.y * gridDim.z * blockDim.x * blockDim.y * blockDim.z; \
	     i < n; i += threads)

#ifdef BINARY

// Two vectors, a vector and a scalar, a scalar and a vector, two scalars. The result takes
// the place of a, that of a scalar and a vector the place of the vector.
#define BINARY_OF(NAME, SUFFIX, TYPE, RESULT) \
	KERNEL NAME##_vv_##SUFFIX(TYPE *a, const TYPE *b, long long n) { \
		EACH(i, n) { \
			const TYPE x = a[i], y = b[i]; \
			a[i] = RESULT; \
		} \
	} \
	KERNEL NAME##_vs_##SUFFIX(TYPE *a, const TYPE *b, long long n) { \
		const TYPE y = b[0]; \
		EACH(i, n) { \
			const TYPE x = a[i]; \
			a[i] = RESULT; \
		} \
	} \
	KERNEL NAME##_sv_##SUFFIX(const TYPE *a, TYPE *b, long long n) { \
		const TYPE x = a[0]; \
		EACH(i, n) { \
			const TYPE y = b[i]; \
			b[i] = RESULT; \
		} \
	} \
	KERNEL NAME##_ss_##SUFFIX(TYPE *a, const TYPE *b, long long n) { \
		EACH(i, 1) { \
			const TYPE x = a[0], y = b[0]; \
			(void)n; \
			a[0] = RESULT; \
		} \
	}

#define BINARIES(SUFFIX, TYPE, F) \
	BINARY_OF(add, SUFFIX, TYPE, x + y) \
	BINARY_OF(sub, SUFFIX, TYPE, x - y) \
	BINARY_OF(mul, SUFFIX, TYPE, x * y) \
	BINARY_OF(div, SUFFIX, TYPE, x / y) \
	BINARY_OF(pow, SUFFIX, TYPE, F(pow)(x, y)) \
	BINARY_OF(lt, SUFFIX, TYPE, x < y) \
	BINARY_OF(gt, SUFFIX, TYPE, x > y) \
	BINARY_OF(lte, SUFFIX, TYPE, x <= y) \
	BINARY_OF(gte, SUFFIX, TYPE, x >= y) \
	BINARY_OF(eq, SUFFIX, TYPE, x == y) \
	BINARY_OF(ne, SUFFIX, TYPE, x != y)

#define FLOAT32(name) name##f
#define FLOAT64(name) name
BINARIES(f32, float, FLOAT32)
BINARIES(f64, double, FLOAT64)

#endif

#ifdef UNARY

#define UNARY_OF(NAME, SUFFIX, TYPE, RESULT) \
	KERNEL NAME##_##SUFFIX(TYPE *a, long long n) { \
		EACH(i, n) { \
			const TYPE x = a[i]; \
			a[i] = RESULT; \
		} \
	}

// Where x is above LARGE, softplus is x: its exponential would run over.
#define UNARIES(SUFFIX, TYPE, F, LARGE) \
	UNARY_OF(abs, SUFFIX, TYPE, F(fabs)(x)) \
	UNARY_OF(sign, SUFFIX, TYPE, x > 0 ? 1 : x < 0 ? -1 : x) \
	UNARY_OF(ceil, SUFFIX, TYPE, F(ceil)(x)) \
	UNARY_OF(floor, SUFFIX, TYPE, F(floor)(x)) \
	UNARY_OF(sin, SUFFIX, TYPE, F(sin)(x)) \
	UNARY_OF(cos, SUFFIX, TYPE, F(cos)(x)) \
	UNARY_OF(exp, SUFFIX, TYPE, F(exp)(x)) \
	UNARY_OF(ln, SUFFIX, TYPE, F(log)(x)) \
	UNARY_OF(log2, SUFFIX, TYPE, F(log2)(x)) \
	UNARY_OF(neg, SUFFIX, TYPE, -x) \
	UNARY_OF(square, SUFFIX, TYPE, x * x) \
	UNARY_OF(sqrt, SUFFIX, TYPE, F(sqrt)(x)) \
	UNARY_OF(inv, SUFFIX, TYPE, 1 / x) \
	UNARY_OF(invSqrt, SUFFIX, TYPE, 1 / F(sqrt)(x)) \
	UNARY_OF(cube, SUFFIX, TYPE, x * x * x) \
	UNARY_OF(tanh, SUFFIX, TYPE, F(tanh)(x)) \
	UNARY_OF(sigmoid, SUFFIX, TYPE, 1 / (1 + F(exp)(-x))) \
	UNARY_OF(log1p, SUFFIX, TYPE, F(log1p)(x)) \
	UNARY_OF(expm1, SUFFIX, TYPE, F(expm1)(x)) \
	UNARY_OF(softplus, SUFFIX, TYPE, x > LARGE ? x : F(log1p)(F(exp)(x)))

#define FLOAT32(name) name##f
#define FLOAT64(name) name
UNARIES(f32, float, FLOAT32, 17)
UNARIES(f64, double, FLOAT64, 37)

#endif

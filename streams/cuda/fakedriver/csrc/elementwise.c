// The kernels of package elementwise, compiled for the host: ELEMENTWISE_SOURCE is the file.
#include <math.h>
#include "fake.h"

// What kernels of two inputs touch: n elements of the vectors, one of the scalars.
static CUresult uses_binary(operation *o, stream *s) {
	launch *l = o->extra;
	const char *name = l->kernel->name;
	const int element = strstr(name, "_f64") ? 8 : 4;
	const size_t n = l->argument[2] * element, a = strstr(name, "_s") ? element : n,
		     b = strstr(name, "_vs_") || strstr(name, "_ss_") ? element : n;
	const int to_b = strstr(name, "_sv_") != 0;
	CUresult bad = buffer(o, s, 0, a, element, !to_b);
	return bad ? bad : buffer(o, s, 1, b, element, to_b);
}

static CUresult uses_unary(operation *o, stream *s) {
	launch *l = o->extra;
	const int element = strstr(l->kernel->name, "_f64") ? 8 : 4;
	return buffer(o, s, 0, l->argument[1] * element, element, 1);
}

// The source is included three times: the kernels, what runs them, and their table.
#define BINARY
#define UNARY
#define KERNEL static void
#include ELEMENTWISE_SOURCE
#undef BINARY_OF
#undef UNARY_OF

#define RUN_BINARY(name)                                                                                                    \
	static void run_##name(operation *o) {                                                                              \
		const launch *l = o->extra;                                                                                 \
		EACH_THREAD(l, name((void *)l->argument[0], (void *)l->argument[1], (long long)l->argument[2]);)             \
	}
#define BINARY_OF(NAME, SUFFIX, TYPE, RESULT)                                                                         \
	RUN_BINARY(NAME##_vv_##SUFFIX) RUN_BINARY(NAME##_vs_##SUFFIX) RUN_BINARY(NAME##_sv_##SUFFIX) RUN_BINARY(NAME##_ss_##SUFFIX)
#define UNARY_OF(NAME, SUFFIX, TYPE, RESULT)                                                       \
	static void run_##NAME##_##SUFFIX(operation *o) {                                          \
		const launch *l = o->extra;                                                        \
		EACH_THREAD(l, NAME##_##SUFFIX((void *)l->argument[0], (long long)l->argument[1]);) \
	}
BINARIES(f32, float, FLOAT32)
BINARIES(f64, double, FLOAT64)
UNARIES(f32, float, FLOAT32, 0)
UNARIES(f64, double, FLOAT64, 0)
#undef BINARY_OF
#undef UNARY_OF

#define ENTRY_BINARY(name) {#name, 3, {8, 8, 8}, run_##name, uses_binary},
#define BINARY_OF(NAME, SUFFIX, TYPE, RESULT)                                                           \
	ENTRY_BINARY(NAME##_vv_##SUFFIX) ENTRY_BINARY(NAME##_vs_##SUFFIX) ENTRY_BINARY(NAME##_sv_##SUFFIX) \
	ENTRY_BINARY(NAME##_ss_##SUFFIX)
#define UNARY_OF(NAME, SUFFIX, TYPE, RESULT) {#NAME "_" #SUFFIX, 2, {8, 8}, run_##NAME##_##SUFFIX, uses_unary},
static const fake_kernel kernels[] = {
	BINARIES(f32, float, FLOAT32) BINARIES(f64, double, FLOAT64)
	UNARIES(f32, float, FLOAT32, 0) UNARIES(f64, double, FLOAT64, 0)
};

const fake_kernel *elementwise_named(const char *name) {
	for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
		if (!strcmp(kernels[i].name, name)) return &kernels[i];
	return 0;
}

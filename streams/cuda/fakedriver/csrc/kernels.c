// The kernels of package kernels, compiled for the host: KERNEL_SOURCE is the file.
// A thread of the GPU is a call.
#include <math.h>
#include "fake.h"

__thread dim3 threadIdx, blockIdx, blockDim, gridDim;

#define KERNEL static void
#include KERNEL_SOURCE

#define POINTER(i) ((void *)l->argument[i])
#define INT(i) ((int)l->argument[i])
static float FLOAT_(const launch *l, int i) {
	float f;
	memcpy(&f, &l->argument[i], sizeof f);
	return f;
}
#define FLOAT(i) FLOAT_(l, i)

// RUN defines the function that runs a launch of the kernel with the arguments.
#define RUN(name, ...)                                             \
	static void run_##name(operation *o) {                     \
		const launch *l = o->extra;                        \
		EACH_THREAD(l, plankton_##name(__VA_ARGS__);)      \
	}

#define CROP_ARGUMENTS                                                                                            \
	POINTER(0), POINTER(1), POINTER(2), INT(3), INT(4), INT(5), INT(6), INT(7), INT(8), INT(9), FLOAT(10),    \
		FLOAT(11), FLOAT(12), FLOAT(13), FLOAT(14), FLOAT(15), FLOAT(16), FLOAT(17), FLOAT(18), FLOAT(19), \
		FLOAT(20), FLOAT(21)
RUN(crop_mirror_normalize_float32, CROP_ARGUMENTS)
RUN(crop_mirror_normalize_uint8, CROP_ARGUMENTS)
#define ROWS_ARGUMENTS POINTER(0), POINTER(1), POINTER(2), POINTER(3), INT(4), INT(5), INT(6), INT(7), INT(8), INT(9)
RUN(resize_rows_uint8, ROWS_ARGUMENTS)
RUN(resize_rows_float32, ROWS_ARGUMENTS)
#define COLUMNS_ARGUMENTS POINTER(0), POINTER(1), POINTER(2), POINTER(3), INT(4), INT(5), INT(6), INT(7)
RUN(resize_columns_uint8, COLUMNS_ARGUMENTS)
RUN(resize_columns_float32, COLUMNS_ARGUMENTS)
#define ONE_HOT_ARGUMENTS POINTER(0), POINTER(1), POINTER(2), (long long)l->argument[3], INT(4), INT(5), FLOAT(6), FLOAT(7)
RUN(one_hot_int32, ONE_HOT_ARGUMENTS)
RUN(one_hot_int64, ONE_HOT_ARGUMENTS)

CUresult buffer(operation *o, stream *s, int i, size_t size, int element, int write) {
	launch *l = o->extra;
	memory *m = memory_at(l->argument[i], size);
	if (!m || (m->kind == 'd' && m->context != s->context)) {
		complain("%s: argument %d is no memory of %zu bytes in this context", o->what, i, size);
		return ILLEGAL_ADDRESS;
	}
	if (l->argument[i] % element) {
		complain("%s: argument %d is not aligned to %d bytes", o->what, i, element);
		return MISALIGNED_ADDRESS;
	}
	use(o, s, l->argument[i], size, write);
	l->argument[i] = (uint64_t)m->bytes + (l->argument[i] - m->base);
	return SUCCESS;
}

static CUresult uses(operation *o, stream *s) {
	launch *l = o->extra;
	const fake_kernel *k = l->kernel;
	const int pixel = strstr(k->name, "uint8") ? 1 : 4;
	size_t n = l->grid[2], size[4];
	int last = 3, element[4] = {4, 4, 4, 4};
	if (strstr(k->name, "crop_mirror")) {
		size[0] = n * INT(6) * INT(7) * INT(8) * (element[0] = pixel);
		size[1] = n * INT(3) * INT(4) * INT(5) * (element[1] = 1);
		size[2] = n * sizeof(struct window);
	} else if (strstr(k->name, "resize_rows")) {
		last = 4;
		size[0] = n * INT(6) * INT(9) * INT(8) * 4;
		size[1] = n * INT(6) * INT(7) * INT(8) * (element[1] = pixel);
		size[2] = 4ul * INT(9);
		size[3] = 4ul * INT(9) * INT(4);
	} else if (strstr(k->name, "resize_columns")) {
		last = 4;
		size[0] = n * INT(7) * INT(6) * (element[0] = pixel);
		size[1] = n * INT(5) * INT(6) * 4;
		size[2] = 4ul * INT(7);
		size[3] = 4ul * INT(7) * INT(4);
	} else {
		size_t labels = l->argument[3] / INT(5);
		size[0] = l->argument[3] * 4;
		size[1] = labels * (element[1] = strstr(k->name, "int64") ? 8 : 4);
		size[2] = labels / INT(4) * (element[2] = 1);
	}
	for (int i = last - 1; i >= 0; i--) {
		CUresult bad = buffer(o, s, i, size[i], element[i], i == 0);
		if (bad) return bad;
	}
	return SUCCESS;
}

#define POINTERS3 8, 8, 8
#define INTS7 4, 4, 4, 4, 4, 4, 4
static const fake_kernel kernels[] = {
	{"plankton_crop_mirror_normalize_float32", 22, {POINTERS3, INTS7, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4}, run_crop_mirror_normalize_float32, uses},
	{"plankton_crop_mirror_normalize_uint8", 22, {POINTERS3, INTS7, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4}, run_crop_mirror_normalize_uint8, uses},
	{"plankton_resize_rows_uint8", 10, {POINTERS3, 8, 4, 4, 4, 4, 4, 4}, run_resize_rows_uint8, uses},
	{"plankton_resize_rows_float32", 10, {POINTERS3, 8, 4, 4, 4, 4, 4, 4}, run_resize_rows_float32, uses},
	{"plankton_resize_columns_uint8", 8, {POINTERS3, 8, 4, 4, 4, 4}, run_resize_columns_uint8, uses},
	{"plankton_resize_columns_float32", 8, {POINTERS3, 8, 4, 4, 4, 4}, run_resize_columns_float32, uses},
	{"plankton_one_hot_int32", 8, {POINTERS3, 8, 4, 4, 4, 4}, run_one_hot_int32, uses},
	{"plankton_one_hot_int64", 8, {POINTERS3, 8, 4, 4, 4, 4}, run_one_hot_int64, uses},
};

const fake_kernel *kernel_named(const char *name) {
	for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
		if (!strcmp(kernels[i].name, name)) return &kernels[i];
	return elementwise_named(name);
}

// Devices, contexts, and which of them is current on a thread.
#include "fake.h"
#include "launch.h"

enum { MAXDEVICES = 8, MAXDEPTH = 32 };
static context *primary[MAXDEVICES];
static int retained[MAXDEVICES];
static __thread context *stack[MAXDEPTH];
static __thread int depth;

context *current(CUresult *bad) {
	context *c = depth ? stack[depth - 1] : 0;
	*bad = !c || !c->live ? INVALID_CONTEXT : lost;
	if (!c || !c->live) complain("a call on a thread with no current context");
	return *bad ? 0 : c;
}

CUresult cuInit(unsigned flags) {
	pthread_mutex_lock(&lock);
	CUresult bad = injected(__func__);
	if (!bad && flags) bad = INVALID_VALUE;
	if (!bad && !settings[DEVICES]) bad = NO_DEVICE;
	if (!bad) initialised = 1;
	LEAVE(bad);
}

CUresult cuDriverGetVersion(int *version) {
	*version = settings[DRIVER_VERSION];
	return SUCCESS;
}

CUresult cuDeviceGetCount(int *n) {
	ENTER();
	*n = settings[DEVICES];
	LEAVE(SUCCESS);
}

CUresult cuDeviceGet(int *device, int ordinal) {
	ENTER();
	*device = ordinal;
	LEAVE(ordinal < 0 || ordinal >= settings[DEVICES] ? INVALID_DEVICE : SUCCESS);
}

CUresult cuDeviceGetName(char *name, int size, int device) {
	ENTER();
	snprintf(name, size, "Fake %d", device);
	LEAVE(SUCCESS);
}

CUresult cuDeviceGetPCIBusId(char *name, int size, int device) {
	ENTER();
	snprintf(name, size, "0000:%02X:00.0", 0x3B + device);
	LEAVE(SUCCESS);
}

CUresult cuDeviceTotalMem_v2(size_t *n, int device) {
	(void)device;
	ENTER();
	*n = settings[MEMORY];
	LEAVE(SUCCESS);
}

CUresult cuDeviceGetAttribute(int *value, int attribute, int device) {
	(void)device;
	ENTER();
	switch (attribute) {
	case 1: case 2: case 3: *value = 1024; break; // threads of a block, in all, along x and y
	case 4: *value = 64; break;                   // along z
	case 5: *value = 0x7fffffff; break;           // blocks of a grid along x
	case 6: case 7: *value = 65535; break;        // along y and z
	case 10: *value = 32; break;                  // threads of a warp
	case 75: *value = settings[CAPABILITY] / 10; break;
	case 76: *value = settings[CAPABILITY] % 10; break;
	case 115: *value = settings[POOLS]; break;
	default: LEAVE(INVALID_VALUE);
	}
	LEAVE(SUCCESS);
}

static context *make(int device) {
	context *c = calloc(1, sizeof *c);
	c->device = device;
	c->live = 1;
	c->null = stream_new(c, 0);
	return c;
}

static void end(context *c) {
	c->live = 0;
	streams_of_context_end(c);
	if (!lost && (c->streams || c->events || c->modules || memory_of_context(c)))
		complain("a context ends with %d streams, %d events, %d modules and %zu bytes of memory", c->streams, c->events, c->modules, memory_of_context(c));
	memory_of_context_end(c);
}

CUresult cuCtxCreate_v2(context **p, unsigned flags, int device) {
	ENTER();
	if (lost) LEAVE(lost);
	if (flags || device < 0 || device >= settings[DEVICES]) LEAVE(INVALID_VALUE);
	if (depth == MAXDEPTH) LEAVE(OUT_OF_MEMORY);
	*p = stack[depth++] = make(device);
	LEAVE(SUCCESS);
}

CUresult cuCtxDestroy_v2(context *c) {
	ENTER();
	if (!c || !c->live || c->primary) LEAVE(INVALID_CONTEXT);
	end(c);
	if (depth && stack[depth - 1] == c) depth--;
	LEAVE(SUCCESS);
}

CUresult cuDevicePrimaryCtxRetain(context **p, int device) {
	ENTER();
	if (lost) LEAVE(lost);
	if (device < 0 || device >= settings[DEVICES] || device >= MAXDEVICES) LEAVE(INVALID_DEVICE);
	if (!retained[device]++) {
		primary[device] = make(device);
		primary[device]->primary = 1;
	}
	*p = primary[device];
	LEAVE(SUCCESS);
}

CUresult cuDevicePrimaryCtxRelease_v2(int device) {
	ENTER();
	if (device < 0 || device >= MAXDEVICES || !retained[device]) LEAVE(INVALID_CONTEXT);
	if (!--retained[device]) end(primary[device]);
	LEAVE(SUCCESS);
}

CUresult cuCtxPushCurrent_v2(context *c) {
	ENTER();
	if (c && !c->live) complain("a context is pushed that was destroyed");
	if (!c || !c->live) LEAVE(INVALID_CONTEXT);
	if (lost) LEAVE(lost);
	if (depth == MAXDEPTH) {
		complain("contexts are pushed and not popped");
		LEAVE(INVALID_VALUE);
	}
	stack[depth++] = c;
	LEAVE(SUCCESS);
}

CUresult cuCtxPopCurrent_v2(context **p) {
	ENTER();
	if (!depth) {
		complain("a context is popped that was not pushed");
		LEAVE(INVALID_CONTEXT);
	}
	*p = stack[--depth];
	LEAVE(SUCCESS);
}

CUresult cuCtxSetCurrent(context *c) {
	ENTER();
	if (c && !c->live) LEAVE(INVALID_CONTEXT);
	if (depth) depth--;
	if (c) stack[depth++] = c;
	LEAVE(SUCCESS);
}

void *fakeContext(void) { return depth ? stack[depth - 1] : 0; }

CUresult cuCtxGetCurrent(context **p) {
	ENTER();
	*p = fakeContext();
	LEAVE(SUCCESS);
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
	ENTER();
	CURRENT(c);
	*least = 0;
	*greatest = -5;
	LEAVE(SUCCESS);
}

CUresult cuGetErrorName(CUresult r, const char **name) {
	switch (r) {
#define NAME(code) case code: *name = "CUDA_ERROR_" #code; return SUCCESS
	NAME(INVALID_VALUE);
	NAME(OUT_OF_MEMORY);
	NAME(NOT_INITIALIZED);
	NAME(NO_DEVICE);
	NAME(INVALID_DEVICE);
	NAME(INVALID_CONTEXT);
	NAME(INVALID_PTX);
	NAME(INVALID_HANDLE);
	NAME(NOT_FOUND);
	NAME(NOT_READY);
	NAME(ILLEGAL_ADDRESS);
	NAME(MISALIGNED_ADDRESS);
	NAME(LAUNCH_FAILED);
	NAME(NOT_SUPPORTED);
	case 221: *name = "CUDA_ERROR_JIT_COMPILER_NOT_FOUND"; return SUCCESS;
	case 223: *name = "CUDA_ERROR_JIT_COMPILATION_DISABLED"; return SUCCESS;
	case NO_BINARY: *name = "CUDA_ERROR_NO_BINARY_FOR_GPU"; return SUCCESS;
	case UNSUPPORTED_PTX: *name = "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"; return SUCCESS;
	}
	*name = 0;
	return INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult r, const char **text) {
	static __thread char buffer[32];
	snprintf(buffer, sizeof buffer, "fake error %d", r);
	*text = buffer;
	return SUCCESS;
}

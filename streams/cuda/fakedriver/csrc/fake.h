// A CUDA driver on host memory, for tests. Streams are asynchronous: each has a
// thread and a queue. It is strict where hardware is lenient or undefined, and
// finds accesses to one piece of memory that nothing orders. It says nothing about
// speed.
//
// One lock guards everything. Functions of the driver take it by ENTER; what is
// declared here is called with it.
#pragma once
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int CUresult;
enum {
	SUCCESS = 0,
	INVALID_VALUE = 1,
	OUT_OF_MEMORY = 2,
	NOT_INITIALIZED = 3,
	NO_DEVICE = 100,
	INVALID_DEVICE = 101,
	INVALID_CONTEXT = 201,
	NO_BINARY = 209,
	INVALID_PTX = 218,
	UNSUPPORTED_PTX = 222,
	INVALID_HANDLE = 400,
	NOT_FOUND = 500,
	NOT_READY = 600,
	ILLEGAL_ADDRESS = 700,
	MISALIGNED_ADDRESS = 716,
	LAUNCH_FAILED = 719,
	NOT_SUPPORTED = 801,
};

// control.c

// Settings, which tests change before they open a device.
enum { DRIVER_VERSION, DEVICES, CAPABILITY, MEMORY, HOST_MEMORY, POOLS, DELAY_US, SEED, TIME_SCALE, NSETTINGS };
extern long settings[NSETTINGS];

// Counts of what was done.
enum { COPIES, COPIED_BYTES, PAGEABLE_COPIES, FILLS, LAUNCHES, ALLOCATIONS, EVENTS, RECORDS, WAITS, QUERIES, UPLOADS, UPLOADED_BYTES, CALLS, OPEN_POOLS, NCOUNTS };
extern long counts[NCOUNTS];

extern pthread_mutex_t lock;
extern pthread_cond_t changed; // something that somebody may wait for has happened
extern int initialised, paused;
// lost is the error that every call returns since a kernel failed, in whatever
// context: a process does not come back from that.
extern CUresult lost;

// complain adds a line to the report: a race, or a mistake that hardware would
// punish at some other time.
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
// injected returns the error that a test has ordered for this call.
CUresult injected(const char *call);
long nanoseconds(void);

// ENTER begins a function of the driver, LEAVE ends it.
#define ENTER()                                                          \
	do {                                                             \
		pthread_mutex_lock(&lock);                               \
		counts[CALLS]++;                                         \
		CUresult bad_ = injected(__func__);                      \
		if (!bad_ && !initialised) bad_ = NOT_INITIALIZED;       \
		if (bad_) LEAVE(bad_);                                   \
	} while (0)
#define LEAVE(result)                                                    \
	do {                                                             \
		CUresult result_ = (result);                             \
		pthread_mutex_unlock(&lock);                             \
		return result_;                                          \
	} while (0)

// Clocks: entry 0 counts what the host does, entry i what stream i does (Mattern
// 1988). The host is one clock: what any thread has waited for orders what all
// issue later.
enum { MAXSTREAMS = 256 };
typedef struct {
	uint32_t at[MAXSTREAMS];
} clock_vector;
extern clock_vector host_clock;
void join(clock_vector *into, const clock_vector *from);

// memory.c
typedef struct access_record access_record;
typedef struct pool {
	int device, live, allocations;
} pool;
typedef struct memory {
	struct memory *next;
	uint64_t base; // address that the program sees
	char *bytes;   // where the contents are
	size_t size, mapped;
	char kind;     // 'd' device, 'm' managed, 'h' page-locked, 'r' registered
	int freed;     // in the order of a stream: 1 issued, 2 reached
	int users;     // operations that are queued or running
	struct context *context;
	pool *pool; // that it is of, or 0
	access_record *accesses;
	int naccesses, room;
} memory;
memory *memory_at(uint64_t address, size_t size);
// touch notes an access by what stream number does at clock, and complains about
// races. The host is stream 0.
void touch(memory *m, uint64_t address, size_t size, int write, int stream, const clock_vector *clock, const char *what);
void memory_drop(memory *m);
size_t memory_of_context(struct context *c); // bytes
void memory_of_context_end(struct context *c);

// context.c
typedef struct context {
	int device, live, primary;
	struct stream *null;
	int streams, events, modules; // that live
} context;
// current returns the context of the calling thread, or sets *bad.
context *current(CUresult *bad);
#define CURRENT(c)                                    \
	CUresult bad_##c = SUCCESS;                   \
	context *c = current(&bad_##c);               \
	if (!c) LEAVE(bad_##c)

// stream.c
typedef struct mark { // a place in the order of a stream
	int done, references;
	long time;
	clock_vector clock;
} mark;
typedef struct operation {
	struct operation *next;
	enum { WORK, RECORD, WAIT } kind;
	mark *mark;
	void (*run)(struct operation *);
	char what[48];
	// Of work:
	char *dst;
	const char *src;
	size_t size;
	int value;
	memory *uses[16];
	int nuses;
	void *extra; // freed with the operation
	memory *drop;
} operation;
typedef struct stream {
	int number, live, nonblocking, busy;
	context *context;
	operation *head, *tail;
	pthread_t thread;
	clock_vector clock;
} stream;
stream *stream_new(context *c, int nonblocking);
void stream_end(stream *s);
void streams_of_context_end(context *c);
// stream_of returns the stream of a handle in context c, 0 for a bad one.
stream *stream_of(uint64_t handle, context *c);
// begin starts to issue an operation: it comes after what the host knows, and
// what the rules of the default stream say.
operation *begin(stream *s, const char *what);
void use(operation *o, stream *s, uint64_t address, size_t size, int write);
void push(stream *s, operation *o);
// drain waits, like everything that waits it starts paused streams.
void drain(stream *s);

// kernels.c
typedef struct launch {
	const struct fake_kernel *kernel;
	unsigned grid[3], block[3];
	uint64_t argument[32]; // addresses replaced by where the contents are
} launch;
typedef struct fake_kernel {
	const char *name;
	int parameters;
	int size[32]; // of the parameters
	void (*run)(operation *);
	// uses declares what a launch touches.
	CUresult (*uses)(operation *, stream *);
} fake_kernel;
const fake_kernel *kernel_named(const char *name);
// buffer declares that argument i of a launch is memory of size bytes, in elements of the
// given size, and makes its address that of the contents.
CUresult buffer(operation *o, stream *s, int i, size_t size, int element, int write);

// The variables that tell the threads of a kernel apart, of the thread of the host that
// works for the stream.
typedef struct {
	unsigned x, y, z;
} dim3;
extern __thread dim3 threadIdx, blockIdx, blockDim, gridDim;
// EACH_THREAD runs a statement once for every thread of a launch.
#define EACH_THREAD(l, statement)                                                                               \
	blockDim = (dim3){l->block[0], l->block[1], l->block[2]}, gridDim = (dim3){l->grid[0], l->grid[1], l->grid[2]}; \
	for (blockIdx.z = 0; blockIdx.z < gridDim.z; blockIdx.z++)                                              \
		for (blockIdx.y = 0; blockIdx.y < gridDim.y; blockIdx.y++)                                      \
			for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++)                              \
				for (threadIdx.z = 0; threadIdx.z < blockDim.z; threadIdx.z++)                  \
					for (threadIdx.y = 0; threadIdx.y < blockDim.y; threadIdx.y++)          \
						for (threadIdx.x = 0; threadIdx.x < blockDim.x; threadIdx.x++) statement

// elementwise.c
const fake_kernel *elementwise_named(const char *name);

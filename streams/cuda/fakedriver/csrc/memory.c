// Memory and the accesses to it.
#include <sys/mman.h>
#include <unistd.h>
#include "fake.h"

// The rest of the last page of an allocation holds this until it is freed.
enum { CANARY = 0xA5 };

struct access_record {
	size_t from, to;
	int stream, write;
	uint32_t at;
	char what[48];
};

static memory *memories;
clock_vector host_clock;

void join(clock_vector *into, const clock_vector *from) {
	for (int i = 0; i < MAXSTREAMS; i++)
		if (from->at[i] > into->at[i]) into->at[i] = from->at[i];
}

memory *memory_at(uint64_t address, size_t size) {
	size += !size; // the end of a memory is not in it: the next one may begin there
	for (memory *m = memories; m; m = m->next)
		if (address >= m->base && address + size <= m->base + m->size) return m;
	return 0;
}

void touch(memory *m, uint64_t address, size_t size, int write, int stream, const clock_vector *clock, const char *what) {
	size_t from = address - m->base, to = from + size;
	if (m->freed) complain("%s on stream %d uses memory %#lx that was freed before", what, stream, (long)m->base);
	int kept = 0;
	for (int i = 0; i < m->naccesses; i++) {
		access_record *a = &m->accesses[i];
		int overlap = a->from < to && from < a->to, ordered = clock->at[a->stream] >= a->at;
		if (overlap && !ordered && (write || a->write))
			complain("race: %s on stream %d %s bytes %zu to %zu of %c-memory %#lx; nothing orders it after %s on stream %d, which %s them",
			         what, stream, write ? "writes" : "reads", from, to, m->kind, (long)m->base, a->what, a->stream, a->write ? "writes" : "reads");
		// An access that this one covers and comes after says nothing more.
		int covered = overlap && ordered && from <= a->from && a->to <= to && (write || !a->write);
		if (!covered) m->accesses[kept++] = *a;
	}
	if (kept == m->room) m->accesses = realloc(m->accesses, (m->room = 2 * m->room + 8) * sizeof *m->accesses);
	access_record *a = &m->accesses[kept++];
	*a = (access_record){from, to, stream, write, clock->at[stream], ""};
	snprintf(a->what, sizeof a->what, "%s", what);
	m->naccesses = kept;
}

// held returns how much page-locked memory there is, or memory of a device.
static size_t held(char kind, int device) {
	size_t sum = 0;
	for (memory *m = memories; m; m = m->next)
		if (kind == 'h' ? m->kind == 'h' : (m->kind == 'd' || m->kind == 'm') && m->context->device == device) sum += m->size;
	return sum;
}

size_t memory_of_context(context *c) {
	size_t sum = 0;
	for (memory *m = memories; m; m = m->next)
		if (m->context == c) sum += m->size;
	return sum;
}

void memory_of_context_end(context *c) {
	for (memory *m = memories, *next; m; m = next) {
		next = m->next;
		if (m->context == c && (!m->pool || lost)) memory_drop(m); // memory of a pool is of no context
	}
}

static memory *add(context *c, char kind, uint64_t base, char *bytes, size_t size, size_t mapped) {
	memory *m = calloc(1, sizeof *m);
	*m = (memory){.next = memories, .base = base, .bytes = bytes, .size = size, .mapped = mapped, .kind = kind, .context = c};
	return memories = m;
}

// allocate maps memory: what the device sees is out of reach for the host, as on
// hardware, and its address is never used again.
static memory *allocate(context *c, char kind, size_t size) {
	size_t limit = kind == 'h' ? settings[HOST_MEMORY] : settings[MEMORY];
	if (held(kind, c->device) + size > limit) return 0;
	size_t page = sysconf(_SC_PAGESIZE), mapped = (size + page - 1) / page * page;
	char *bytes = mmap(0, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (bytes == MAP_FAILED) return 0;
	uint64_t base = (uint64_t)bytes;
	if (kind == 'd') {
		void *address = mmap(0, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (address == MAP_FAILED) {
			munmap(bytes, mapped);
			return 0;
		}
		base = (uint64_t)address;
	}
	memset(bytes, CANARY, mapped); // new memory holds anything
	counts[ALLOCATIONS]++;
	return add(c, kind, base, bytes, size, mapped);
}

void memory_drop(memory *m) {
	for (size_t i = m->size; i < m->mapped; i++)
		if ((unsigned char)m->bytes[i] != CANARY) {
			complain("something wrote beyond the %zu bytes of memory %#lx", m->size, (long)m->base);
			break;
		}
	for (memory **p = &memories; *p; p = &(*p)->next)
		if (*p == m) {
			*p = m->next;
			break;
		}
	if (m->pool) m->pool->allocations--;
	if (m->mapped) munmap(m->bytes, m->mapped);
	free(m->accesses);
	free(m);
}

static CUresult release(uint64_t address, char kind, const char *what) {
	memory *m = memory_at(address, 0);
	if (!m || m->base != address || m->kind != kind || m->freed) {
		complain("%s of %#lx, which is no such memory", what, (long)address);
		return INVALID_VALUE;
	}
	if (m->users) complain("%s of %#lx while %d operations use it", what, (long)address, m->users);
	paused = 0;
	pthread_cond_broadcast(&changed);
	while (m->users) pthread_cond_wait(&changed, &lock);
	memory_drop(m);
	return SUCCESS;
}

static CUresult give(context *c, char kind, size_t size, uint64_t *p) {
	memory *m = allocate(c, kind, size);
	if (!m) return OUT_OF_MEMORY;
	*p = m->base;
	return SUCCESS;
}

CUresult cuMemAlloc_v2(uint64_t *p, size_t size) {
	ENTER();
	CURRENT(c);
	if (!size) LEAVE(INVALID_VALUE);
	LEAVE(give(c, 'd', size, p));
}

// Managed memory is where the host and the device both reach it.
CUresult cuMemAllocManaged(uint64_t *p, size_t size, unsigned flags) {
	ENTER();
	CURRENT(c);
	if (!size || flags != 1) LEAVE(INVALID_VALUE);
	LEAVE(give(c, 'm', size, p));
}

CUresult cuMemFree_v2(uint64_t p) {
	ENTER();
	CURRENT(c);
	memory *m = memory_at(p, 1);
	LEAVE(release(p, m && m->kind == 'm' ? 'm' : 'd', __func__));
}

CUresult cuMemHostAlloc(uint64_t *p, size_t size, unsigned flags) {
	ENTER();
	CURRENT(c);
	if (!size || flags & ~7u) LEAVE(INVALID_VALUE);
	LEAVE(give(c, 'h', size, p));
}

CUresult cuMemFreeHost(uint64_t p) {
	ENTER();
	CURRENT(c);
	LEAVE(release(p, 'h', __func__));
}

CUresult cuMemHostRegister_v2(uint64_t p, size_t size, unsigned flags) {
	ENTER();
	CURRENT(c);
	if (!size || flags & ~15u) LEAVE(INVALID_VALUE);
	for (memory *m = memories; m; m = m->next)
		if (p < m->base + m->size && m->base < p + size) LEAVE(712); // already registered
	add(c, 'r', p, (char *)p, size, 0);
	LEAVE(SUCCESS);
}

CUresult cuMemHostUnregister(uint64_t p) {
	ENTER();
	CURRENT(c);
	LEAVE(release(p, 'r', __func__));
}

CUresult cuMemGetInfo_v2(size_t *unused, size_t *total) {
	ENTER();
	CURRENT(c);
	*total = settings[MEMORY];
	*unused = *total - held('d', c->device);
	LEAVE(SUCCESS);
}

CUresult cuMemPoolCreate(pool **p, const int *props) {
	ENTER();
	if (!settings[POOLS]) LEAVE(NOT_SUPPORTED);
	// Pinned memory, not for other processes, on a device; the rest of the 88 bytes is 0.
	if (props[0] != 1 || props[1] || props[2] != 1 || props[3] < 0 || props[3] >= settings[DEVICES]) LEAVE(INVALID_VALUE);
	for (int i = 4; i < 88 / 4; i++)
		if (props[i]) LEAVE(INVALID_VALUE);
	*p = calloc(1, sizeof **p); // which stays, so that a stale one is known
	(*p)->device = props[3];
	(*p)->live = 1;
	counts[OPEN_POOLS]++;
	LEAVE(SUCCESS);
}

CUresult cuMemPoolDestroy(pool *p) {
	ENTER();
	if (!p->live) LEAVE(INVALID_VALUE);
	if (p->allocations && !lost) complain("a pool ends with %d allocations", p->allocations);
	p->live = 0;
	counts[OPEN_POOLS]--;
	LEAVE(SUCCESS);
}

CUresult cuMemPoolSetAttribute(pool *p, int attribute, void *value) {
	ENTER();
	LEAVE(p->live && attribute == 4 && value ? SUCCESS : INVALID_VALUE);
}

// The driver knows the memory that it has allocated or registered.
CUresult cuPointerGetAttribute(void *value, int attribute, uint64_t p) {
	ENTER();
	CURRENT(c);
	memory *m = memory_at(p, 1);
	if (attribute != 2 || !m) LEAVE(INVALID_VALUE);
	*(unsigned *)value = m->kind == 'd' || m->kind == 'm' ? 2 : 1; // of the device, of the host
	LEAVE(SUCCESS);
}

CUresult cuMemAllocFromPoolAsync(uint64_t *p, size_t size, pool *from, uint64_t handle) {
	ENTER();
	CURRENT(c);
	stream *s = stream_of(handle, c);
	if (!s) LEAVE(INVALID_HANDLE);
	if (!size || !from->live || from->device != c->device) LEAVE(INVALID_VALUE);
	memory *m = allocate(c, 'd', size);
	if (!m) LEAVE(OUT_OF_MEMORY);
	m->pool = from;
	from->allocations++;
	operation *o = begin(s, __func__);
	use(o, s, m->base, size, 1); // who is not ordered after it must not use the memory
	push(s, o);
	*p = m->base;
	LEAVE(SUCCESS);
}

CUresult cuMemFreeAsync(uint64_t p, uint64_t handle) {
	ENTER();
	CURRENT(c);
	stream *s = stream_of(handle, c);
	if (!s) LEAVE(INVALID_HANDLE);
	memory *m = memory_at(p, 0);
	if (!m || m->base != p || m->kind != 'd' || m->freed) {
		complain("%s of %#lx, which is no device memory", __func__, (long)p);
		LEAVE(INVALID_VALUE);
	}
	operation *o = begin(s, __func__);
	use(o, s, p, m->size, 1);
	m->freed = 1;
	o->drop = m;
	push(s, o);
	LEAVE(SUCCESS);
}

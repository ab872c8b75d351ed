// Streams, events, and what is issued on them.
#include <unistd.h>
#include "fake.h"
#include "launch.h"

// Handles are numbers, so that a stale one is known: an index and a tag.
enum { STREAM_TAG = 0x57, EVENT_TAG = 0xe7, TAG_SHIFT = 32 };

typedef struct {
	context *context;
	int live, untimed;
	mark *mark;
} event;

static stream *streams[MAXSTREAMS]; // by number; number 0 is the host
static event *events;
static int nevents, room;

static uint64_t handle_of(int tag, int index) { return (uint64_t)tag << TAG_SHIFT | (uint64_t)index; }

static int index_of(int tag, uint64_t handle) { return handle >> TAG_SHIFT == (uint64_t)tag ? (int)(uint32_t)handle : -1; }

static mark *mark_new(int references) {
	mark *m = calloc(1, sizeof *m);
	m->references = references;
	return m;
}

static void mark_drop(mark *m) {
	if (m && --m->references == 0) free(m);
}

static void finish(operation *o) {
	if (o->drop) o->drop->freed = 2;
	for (int i = 0; i < o->nuses; i++) {
		memory *m = o->uses[i];
		if (!--m->users && m->freed == 2) memory_drop(m);
	}
	if (o->kind != WORK) mark_drop(o->mark);
	free(o->extra);
	free(o);
}

// step does the first operation of a stream.
static void step(stream *s, unsigned *seed) {
	operation *o = s->head;
	switch (o->kind) {
	case WAIT: break;
	case RECORD:
		o->mark->done = 1;
		o->mark->time = nanoseconds() * settings[TIME_SCALE];
		break;
	case WORK:
		if (lost) break;
		if (!strncmp(o->what, "kernel", 6)) lost = injected("kernel");
		if (lost || !o->run) break;
		s->busy = 1;
		pthread_mutex_unlock(&lock);
		if (settings[DELAY_US]) usleep(rand_r(seed) % settings[DELAY_US]);
		o->run(o);
		pthread_mutex_lock(&lock);
		s->busy = 0;
	}
	s->head = o->next;
	if (!s->head) s->tail = 0;
	finish(o);
	pthread_cond_broadcast(&changed);
}

static int ready(stream *s) {
	operation *o = s->head;
	if (!o) return 0;
	return o->kind == WAIT ? o->mark->done : o->kind == RECORD || !paused;
}

static void *work(void *argument) {
	stream *s = argument;
	pthread_mutex_lock(&lock);
	unsigned seed = settings[SEED] * 7919 + s->number;
	while (s->live || s->head) {
		if (ready(s)) step(s, &seed);
		else pthread_cond_wait(&changed, &lock);
	}
	pthread_mutex_unlock(&lock);
	return 0;
}

stream *stream_new(context *c, int nonblocking) {
	for (int i = 1; i < MAXSTREAMS; i++) {
		stream *s = streams[i];
		if (s && s->live) continue;
		// A new stream goes on with the clock of the one that had the number: it is
		// behind all that one did, which had ended.
		if (!s) s = streams[i] = calloc(1, sizeof *s);
		s->number = i;
		s->live = 1;
		s->nonblocking = nonblocking;
		s->context = c;
		pthread_create(&s->thread, 0, work, s);
		return s;
	}
	return 0;
}

void stream_end(stream *s) {
	drain(s);
	s->live = 0;
	pthread_cond_broadcast(&changed);
	pthread_t thread = s->thread;
	pthread_mutex_unlock(&lock);
	pthread_join(thread, 0);
	pthread_mutex_lock(&lock);
}

stream *stream_of(uint64_t handle, context *c) {
	if (handle <= 1) return c->null;
	int i = index_of(STREAM_TAG, handle);
	if (i < 1 || i >= MAXSTREAMS || !streams[i] || !streams[i]->live) {
		complain("%#lx is no stream", (long)handle);
		return 0;
	}
	if (streams[i]->context != c) {
		complain("stream %d is used in the context of another", i);
		return 0;
	}
	return streams[i];
}

static event *event_of(uint64_t handle) {
	int i = index_of(EVENT_TAG, handle);
	if (i < 0 || i >= nevents || !events[i].live) {
		complain("%#lx is no event", (long)handle);
		return 0;
	}
	return &events[i];
}

static operation *operation_new(int kind, const char *what) {
	operation *o = calloc(1, sizeof *o);
	o->kind = kind;
	snprintf(o->what, sizeof o->what, "%s", what);
	return o;
}

void push(stream *s, operation *o) {
	if (s->tail) s->tail->next = o;
	else s->head = o;
	s->tail = o;
	pthread_cond_broadcast(&changed);
}

// record puts a mark behind what was issued on s.
static mark *record(stream *s) {
	mark *m = mark_new(2);
	m->clock = s->clock;
	operation *o = operation_new(RECORD, "record");
	o->mark = m;
	push(s, o);
	return m;
}

// await lets what is issued on s from now on wait for m.
static void await(stream *s, mark *m) {
	m->references++;
	operation *o = operation_new(WAIT, "wait");
	o->mark = m;
	push(s, o);
	join(&s->clock, &m->clock);
}

// follow orders s after all that was issued on t.
static void follow(stream *s, stream *t) {
	mark *m = record(t);
	await(s, m);
	mark_drop(m);
}

// order applies what the host knows and the rules of the default stream: it and
// the streams that are not non-blocking wait for each other.
static void order(stream *s) {
	host_clock.at[0]++;
	join(&s->clock, &host_clock);
	if (s->nonblocking) return;
	stream *null = s->context->null;
	if (s != null) {
		if (null->head) follow(s, null);
		return;
	}
	for (int i = 1; i < MAXSTREAMS; i++) {
		stream *t = streams[i];
		if (t && t->live && t != s && t->context == s->context && !t->nonblocking) follow(s, t);
	}
}

operation *begin(stream *s, const char *what) {
	order(s);
	s->clock.at[s->number]++;
	return operation_new(WORK, what);
}

void use(operation *o, stream *s, uint64_t address, size_t size, int write) {
	memory *m = memory_at(address, size);
	if (!m || !size) return; // host memory that is not page-locked
	touch(m, address, size, write, s->number, &s->clock, o->what);
	m->users++;
	o->uses[o->nuses++] = m;
}

void drain(stream *s) {
	paused = 0;
	pthread_cond_broadcast(&changed);
	while (s->head || s->busy) pthread_cond_wait(&changed, &lock);
	join(&host_clock, &s->clock);
}

void streams_of_context_end(context *c) {
	for (int i = 1; i < MAXSTREAMS; i++)
		if (streams[i] && streams[i]->live && streams[i]->context == c) stream_end(streams[i]);
}

CUresult cuStreamCreateWithPriority(uint64_t *p, unsigned flags, int priority) {
	(void)priority;
	ENTER();
	CURRENT(c);
	if (flags > 1) LEAVE(INVALID_VALUE);
	stream *s = stream_new(c, flags);
	if (!s) LEAVE(OUT_OF_MEMORY);
	c->streams++;
	*p = handle_of(STREAM_TAG, s->number);
	LEAVE(SUCCESS);
}

CUresult cuStreamCreate(uint64_t *p, unsigned flags) { return cuStreamCreateWithPriority(p, flags, 0); }

CUresult cuStreamDestroy_v2(uint64_t handle) {
	ENTER();
	CURRENT(c);
	stream *s = handle ? stream_of(handle, c) : 0;
	if (!s) LEAVE(INVALID_HANDLE);
	c->streams--;
	stream_end(s);
	LEAVE(SUCCESS);
}

CUresult cuStreamSynchronize(uint64_t handle) {
	ENTER();
	CURRENT(c);
	stream *s = stream_of(handle, c);
	if (!s) LEAVE(INVALID_HANDLE);
	drain(s);
	LEAVE(lost);
}

CUresult cuStreamQuery(uint64_t handle) {
	ENTER();
	CURRENT(c);
	stream *s = stream_of(handle, c);
	if (!s) LEAVE(INVALID_HANDLE);
	if (s->head || s->busy) LEAVE(NOT_READY);
	join(&host_clock, &s->clock);
	LEAVE(SUCCESS);
}

CUresult cuCtxSynchronize(void) {
	ENTER();
	CURRENT(c);
	for (int i = 1; i < MAXSTREAMS; i++)
		if (streams[i] && streams[i]->live && streams[i]->context == c) drain(streams[i]);
	LEAVE(lost);
}

CUresult cuEventCreate(uint64_t *p, unsigned flags) {
	ENTER();
	CURRENT(c);
	if (flags & ~7u) LEAVE(INVALID_VALUE);
	if (nevents == room) events = realloc(events, (room = 2 * room + 64) * sizeof *events);
	events[nevents] = (event){.context = c, .live = 1, .untimed = flags & 2};
	c->events++;
	counts[EVENTS]++;
	*p = handle_of(EVENT_TAG, nevents++);
	LEAVE(SUCCESS);
}

CUresult cuEventDestroy_v2(uint64_t handle) {
	ENTER();
	CURRENT(c);
	event *e = event_of(handle);
	if (!e) LEAVE(INVALID_HANDLE);
	e->live = 0;
	e->context->events--;
	mark_drop(e->mark);
	LEAVE(SUCCESS);
}

CUresult cuEventRecord(uint64_t handle, uint64_t on) {
	ENTER();
	CURRENT(c);
	event *e = event_of(handle);
	stream *s = stream_of(on, c);
	if (!e || !s || e->context != c) LEAVE(INVALID_HANDLE);
	counts[RECORDS]++;
	order(s);
	mark_drop(e->mark);
	e->mark = record(s);
	LEAVE(SUCCESS);
}

CUresult cuStreamWaitEvent(uint64_t on, uint64_t handle, unsigned flags) {
	ENTER();
	CURRENT(c);
	stream *s = stream_of(on, c);
	event *e = event_of(handle);
	if (!e || !s || flags > 1) LEAVE(INVALID_HANDLE);
	counts[WAITS]++;
	if (!e->mark) {
		complain("stream %d waits for an event that was never recorded", s->number);
		LEAVE(SUCCESS);
	}
	await(s, e->mark);
	LEAVE(SUCCESS);
}

static CUresult reached(event *e) {
	if (e->mark && !e->mark->done) return NOT_READY;
	if (e->mark) join(&host_clock, &e->mark->clock);
	return lost;
}

CUresult cuEventQuery(uint64_t handle) {
	ENTER();
	CURRENT(c);
	event *e = event_of(handle);
	if (!e) LEAVE(INVALID_HANDLE);
	counts[QUERIES]++;
	LEAVE(reached(e));
}

CUresult cuEventSynchronize(uint64_t handle) {
	ENTER();
	CURRENT(c);
	event *e = event_of(handle);
	if (!e) LEAVE(INVALID_HANDLE);
	paused = 0;
	pthread_cond_broadcast(&changed);
	while (reached(e) == NOT_READY) {
		pthread_cond_wait(&changed, &lock);
		e = event_of(handle); // the table may have moved
		if (!e) LEAVE(INVALID_HANDLE);
	}
	LEAVE(lost);
}

CUresult cuEventElapsedTime(float *ms, uint64_t from, uint64_t to) {
	ENTER();
	CURRENT(c);
	event *a = event_of(from), *b = event_of(to);
	if (!a || !b || !a->mark || !b->mark || a->untimed || b->untimed || a->context != b->context) LEAVE(INVALID_HANDLE);
	if (!a->mark->done || !b->mark->done) LEAVE(NOT_READY);
	*ms = (b->mark->time - a->mark->time) / 1e6;
	LEAVE(SUCCESS);
}

static void do_copy(operation *o) { memmove(o->dst, o->src, o->size); }
static void do_fill(operation *o) { memset(o->dst, o->value, o->size); }

// do_pageable_copy copies from host memory that is not page-locked: extra is what it
// held when the copy was issued.
static void do_pageable_copy(operation *o) {
	if (memcmp(o->extra, o->src, o->size)) {
		pthread_mutex_lock(&lock);
		complain("host memory that is not page-locked was written before it was copied");
		pthread_mutex_unlock(&lock);
	}
	do_copy(o);
}

typedef struct {
	fake_run *run;
	char *bytes[MAXACCESSES];
	char argument[];
} library_call;

static void do_library_call(operation *o) {
	library_call *l = o->extra;
	l->run(l->bytes, l->argument);
}

static int on_device(const memory *m) { return m && (m->kind == 'd' || m->kind == 'm'); }

static char *contents(memory *m, uint64_t address) { return m ? m->bytes + (address - m->base) : (char *)address; }

// copy issues a copy on s, and waits for it where somebody asks for that. The driver
// may wait for a copy from or to host memory that is not page-locked, too, but need
// not, so the fake does not.
static CUresult copy(stream *s, uint64_t dst, uint64_t src, size_t size, int wait) {
	memory *to = memory_at(dst, size), *from = memory_at(src, size);
	if (!to && memory_at(dst, 1)) return INVALID_VALUE;
	if (!from && memory_at(src, 1)) return INVALID_VALUE;
	counts[COPIES]++;
	counts[COPIED_BYTES] += size;
	if (on_device(to) && !on_device(from)) {
		counts[UPLOADS]++;
		counts[UPLOADED_BYTES] += size;
	}
	operation *o = begin(s, "copy");
	use(o, s, src, size, 0);
	use(o, s, dst, size, 1);
	o->run = do_copy;
	o->dst = contents(to, dst);
	o->src = contents(from, src);
	o->size = size;
	counts[PAGEABLE_COPIES] += !to || !from;
	if (!from) {
		o->run = do_pageable_copy;
		o->extra = memcpy(malloc(size), (const char *)src, size);
	}
	push(s, o);
	if (wait) drain(s);
	return SUCCESS;
}

CUresult cuMemcpyAsync(uint64_t dst, uint64_t src, size_t size, uint64_t handle) {
	ENTER();
	CURRENT(c);
	stream *s = stream_of(handle, c);
	if (!s) LEAVE(INVALID_HANDLE);
	LEAVE(copy(s, dst, src, size, 0));
}

// The copies of programs that know no streams go through the default one and wait.
#define WAITING_COPY(name, dst_type, src_type)                                       \
	CUresult name(dst_type dst, src_type src, size_t size) {                     \
		ENTER();                                                             \
		CURRENT(c);                                                          \
		LEAVE(copy(c->null, (uint64_t)dst, (uint64_t)src, size, 1));         \
	}
WAITING_COPY(cuMemcpy, uint64_t, uint64_t)
WAITING_COPY(cuMemcpyHtoD_v2, uint64_t, const void *)
WAITING_COPY(cuMemcpyDtoH_v2, void *, uint64_t)
WAITING_COPY(cuMemcpyDtoD_v2, uint64_t, uint64_t)

// fakeLaunch issues what another library does with memory of the device, on a
// stream in the calling thread's context. Run gets where the contents are.
CUresult fakeLaunch(uint64_t handle, const char *what, fake_run *run, const void *argument, size_t size, int n, const fake_access *access) {
	ENTER();
	CURRENT(c);
	stream *s = stream_of(handle, c);
	if (!s) LEAVE(INVALID_HANDLE);
	for (int i = 0; i < n; i++) {
		memory *m = memory_at(access[i].address, access[i].size);
		if (!m || (on_device(m) && m->context != c)) {
			complain("%s: %#lx is no memory of %zu bytes in this context", what, (long)access[i].address, access[i].size);
			LEAVE(ILLEGAL_ADDRESS);
		}
	}
	operation *o = begin(s, what);
	library_call *l = o->extra = calloc(1, sizeof *l + size);
	l->run = run;
	memcpy(l->argument, argument, size);
	for (int i = 0; i < n; i++) {
		use(o, s, access[i].address, access[i].size, access[i].write);
		l->bytes[i] = contents(memory_at(access[i].address, access[i].size), access[i].address);
	}
	o->run = do_library_call;
	push(s, o);
	counts[LAUNCHES]++;
	LEAVE(SUCCESS);
}

CUresult cuMemsetD8Async(uint64_t dst, unsigned char value, size_t size, uint64_t handle) {
	ENTER();
	CURRENT(c);
	stream *s = stream_of(handle, c);
	memory *to = memory_at(dst, size);
	if (!s) LEAVE(INVALID_HANDLE);
	if (!to) LEAVE(INVALID_VALUE);
	counts[FILLS]++;
	operation *o = begin(s, "fill");
	use(o, s, dst, size, 1);
	o->run = do_fill;
	o->dst = contents(to, dst);
	o->value = value;
	o->size = size;
	push(s, o);
	LEAVE(SUCCESS);
}

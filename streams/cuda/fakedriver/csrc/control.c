// What a test asks of the fake driver, and what it answers.
#include <stdarg.h>
#include <time.h>
#include "fake.h"

long settings[NSETTINGS] = {[DRIVER_VERSION] = 13000, [DEVICES] = 1, [CAPABILITY] = 90, [MEMORY] = 1l << 30, [HOST_MEMORY] = 1l << 30, [POOLS] = 1, [TIME_SCALE] = 1};
long counts[NCOUNTS];
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
int initialised, paused;
CUresult lost;

static char *report;
static size_t report_length;
static struct {
	char call[64];
	CUresult result;
	int after;
} order;

void complain(const char *format, ...) {
	char line[512];
	va_list list;
	va_start(list, format);
	int n = vsnprintf(line, sizeof line - 1, format, list);
	va_end(list);
	if (n > (int)sizeof line - 2) n = sizeof line - 2;
	line[n] = '\n';
	if (report_length > 1 << 16) return; // enough to understand
	report = realloc(report, report_length + n + 2);
	memcpy(report + report_length, line, n + 1);
	report_length += n + 1;
}

CUresult injected(const char *call) {
	if (order.result && !strcmp(order.call, call) && order.after-- == 0) {
		CUresult r = order.result;
		order.result = SUCCESS;
		return r;
	}
	return SUCCESS;
}

long nanoseconds(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000l + t.tv_nsec;
}

// fakeReset makes the process a new one as far as a kernel that failed goes.
void fakeReset(void) {
	pthread_mutex_lock(&lock);
	lost = SUCCESS;
	pthread_mutex_unlock(&lock);
}

void fakeSet(int setting, long value) {
	pthread_mutex_lock(&lock);
	settings[setting] = value;
	pthread_mutex_unlock(&lock);
}

long fakeCount(int what) {
	pthread_mutex_lock(&lock);
	long n = counts[what];
	pthread_mutex_unlock(&lock);
	return n;
}

// fakeFail lets a call of a function fail, after that many that do not. The name
// "kernel" stands for a kernel that fails while it runs.
void fakeFail(const char *call, CUresult result, int after) {
	pthread_mutex_lock(&lock);
	snprintf(order.call, sizeof order.call, "%s", call);
	order.result = result;
	order.after = after;
	pthread_mutex_unlock(&lock);
}

// fakePause keeps all work from starting until fakeResume, or until the host
// waits for a stream. Events and waits that have no work before them go on.
void fakePause(void) {
	pthread_mutex_lock(&lock);
	paused = 1;
	pthread_mutex_unlock(&lock);
}

void fakeResume(void) {
	pthread_mutex_lock(&lock);
	paused = 0;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

// fakeAccess declares that the host uses page-locked or registered memory.
void fakeAccess(uint64_t address, size_t size, int write) {
	pthread_mutex_lock(&lock);
	memory *m = memory_at(address, size);
	host_clock.at[0]++;
	if (m) touch(m, address, size, write, 0, &host_clock, "the host");
	else complain("the host uses %#lx, which is not page-locked", (long)address);
	pthread_mutex_unlock(&lock);
}

// fakeReport copies at most size - 1 bytes of complaints and forgets them all. It
// returns the length of what there was.
size_t fakeReport(char *to, size_t size) {
	pthread_mutex_lock(&lock);
	size_t n = report_length, k = n < size ? n : size - 1;
	memcpy(to, report ? report : "", k);
	to[k] = 0;
	report_length = 0;
	pthread_mutex_unlock(&lock);
	return n;
}

// How the other fake libraries launch work on the fake driver.
#pragma once
#include <stddef.h>
#include <stdint.h>

enum { MAXACCESSES = 4 };
typedef struct {
	uint64_t address;
	size_t size; // bytes
	int write;
} fake_access;
typedef void fake_run(char **bytes, const void *argument);

// fakeContext returns the calling thread's context, 0 for none.
void *fakeContext(void);

// fakeLaunch returns a CUresult. The argument is copied.
int fakeLaunch(uint64_t stream, const char *what, fake_run *run, const void *argument, size_t size, int n, const fake_access *access);

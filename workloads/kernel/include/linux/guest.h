/*
 * What the kernel's own code starts from: types, annotations, words that several CPUs change, the
 * interrupt flag, per-CPU data, tasks, locks and other CPUs. A probe module names the headers that it
 * needs instead.
 */
#ifndef _LINUX_GUEST_H
#define _LINUX_GUEST_H

#include "era.h"
#include "kernel.h"
#include "atomic.h"
#include "irqflags.h"
#include "sched.h"
#include "preempt.h"
#include "spinlock.h"
#include "smp.h"
#include "cpu.h"

#endif

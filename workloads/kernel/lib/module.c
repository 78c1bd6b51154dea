/* Counting who uses a module. */
#include "library.h"
#include <linux/delay.h>
#include <linux/mutex.h>

bool try_module_get(struct module *module)
{
	if (!module)
		return true;
	if (READ_ONCE(module->state) == MODULE_STATE_GOING)
		return false;
	__sync_fetch_and_add(&module->refcnt, 1);
	return true;
}

void module_put(struct module *module)
{
	if (module && __sync_fetch_and_sub(&module->refcnt, 1) <= 0)
		panic("module %s: more put than got", module->name);
}

int module_refcount(struct module *module)
{
	return READ_ONCE(module->refcnt);
}

const char *module_name(struct module *module)
{
	return module ? module->name : "kernel";
}

/* Waiters look again at every tick. */
void mutex_lock(struct mutex *lock)
{
	while (!mutex_trylock(lock))
		schedule_timeout(1);
}

EXPORT_SYMBOL(try_module_get);
EXPORT_SYMBOL(module_put);
EXPORT_SYMBOL(module_refcount);
EXPORT_SYMBOL(module_name);
EXPORT_SYMBOL(mutex_lock);

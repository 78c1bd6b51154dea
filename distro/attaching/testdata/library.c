/* A library with functions that symbol tables tell apart: two versions of one, one that is chosen at the start, one of another file. */

extern int foreign(void);

/* Linkers list those of the first name newest first, and those of the second name oldest first. */
__asm__(".symver old_version, twice@ONE\n\t.symver new_version, twice@@TWO");
__asm__(".symver old_version, again@ONE\n\t.symver new_version, again@@TWO");

int old_version(void)
{
	return 1;
}

int new_version(void)
{
	return 2;
}

static void *choose(void)
{
	return new_version;
}

int chosen(void) __attribute__((ifunc("choose")));

int variable = 3;

static __attribute__((noinline, used)) int inner(void)
{
	return foreign() + variable;
}

int outer(void)
{
	return inner();
}

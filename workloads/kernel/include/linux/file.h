/*
 * Virtual files of the kernel, by path: /sys/kernel/debug/kprobes/list and others. The simulator makes their text.
 * One call has its arguments in memory, so that a system call can hand it on.
 */
#ifndef _LINUX_FILE_H
#define _LINUX_FILE_H

enum file_op {
	FILE_OPEN,	/* buf: a path; the result is a number for fd */
	FILE_READ,	/* count bytes to buf; the result is how many there were, 0 at the end */
	FILE_WRITE,	/* count bytes from buf; the result is count */
	FILE_CLOSE,
};

struct file_call {
	unsigned long op, fd;
	void *buf;
	unsigned long count;
};

/* What open, read, write and close return. Errors are negative. User tasks may name addresses of user mode alone. */
unsigned long file_call(unsigned long call, unsigned long unused);

/* Reads a file again and again until over. Filled in and read by the simulator. */
struct file_reader {
	char path[64];
	char text[960];		/* the last read of a whole file */
	unsigned long rounds;	/* how often it was read */
	unsigned long lines;	/* of all rounds */
	unsigned long error;	/* of the call that failed, or 0 */
	unsigned long over;
};

/* One round of a reader, by call: from opening the file to closing it. */
#define READ_FILE(r, c, call) ({							\
	unsigned long at_ = 0, got_ = 0;						\
	(c)->op = FILE_OPEN;								\
	(c)->buf = (r)->path;								\
	(c)->fd = call(c);								\
	if ((long)(c)->fd < 0) {							\
		got_ = (c)->fd;								\
	} else {									\
		(c)->op = FILE_READ;							\
		do {									\
			(c)->buf = (r)->text + at_;					\
			(c)->count = min(sizeof((r)->text) - 1 - at_, 100UL);		\
			got_ = call(c);							\
			if ((long)got_ > 0)						\
				at_ += got_;						\
		} while ((long)got_ > 0);						\
		(r)->text[at_] = 0;							\
		(c)->op = FILE_CLOSE;							\
		call(c);								\
	}										\
	for (unsigned long i_ = 0; i_ < at_; i_++)					\
		(r)->lines += (r)->text[i_] == '\n';					\
	(r)->rounds++;									\
	(r)->error = got_;								\
	(long)got_ >= 0;								\
})

#endif

/* Work of a module outside of its handlers is left out. */
#error "modules have no threads and work queues of their own here: do the work in the handler, or in the exit function"

/* Files of a module's own are left out. */
#error "modules have no files of their own here: print with pr_info instead, the run keeps what is printed"

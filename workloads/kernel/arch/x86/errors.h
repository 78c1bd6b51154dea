/* The exceptions that all go the same way: name, vector, handler, and whether the processor pushes an
 * error code. Both entries expand the list by an ERROR_ENTRY of their own. */
	ERROR_ENTRY divide_error, 0, any_trap, 0
#ifndef NMI
	ERROR_ENTRY nmi, 2, any_trap, 0
#endif
	ERROR_ENTRY overflow, 4, any_trap, 0
	ERROR_ENTRY bounds, 5, any_trap, 0
	ERROR_ENTRY invalid_op, 6, any_trap, 0
	ERROR_ENTRY device_not_available, 7, any_trap, 0
	ERROR_ENTRY double_fault, 8, any_trap, 1
	ERROR_ENTRY invalid_tss, 10, any_trap, 1
	ERROR_ENTRY segment_not_present, 11, any_trap, 1
	ERROR_ENTRY stack_segment, 12, any_trap, 1
	ERROR_ENTRY general_protection, 13, any_trap, 1
	ERROR_ENTRY page_fault, 14, any_page_fault, 1
	ERROR_ENTRY coprocessor_error, 16, any_trap, 0
	ERROR_ENTRY alignment_check, 17, any_trap, 1
	ERROR_ENTRY machine_check, 18, any_trap, 0
	ERROR_ENTRY simd_error, 19, any_trap, 0

/* What a bare machine has for the self-test: one character goes out, and an end. 0: all is well. */
void put_char(char c);
void end_run(unsigned char code) __attribute__((noreturn));

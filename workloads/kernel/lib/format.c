/* Formatted texts. The formats are those of Linux as far as modules of probes use them. */
#include "library.h"
#include <linux/kallsyms.h>

/* Where a text goes. What does not fit is counted all the same. */
struct sink {
	char *to;
	size_t size, used;
};

/* One conversion. */
struct spec {
	int left, zero, plus, space, alternate;
	int width, precision;	/* -1: none */
	int bytes;		/* of an integer */
};

#define DIGITS_MOST 24

static void put(struct sink *out, char c)
{
	if (out->used + 1 < out->size)
		out->to[out->used] = c;
	out->used++;
}

static void fill(struct sink *out, char c, int n)
{
	for (; n > 0; n--)
		put(out, c);
}

static void put_padded(struct sink *out, const struct spec *spec, const char *text, int length)
{
	if (!spec->left)
		fill(out, ' ', spec->width - length);
	for (int i = 0; i < length; i++)
		put(out, text[i]);
	if (spec->left)
		fill(out, ' ', spec->width - length);
}

static void put_string(struct sink *out, const struct spec *spec, const char *text)
{
	if (!text)
		text = "(null)";
	put_padded(out, spec, text, strnlen(text, spec->precision < 0 ? (size_t)INT_MAX : (size_t)spec->precision));
}

/* Digits from the end of a text to its front. A number is four pieces of 16 bits, which every processor divides. */
static char *digits_before(char *end, u64 value, unsigned int base, const char *alphabet)
{
	u32 pieces[4] = { value >> 48, value >> 32 & 0xffff, value >> 16 & 0xffff, value & 0xffff };

	do {
		u32 rest = 0;

		for (int i = 0; i < 4; i++) {
			u32 part = rest << 16 | pieces[i];

			pieces[i] = part / base;
			rest = part - pieces[i] * base;
		}
		*--end = alphabet[rest];
	} while (pieces[0] | pieces[1] | pieces[2] | pieces[3]);
	return end;
}

/* The sign or mark of a base in front, then zeros, then digits. */
static void put_number(struct sink *out, const struct spec *spec, u64 value, unsigned int base, const char *front,
		       int upper)
{
	char digits[DIGITS_MOST];
	char *end = digits + DIGITS_MOST;
	char *at = digits_before(end, value, base, upper ? "0123456789ABCDEF" : "0123456789abcdef");
	int length = value || spec->precision != 0 ? end - at : 0;
	int zeros = spec->precision - length, marks = strlen(front);

	if (spec->precision < 0)
		zeros = spec->zero && !spec->left ? spec->width - marks - length : 0;
	if (zeros < 0)
		zeros = 0;
	if (!spec->left)
		fill(out, ' ', spec->width - marks - zeros - length);
	for (int i = 0; i < marks; i++)
		put(out, front[i]);
	fill(out, '0', zeros);
	for (int i = 0; i < length; i++)
		put(out, at[i]);
	if (spec->left)
		fill(out, ' ', spec->width - marks - zeros - length);
}

static void put_signed(struct sink *out, const struct spec *spec, s64 value)
{
	const char *front = value < 0 ? "-" : spec->plus ? "+" : spec->space ? " " : "";

	put_number(out, spec, value < 0 ? -(u64)value : (u64)value, 10, front, 0);
}

static void put_unsigned(struct sink *out, const struct spec *spec, u64 value, char kind)
{
	unsigned int base = kind == 'u' ? 10 : kind == 'o' ? 8 : 16;
	const char *front = "";

	if (spec->alternate && value)
		front = kind == 'x' ? "0x" : kind == 'X' ? "0X" : kind == 'o' ? "0" : "";
	put_number(out, spec, value, base, front, kind == 'X');
}

/* A pointer, as its digits or as a name; returns how many characters of the format say which. */
static int put_pointer(struct sink *out, struct spec *spec, unsigned long value, char kind)
{
	char name[KSYM_SYMBOL_LEN];
	int full = kind == 'S' || kind == 'F' || kind == 'B';

	if (full || kind == 's' || kind == 'f') {
		if (!sim_symbol(name, value, full ? SYMBOL_FULL : SYMBOL_NAME))
			snprintf(name, sizeof(name), "0x%lx", value);
		put_string(out, spec, name);
		return 1;
	}
	if (spec->width < 0 || !spec->left)
		spec->zero = 1;
	if (spec->width <= 0)
		spec->width = 2 * sizeof(void *);
	put_number(out, spec, value, 16, "", 0);
	return kind == 'x' || kind == 'K';
}

static const char *parse_number(const char *at, int *value, va_list *args)
{
	if (*at == '*') {
		*value = va_arg(*args, int);
		return at + 1;
	}
	for (*value = 0; *at >= '0' && *at <= '9'; at++)
		*value = *value * 10 + *at - '0';
	return at;
}

static const char *parse_flags(const char *at, struct spec *spec)
{
	for (;; at++) {
		switch (*at) {
		case '-': spec->left = 1; break;
		case '0': spec->zero = 1; break;
		case '+': spec->plus = 1; break;
		case ' ': spec->space = 1; break;
		case '#': spec->alternate = 1; break;
		default: return at;
		}
	}
}

static const char *parse_length(const char *at, struct spec *spec)
{
	spec->bytes = sizeof(int);
	for (;; at++) {
		switch (*at) {
		case 'h': spec->bytes /= 2; break;
		case 'l':
			if (at[1] != 'l') {
				spec->bytes = sizeof(long);
				break;
			}
			at++; /* fall through */
		case 'L':
		case 'q': spec->bytes = 8; break;
		case 'z':
		case 'Z':
		case 't': spec->bytes = sizeof(size_t); break;
		default: return at;
		}
	}
}

static const char *parse_spec(const char *at, struct spec *spec, va_list *args)
{
	*spec = (struct spec){ .precision = -1 };
	at = parse_number(parse_flags(at, spec), &spec->width, args);
	if (spec->width < 0) {
		spec->left = 1;
		spec->width = -spec->width;
	}
	if (*at == '.')
		at = parse_number(at + 1, &spec->precision, args);
	return parse_length(at, spec);
}

/* An integer as it was passed, cut to its type. */
static u64 take_integer(const struct spec *spec, int is_signed, va_list *args)
{
	u64 value = spec->bytes == 8 ? va_arg(*args, u64) : va_arg(*args, unsigned int);
	int unused = 64 - 8 * spec->bytes;

	value <<= unused;
	return is_signed ? (u64)((s64)value >> unused) : value >> unused;
}

/* Writes one conversion and returns where the format goes on. */
static const char *convert(struct sink *out, const char *at, va_list *args)
{
	struct spec spec;

	at = parse_spec(at, &spec, args);
	switch (*at) {
	case 'd':
	case 'i':
		put_signed(out, &spec, (s64)take_integer(&spec, 1, args));
		break;
	case 'u':
	case 'x':
	case 'X':
	case 'o':
		put_unsigned(out, &spec, take_integer(&spec, 0, args), *at);
		break;
	case 'c':
		put_padded(out, &spec, (char[]){ va_arg(*args, int) }, 1);
		break;
	case 's':
		put_string(out, &spec, va_arg(*args, const char *));
		break;
	case 'p':
		at += put_pointer(out, &spec, (unsigned long)va_arg(*args, void *), at[1]);
		break;
	case '%':
		put(out, '%');
		break;
	case 0:
		return at;
	default:
		put(out, '%');
		put(out, *at);
	}
	return at + 1;
}

/* The length that the whole text has. What fits is written, and its end. */
int vsnprintf(char *to, size_t size, const char *fmt, va_list list)
{
	struct sink out = { to, size, 0 };
	va_list args;

	__builtin_va_copy(args, list);
	while (*fmt) {
		if (*fmt == '%')
			fmt = convert(&out, fmt + 1, &args);
		else
			put(&out, *fmt++);
	}
	va_end(args);
	if (size)
		to[out.used < size ? out.used : size - 1] = 0;
	return out.used;
}

#define WITH_ARGUMENTS(call) ({			\
	va_list list;				\
	int length__;				\
	va_start(list, fmt);			\
	length__ = call;			\
	va_end(list);				\
	length__; })

int snprintf(char *to, size_t size, const char *fmt, ...)
{
	return WITH_ARGUMENTS(vsnprintf(to, size, fmt, list));
}

/* The length of what was written. */
int scnprintf(char *to, size_t size, const char *fmt, ...)
{
	int length = WITH_ARGUMENTS(vsnprintf(to, size, fmt, list));

	return length < (int)size ? length : size ? (int)size - 1 : 0;
}

int sprintf(char *to, const char *fmt, ...)
{
	return WITH_ARGUMENTS(vsnprintf(to, INT_MAX, fmt, list));
}

EXPORT_SYMBOL(vsnprintf);
EXPORT_SYMBOL(snprintf);
EXPORT_SYMBOL(scnprintf);
EXPORT_SYMBOL(sprintf);

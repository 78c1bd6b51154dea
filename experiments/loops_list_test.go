package experiments_test

// publishedLoops are loops that others timed on the same dies. The code is what the text assembles to, for
// 64 and for 32 bits; its registers are those of 64 bits. It stands times times, then come what puts a
// pointer back, dec %ecx, jnz and hlt. A figure is cycles for one of the units that the text holds.
//
// IL numbers are rows of InstLatx64 in the file that the machine's description names, MD is M. Desnoyers' thesis,
// and the other names are those of the descriptions' sources too.
var publishedLoops = []publishedLoop{
	{
		group: "registers", name: "nop", times: 64, units: 1,
		text: "nop",
		code: [2]loopCode{
			{body: "90"},
			{body: "90"},
		},
		published: map[string]figure{
			"xeon-e5410":      {0.33, "IL, row 0"},
			"opteron-246":     {0.33, "IL, row 0"},
			"pentium-m-1495":  {0.5, "IL, row 0"},
			"xeon-e5410-i386": {0.33, "IL, row 0"},
		},
	},
	{
		group: "registers", name: "add, chain", times: 64, units: 1,
		text: "add %rdx,%rax",
		code: [2]loopCode{
			{body: "4801d0"},
			{body: "01d0"},
		},
		published: map[string]figure{
			"xeon-e5410":      {1, "IL, row 71"},
			"opteron-246":     {1, "IL, row 73"},
			"pentium-m-1495":  {1, "IL, row 72"},
			"xeon-e5410-i386": {1, "IL, row 72"},
		},
	},
	{
		group: "registers", name: "add, independent", times: 16, units: 4,
		text: "add %rdx,%rax; add %rdx,%rbx; add %rdx,%rsi; add %rdx,%rbp",
		code: [2]loopCode{
			{body: "4801d04801d34801d64801d5"},
			{body: "01d001d301d601d5"},
		},
		published: map[string]figure{
			"xeon-e5410":      {0.33, "IL, row 71"},
			"opteron-246":     {0.33, "IL, row 73"},
			"pentium-m-1495":  {0.5, "IL, row 72"},
			"xeon-e5410-i386": {0.34, "IL, row 72"},
		},
	},
	{
		group: "registers", name: "inc, independent", times: 16, units: 4,
		text: "inc %rax; inc %rbx; inc %rsi; inc %rbp",
		code: [2]loopCode{
			{body: "48ffc048ffc348ffc648ffc5"},
			{body: "40434645"},
		},
		published: map[string]figure{
			"xeon-e5410":      {0.33, "IL, row 198"},
			"opteron-246":     {0.33, "IL, row 204"},
			"pentium-m-1495":  {0.5, "IL, row 203"},
			"xeon-e5410-i386": {0.34, "IL, row 203"},
		},
	},
	{
		group: "registers", name: "mov, chain", times: 32, units: 2,
		text: "mov %rax,%rdx; mov %rdx,%rax",
		code: [2]loopCode{
			{body: "4889c24889d0"},
			{body: "89c289d0"},
		},
		published: map[string]figure{
			"xeon-e5410":      {1, "IL, row 23"},
			"opteron-246":     {1, "IL, row 23"},
			"pentium-m-1495":  {1, "IL, row 22"},
			"xeon-e5410-i386": {1, "IL, row 22"},
		},
	},
	{
		group: "registers", name: "xor with itself", times: 64, units: 1,
		text: "xor %eax,%eax",
		code: [2]loopCode{
			{body: "31c0"},
			{body: "31c0"},
		},
		published: map[string]figure{
			"xeon-e5410":      {0.33, "IL, row 148"},
			"opteron-246":     {0.33, "IL, row 154"},
			"pentium-m-1495":  {1, "IL, row 154"},
			"xeon-e5410-i386": {0.33, "IL, row 154"},
		},
	},
	{
		group: "registers", name: "adc, chain", times: 64, units: 1,
		text: "adc %rdx,%rax",
		code: [2]loopCode{
			{body: "4811d0"},
			{body: "11d0"},
		},
		published: map[string]figure{
			"xeon-e5410":      {2, "IL, row 113"},
			"opteron-246":     {1, "IL, row 119"},
			"pentium-m-1495":  {2, "IL, row 118"},
			"xeon-e5410-i386": {2, "IL, row 118"},
		},
	},
	{
		group: "registers", name: "sbb, chain", times: 64, units: 1,
		text: "sbb %rdx,%rax",
		code: [2]loopCode{
			{body: "4819d0"},
			{body: "19d0"},
		},
		published: map[string]figure{
			"xeon-e5410":      {2, "IL, row 117"},
			"opteron-246":     {0.92, "IL, row 123"},
			"pentium-m-1495":  {2, "IL, row 122"},
			"xeon-e5410-i386": {2, "IL, row 122"},
		},
	},
	{
		group: "registers", name: "setc and adc, chain", times: 32, units: 1,
		text: "setc %al; adc %rax,%rax",
		code: [2]loopCode{
			{body: "0f92c04811c0"},
			{body: "0f92c011c0"},
		},
		published: map[string]figure{
			"xeon-e5410":      {3, "IL, rows 194 and 113"},
			"opteron-246":     {2, "IL, rows 200 and 119"},
			"pentium-m-1495":  {3, "IL, rows 200 and 118"},
			"xeon-e5410-i386": {3, "IL, rows 200 and 118"},
		},
	},
	{
		group: "registers", name: "cmov, chain", times: 64, units: 1,
		text: "cmovnz %rdx,%rax",
		code: [2]loopCode{
			{body: "480f45c2"},
			{body: "0f45c2"},
		},
		published: map[string]figure{
			"xeon-e5410":      {2, "IL, row 40"},
			"opteron-246":     {1, "IL, row 42"},
			"pentium-m-1495":  {2, "IL, row 41"},
			"xeon-e5410-i386": {2, "IL, row 41"},
		},
	},
	{
		group: "registers", name: "cmov, independent", times: 16, units: 4,
		text: "cmovnz %rdx,%rax; cmovnz %rdx,%rbx; cmovnz %rdx,%rsi; cmovnz %rdx,%rbp",
		code: [2]loopCode{
			{body: "480f45c2480f45da480f45f2480f45ea"},
			{body: "0f45c20f45da0f45f20f45ea"},
		},
		published: map[string]figure{
			"xeon-e5410":      {1, "IL, row 40"},
			"opteron-246":     {0.33, "IL, row 42"},
			"pentium-m-1495":  {1.25, "IL, row 41"},
			"xeon-e5410-i386": {1, "IL, row 41"},
		},
	},
	{
		group: "registers", name: "lea of three parts, chain", times: 64, units: 1,
		text: "lea 8(%rax,%rdx,8),%rax",
		code: [2]loopCode{
			{body: "488d44d008"},
			{body: "8d44d008"},
		},
		published: map[string]figure{
			"xeon-e5410":      {1, "IL, row 210"},
			"opteron-246":     {2, "IL, row 216"},
			"pentium-m-1495":  {1, "IL, row 215"},
			"xeon-e5410-i386": {1, "IL, row 215"},
		},
	},
	{
		group: "registers", name: "lea of three parts, independent", times: 21, units: 3,
		text: "lea 8(%rdx,%rdx,8),%rax; lea 8(%rdx,%rdx,8),%rbx; lea 8(%rdx,%rdx,8),%rsi",
		code: [2]loopCode{
			{body: "488d44d208488d5cd208488d74d208"},
			{body: "8d44d2088d5cd2088d74d208"},
		},
		published: map[string]figure{
			"xeon-e5410":      {1, "IL, row 210"},
			"opteron-246":     {0.33, "IL, row 216"},
			"pentium-m-1495":  {1, "IL, row 215"},
			"xeon-e5410-i386": {1, "IL, row 215"},
		},
	},
	{
		group: "registers", name: "shl, chain", times: 64, units: 1,
		text: "shl $3,%rax",
		code: [2]loopCode{
			{body: "48c1e003"},
			{body: "c1e003"},
		},
		published: map[string]figure{
			"xeon-e5410":      {1, "IL, row 218"},
			"opteron-246":     {1, "IL, row 224"},
			"pentium-m-1495":  {1, "IL, row 223"},
			"xeon-e5410-i386": {1, "IL, row 223"},
		},
	},
	{
		group: "registers", name: "shl, independent", times: 16, units: 4,
		text: "shl $3,%rax; shl $3,%rbx; shl $3,%rsi; shl $3,%rbp",
		code: [2]loopCode{
			{body: "48c1e00348c1e30348c1e60348c1e503"},
			{body: "c1e003c1e303c1e603c1e503"},
		},
		published: map[string]figure{
			"xeon-e5410":      {0.49, "IL, row 218"},
			"opteron-246":     {0.33, "IL, row 224"},
			"pentium-m-1495":  {1, "IL, row 223"},
			"xeon-e5410-i386": {0.49, "IL, row 223"},
		},
	},
	{
		group: "registers", name: "shld by a constant, chain", times: 32, units: 1,
		text: "shld $3,%rdx,%rax",
		code: [2]loopCode{
			{body: "480fa4d003"},
			{body: "0fa4d003"},
		},
		published: map[string]figure{
			"xeon-e5410":      {2, "IL, row 249"},
			"opteron-246":     {3, "IL, row 255"},
			"pentium-m-1495":  {2, "IL, row 254"},
			"xeon-e5410-i386": {2, "IL, row 254"},
		},
	},
	{
		group: "registers", name: "shld by a constant, independent", times: 10, units: 3,
		text: "shld $3,%rdx,%rax; shld $3,%rdx,%rbx; shld $3,%rdx,%rsi",
		code: [2]loopCode{
			{body: "480fa4d003480fa4d303480fa4d603"},
			{body: "0fa4d0030fa4d3030fa4d603"},
		},
		published: map[string]figure{
			"xeon-e5410":      {1, "IL, row 249"},
			"opteron-246":     {2, "IL, row 255"},
			"pentium-m-1495":  {2, "IL, row 254"},
			"xeon-e5410-i386": {1, "IL, row 254"},
		},
	},
	{
		group: "registers", name: "rcl by one, chain", times: 64, units: 1,
		text: "rcl $1,%rax",
		code: [2]loopCode{
			{body: "48d1d0"},
			{body: "d1d0"},
		},
		published: map[string]figure{
			"xeon-e5410":      {2, "IL, row 286"},
			"opteron-246":     {1, "IL, row 292"},
			"pentium-m-1495":  {2, "IL, row 291"},
			"xeon-e5410-i386": {2, "IL, row 291"},
		},
	},
	{
		group: "registers", name: "bsf, chain", times: 32, units: 1,
		text: "mov $1,%eax | bsf %rax,%rax",
		code: [2]loopCode{
			{setup: "b8010000009090909090909090909090", body: "480fbcc0"},
			{setup: "b8010000009090909090909090909090", body: "0fbcc0"},
		},
		published: map[string]figure{
			"xeon-e5410":      {2, "IL, row 309"},
			"opteron-246":     {9, "IL, row 315"},
			"pentium-m-1495":  {2, "IL, row 314"},
			"xeon-e5410-i386": {2, "IL, row 314"},
		},
	},
	{
		group: "registers", name: "bsf, independent", times: 10, units: 3,
		text: "mov $1,%edx | bsf %rdx,%rax; bsf %rdx,%rbx; bsf %rdx,%rsi",
		code: [2]loopCode{
			{setup: "ba010000009090909090909090909090", body: "480fbcc2480fbcda480fbcf2"},
			{setup: "ba010000009090909090909090909090", body: "0fbcc20fbcda0fbcf2"},
		},
		published: map[string]figure{
			"xeon-e5410":      {1, "IL, row 309"},
			"opteron-246":     {9, "IL, row 315"},
			"pentium-m-1495":  {1, "IL, row 314"},
			"xeon-e5410-i386": {1, "IL, row 314"},
		},
	},
	{
		group: "registers", name: "bswap, chain", times: 32, units: 1,
		text: "bswap %rax",
		code: [2]loopCode{
			{body: "480fc8"},
			{body: "0fc8"},
		},
		published: map[string]figure{
			"xeon-e5410":      {4, "IL, row 314"},
			"opteron-246":     {1, "IL, row 320"},
			"pentium-m-1495":  {2, "IL, row 319"},
			"xeon-e5410-i386": {4, "IL, row 319"},
		},
	},
	{
		group: "registers", name: "bswap, independent", times: 16, units: 4,
		text: "bswap %rax; bswap %rbx; bswap %rsi; bswap %rbp",
		code: [2]loopCode{
			{body: "480fc8480fcb480fce480fcd"},
			{body: "0fc80fcb0fce0fcd"},
		},
		published: map[string]figure{
			"xeon-e5410":      {1, "IL, row 314"},
			"opteron-246":     {0.33, "IL, row 320"},
			"pentium-m-1495":  {1, "IL, row 319"},
			"xeon-e5410-i386": {1, "IL, row 319"},
		},
	},
	{
		group: "registers", name: "bt", times: 64, units: 1,
		text: "bt $3,%rax",
		code: [2]loopCode{
			{body: "480fbae003"},
			{body: "0fbae003"},
		},
		published: map[string]figure{
			"xeon-e5410":      {1, "IL, row 175"},
			"opteron-246":     {0.33, "IL, row 181"},
			"pentium-m-1495":  {1, "IL, row 180"},
			"xeon-e5410-i386": {1, "IL, row 180"},
		},
	},
	{
		group: "registers", name: "xchg, the same two", times: 32, units: 1,
		text: "xchg %rax,%rbx",
		code: [2]loopCode{
			{body: "4893"},
			{body: "93"},
		},
		published: map[string]figure{
			"xeon-e5410":      {1.6, "IL, row 59"},
			"opteron-246":     {1.5, "IL, row 61"},
			"pentium-m-1495":  {1.7, "IL, row 60"},
			"xeon-e5410-i386": {1.8, "IL, row 60"},
		},
	},
	{
		group: "registers", name: "xadd, chain", times: 32, units: 1,
		text: "xadd %rax,%rbx",
		code: [2]loopCode{
			{body: "480fc1c3"},
			{body: "0fc1c3"},
		},
		published: map[string]figure{
			"xeon-e5410":      {3.6, "IL, row 542"},
			"opteron-246":     {2, "IL, row 548"},
			"pentium-m-1495":  {2.6, "IL, row 547"},
			"xeon-e5410-i386": {3.4, "IL, row 547"},
		},
	},
	{
		group: "registers", name: "cmpxchg between registers, chain", times: 32, units: 1,
		text: "cmpxchg %rbx,%rdx",
		code: [2]loopCode{
			{body: "480fb1da"},
			{body: "0fb1da"},
		},
		published: map[string]figure{
			"xeon-e5410":      {9.8, "IL, row 546"},
			"opteron-246":     {3, "IL, row 552"},
			"pentium-m-1495":  {5, "IL, row 551"},
			"xeon-e5410-i386": {10, "IL, row 551"},
		},
	},
	{
		group: "multiplication and division", name: "imul of 32 bits, chain", times: 32, units: 1,
		text: "imul %edx,%eax",
		code: [2]loopCode{
			{body: "0fafc2"},
			{body: "0fafc2"},
		},
		published: map[string]figure{
			"xeon-e5410":      {3, "IL, row 322"},
			"opteron-246":     {3, "IL, row 328"},
			"pentium-m-1495":  {4, "IL, row 328"},
			"xeon-e5410-i386": {3, "IL, row 328"},
		},
	},
	{
		group: "multiplication and division", name: "imul of 32 bits, independent", times: 8, units: 4,
		text: "imul %edx,%eax; imul %edx,%ebx; imul %edx,%esi; imul %edx,%ebp",
		code: [2]loopCode{
			{body: "0fafc20fafda0faff20fafea"},
			{body: "0fafc20fafda0faff20fafea"},
		},
		published: map[string]figure{
			"xeon-e5410":      {1, "IL, row 322"},
			"opteron-246":     {1, "IL, row 328"},
			"pentium-m-1495":  {1, "IL, row 328"},
			"xeon-e5410-i386": {1, "IL, row 328"},
		},
	},
	{
		group: "multiplication and division", name: "imul of 64 bits, chain", times: 32, units: 1,
		text: "imul %rdx,%rax",
		code: [2]loopCode{
			{body: "480fafc2"},
			{},
		},
		published: map[string]figure{
			"xeon-e5410":  {5, "IL, row 323"},
			"opteron-246": {4, "IL, row 329"},
		},
	},
	{
		group: "multiplication and division", name: "imul of 64 bits, independent", times: 8, units: 4,
		text: "imul %rdx,%rax; imul %rdx,%rbx; imul %rdx,%rsi; imul %rdx,%rbp",
		code: [2]loopCode{
			{body: "480fafc2480fafda480faff2480fafea"},
			{},
		},
		published: map[string]figure{
			"xeon-e5410":  {2, "IL, row 323"},
			"opteron-246": {2, "IL, row 329"},
		},
	},
	{
		group: "multiplication and division", name: "mul of 32 bits", times: 32, units: 1,
		text: "mul %ebx",
		code: [2]loopCode{
			{body: "f7e3"},
			{body: "f7e3"},
		},
		published: map[string]figure{
			"xeon-e5410":      {4.8, "IL, row 344"},
			"opteron-246":     {3, "IL, row 350"},
			"pentium-m-1495":  {5, "IL, row 350"},
			"xeon-e5410-i386": {4.75, "IL, row 350"},
		},
	},
	{
		group: "multiplication and division", name: "mul of 64 bits", times: 32, units: 1,
		text: "mul %rbx",
		code: [2]loopCode{
			{body: "48f7e3"},
			{},
		},
		published: map[string]figure{
			"xeon-e5410":  {8, "IL, row 345"},
			"opteron-246": {4, "IL, row 351"},
		},
	},
	{
		group: "multiplication and division", name: "div of 32 bits, quotient 1", times: 16, units: 1,
		text: "mov $1,%eax; mov $1,%ebx | xor %edx,%edx; div %ebx",
		code: [2]loopCode{
			{setup: "b801000000bb01000000909090909090", body: "31d2f7f3"},
			{setup: "b801000000bb01000000909090909090", body: "31d2f7f3"},
		},
		published: map[string]figure{
			"xeon-e5410":      {13.9, "IL, row 435"},
			"opteron-246":     {39, "IL, row 441"},
			"pentium-m-1495":  {39, "IL, row 441"},
			"xeon-e5410-i386": {13.9, "IL, row 441"},
		},
	},
	{
		group: "multiplication and division", name: "div of 32 bits, quotient of 16 bits", times: 16, units: 1,
		text: "mov $1,%ebx | mov $0x10000,%eax; xor %edx,%edx; div %ebx",
		code: [2]loopCode{
			{setup: "bb010000009090909090909090909090", body: "b80000010031d2f7f3"},
			{setup: "bb010000009090909090909090909090", body: "b80000010031d2f7f3"},
		},
		published: map[string]figure{
			"xeon-e5410":      {17.6, "IL, row 432"},
			"opteron-246":     {40, "IL, row 438"},
			"pentium-m-1495":  {39, "IL, row 438"},
			"xeon-e5410-i386": {17.7, "IL, row 438"},
		},
	},
	{
		group: "multiplication and division", name: "div of 32 bits, quotient of 32 bits", times: 16, units: 1,
		text: "mov $0x80000000,%ebx | mov $0x7fffffff,%edx; mov $0xffffffff,%eax; div %ebx",
		code: [2]loopCode{
			{setup: "bb000000809090909090909090909090", body: "baffffff7fb8fffffffff7f3"},
			{setup: "bb000000809090909090909090909090", body: "baffffff7fb8fffffffff7f3"},
		},
		published: map[string]figure{
			"xeon-e5410":      {23, "IL, row 424"},
			"opteron-246":     {39, "IL, row 430"},
			"pentium-m-1495":  {39, "IL, row 430"},
			"xeon-e5410-i386": {22.9, "IL, row 430"},
		},
	},
	{
		group: "multiplication and division", name: "div of 64 bits, quotient 1", times: 16, units: 1,
		text: "mov $1,%eax; mov $1,%ebx | xor %edx,%edx; div %rbx",
		code: [2]loopCode{
			{setup: "b801000000bb01000000909090909090", body: "31d248f7f3"},
			{},
		},
		published: map[string]figure{
			"xeon-e5410":  {28.3, "IL, row 449"},
			"opteron-246": {71, "IL, row 455"},
		},
	},
	{
		group: "loads and stores", name: "load, chain", times: 64, units: 1,
		text: "mov %rdi,(%rdi) | mov (%rdi),%rdi",
		code: [2]loopCode{
			{setup: "48893f90909090909090909090909090", body: "488b3f"},
			{setup: "893f9090909090909090909090909090", body: "8b3f"},
		},
		published: map[string]figure{
			"xeon-e5410":      {3, "IL, row 27"},
			"opteron-246":     {3, "IL, row 27"},
			"pentium-m-1495":  {3, "IL, row 26"},
			"xeon-e5410-i386": {3, "IL, row 26"},
		},
	},
	{
		group: "loads and stores", name: "load, independent", times: 16, units: 4,
		text: "mov (%rdi),%rax; mov 8(%rdi),%rbx; mov 16(%rdi),%rdx; mov 24(%rdi),%rsi",
		code: [2]loopCode{
			{body: "488b07488b5f08488b5710488b7718"},
			{body: "8b078b5f088b57108b7718"},
		},
		published: map[string]figure{
			"xeon-e5410":      {1, "IL, row 27"},
			"opteron-246":     {0.5, "IL, row 27"},
			"pentium-m-1495":  {1, "IL, row 26"},
			"xeon-e5410-i386": {1, "IL, row 26"},
		},
	},
	{
		group: "loads and stores", name: "add of a word in memory, chain of addresses", times: 64, units: 1,
		text: "movl $0,(%rdi); movl $0,4(%rdi) | add (%rdi),%rdi",
		code: [2]loopCode{
			{setup: "c70700000000c7470400000000909090", body: "48033f"},
			{setup: "c70700000000c7470400000000909090", body: "033f"},
		},
		published: map[string]figure{
			"xeon-e5410":      {4.3, "IL, row 75"},
			"opteron-246":     {4, "IL, row 77"},
			"pentium-m-1495":  {4, "IL, row 76"},
			"xeon-e5410-i386": {4.3, "IL, row 76"},
		},
	},
	{
		group: "loads and stores", name: "add of a word in memory, independent", times: 16, units: 4,
		text: "add (%rdi),%rax; add 8(%rdi),%rbx; add 16(%rdi),%rdx; add 24(%rdi),%rsi",
		code: [2]loopCode{
			{body: "48030748035f084803571048037718"},
			{body: "0307035f08035710037718"},
		},
		published: map[string]figure{
			"xeon-e5410":      {1, "IL, row 75"},
			"opteron-246":     {0.5, "IL, row 77"},
			"pentium-m-1495":  {1, "IL, row 76"},
			"xeon-e5410-i386": {1, "IL, row 76"},
		},
	},
	{
		group: "loads and stores", name: "store", times: 16, units: 4,
		text: "mov %rax,(%rdi); mov %rax,16(%rdi); mov %rax,32(%rdi); mov %rax,48(%rdi)",
		code: [2]loopCode{
			{body: "488907488947104889472048894730"},
			{body: "8907894710894720894730"},
		},
		published: map[string]figure{
			"xeon-e5410":      {1, "IL, row 31"},
			"opteron-246":     {0.5, "IL, row 33"},
			"pentium-m-1495":  {1, "IL, row 31"},
			"xeon-e5410-i386": {1, "IL, row 31"},
		},
	},
	{
		group: "loads and stores", name: "add to a word in memory, chain", times: 32, units: 1,
		text: "add %rax,(%rdi)",
		code: [2]loopCode{
			{body: "480107"},
			{body: "0107"},
		},
		published: map[string]figure{
			"xeon-e5410":      {6, "IL, row 79"},
			"opteron-246":     {7, "IL, row 82"},
			"pentium-m-1495":  {6, "IL, row 80"},
			"xeon-e5410-i386": {6, "IL, row 80"},
		},
	},
	{
		group: "loads and stores", name: "add to words in memory, independent", times: 4, units: 8,
		text: "add %rax,(%rdi); add %rax,16(%rdi); add %rax,32(%rdi); add %rax,48(%rdi); add %rax,64(%rdi); add %rax,80(%rdi); add %rax,96(%rdi); add %rax,112(%rdi)",
		code: [2]loopCode{
			{body: "48010748014710480147204801473048014740480147504801476048014770"},
			{body: "0107014710014720014730014740014750014760014770"},
		},
		published: map[string]figure{
			"xeon-e5410":      {1, "IL, row 79"},
			"opteron-246":     {2.58, "IL, row 83"},
			"pentium-m-1495":  {0.92, "IL, row 81"},
			"xeon-e5410-i386": {1, "IL, row 81"},
		},
	},
	{
		group: "loads and stores", name: "load and store of the same word", times: 32, units: 1,
		text: "mov (%rdi),%rax; mov %rax,(%rdi)",
		code: [2]loopCode{
			{body: "488b07488907"},
			{body: "8b078907"},
		},
		published: map[string]figure{
			"xeon-e5410":      {3, "IL, row 35"},
			"opteron-246":     {8, "IL, row 37"},
			"pentium-m-1495":  {12, "IL, row 36"},
			"xeon-e5410-i386": {16, "IL, row 36"},
		},
	},
	{
		group: "loads and stores", name: "cmpxchg with memory, chain", times: 1, units: 1,
		text: "cmpxchg %rdx,(%rdi)",
		code: [2]loopCode{
			{body: "480fb117"},
			{},
		},
		published: map[string]figure{
			"xeon-e5410": {8, "MD, 4.1"},
		},
	},
	{
		group: "loads and stores", name: "cmpxchg8b", times: 16, units: 1,
		text: "xor %eax,%eax; xor %edx,%edx; xor %ebx,%ebx | cmpxchg8b (%rdi)",
		code: [2]loopCode{
			{setup: "31c031d231db90909090909090909090", body: "0fc70f"},
			{setup: "31c031d231db90909090909090909090", body: "0fc70f"},
		},
		published: map[string]figure{
			"xeon-e5410":      {8, "IL, row 547"},
			"opteron-246":     {7, "IL, row 553"},
			"pentium-m-1495":  {10, "IL, row 553"},
			"xeon-e5410-i386": {8, "IL, row 553"},
		},
	},
	{
		group: "stack", name: "push", times: 32, units: 1,
		text: "push %rax | lea 256(%rsp),%rsp",
		code: [2]loopCode{
			{body: "50", fix: "488da42400010000"},
			{body: "50", fix: "8da42480000000"},
		},
		published: map[string]figure{
			"xeon-e5410":      {1, "IL, row 480"},
			"opteron-246":     {1, "IL, row 486"},
			"pentium-m-1495":  {1.08, "IL, row 486"},
			"xeon-e5410-i386": {1, "IL, row 486"},
		},
	},
	{
		group: "stack", name: "pop", times: 32, units: 1,
		text: "pop %rax | lea -256(%rsp),%rsp",
		code: [2]loopCode{
			{body: "58", fix: "488da42400ffffff"},
			{body: "58", fix: "8d642480"},
		},
		published: map[string]figure{
			"xeon-e5410":      {1, "IL, row 481"},
			"opteron-246":     {1, "IL, row 487"},
			"pentium-m-1495":  {1, "IL, row 487"},
			"xeon-e5410-i386": {1, "IL, row 487"},
		},
	},
	{
		group: "stack", name: "push and pop, chain", times: 32, units: 1,
		text: "push %rax; pop %rax",
		code: [2]loopCode{
			{body: "5058"},
			{body: "5058"},
		},
		published: map[string]figure{
			"xeon-e5410":      {5.1, "IL, row 482"},
			"opteron-246":     {3.1, "IL, row 488"},
			"pentium-m-1495":  {5, "IL, row 488"},
			"xeon-e5410-i386": {5.1, "IL, row 488"},
		},
	},
	{
		group: "stack", name: "push and pop, independent", times: 6, units: 5,
		text: "push %rax; pop %rax; push %rbx; pop %rbx; push %rdx; pop %rdx; push %rsi; pop %rsi; push %rbp; pop %rbp",
		code: [2]loopCode{
			{body: "5058535b525a565e555d"},
			{body: "5058535b525a565e555d"},
		},
		published: map[string]figure{
			"xeon-e5410":      {2.33, "IL, row 482"},
			"opteron-246":     {2.5, "IL, row 488"},
			"pentium-m-1495":  {2.17, "IL, row 488"},
			"xeon-e5410-i386": {2, "IL, row 488"},
		},
	},
	{
		group: "stack", name: "push of a word in memory", times: 32, units: 1,
		text: "push (%rdi) | lea 256(%rsp),%rsp",
		code: [2]loopCode{
			{body: "ff37", fix: "488da42400010000"},
			{body: "ff37", fix: "8da42480000000"},
		},
		published: map[string]figure{
			"xeon-e5410":      {1.08, "IL, row 490"},
			"opteron-246":     {0.88, "IL, row 496"},
			"pentium-m-1495":  {1.42, "IL, row 496"},
			"xeon-e5410-i386": {1.5, "IL, row 496"},
		},
	},
	{
		group: "stack", name: "push and pop of a word in memory, chain", times: 16, units: 1,
		text: "push (%rdi); pop (%rdi)",
		code: [2]loopCode{
			{body: "ff378f07"},
			{body: "ff378f07"},
		},
		published: map[string]figure{
			"xeon-e5410":      {10.1, "IL, row 492"},
			"opteron-246":     {8, "IL, row 498"},
			"pentium-m-1495":  {10, "IL, row 498"},
			"xeon-e5410-i386": {10.1, "IL, row 498"},
		},
	},
	{
		group: "branches", name: "empty loop", times: 1, units: 1,
		text: "",
		code: [2]loopCode{
			{},
			{},
		},
		published: map[string]figure{
			"xeon-e5410":     {1, "MD, 4.1"},
			"opteron-246":    {2, "SOG, page 253"},
			"pentium-m-1495": {2, "AFP, 29.1"},
		},
	},
	{
		group: "branches", name: "jmp to the next line of code", times: 16, units: 1,
		text: "jmp 1f; .p2align 5; 1:",
		code: [2]loopCode{
			{body: "eb1e66662e0f1f84000000000066662e0f1f8400000000000f1f840000000000"},
			{body: "eb1eeb1c8db426000000008db426000000008db426000000008db42600000000"},
		},
		published: map[string]figure{
			"xeon-e5410":      {2, "AF4, from memory"},
			"opteron-246":     {2, "SOG, page 253"},
			"pentium-m-1495":  {2, "AFP, 29.1"},
			"xeon-e5410-i386": {2, "AF4, from memory"},
		},
	},
	{
		group: "branches", name: "jcc, not taken", times: 32, units: 1,
		text: "test %eax,%eax | jc 1f; 1:",
		code: [2]loopCode{
			{setup: "85c09090909090909090909090909090", body: "7200"},
			{setup: "85c09090909090909090909090909090", body: "7200"},
		},
		published: map[string]figure{
			"xeon-e5410":      {1, "GCC, port 5 alone"},
			"pentium-m-1495":  {1, "AFP, 29.1"},
			"xeon-e5410-i386": {1, "GCC, port 5 alone"},
		},
	},
	{
		group: "branches", name: "call and return", times: 1, units: 16,
		text: "call f; call f; call f; call f; call f; call f; call f; call f; call f; call f; call f; call f; call f; call f; call f; call f | .p2align 4; f: ret",
		code: [2]loopCode{
			{body: "e85b000000e856000000e851000000e84c000000e847000000e842000000e83d000000e838000000e833000000e82e000000e829000000e824000000e81f000000e81a000000e815000000e810000000", after: "66662e0f1f840000000000c3"},
			{body: "e85b000000e856000000e851000000e84c000000e847000000e842000000e83d000000e838000000e833000000e82e000000e829000000e824000000e81f000000e81a000000e815000000e810000000", after: "8db426000000008d742600c3"},
		},
		published: map[string]figure{
			"xeon-e5410":      {4, "AF4, from memory"},
			"opteron-246":     {5, "AF4, from memory"},
			"pentium-m-1495":  {4, "AFP, 29.1"},
			"xeon-e5410-i386": {4, "AF4, from memory"},
		},
	},
	{
		group: "branches", name: "calls of depth 8", times: 1, units: 1,
		text: "call f1 | functions that each call the next and return",
		code: [2]loopCode{
			{body: "e80b000000", after: "660f1f440000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000c3"},
			{body: "e80b000000", after: "8db600000000e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600c3"},
		},
		published: map[string]figure{
			"xeon-e5410":      {32, "AF3, AF4, from memory"},
			"opteron-246":     {40, "SOG, page 253; AF4, from memory"},
			"pentium-m-1495":  {32, "AFP, 29.1; AF3, from memory"},
			"xeon-e5410-i386": {32, "AF3, AF4, from memory"},
		},
	},
	{
		group: "branches", name: "calls of depth 40", times: 1, units: 1,
		text: "call f1 | functions that each call the next and return",
		code: [2]loopCode{
			{body: "e80b000000", after: "660f1f440000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000e80b000000c3662e0f1f840000000000c3"},
			{body: "e80b000000", after: "8db600000000e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600e80b000000c38db426000000008d7600c3"},
		},
		published: map[string]figure{
			"xeon-e5410":      {520, "AF3, AF4, from memory"},
			"opteron-246":     {480, "SOG, page 253; AF4, from memory"},
			"pentium-m-1495":  {448, "AFP, 29.1; AF3, from memory"},
			"xeon-e5410-i386": {520, "AF3, AF4, from memory"},
		},
	},
	{
		group: "flags and interrupts", name: "clc", times: 64, units: 1,
		text: "clc",
		code: [2]loopCode{
			{body: "f8"},
			{body: "f8"},
		},
		published: map[string]figure{
			"xeon-e5410":      {0.33, "IL, row 458"},
			"opteron-246":     {0.33, "IL, row 464"},
			"pentium-m-1495":  {1, "IL, row 464"},
			"xeon-e5410-i386": {0.33, "IL, row 464"},
		},
	},
	{
		group: "flags and interrupts", name: "cmc, chain", times: 64, units: 1,
		text: "cmc",
		code: [2]loopCode{
			{body: "f5"},
			{body: "f5"},
		},
		published: map[string]figure{
			"xeon-e5410":      {0.92, "IL, row 460"},
			"opteron-246":     {0.92, "IL, row 466"},
			"pentium-m-1495":  {1, "IL, row 466"},
			"xeon-e5410-i386": {0.92, "IL, row 466"},
		},
	},
	{
		group: "flags and interrupts", name: "cld", times: 32, units: 1,
		text: "cld",
		code: [2]loopCode{
			{body: "fc"},
			{body: "fc"},
		},
		published: map[string]figure{
			"xeon-e5410":      {3, "IL, row 461"},
			"opteron-246":     {1, "IL, row 467"},
			"pentium-m-1495":  {6.33, "IL, row 467"},
			"xeon-e5410-i386": {3, "IL, row 467"},
		},
	},
	{
		group: "flags and interrupts", name: "lahf", times: 32, units: 1,
		text: "lahf",
		code: [2]loopCode{
			{body: "9f"},
			{body: "9f"},
		},
		published: map[string]figure{
			"xeon-e5410":      {0.33, "IL, row 469"},
			"opteron-246":     {2, "IL, row 475"},
			"pentium-m-1495":  {1, "IL, row 475"},
			"xeon-e5410-i386": {1, "IL, row 475"},
		},
	},
	{
		group: "flags and interrupts", name: "sahf", times: 64, units: 1,
		text: "sahf",
		code: [2]loopCode{
			{body: "9e"},
			{body: "9e"},
		},
		published: map[string]figure{
			"xeon-e5410":      {0.33, "IL, row 470"},
			"opteron-246":     {0.33, "IL, row 476"},
			"pentium-m-1495":  {1, "IL, row 476"},
			"xeon-e5410-i386": {1, "IL, row 476"},
		},
	},
	{
		group: "flags and interrupts", name: "pushf", times: 16, units: 1,
		text: "pushf | lea 128(%rsp),%rsp",
		code: [2]loopCode{
			{body: "9c", fix: "488da42480000000"},
			{body: "9c", fix: "8d642440"},
		},
		published: map[string]figure{
			"xeon-e5410":      {7, "IL, row 496"},
			"opteron-246":     {2, "IL, row 502"},
			"pentium-m-1495":  {7.08, "IL, row 502"},
			"xeon-e5410-i386": {7, "IL, row 502"},
		},
	},
	{
		group: "flags and interrupts", name: "popf", times: 16, units: 1,
		text: "popf | lea -128(%rsp),%rsp",
		code: [2]loopCode{
			{},
			{body: "9d", fix: "8d6424c0"},
		},
		published: map[string]figure{
			"pentium-m-1495":  {15, "IL, row 503"},
			"xeon-e5410-i386": {18, "IL, row 503"},
		},
	},
	{
		group: "flags and interrupts", name: "pushf and popf", times: 16, units: 1,
		text: "pushf; popf",
		code: [2]loopCode{
			{body: "9c9d"},
			{body: "9c9d"},
		},
		published: map[string]figure{
			"xeon-e5410":      {24, "IL, row 498"},
			"opteron-246":     {12, "IL, row 504"},
			"pentium-m-1495":  {22, "IL, row 504"},
			"xeon-e5410-i386": {24, "IL, row 504"},
		},
	},
	{
		group: "flags and interrupts", name: "pushfq; pop; cli", times: 1, units: 1,
		text: "pushf; pop %rax; cli",
		code: [2]loopCode{
			{body: "9c58fa"},
			{},
		},
		published: map[string]figure{
			"xeon-e5410": {22, "MD, figure 4.7"},
		},
	},
	{
		group: "flags and interrupts", name: "push; popfq", times: 1, units: 1,
		text: "push %rax; popf",
		code: [2]loopCode{
			{body: "509d"},
			{},
		},
		published: map[string]figure{
			"xeon-e5410": {20, "MD, table 4.2"},
		},
	},
	{
		group: "flags and interrupts", name: "interrupts off and restored", times: 1, units: 1,
		text: "pushf; pop %rax; cli; push %rax; popf",
		code: [2]loopCode{
			{body: "9c58fa509d"},
			{},
		},
		published: map[string]figure{
			"xeon-e5410": {39, "MD, figure 4.7"},
		},
	},
	{
		group: "locked and serializing", name: "lock add, chain", times: 16, units: 1,
		text: "lock add %rax,(%rdi)",
		code: [2]loopCode{
			{body: "f0480107"},
			{body: "f00107"},
		},
		published: map[string]figure{
			"xeon-e5410":      {25, "IL, row 83"},
			"opteron-246":     {19, "IL, row 88"},
			"pentium-m-1495":  {21, "IL, row 86"},
			"xeon-e5410-i386": {25, "IL, row 86"},
		},
	},
	{
		group: "locked and serializing", name: "lock add, other words", times: 8, units: 2,
		text: "lock add %rax,(%rdi); lock add %rax,64(%rdi)",
		code: [2]loopCode{
			{body: "f0480107f048014740"},
			{body: "f00107f0014740"},
		},
		published: map[string]figure{
			"xeon-e5410":      {25, "IL, row 83"},
			"opteron-246":     {17.9, "IL, row 89"},
			"pentium-m-1495":  {21, "IL, row 87"},
			"xeon-e5410-i386": {25, "IL, row 87"},
		},
	},
	{
		group: "locked and serializing", name: "xchg with memory", times: 16, units: 1,
		text: "xchg %rax,(%rdi)",
		code: [2]loopCode{
			{body: "488707"},
			{body: "8707"},
		},
		published: map[string]figure{
			"xeon-e5410":      {25, "IL, row 63"},
			"opteron-246":     {16, "IL, row 65"},
			"pentium-m-1495":  {20, "IL, row 64"},
			"xeon-e5410-i386": {25, "IL, row 64"},
		},
	},
	{
		group: "locked and serializing", name: "lock cmpxchg", times: 1, units: 1,
		text: "lock cmpxchg %rdx,(%rdi)",
		code: [2]loopCode{
			{body: "f0480fb117"},
			{},
		},
		published: map[string]figure{
			"xeon-e5410": {24, "MD, 4.1"},
		},
	},
	{
		group: "locked and serializing", name: "rdtsc", times: 16, units: 1,
		text: "rdtsc",
		code: [2]loopCode{
			{body: "0f31"},
			{body: "0f31"},
		},
		published: map[string]figure{
			"xeon-e5410":      {28, "IL, row 549"},
			"opteron-246":     {6.5, "IL, row 555"},
			"pentium-m-1495":  {46, "IL, row 555"},
			"xeon-e5410-i386": {28, "IL, row 555"},
		},
	},
	{
		group: "locked and serializing", name: "cpuid, leaf 0", times: 4, units: 1,
		text: "mov %ecx,%esi; xor %eax,%eax; cpuid; mov %esi,%ecx",
		code: [2]loopCode{
			{body: "89ce31c00fa289f1"},
			{body: "89ce31c00fa289f1"},
		},
		published: map[string]figure{
			"xeon-e5410":      {197, "IL, row 550"},
			"opteron-246":     {48.25, "IL, row 556"},
			"pentium-m-1495":  {120.25, "IL, row 556"},
			"xeon-e5410-i386": {197, "IL, row 556"},
		},
	},
	{
		group: "locked and serializing", name: "lfence", times: 16, units: 1,
		text: "lfence",
		code: [2]loopCode{
			{body: "0faee8"},
			{body: "0faee8"},
		},
		published: map[string]figure{
			"opteron-246":    {5, "IL, row 772"},
			"pentium-m-1495": {5.33, "IL, row 770"},
		},
	},
	{
		group: "locked and serializing", name: "mfence", times: 16, units: 1,
		text: "mfence",
		code: [2]loopCode{
			{body: "0faef0"},
			{body: "0faef0"},
		},
		published: map[string]figure{
			"opteron-246":    {16, "IL, row 773"},
			"pentium-m-1495": {6.67, "IL, row 771"},
		},
	},
	{
		group: "locked and serializing", name: "sfence", times: 16, units: 1,
		text: "sfence",
		code: [2]loopCode{
			{body: "0faef8"},
			{body: "0faef8"},
		},
		published: map[string]figure{
			"opteron-246":    {8, "IL, row 771"},
			"pentium-m-1495": {6.67, "IL, row 769"},
		},
	},
	{
		group: "locked and serializing", name: "pause", times: 64, units: 1,
		text: "pause",
		code: [2]loopCode{
			{body: "f390"},
			{body: "f390"},
		},
		published: map[string]figure{
			"xeon-e5410":      {8, "IL, row 15"},
			"opteron-246":     {0.33, "IL, row 15"},
			"pentium-m-1495":  {5.33, "IL, row 15"},
			"xeon-e5410-i386": {8, "IL, row 15"},
		},
	},
	{
		group: "in context", name: "sequence lock read", times: 1, units: 1,
		text: "mov (%rdi),%eax; test $1,%al; jnz 1f; cmp (%rdi),%eax; jne 1f; 1:",
		code: [2]loopCode{
			{body: "8b07a80175043b077500"},
			{},
		},
		published: map[string]figure{
			"xeon-e5410": {3, "MD, 4.1"},
		},
	},
	{
		group: "in context", name: "preempt count up, down, test", times: 1, units: 1,
		text: "incl (%rdi); decl (%rdi); testl $1,(%rsi); jnz 1f; 1:",
		code: [2]loopCode{
			{body: "ff07ff0ff706010000007500"},
			{},
		},
		published: map[string]figure{
			"xeon-e5410": {12, "MD, 4.1"},
		},
	},
	{
		group: "in context", name: "spin lock and unlock by calls", times: 1, units: 1,
		text: "mov %rdi,%rsi | mov %rsi,%rdi; call lockit; mov %rsi,%rdi; call unlock | .p2align 4; lockit: mov $0x100,%eax; lock xadd %ax,(%rdi); 2: cmp %al,%ah; je 3f; pause; mov (%rdi),%al; jmp 2b; 3: ret; .p2align 4; unlock: incb (%rdi); ret",
		code: [2]loopCode{
			{setup: "4889fe90909090909090909090909090", body: "4889f7e8180000004889f7e830000000", after: "66662e0f1f840000000000b80001000066f00fc10738c47406f3908a07ebf6c366662e0f1f840000000000fe07c3"},
			{},
		},
		published: map[string]figure{
			"xeon-e5410": {46, "MD, 4.1"},
		},
	},
	{
		group: "store forwarding", name: "store 1, load 1", times: 16, units: 1,
		text: "mov %al,(%rdi); movzbl 0(%rdi),%eax",
		code: [2]loopCode{
			{body: "88070fb607"},
			{body: "88070fb607"},
		},
		published: map[string]figure{
			"xeon-e5410":      {5, "IL, row 482; IOM, figure 2-2"},
			"opteron-246":     {8, "IL, row 37; SOG, page 100"},
			"pentium-m-1495":  {5, "IL, row 488; IOM, figure 2-2"},
			"xeon-e5410-i386": {5, "IL, row 488; IOM, figure 2-2"},
		},
	},
	{
		group: "store forwarding", name: "store 1, load 2", times: 16, units: 1,
		text: "mov %al,(%rdi); movzwl 0(%rdi),%eax",
		code: [2]loopCode{
			{body: "88070fb707"},
			{body: "88070fb707"},
		},
		published: map[string]figure{
			"xeon-e5410":      {12, "AF3, from memory"},
			"xeon-e5410-i386": {12, "AF3, from memory"},
		},
	},
	{
		group: "store forwarding", name: "store 1, load 4", times: 16, units: 1,
		text: "mov %al,(%rdi); mov 0(%rdi),%eax",
		code: [2]loopCode{
			{body: "88078b07"},
			{body: "88078b07"},
		},
		published: map[string]figure{
			"xeon-e5410":      {12, "AF3, from memory"},
			"xeon-e5410-i386": {12, "AF3, from memory"},
		},
	},
	{
		group: "store forwarding", name: "store 1, load 8", times: 16, units: 1,
		text: "mov %al,(%rdi); mov 0(%rdi),%rax",
		code: [2]loopCode{
			{body: "8807488b07"},
			{},
		},
		published: map[string]figure{
			"xeon-e5410": {12, "AF3, from memory"},
		},
	},
	{
		group: "store forwarding", name: "store 2, load 1", times: 16, units: 1,
		text: "mov %ax,(%rdi); movzbl 0(%rdi),%eax",
		code: [2]loopCode{
			{body: "6689070fb607"},
			{body: "6689070fb607"},
		},
		published: map[string]figure{
			"xeon-e5410":      {5, "IL, row 482; IOM, figure 2-2"},
			"opteron-246":     {8, "IL, row 37; SOG, page 100"},
			"pentium-m-1495":  {5, "IL, row 488; IOM, figure 2-2"},
			"xeon-e5410-i386": {5, "IL, row 488; IOM, figure 2-2"},
		},
	},
	{
		group: "store forwarding", name: "store 2, load 1 at 1", times: 16, units: 1,
		text: "mov %ax,(%rdi); movzbl 1(%rdi),%eax",
		code: [2]loopCode{
			{body: "6689070fb64701"},
			{body: "6689070fb64701"},
		},
		published: map[string]figure{
			"xeon-e5410":      {12, "AF3, from memory"},
			"xeon-e5410-i386": {12, "AF3, from memory"},
		},
	},
	{
		group: "store forwarding", name: "store 2, load 2", times: 16, units: 1,
		text: "mov %ax,(%rdi); movzwl 0(%rdi),%eax",
		code: [2]loopCode{
			{body: "6689070fb707"},
			{body: "6689070fb707"},
		},
		published: map[string]figure{
			"xeon-e5410":      {5, "IL, row 482; IOM, figure 2-2"},
			"opteron-246":     {8, "IL, row 37; SOG, page 100"},
			"pentium-m-1495":  {5, "IL, row 488; IOM, figure 2-2"},
			"xeon-e5410-i386": {5, "IL, row 488; IOM, figure 2-2"},
		},
	},
	{
		group: "store forwarding", name: "store 2, load 4", times: 16, units: 1,
		text: "mov %ax,(%rdi); mov 0(%rdi),%eax",
		code: [2]loopCode{
			{body: "6689078b07"},
			{body: "6689078b07"},
		},
		published: map[string]figure{
			"xeon-e5410":      {12, "AF3, from memory"},
			"xeon-e5410-i386": {12, "AF3, from memory"},
		},
	},
	{
		group: "store forwarding", name: "store 2, load 8", times: 16, units: 1,
		text: "mov %ax,(%rdi); mov 0(%rdi),%rax",
		code: [2]loopCode{
			{body: "668907488b07"},
			{},
		},
		published: map[string]figure{
			"xeon-e5410": {12, "AF3, from memory"},
		},
	},
	{
		group: "store forwarding", name: "store 4, load 1", times: 16, units: 1,
		text: "mov %eax,(%rdi); movzbl 0(%rdi),%eax",
		code: [2]loopCode{
			{body: "89070fb607"},
			{body: "89070fb607"},
		},
		published: map[string]figure{
			"xeon-e5410":      {5, "IL, row 482; IOM, figure 2-2"},
			"opteron-246":     {8, "IL, row 37; SOG, page 100"},
			"pentium-m-1495":  {5, "IL, row 488; IOM, figure 2-2"},
			"xeon-e5410-i386": {5, "IL, row 488; IOM, figure 2-2"},
		},
	},
	{
		group: "store forwarding", name: "store 4, load 1 at 2", times: 16, units: 1,
		text: "mov %eax,(%rdi); movzbl 2(%rdi),%eax",
		code: [2]loopCode{
			{body: "89070fb64702"},
			{body: "89070fb64702"},
		},
		published: map[string]figure{
			"xeon-e5410":      {12, "AF3, from memory"},
			"xeon-e5410-i386": {12, "AF3, from memory"},
		},
	},
	{
		group: "store forwarding", name: "store 4, load 2", times: 16, units: 1,
		text: "mov %eax,(%rdi); movzwl 0(%rdi),%eax",
		code: [2]loopCode{
			{body: "89070fb707"},
			{body: "89070fb707"},
		},
		published: map[string]figure{
			"xeon-e5410":      {5, "IL, row 482; IOM, figure 2-2"},
			"opteron-246":     {8, "IL, row 37; SOG, page 100"},
			"pentium-m-1495":  {5, "IL, row 488; IOM, figure 2-2"},
			"xeon-e5410-i386": {5, "IL, row 488; IOM, figure 2-2"},
		},
	},
	{
		group: "store forwarding", name: "store 4, load 2 at 2", times: 16, units: 1,
		text: "mov %eax,(%rdi); movzwl 2(%rdi),%eax",
		code: [2]loopCode{
			{body: "89070fb74702"},
			{body: "89070fb74702"},
		},
		published: map[string]figure{
			"xeon-e5410":      {12, "AF3, from memory"},
			"xeon-e5410-i386": {12, "AF3, from memory"},
		},
	},
	{
		group: "store forwarding", name: "store 4, load 4", times: 16, units: 1,
		text: "mov %eax,(%rdi); mov 0(%rdi),%eax",
		code: [2]loopCode{
			{body: "89078b07"},
			{body: "89078b07"},
		},
		published: map[string]figure{
			"xeon-e5410":      {5, "IL, row 482; IOM, figure 2-2"},
			"opteron-246":     {8, "IL, row 37; SOG, page 100"},
			"pentium-m-1495":  {5, "IL, row 488; IOM, figure 2-2"},
			"xeon-e5410-i386": {5, "IL, row 488; IOM, figure 2-2"},
		},
	},
	{
		group: "store forwarding", name: "store 4, load 8", times: 16, units: 1,
		text: "mov %eax,(%rdi); mov 0(%rdi),%rax",
		code: [2]loopCode{
			{body: "8907488b07"},
			{},
		},
		published: map[string]figure{
			"xeon-e5410": {12, "AF3, from memory"},
		},
	},
	{
		group: "store forwarding", name: "store 8, load 1", times: 16, units: 1,
		text: "mov %rax,(%rdi); movzbl 0(%rdi),%eax",
		code: [2]loopCode{
			{body: "4889070fb607"},
			{},
		},
		published: map[string]figure{
			"xeon-e5410":  {5, "IL, row 482; IOM, figure 2-2"},
			"opteron-246": {8, "IL, row 37; SOG, page 100"},
		},
	},
	{
		group: "store forwarding", name: "store 8, load 1 at 4", times: 16, units: 1,
		text: "mov %rax,(%rdi); movzbl 4(%rdi),%eax",
		code: [2]loopCode{
			{body: "4889070fb64704"},
			{},
		},
		published: map[string]figure{
			"xeon-e5410": {12, "AF3, from memory"},
		},
	},
	{
		group: "store forwarding", name: "store 8, load 2", times: 16, units: 1,
		text: "mov %rax,(%rdi); movzwl 0(%rdi),%eax",
		code: [2]loopCode{
			{body: "4889070fb707"},
			{},
		},
		published: map[string]figure{
			"xeon-e5410":  {5, "IL, row 482; IOM, figure 2-2"},
			"opteron-246": {8, "IL, row 37; SOG, page 100"},
		},
	},
	{
		group: "store forwarding", name: "store 8, load 2 at 4", times: 16, units: 1,
		text: "mov %rax,(%rdi); movzwl 4(%rdi),%eax",
		code: [2]loopCode{
			{body: "4889070fb74704"},
			{},
		},
		published: map[string]figure{
			"xeon-e5410": {12, "AF3, from memory"},
		},
	},
	{
		group: "store forwarding", name: "store 8, load 4", times: 16, units: 1,
		text: "mov %rax,(%rdi); mov 0(%rdi),%eax",
		code: [2]loopCode{
			{body: "4889078b07"},
			{},
		},
		published: map[string]figure{
			"xeon-e5410":  {5, "IL, row 482; IOM, figure 2-2"},
			"opteron-246": {8, "IL, row 37; SOG, page 100"},
		},
	},
	{
		group: "store forwarding", name: "store 8, load 4 at 4", times: 16, units: 1,
		text: "mov %rax,(%rdi); mov 4(%rdi),%eax",
		code: [2]loopCode{
			{body: "4889078b4704"},
			{},
		},
		published: map[string]figure{
			"xeon-e5410": {12, "AF3, from memory"},
		},
	},
	{
		group: "store forwarding", name: "store 8, load 8", times: 16, units: 1,
		text: "mov %rax,(%rdi); mov 0(%rdi),%rax",
		code: [2]loopCode{
			{body: "488907488b07"},
			{},
		},
		published: map[string]figure{
			"xeon-e5410":  {5, "IL, row 482; IOM, figure 2-2"},
			"opteron-246": {8, "IL, row 37; SOG, page 100"},
		},
	},
}

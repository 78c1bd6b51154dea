package x86

import (
	"encoding/hex"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

// TestPriceForms decodes an instruction of each form, in 64-bit mode or else in 32-bit mode.
func TestPriceForms(t *testing.T) {
	forms := map[string]string{ // hexadecimal code by name
		"mov_high": "88e0", "mov_narrow": "6689c8", "mov_imm64": "48b80102030405060708", "mov_imm": "b801000000",
		"mov_same": "89c0", "mov": "4889c8", "load_narrow": "8a07", "load_sign": "486307", "load": "8b07",
		"store_high": "8827", "store_imm": "c70701000000", "store": "8907",
		"extend_high": "0fb6c4", "extend_sign": "4863c1", "extend_byte": "0fb6c1", "extend_narrow": "660fb6c1", "extend": "0fb7c1",
		"zero_idiom": "31c0", "carry_same": "19c0", "alu_high": "00e0", "alu_load": "0307", "alu_unary": "ffc0", "alu_imm": "83c001", "alu": "01c8",
		"alu_mem_unary": "ff07", "alu_mem_imm": "830701", "alu_mem": "0107",
		"carry_load": "1307", "carry_imm": "83d001", "carry": "11c8", "carry_mem_imm": "831701", "carry_mem": "1107",
		"lea_rip": "488d0500000000", "lea_narrow": "668d07", "lea_three_scaled": "8d444f08", "lea_three": "8d440f08",
		"lea_scaled": "8d044f", "lea_two": "8d040f", "lea": "8d07",
		"extend_same": "0fb6c0", "sign_spread": "99", "compare_load": "3b07", "alu_unary_long": "48ffc0", "alu_imm_small": "4883c001", "lea_small": "488d4708",
		"cmov_two": "0f46c1", "cmov": "0f44c1",
		"setcc_mem_two": "0f9707", "setcc_mem": "0f9407", "setcc_two": "0f97c0", "setcc_high": "0f94c4", "setcc": "0f94c0",
		"rotate_cl": "d3c0", "rotate_one": "d1c0", "rotate": "c1c003", "shift_cl": "d3e0", "shift_one": "d1e0", "shift": "c1e003",
		"rotate_cl_mem": "d307", "rotate_mem": "c10703", "shift_cl_mem": "d327", "shift_mem": "c12703",
		"rotate_carry_mem": "c11703", "rotate_carry_cl": "d3d0", "rotate_carry_one": "d1d0", "rotate_carry": "c1d003",
		"shift_double_mem": "0fa40f03", "shift_double_cl": "0fa5c8", "shift_double": "0fa4c803",
		"imul16": "660fafc1", "imul_imm": "6bc103", "imul": "0fafc1", "imul64_imm": "486bc103", "imul64": "480fafc1",
		"mul8": "f6e1", "mul16": "66f7e1", "mul": "f7e1", "mul64": "48f7e1",
		"div8": "f6f1", "div16": "66f7f1", "idiv32": "f7f9", "div32": "f7f1", "idiv64": "48f7f9", "div64": "48f7f1",
		"bit_scan_reverse": "0fbdc1", "bit_scan": "0fbcc1", "bswap64": "480fc8", "bswap": "0fc8",
		"bit_change": "0fabc8", "bit_test": "0fa3c8", "bit_test_mem": "0fba2703", "bit_change_mem": "0fba2f03",
		"bit_change_string": "0fab0f", "bit_string": "0fa30f",
		"xchg_narrow": "86c8", "xchg": "87c8", "xchg_mem": "870f", "locked_cmpxchg": "f00fb10f", "locked_xadd": "f00fc10f", "locked": "f0ff07",
		"cmpxchg_mem": "0fb10f", "cmpxchg": "0fb1c8", "cmpxchg16b": "480fc70f", "cmpxchg_wide": "0fc70f", "xadd_mem": "0fc10f", "xadd": "0fc1c8",
		"push_imm": "6a01", "push": "50", "jmp_mem": "ff27", "jmp_indirect": "ffe0", "call_mem": "ff17", "call_indirect": "ffd0",
		"ret_imm": "c20800", "ret": "c3", "jump_count": "e300", "loop": "e200", "flag_ah": "9f", "flag": "f8",
		"lods": "ac", "stos": "aa", "movs": "a4", "scas": "ae", "cmps": "a6",
		"rep_stos": "f3aa", "rep_movs": "f3a4", "rep_compare": "f3a6", "x87_function": "d9fe", "rep_start": "f3ac",
		"float_multiply": "f20f59c1", "float_divide_double": "f20f5ec1", "float_divide": "0f5ec1", "float_root_double": "660f51c1",
		"float_root": "f30f51c1", "float_estimate": "0f53c1", "float_compare": "660f2ec1", "float_from_integer": "f20f2ac1",
		"float_to_integer": "f20f2cc1", "float_convert": "f20f5ac1", "float_add": "f20f58c1", "vector": "0f54c1",
	}
	only32 := map[string]string{"push_all": "60", "pop_all": "61", "enter": "c8000000"}
	names := ISA64().Classes
	held := func(c *CPU, forms map[string]string) {
		for want, code := range forms {
			b := require.Must(hex.DecodeString(code))(t)
			_, op := c.Decode(append(b, make([]byte, 15)...), 0)
			require.That(t, names[op.Class] == want, "%s has the class %s, want %s", code, names[op.Class], want)
		}
	}
	_, c := start(t)
	held(c, forms)
	held(c, map[string]string{"alu_imm_small": "4805ff030000", "lea_small": "488d8700fcffff"}) // the last small ones
	held(c, map[string]string{"alu_imm": "480500040000", "lea_two": "488d87fffbffff"})
	for _, isa := range modes() {
		if isa.Bits == 32 {
			held(newWorld(t, isa, cpus.Throughput, nil).cpu(), only32)
		}
	}
	for _, f := range priceForms {
		require.That(t, forms[f.name]+only32[f.name] != "", "no code for %s", f.name)
	}
}

// TestInheritedPrices leaves forms out, and gives one a price from which another inherits.
func TestInheritedPrices(t *testing.T) {
	isa := ISA64()
	all := isa.Inherit(map[string]cpus.Cost{"shift": {Latency: 1}, "rotate": {Latency: 2}, "lea_three": {Latency: clock.PerCycle}})
	for name, want := range map[string]clock.Ticks{"shift_cl": 1, "rotate_cl": 1, "rotate_one": 2, "lea_three_scaled": clock.PerCycle} {
		require.Equal(t, all[name].Latency, want, "%s inherits a latency of", name)
	}
	if _, ok := all["bswap64"]; ok {
		t.Error("bswap64 has a price from nowhere")
	}
}

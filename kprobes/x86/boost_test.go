package x86

import (
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// unhex reads bytes written as hex with or without blanks.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	s = strings.ReplaceAll(s, " ", "")
	b := make([]byte, len(s)/2)
	for i := range b {
		b[i] = nibble(t, s[2*i])<<4 | nibble(t, s[2*i+1])
	}
	return b
}

func nibble(t testing.TB, c byte) byte {
	t.Helper()
	i := strings.IndexByte("0123456789abcdef", c)
	require.Need(t, i >= 0, "%q is no hex digit", c)
	return byte(i)
}

func TestCanBoostTwoByte(t *testing.T) {
	allowed := strings.Fields(`02 03 06 08 09 20 21 22 23 31 40 41 42 43 44 45 46 47 48 49 4a 4b 4c 4d 4e 4f
		60 61 62 63 64 65 66 67 68 69 6a 6b 6e 6f 74 75 76 77 7e 7f
		90 91 92 93 94 95 96 97 98 99 9a 9b 9c 9d 9e 9f a0 a1 a3 a4 a5 a8 a9 ab ac ad af
		b0 b1 b2 b3 b4 b5 b6 b7 bb bc bd be bf c0 c1 c8 c9 ca cb cc cd ce cf
		d1 d2 d3 d5 d8 d9 db dc dd df e1 e2 e5 e8 e9 eb ec ed ef f1 f2 f3 f5 f8 f9 fa fc fd fe`)
	want := map[byte]bool{}
	for _, s := range allowed {
		want[unhex(t, s)[0]] = true
	}
	for b := range 256 {
		require.Equal(t, canBoost([]byte{0x0f, byte(b)}, 64), want[byte(b)], "0f %02x: boosted", b)
	}
}

func TestCanBoostOneByte(t *testing.T) {
	// By row of the opcode map: y boosted, n not, p prefix (another byte decides).
	rows := [16]string{
		"yyyyyyyyyyyyyyyp", "yyyyyyyyyyyyyyyy", "yyyyyypyyyyyyyny", "yyyyyypyyyyyyypy",
		"pppppppppppppppp", "yyyyyyyyyyyyyyyy", "yynypppnyyyyyyyy", "nnnnnnnnnnnnnnnn",
		"yyyyyyyyyyyyyyyy", "yyyyyyyyyynyyyyy", "yyyyyyyyyyyyyyyy", "yyyyyyyyyyyyyyyy",
		"nnyyyyyyyyyynnny", "nnnnyynynnnnnnnn", "nnnnyyyynnynyyyy", "pnppnynnyyyyyynn",
	}
	for _, mode := range []int{64, 32} {
		if mode == 32 {
			rows[4] = "yyyyyyyyyyyyyyyy" // inc and dec instead of REX prefixes
		}
		for b := range 256 {
			want := rows[b>>4][b&15]
			if want == 'p' {
				continue
			}
			got := canBoost([]byte{byte(b), 0, 0, 0, 0}, mode)
			require.That(t, got == (want == 'y'), "%02x, %d bits: boosted %v, want %c", b, mode, got, want)
		}
	}
}

func TestCanBoostPrefixes(t *testing.T) {
	tests := []struct {
		code string
		want bool
	}{
		{"48 8b 05 00 00 00 00", true},
		{"65 48 8b 04 25 00 00 00 00", true}, // gs override, as per-CPU data is read
		{"66 89 c0", true},
		{"f0 48 0f b1 0a", true}, // lock cmpxchg
		{"f0 ff 00", false},      // lock inc
		{"f3 a4", true},
		{"2e 89 c0", false},
		{"67 8b 00", false},
		{"48 ff c0", false}, // inc
		{"48 f7 d8", false}, // neg
		{"48 c1 e0 04", false},
		{"48 0f af c1", true},
		{"0f 84 00 00 00 00", false},
		{"66 66 66", false}, // nothing but prefixes
		{"", false},
	}
	for _, tt := range tests {
		require.Equal(t, canBoost(unhex(t, tt.code), 64), tt.want, "%s: boosted", tt.code)
	}
	require.That(t, !canBoost([]byte{0x64, 0xff, 0x00}, 32) && canBoost([]byte{0x64, 0xa1, 0, 0, 0, 0}, 32), "behind an fs override, as per-CPU data are read, inc is stepped and mov boosted")
}

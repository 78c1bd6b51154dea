package paper

import "testing"

// TestNear holds numbers against a part of the larger one.
func TestNear(t *testing.T) {
	of := func(v float64) Quantity { return Quantity{V: v, From: "a test"} }
	for _, x := range []struct {
		a, b  float64
		part  string
		holds bool
	}{
		{100, 95.1, "a twentieth", true},
		{95.1, 100, "a twentieth", true},
		{100, 94.9, "a twentieth", false},
		{100, 94.9, "a tenth", true},
		{-100, -89, "a tenth", false},
		{0, 0, "a tenth", false}, // of nothing
		{100, 99.1, "a hundredth", true},
	} {
		v, err := near(of(x.a), of(x.b), x.part)
		if err != nil || v.Holds != x.holds {
			t.Errorf("%v and %v within %s: %v, %v", x.a, x.b, x.part, v, err)
		}
	}
}

// TestUnder holds a number against a part of another one.
func TestUnder(t *testing.T) {
	for _, x := range []struct {
		a     float64
		holds bool
	}{{0.9, true}, {1, false}, {2, false}, {-3, true}} {
		v, err := under(Quantity{V: x.a, From: "a test"}, Quantity{V: 100, From: "a test"}, "a hundredth")
		if err != nil || v.Holds != x.holds {
			t.Errorf("%v under a hundredth of 100: %v, %v", x.a, v, err)
		}
	}
	if _, err := under(Quantity{}, Quantity{}, "a bit"); err == nil {
		t.Error("a bit is taken for a limit")
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 12: "12", 1.2345: "1.23", 12.345: "12.3", 123.45: "123", 2310: "2310", 12345: `12\,345`, -1234567: `$-$1\,234\,567`} {
		if got := number(Quantity{V: v}); got != want {
			t.Errorf("%v is %s, want %s", v, got, want)
		}
	}
}

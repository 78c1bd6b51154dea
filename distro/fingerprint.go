package distro

import (
	"crypto/sha256"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
)

// Fingerprint stands for everything of a configuration that the state does not hold. Every number is written with the path
// of its field, so that no two configurations are the same text.
func (c *Config) Fingerprint() (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	fmt.Fprintf(h, "kernel %x\n", c.Kernel.Sum)
	ram := c.RAM
	if ram == 0 {
		ram = DefaultRAM
	}
	fmt.Fprintf(h, "cpus %d ram %d timer %d board %T\n", max(c.CPUs, 1), ram, c.TimerHz, c.Board) // what the board's devices hold is in the state
	if c.Persistent > 0 {
		fmt.Fprintf(h, "persistent %d\n", c.Persistent)
	}
	err = describe(h, "cpu", reflect.ValueOf(c.CPU))
	return [sha256.Size]byte(h.Sum(nil)), err
}

// origin stands for everything that the state of a machine depends on that has booted to a place.
func (c *Config) origin(place string) ([]byte, error) {
	mark, err := c.Fingerprint()
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%x to %q\nbudget %d untimed %t command %q initrd %d tree %d\n", mark, place, c.Budget, c.Untimed, c.Command, len(c.Initrd), len(c.Tree))
	h.Write(c.Initrd)
	h.Write(c.Tree)
	err = describe(h, "board", reflect.ValueOf(c.Board))
	return h.Sum(nil), err
}

// describe writes a line for each plain value in a value. What has none, such as a function, is an error: nobody could
// say whether two of them are the same.
func describe(w io.Writer, path string, v reflect.Value) error {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if err := describe(w, path+"."+v.Type().Field(i).Name, v.Field(i)); err != nil {
				return err
			}
		}
	case reflect.Slice, reflect.Array:
		fmt.Fprintf(w, "%s: %d\n", path, v.Len())
		for i := range v.Len() {
			if err := describe(w, fmt.Sprintf("%s[%d]", path, i), v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		return describeMap(w, path, v)
	case reflect.String:
		fmt.Fprintf(w, "%s: %q\n", path, v.String())
	default:
		switch {
		case v.Kind() == reflect.Bool:
			fmt.Fprintf(w, "%s: %t\n", path, v.Bool())
		case v.CanInt():
			fmt.Fprintf(w, "%s: %d\n", path, v.Int())
		case v.CanUint():
			fmt.Fprintf(w, "%s: %d\n", path, v.Uint())
		default:
			return fmt.Errorf("%s of the machine description is a %s, which a snapshot cannot be held against", path, v.Kind())
		}
	}
	return nil
}

// describeMap goes by the text of the keys. None and an empty one are the same.
func describeMap(w io.Writer, path string, v reflect.Value) error {
	text := func(k reflect.Value) string {
		if k.Kind() == reflect.String {
			return fmt.Sprintf("%q", k.String())
		}
		return fmt.Sprint(k)
	}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(text(a), text(b)) })
	fmt.Fprintf(w, "%s: %d\n", path, len(keys))
	for _, k := range keys {
		if err := describe(w, path+"["+text(k)+"]", v.MapIndex(k)); err != nil {
			return err
		}
	}
	return nil
}

// Command program uses what runtimes of Go do for a program: threads, memory that is collected, channels, maps, and arithmetic.
package main

import (
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"math/big"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"unsafe"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "seed" {
		seed()
		return
	}
	sums := make([]float64, 8)
	var all sync.WaitGroup
	for i := range sums {
		all.Go(func() {
			for n := range 2000 {
				sums[i] += math.Sqrt(float64(n)) / float64(i+1)
			}
			runtime.Gosched()
		})
	}
	all.Wait()
	fmt.Printf("%.12g\n", sums)

	words, numbers := map[string]int{}, make(chan int)
	go func() {
		for i := range 3000 {
			numbers <- i * 7919 % 1009
		}
		close(numbers)
	}()
	for n := range numbers {
		words[strings.Repeat("x", n%13)+fmt.Sprint(n)]++
	}
	runtime.GC()
	fmt.Println(len(words), slices.Sorted(maps.Keys(words))[:8])

	text := []byte(strings.Repeat("a program of its own ", 500))
	fmt.Printf("%x %08x\n", sha256.Sum256(text), crc32.ChecksumIEEE(text))
	fmt.Println(new(big.Int).Exp(big.NewInt(7), big.NewInt(300), big.NewInt(1e18+9)), math.Float64bits(1e300/7))
	fmt.Println("end")
}

// seed credits the kernel with random bytes, for which programs would otherwise wait a second of its time (random(4)).
func seed() {
	const addEntropy = 0x40085203
	pool := struct {
		bits, size int32
		bytes      [32]byte
	}{256, 32, [32]byte{1, 2, 3}}
	fd, err := syscall.Open("/dev/urandom", syscall.O_WRONLY, 0)
	if err != nil {
		panic(err)
	}
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), addEntropy, uintptr(unsafe.Pointer(&pool))); errno != 0 {
		panic(errno)
	}
}

// Package rootfs holds the files of a root file system: what folders and archives of the kinds tar and cpio have, packed by gzip or
// not. It knows symbolic links and which libraries a program needs, so that a few programs can be taken out of many.
//
// The formats are POSIX' (pax) and that of Linux' initial file systems (Documentation/driver-api/early-userspace/
// buffer-format.rst). Owners, times and devices are left out: all files are root's, and the kernel has devices of its own.
package rootfs

// Package rootfs holds the files of a root file system: what folders and archives of the kinds tar and cpio have, packed by gzip,
// zstd, xz or not, and the layers of images of OCI and docker. It knows symbolic links and which libraries a program needs, so that a
// few programs can be taken out of many.
//
// The formats are POSIX' (pax) and that of Linux' initial file systems (Documentation/driver-api/early-userspace/
// buffer-format.rst), and for images the image specification 1.1 of the Open Container Initiative. Owners, times and devices are left out: all files are root's, and the kernel has devices of its own.
package rootfs

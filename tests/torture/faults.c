/* A disk that fails. Loaded before libc, it counts the calls that change what lies below one folder, and fails the Nth.
 *
 *   FAULT_ROOT  the folder; calls on other paths and files are let through and not counted
 *   FAULT_AT    which call fails, counted from 1
 *   FAULT_KIND  ENOSPC EIO EINTR EDQUOT EACCES  that call fails with this error, once
 *               SHORT  the call, if it writes, writes half and says so
 *               TORN   the call, if it writes, writes half; from then on nothing can be written: the disk is full
 *               FULL   from that call on nothing can be written, made or named
 *               KILL   the process is killed before the call
 *               CUT    the process is killed when the call, if it writes, has written half
 *   FAULT_LOG   a file that is made when the fault happens, and says what was hit
 *   FAULT_READS also counts calls that read
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_int calls;
static const char *root, *kind, *record;
static int at, error, reads;
/* Files that may not be written to any more. */
static atomic_int full;

__attribute__((constructor)) static void begin(void) {
    root = getenv("FAULT_ROOT");
    kind = getenv("FAULT_KIND");
    record = getenv("FAULT_LOG");
    reads = getenv("FAULT_READS") != NULL;
    const char *nth = getenv("FAULT_AT");
    at = nth ? atoi(nth) : 0;
    if (!root || !kind || !record) at = 0;
    if (!at) return;
    error = !strcmp(kind, "EIO") ? EIO : !strcmp(kind, "EINTR") ? EINTR : !strcmp(kind, "EDQUOT") ? EDQUOT
          : !strcmp(kind, "EACCES") ? EACCES : ENOSPC;
}

static int below(const char *path) {
    return path && (path[0] != '/' || !strncmp(path, root, strlen(root)));
}

static int mine(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    if (len <= 0) return 0;
    path[len] = 0;
    return path[0] == '/' && below(path);
}

static void note(const char *call, const char *path) {
    char text[4200];
    int len = snprintf(text, sizeof text, "%d %s %s\n", at, call, path ? path : "");
    int fd = syscall(SYS_openat, AT_FDCWD, record, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    syscall(SYS_write, fd, text, (size_t)len);
    syscall(SYS_close, fd);
}

enum { MAKES = 1, WRITES = 2, OTHER = 3, READS = 4 };

static void die(void) {
    syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
    for (;;) pause();
}

/* 0: goes on. 1: fails, errno is set. 2: writes half. */
static int fault(const char *call, const char *path, int sort) {
    if (!at || (sort == READS && !reads)) return 0;
    int nth = atomic_fetch_add(&calls, 1) + 1;
    if (atomic_load(&full) && nth > at && (sort == MAKES || sort == WRITES)) {
        errno = ENOSPC;
        return 1;
    }
    if (nth != at) return 0;
    note(call, path);
    if (!strcmp(kind, "KILL")) die();
    if (!strcmp(kind, "FULL")) {
        atomic_store(&full, 1);
        if (sort != MAKES && sort != WRITES) return 0;
    } else if (!strcmp(kind, "SHORT") || !strcmp(kind, "TORN") || !strcmp(kind, "CUT")) {
        if (sort != WRITES) return 0;
        if (!strcmp(kind, "TORN")) atomic_store(&full, 1);
        return 2;
    }
    errno = error;
    return 1;
}

static int fault_fd(const char *call, int fd, int sort) {
    if (!at || (sort == READS && !reads) || !mine(fd)) return 0;
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    path[len > 0 ? len : 0] = 0;
    return fault(call, path, sort);
}

static int do_open(int folder, const char *path, int flags, mode_t mode) {
    int changes = (flags & (O_ACCMODE | O_CREAT | O_TRUNC)) != O_RDONLY;
    if (at && below(path)) {
        int sort = !changes ? READS : flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? MAKES : OTHER;
        if (fault("open", path, sort) == 1) return -1;
    }
    return (int)syscall(SYS_openat, folder, path, flags, mode);
}

#define MODE(flags)                                                       \
    mode_t mode = 0;                                                      \
    if ((flags) & O_CREAT || ((flags) & O_TMPFILE) == O_TMPFILE) {        \
        va_list more;                                                     \
        va_start(more, flags);                                            \
        mode = va_arg(more, mode_t);                                      \
        va_end(more);                                                     \
    }

int open(const char *path, int flags, ...) { MODE(flags) return do_open(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags) return do_open(AT_FDCWD, path, flags, mode); }
int openat(int folder, const char *path, int flags, ...) { MODE(flags) return do_open(folder, path, flags, mode); }
int openat64(int folder, const char *path, int flags, ...) { MODE(flags) return do_open(folder, path, flags, mode); }

/* What came of a write: one that was to be cut is the last thing that the process does. */
static ssize_t written(int how, ssize_t done) {
    if (how == 2 && !strcmp(kind, "CUT")) die();
    return done;
}

ssize_t write(int fd, const void *bytes, size_t len) {
    int how = fault_fd("write", fd, WRITES);
    return how == 1 ? -1 : written(how, syscall(SYS_write, fd, bytes, how == 2 && len > 1 ? len / 2 : len));
}

static ssize_t do_pwrite(int fd, const void *bytes, size_t len, off64_t where) {
    int how = fault_fd("pwrite", fd, WRITES);
    return how == 1 ? -1 : written(how, syscall(SYS_pwrite64, fd, bytes, how == 2 && len > 1 ? len / 2 : len, where));
}
ssize_t pwrite(int fd, const void *bytes, size_t len, off_t where) { return do_pwrite(fd, bytes, len, where); }
ssize_t pwrite64(int fd, const void *bytes, size_t len, off64_t where) { return do_pwrite(fd, bytes, len, where); }

ssize_t writev(int fd, const struct iovec *parts, int count) {
    int how = fault_fd("writev", fd, WRITES);
    if (how == 1) return -1;
    if (how == 2 && count > 0 && parts[0].iov_len > 1)
        return written(how, syscall(SYS_write, fd, parts[0].iov_base, parts[0].iov_len / 2));
    return written(how, syscall(SYS_writev, fd, parts, count));
}

ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t len, unsigned flags) {
    int how = fault_fd("copy_file_range", out, WRITES);
    return how == 1 ? -1 : written(how, syscall(SYS_copy_file_range, in, from, out, to, how == 2 && len > 1 ? len / 2 : len, flags));
}

ssize_t read(int fd, void *bytes, size_t len) {
    return fault_fd("read", fd, READS) == 1 ? -1 : syscall(SYS_read, fd, bytes, len);
}
static ssize_t do_pread(int fd, void *bytes, size_t len, off64_t where) {
    return fault_fd("pread", fd, READS) == 1 ? -1 : syscall(SYS_pread64, fd, bytes, len, where);
}
ssize_t pread(int fd, void *bytes, size_t len, off_t where) { return do_pread(fd, bytes, len, where); }
ssize_t pread64(int fd, void *bytes, size_t len, off64_t where) { return do_pread(fd, bytes, len, where); }

int fsync(int fd) { return fault_fd("fsync", fd, OTHER) == 1 ? -1 : (int)syscall(SYS_fsync, fd); }
int fdatasync(int fd) { return fault_fd("fdatasync", fd, OTHER) == 1 ? -1 : (int)syscall(SYS_fdatasync, fd); }
int flock(int fd, int how) { return fault_fd("flock", fd, OTHER) == 1 ? -1 : (int)syscall(SYS_flock, fd, how); }
int fchmod(int fd, mode_t mode) { return fault_fd("fchmod", fd, OTHER) == 1 ? -1 : (int)syscall(SYS_fchmod, fd, mode); }
int ftruncate(int fd, off_t len) { return fault_fd("ftruncate", fd, OTHER) == 1 ? -1 : (int)syscall(SYS_ftruncate, fd, len); }
int ftruncate64(int fd, off64_t len) { return fault_fd("ftruncate", fd, OTHER) == 1 ? -1 : (int)syscall(SYS_ftruncate, fd, len); }

static int fault_path(const char *call, const char *path, int sort) {
    return at && below(path) && fault(call, path, sort) == 1;
}

int chmod(const char *path, mode_t mode) {
    return fault_path("chmod", path, OTHER) ? -1 : (int)syscall(SYS_fchmodat, AT_FDCWD, path, mode);
}
int mkdir(const char *path, mode_t mode) {
    return fault_path("mkdir", path, MAKES) ? -1 : (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}
int mkdirat(int folder, const char *path, mode_t mode) {
    return fault_path("mkdir", path, MAKES) ? -1 : (int)syscall(SYS_mkdirat, folder, path, mode);
}
int link(const char *from, const char *to) {
    return fault_path("link", to, MAKES) ? -1 : (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}
int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    return fault_path("link", to, MAKES) ? -1 : (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
}
int rename(const char *from, const char *to) {
    return fault_path("rename", to, MAKES) ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}
int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    return fault_path("rename", to, MAKES) ? -1 : (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, 0);
}
int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
    return fault_path("rename", to, MAKES) ? -1 : (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
}

/* Preloaded into a process that writes a store: logs what it asks of the disk, and fails where it is told to.

   LOSSY_ROOT  only what lies below this folder is logged
   LOSSY_LOG   the log, one line per request: entry, write, cut, sync, move, remove
   LOSSY_FAULT what fails, as NAME:REQUEST:FIRST:LAST separated by spaces: the FIRST to LAST such request on files whose
               path contains NAME. REQUEST is torn (half of a write arrives, the rest meets a full disk), sync or cut. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int log_file = -1;
static unsigned long full; /* the file whose next write finds no space */
static int seen[3];
static const char *requests[] = {"torn", "sync", "cut"};

static ssize_t (*real_write(void))(int, const void *, size_t) {
    return (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
}

static int below_root(const char *path) {
    const char *root = getenv("LOSSY_ROOT");
    return root && !strncmp(path, root, strlen(root));
}

static int path_of(int file, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = readlink(link, path, PATH_MAX - 1);
    if (size < 0) return 0;
    path[size] = 0;
    return below_root(path);
}

static void absolute(const char *path, char *whole) {
    char here[PATH_MAX];
    if (path[0] == '/' || !getcwd(here, sizeof here)) snprintf(whole, PATH_MAX, "%s", path);
    else snprintf(whole, PATH_MAX, "%.2000s/%.2000s", here, path);
}

static void note(const char *format, ...) {
    char line[1 << 17];
    va_list values;
    if (log_file < 0) {
        int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
        log_file = real(getenv("LOSSY_LOG"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    }
    va_start(values, format);
    int size = vsnprintf(line, sizeof line, format, values);
    va_end(values);
    if (size >= (int)sizeof line || real_write()(log_file, line, size) != size) abort();
}

/* Whether this request on this file is one of those that are to fail. */
static int fails(int request, const char *path) {
    char name[256], kind[16];
    int first, last;
    for (const char *fault = getenv("LOSSY_FAULT"); fault; fault = strchr(fault, ' ')) {
        if (sscanf(fault, " %255[^:]:%15[^:]:%d:%d", name, kind, &first, &last) != 4) abort();
        if (*fault == ' ') fault++;
        if (strcmp(kind, requests[request]) || !strstr(path, name)) continue;
        seen[request]++;
        return first <= seen[request] && seen[request] <= last;
    }
    return 0;
}

static unsigned long inode(int file) {
    struct stat known;
    fstat(file, &known);
    return known.st_ino;
}

static int opened(int file, const char *path, int flags, int existed) {
    char whole[PATH_MAX];
    absolute(path, whole);
    if (file >= 0 && below_root(whole)) {
        if ((flags & O_CREAT) && !existed) note("entry %lu %s\n", inode(file), whole);
        else if (flags & O_TRUNC) note("cut %lu 0\n", inode(file));
    }
    return file;
}

#define OPEN(NAME)                                                                                 \
    int NAME(const char *path, int flags, ...) {                                                   \
        va_list values;                                                                            \
        va_start(values, flags);                                                                   \
        mode_t mode = flags & O_CREAT ? va_arg(values, mode_t) : 0;                                \
        va_end(values);                                                                            \
        int existed = !access(path, F_OK);                                                         \
        int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #NAME); \
        return opened(real(path, flags, mode), path, flags, existed);                              \
    }
OPEN(open)
OPEN(open64)

static void wrote(int file, off_t at, const void *content, ssize_t size) {
    char hex[2 * 40000 + 1];
    if (size <= 0) return;
    if (size > 40000) abort();
    for (ssize_t i = 0; i < size; i++) snprintf(hex + 2 * i, 3, "%02x", ((const unsigned char *)content)[i]);
    note("write %lu %lld %s\n", inode(file), (long long)at, hex);
}

ssize_t write(int file, const void *content, size_t size) {
    char path[PATH_MAX];
    struct stat before;
    if (!path_of(file, path)) return real_write()(file, content, size);
    if (full == inode(file)) {
        full = 0;
        errno = ENOSPC;
        return -1;
    }
    fstat(file, &before);
    off_t at = fcntl(file, F_GETFL) & O_APPEND ? before.st_size : lseek(file, 0, SEEK_CUR);
    if (fails(0, path)) {
        full = inode(file);
        size /= 2;
    }
    ssize_t done = real_write()(file, content, size);
    wrote(file, at, content, done);
    return done;
}

#define PWRITE(NAME)                                                                                           \
    ssize_t NAME(int file, const void *content, size_t size, off_t at) {                                       \
        char path[PATH_MAX];                                                                                   \
        ssize_t (*real)(int, const void *, size_t, off_t) =                                                    \
            (ssize_t (*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, #NAME);                            \
        ssize_t done = real(file, content, size, at);                                                          \
        if (path_of(file, path)) wrote(file, at, content, done);                                         \
        return done;                                                                                           \
    }
PWRITE(pwrite)
PWRITE(pwrite64)

#define SYNC(NAME)                                                                                             \
    int NAME(int file) {                                                                                       \
        char path[PATH_MAX];                                                                                   \
        int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, #NAME);                                              \
        if (!path_of(file, path)) return real(file);                                                           \
        if (fails(1, path)) {                                                                                  \
            errno = EIO;                                                                                       \
            return -1;                                                                                         \
        }                                                                                                      \
        note("sync %lu %s\n", inode(file), path);                                                              \
        return 0;                                                                                              \
    }
SYNC(fsync)
SYNC(fdatasync)

#define CUT(NAME)                                                                                              \
    int NAME(int file, off_t size) {                                                                           \
        char path[PATH_MAX];                                                                                   \
        int (*real)(int, off_t) = (int (*)(int, off_t))dlsym(RTLD_NEXT, #NAME);                                \
        if (!path_of(file, path)) return real(file, size);                                                     \
        if (fails(2, path)) {                                                                                  \
            errno = EIO;                                                                                       \
            return -1;                                                                                         \
        }                                                                                                      \
        note("cut %lu %lld\n", inode(file), (long long)size);                                                  \
        return real(file, size);                                                                               \
    }
CUT(ftruncate)
CUT(ftruncate64)

int rename(const char *from, const char *to) {
    char source[PATH_MAX], target[PATH_MAX];
    int done = ((int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename"))(from, to);
    absolute(from, source);
    absolute(to, target);
    if (!done && below_root(target)) note("move %s\t%s\n", source, target);
    return done;
}

int unlink(const char *path) {
    char whole[PATH_MAX];
    int done = ((int (*)(const char *))dlsym(RTLD_NEXT, "unlink"))(path);
    absolute(path, whole);
    if (!done && below_root(whole)) note("remove %s\n", whole);
    return done;
}

int mkdir(const char *path, mode_t mode) {
    char whole[PATH_MAX];
    int done = ((int (*)(const char *, mode_t))dlsym(RTLD_NEXT, "mkdir"))(path, mode);
    absolute(path, whole);
    if (!done && below_root(whole)) note("folder %s\n", whole);
    return done;
}

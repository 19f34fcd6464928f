/* Records what survives a power cut: loaded into a process by LD_PRELOAD, it takes fsync and fdatasync over.
 *
 * POWERCUT_ROOT is the folder that is to be lost, POWERCUT_KEEP a folder beside it that is not, and
 * POWERCUT_RECORD where the record goes. Each call on something below the root gets a number and leaves
 *   log          a line: number, F or D, inode, birth, path
 *   data/NUMBER  the content of the file, if it is one
 *   tree/NUMBER  every name below the root and the kept folder at that moment, with its inode
 * Nothing is really flushed: the record is the disk. A database file is read through the descriptor it was
 * given with, because closing another one would drop SQLite's locks (sqlite.org/howtocorrupt.html, 2.2).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static FILE *tree;        /* guarded by the lock on the record */
static const char *root;
static const char *kept;

static unsigned long long birth(const char *path)
{
    struct statx more;
    if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BTIME, &more) != 0)
        return 0;
    return (unsigned long long)more.stx_btime.tv_sec * 1000000000ULL + more.stx_btime.tv_nsec;
}

static int is_below(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    return length && strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == 0);
}

static int is_kept(const char *path)
{
    return is_below(path, kept) || strstr(path, "/state/forge") != NULL;
}

static int note(const char *path, const struct stat *seen, int kind, struct FTW *where)
{
    static char content[1 << 16];
    ssize_t length = 0;
    char type = S_ISDIR(seen->st_mode) ? 'd' : S_ISLNK(seen->st_mode) ? 'l' : S_ISREG(seen->st_mode) ? 'f' : 'o';
    (void)kind;
    (void)where;
    if (type == 'l')
        length = readlink(path, content, sizeof content);
    else if (type == 'f' && is_kept(path)) {
        int from = open(path, O_RDONLY | O_CLOEXEC);
        length = from < 0 ? 0 : read(from, content, sizeof content);
        if (from >= 0)
            close(from);
    }
    fprintf(tree, "%c %lu %llu %o %zd %s", type, (unsigned long)seen->st_ino, birth(path),
            seen->st_mode & 07777, length < 0 ? 0 : length, path);
    fputc(0, tree);
    fwrite(content, 1, length < 0 ? 0 : (size_t)length, tree);
    return 0;
}

static void copy(int fd, const char *link, const char *target)
{
    static char block[1 << 16];
    ssize_t got;
    off_t at = 0;
    int other = -1, source = fd, to = open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if ((fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY)
        source = other = open(link, O_RDONLY | O_CLOEXEC);
    while ((got = pread(source, block, sizeof block, at)) > 0) {
        if (write(to, block, got) != got)
            abort();
        at += got;
    }
    close(to);
    if (other >= 0)
        close(other);
}

static void record(int fd)
{
    const char *folder = getenv("POWERCUT_RECORD");
    char link[64], path[PATH_MAX], name[PATH_MAX], text[PATH_MAX + 128];
    struct stat seen;
    root = getenv("POWERCUT_ROOT");
    kept = getenv("POWERCUT_KEEP");
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (folder == NULL || root == NULL || kept == NULL || length < 0 || fstat(fd, &seen) != 0)
        return;
    path[length] = 0;
    if (!is_below(path, root))
        return;
    snprintf(name, sizeof name, "%s/log", folder);
    int log = open(name, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log < 0 || flock(log, LOCK_EX) != 0)
        abort();
    snprintf(name, sizeof name, "%s/number", folder);
    int counter = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    char digits[32] = {0};
    if (counter < 0 || pread(counter, digits, sizeof digits - 1, 0) < 0)
        abort();
    long number = atol(digits) + 1;
    if (S_ISREG(seen.st_mode)) {
        snprintf(name, sizeof name, "%s/data/%ld", folder, number);
        copy(fd, link, name);
    }
    snprintf(name, sizeof name, "%s/tree/%ld", folder, number);
    tree = fopen(name, "we");
    if (tree == NULL)
        abort();
    nftw(root, note, 16, FTW_PHYS);
    nftw(kept, note, 16, FTW_PHYS);
    fclose(tree);
    length = snprintf(text, sizeof text, "%ld %c %lu %llu %s\n", number, S_ISDIR(seen.st_mode) ? 'D' : 'F',
                      (unsigned long)seen.st_ino, birth(path), path);
    if (write(log, text, length) != length)
        abort();
    length = snprintf(digits, sizeof digits, "%ld", number);
    if (pwrite(counter, digits, length, 0) != length)
        abort();
    close(counter);
    close(log);
}

int fsync(int fd)
{
    record(fd);
    return 0;
}

int fdatasync(int fd)
{
    record(fd);
    return 0;
}

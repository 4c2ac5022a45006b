/**
 * Allowed system calls of a child: memory, threads, time, its own stream, reading files. All others are denied:
 * sockets, processes, signals to others, ptrace, io_uring and calls of later kernels. The list is from strace over the
 * tests.
 */

/**
 * By name: the numbers on x86-64 and on arm64 (`-`: it has none), and a condition of its first argument (`=`, `&`), or
 * values of its second one (`:`). fcntl and ioctl: F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC;
 * TCGETS, FIONREAD, FIONBIO, FIOCLEX. Others could let the kernel send a signal to any process of the user (F_SETOWN,
 * FIOSETOWN).
 */
const NUMBERS = `
read 0 63, write 1 64, readv 19 65, writev 20 66, pread64 17 67, close 3 57, lseek 8 62, fcntl 72 25 :0|1|2|3|4|1030,
ioctl 16 29 :21505|21531|21537|21585, dup 32 23, dup3 292 24, pipe2 293 59, eventfd2 290 19, shutdown 48 210,
getsockname 51 204, getsockopt 55 209, poll 7 -, ppoll 271 73, epoll_create1 291 20, epoll_ctl 233 21, epoll_wait 232 -, epoll_pwait 281 22,
open 2 -, openat 257 56, stat 4 -, lstat 6 -, fstat 5 80, newfstatat 262 79, statx 332 291, access 21 -, faccessat 269 48,
faccessat2 439 439, readlink 89 -, readlinkat 267 78, getcwd 79 17, getdents64 217 61,
mmap 9 222, munmap 11 215, mprotect 10 226, mremap 25 216, madvise 28 233, brk 12 214, membarrier 324 283,
futex 202 98, sched_yield 24 124, sched_getaffinity 204 123, sched_getparam 143 121, sched_getscheduler 145 120,
getcpu 309 168, getpriority 140 141, set_tid_address 218 96, set_robust_list 273 99, rseq 334 293, arch_prctl 158 -,
rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139, sigaltstack 131 132, restart_syscall 219 128,
clock_gettime 228 113, clock_getres 229 114, clock_nanosleep 230 115, nanosleep 35 101, gettimeofday 96 169, time 201 -,
getpid 39 172, getppid 110 173, gettid 186 178, getuid 102 174, geteuid 107 175, getgid 104 176, getegid 108 177,
capget 125 90, uname 63 160, sysinfo 99 179, getrlimit 97 163, getrusage 98 165, getrandom 318 278,
exit 60 93, exit_group 231 94, execve 59 221,
clone 56 220 &65536, prctl 157 167 =15, prlimit64 302 261 =0, kill 62 129 =pid, tgkill 234 131 =pid`

/** Architecture values for confine.pl: its name for seccomp; prctl, seccomp, clone3. */
const ABIS: Readonly<Record<string, string>> = {
  x64: `${0xc000003e},157,317,435`,
  arm64: `${0xc00000b7},167,277,435`,
}

/** First two arguments of confine.pl on an architecture; undefined when it is not supported. */
export const abiAndCalls = (arch: string): readonly [abi: string, calls: string] | undefined => {
  const abi = ABIS[arch]
  if (abi === undefined) return undefined
  const numbers = NUMBERS.trim()
    .split(/,\s*/)
    .map((entry) => {
      const [, x64, arm64, condition = ''] = entry.split(' ')
      return `${arch === 'x64' ? x64 : arm64}${condition}`
    })
  return [abi, numbers.filter((number) => number !== '-').join(',')]
}

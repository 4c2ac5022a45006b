import type { SandboxLimits } from './types.ts'

const MIB = 1024 * 1024

/** What one invocation may use when nothing else is said. */
export const DEFAULT_LIMITS: SandboxLimits = {
  cpuMs: 1_000,
  wallMs: 10_000,
  memoryMb: 64,
  argumentBytes: 5 * MIB,
  resultBytes: 10 * MIB,
  logLines: 200,
  logBytes: 64 * 1024,
  syncCalls: 20_000,
  asyncCalls: 64,
}

/** Texts given to an isolate count as its memory until a major collection: a large argument needs a larger heap. */
const LARGE_ARGUMENT = MIB
const LARGE_MEMORY_MB = 128

export const memoryFor = (limits: SandboxLimits, argumentBytes: number): number =>
  argumentBytes > LARGE_ARGUMENT ? Math.max(limits.memoryMb, LARGE_MEMORY_MB) : limits.memoryMb

/** Milliseconds that a child may be silent beyond what it was allowed. */
export const SILENCE_MS = 250

/** Milliseconds in which a context is usually ready: a child that took longer says what it begins next. */
export const PREPARED_MS = 50

/** Characters of the longest argument that is with a child in no time. */
export const SHORT_ARGUMENT = 64 * 1024

/** MiB of a whole child, all its isolates together. */
export const CHILD_RSS_MB = 350

/** Children that so many MiB are enough for; two at least, so that there is one beside the one that dies. */
export const childrenWithin = (mib: number): number => Math.max(2, Math.floor(mib / CHILD_RSS_MB))

/** Isolates of one child; and those of small programs that its memory has room for. */
export const MAX_UNITS = 100
export const USUAL_UNITS = 64

/** KiB of data segment that a child may map (`ulimit -d`); V8 ends the process when it gets no more. */
export const CHILD_DATA_KB = 400_000

/** Milliseconds that a check may take, its turn included: saving code answers within 15 s (completions §12). */
export const CHECK_MS = 14_000

/** Host calls and timers of one invocation that wait, for each that the host is working on. */
export const WAITING_PER_CALL = 16

/** Characters of what the realm tells beside the result: error, frames, console. */
export const HEAD_CHARS = 2 * MIB

/** Bytes of one message in either direction beyond the largest argument or result. */
export const MESSAGE_MARGIN = 16 * MIB

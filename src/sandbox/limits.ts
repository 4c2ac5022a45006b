import type { SandboxLimits } from './types.ts'

const MIB = 1024 * 1024

/** Default limits of one invocation. */
export const DEFAULT_LIMITS: SandboxLimits = {
  cpuMs: 1_000,
  wallMs: 10_000,
  memoryMib: 64,
  argumentBytes: 5 * MIB,
  resultBytes: 10 * MIB,
  logLines: 200,
  logBytes: 64 * 1024,
  syncCalls: 20_000,
  asyncCalls: 64,
}

/**
 * Strings passed to an isolate count as its memory until a major collection, so a large argument needs a larger heap.
 */
const LARGE_ARGUMENT = MIB
const LARGE_MEMORY_MIB = 128

export const memoryFor = (limits: SandboxLimits, argumentBytes: number): number =>
  argumentBytes > LARGE_ARGUMENT ? Math.max(limits.memoryMib, LARGE_MEMORY_MIB) : limits.memoryMib

/** Grace period after a child's deadline, in ms. */
export const SILENCE_MS = 250

/** Time limit of creating an isolate and compiling, in ms. */
export const COMPILE_MS = 1_000

/** Usual time to prepare a context, in ms. A child that took longer reports its next entry. */
export const PREPARED_MS = 50

/** Characters of an argument whose transfer takes negligible time. */
export const SHORT_ARGUMENT = 64 * 1024

/** Resident memory limit of one child with all its isolates, in MiB. */
export const CHILD_RSS_MIB = 350

/** Number of children within a memory limit; at least two, so that one remains when another dies. */
export const childrenWithin = (mib: number): number => Math.max(2, Math.floor(mib / CHILD_RSS_MIB))

/** Isolates of one child; and the number of small programs that fit its memory. */
export const MAX_ISOLATES = 100
export const USUAL_ISOLATES = 64

/** Data segment limit of a child in KiB (`ulimit -d`); V8 aborts the process above it. */
export const CHILD_DATA_KB = 400_000

/** Time limit of a check with its queueing, in ms: saving code responds within 15 s (completions §12). */
export const CHECK_MS = 14_000

/** Pending host calls and timers of one invocation, as a multiple of concurrent calls. */
export const WAITING_PER_CALL = 16

/** Bytes of the input of one asynchronous host call, and of all unsettled ones of an invocation. */
export const CALL_BYTES = 15 * MIB
export const UNSETTLED_CALL_BYTES = 48 * MIB

/** Characters of error, frames and console, which the realm reports beside the result. */
export const HEAD_CHARS = 2 * MIB

/** Bytes of one message in addition to the largest argument or result; more than those of a call or a head. */
export const MESSAGE_MARGIN = 16 * MIB

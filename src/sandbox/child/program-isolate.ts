import type ivm from 'isolated-vm'
import type { ProgramHeader } from '../protocol.ts'
import type { HostSync, LoadVerdict, RealmSettings } from '../realm/abi.ts'
import { type Compiled, compile } from './compile.ts'
import { createGuestContext, type GuestContext } from './context.ts'
import { memoryError, timedOut } from './failures.ts'

/** Assumed heap bytes of a new isolate, until it is measured: the realm and a small program. */
const FRESH_HEAP = 2.5 * 2 ** 20

/** An isolate with one program, and a loaded context for its next invocation. */
export interface ProgramIsolate {
  readonly program: ProgramHeader
  readonly compiled: Compiled
  /** Current invocations; and the number of those that have ended. */
  readonly invocations: Set<{ lost(): void }>
  uses: number
  /** Bytes of heap and buffers at the last measurement. */
  readonly heap: number
  /** Time of the last use (ms). */
  usedAt: number
  /**
   * Set before the isolate is disposed because its waiting invocations hold too much memory: they end with that limit.
   */
  outgrown: boolean
  /** A context: loaded, or one that the caller must load within its own limits. */
  acquire(): { readonly context: GuestContext; readonly loaded: boolean }
  /** Whether a loaded context is available. */
  readonly ready: boolean
  /**
   * Loads the code into a context for the next invocation, unless one is ready. The context is discarded when the top
   * level makes an asynchronous call. Throws the errors of isolated-vm at its limits.
   */
  load(cpuMs: number): LoadVerdict
  /** Prepares the next context if the code can be loaded ahead. False when the isolate is no longer usable. */
  prepare(cpuMs: number): boolean
  measure(): void
  readonly gone: boolean
  dispose(): void
}

export const createProgramIsolate = (
  isolate: ivm.Isolate,
  program: ProgramHeader,
  code: string,
  deps: {
    readonly createHostSync: (timeLeft: () => number) => HostSync
    readonly now: () => number
    /** A context was loaded ahead, and the isolate measured. */
    readonly onLoaded: () => void
  },
): ProgramIsolate => {
  const compiled = compile(isolate, code, program.name)
  const { name } = program
  const settings = JSON.stringify({
    name,
    resultChars: program.resultBytes,
    logLines: program.logLines,
    logChars: program.logBytes,
  } satisfies RealmSettings)
  let loaded: GuestContext | undefined
  let ahead = compiled.kind !== 'invalid'
  let heap = FRESH_HEAP
  const measure = (): void => {
    const { total_heap_size: total, externally_allocated_size: external } = isolate.getHeapStatisticsSync()
    heap = total + external
  }
  const make = (): GuestContext => {
    if (compiled.kind === 'invalid') throw new Error('Code with issues cannot be loaded.')
    return createGuestContext(isolate, compiled, { name, settings, createHostSync: deps.createHostSync })
  }
  const load = (cpuMs: number): LoadVerdict => {
    if (loaded !== undefined) return { kind: 'function' }
    let isAsync = false
    const end = deps.now() + cpuMs
    const context = make()
    context.attach({
      timeLeft: () => end - deps.now(),
      sync: context.hostSync,
      async: () => {
        isAsync = true
      },
      done: () => {},
    })
    const verdict = context.load(cpuMs)
    ahead = verdict.kind === 'function' && !isAsync
    if (ahead) loaded = context
    else context.release()
    measure()
    deps.onLoaded()
    return verdict
  }

  return {
    program,
    compiled,
    invocations: new Set(),
    uses: 0,
    outgrown: false,
    get heap() {
      return heap
    },
    usedAt: deps.now(),
    acquire: () => {
      const context = loaded
      loaded = undefined
      return context === undefined ? { context: make(), loaded: false } : { context, loaded: true }
    },
    get ready() {
      return loaded !== undefined
    },
    load,
    prepare: (cpuMs) => {
      if (!ahead || isolate.isDisposed) return !isolate.isDisposed
      try {
        load(cpuMs)
        return true
      } catch (thrown) {
        ahead = false
        return !memoryError(isolate, thrown) && !timedOut(thrown)
      }
    },
    measure,
    get gone() {
      return isolate.isDisposed
    },
    dispose: () => {
      loaded = undefined
      if (!isolate.isDisposed) isolate.dispose()
    },
  }
}

import type ivm from 'isolated-vm'
import type { ProgramHeader } from '../protocol.ts'
import type { HostSync, LoadVerdict, RealmSettings } from '../realm/abi.ts'
import { type Compiled, compile } from './compile.ts'
import { createGuestContext, type GuestContext } from './context.ts'
import { memoryError, timedOut } from './failures.ts'

/** Bytes of a heap with the realm and a small program in it: what counts until it is measured. */
const FRESH_HEAP = 2.5 * 2 ** 20

/** Invocations that a warm context serves at most: what its code hoards is let go with it. And warm contexts that wait. */
const MAX_USES = 1_000
const MAX_WARM = 8

/** An isolate with one program in it, and a loaded cell ready for the next invocation. */
export interface ProgramIsolate {
  readonly program: ProgramHeader
  readonly compiled: Compiled
  /** Invocations that are in it now. */
  readonly guests: Set<{ lost(): void }>
  invocations: number
  /** Bytes of its heap when it was last measured, or about what a new one has; and when it was last used (ms). */
  heap: number
  usedAt: number
  /** A cell that is loaded, or one whose load the caller has yet to do within its own limits. */
  take(): { readonly context: GuestContext; readonly loaded: boolean }
  /** Takes a cell back from its invocation; `clean`: it returned and left nothing that waits. */
  giveBack(context: GuestContext, clean: boolean): void
  /** Whether a loaded cell waits for the next invocation. */
  readonly ready: boolean
  /**
   * Loads the code into the cell of the next invocation, unless one is ready; given up again when its top level asks for
   * something that waits. Throws what isolated-vm throws at its limits.
   */
  load(cpuMs: number): LoadVerdict
  /** Makes the next cell ready; passes over code that cannot be loaded ahead. Whether the isolate is still good. */
  prepare(cpuMs: number): boolean
  measure(): number
  readonly gone: boolean
  dispose(): void
}

export const createProgramIsolate = (
  isolate: ivm.Isolate,
  program: ProgramHeader,
  code: string,
  deps: {
    readonly packages: readonly string[]
    /** Clean cells serve again, with all that the code keeps in them. */
    readonly warm: boolean
    readonly createHostSync: (timeLeft: () => number) => HostSync
    readonly now: () => number
  },
): ProgramIsolate => {
  const compiled = compile(isolate, code, program.name)
  const { name } = program
  const settings = JSON.stringify({
    name,
    resultChars: program.resultBytes,
    logLines: program.logLines,
    logChars: program.logBytes,
    packages: deps.packages,
  } satisfies RealmSettings)
  const warm: GuestContext[] = []
  const uses = new WeakMap<GuestContext, number>()
  let ahead = compiled.kind !== 'invalid'
  const make = (): GuestContext => {
    if (compiled.kind === 'invalid') throw new Error('Code with issues cannot be loaded.')
    return createGuestContext(isolate, compiled, { name, settings })
  }
  const load = (cpuMs: number): LoadVerdict => {
    if (warm.length > 0) return { kind: 'function' }
    let wished = false
    const end = deps.now() + cpuMs
    const context = make()
    context.attach({
      sync: deps.createHostSync(() => end - deps.now()),
      async: () => {
        wished = true
      },
      done: () => {},
    })
    const verdict = context.load(cpuMs)
    ahead = verdict.kind === 'function' && !wished
    if (ahead) warm.push(context)
    else context.release()
    return verdict
  }

  return {
    program,
    compiled,
    guests: new Set(),
    invocations: 0,
    heap: FRESH_HEAP,
    usedAt: deps.now(),
    take: () => {
      const context = warm.pop()
      return context === undefined ? { context: make(), loaded: false } : { context, loaded: true }
    },
    giveBack: (context, clean) => {
      const used = (uses.get(context) ?? 0) + 1
      uses.set(context, used)
      if (isolate.isDisposed) return
      if (deps.warm && clean && warm.length < MAX_WARM && used < MAX_USES) warm.push(context)
      else context.release()
    },
    get ready() {
      return warm.length > 0
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
    measure() {
      const { total_heap_size: total, externally_allocated_size: external } = isolate.getHeapStatisticsSync()
      this.heap = total + external
      return this.heap
    },
    get gone() {
      return isolate.isDisposed
    },
    dispose: () => {
      warm.length = 0
      if (!isolate.isDisposed) isolate.dispose()
    },
  }
}

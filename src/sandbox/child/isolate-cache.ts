import ivm from 'isolated-vm'
import { LRUCache } from 'lru-cache'
import { CHILD_RSS_MIB, MAX_ISOLATES } from '../limits.ts'
import type { ProgramHeader } from '../protocol.ts'
import type { HostSync, RealmScripts, SnapshotScript } from '../realm/abi.ts'
import { needsPreload } from '../realm/builtins.ts'
import { createProgramIsolate, type ProgramIsolate } from './program-isolate.ts'

/** Programs whose code is cached. */
const MAX_PROGRAMS = 1_000
const MIB = 2 ** 20
/** Total heap bytes above which the least recently used isolates are evicted. */
const MAX_HEAP = 176 * MIB
/** Bytes of the process outside of isolates. */
const MARGIN = 26 * MIB
/** Invocations of one isolate before it is replaced; and between two measurements of its heap. */
const MAX_INVOCATIONS = 10_000
const MEASURE_EVERY = 32
/** Idle time after which an isolate is evicted, and the interval of that check, in ms. */
const IDLE_MS = 5 * 60_000
const SWEEP_MS = 30_000
/** Milliseconds after an eviction in which no contexts are prepared for new programs. */
const CROWDED_MS = 10_000

interface Deps {
  readonly scripts: RealmScripts
  readonly packages: readonly string[]
  readonly reuse: boolean
  readonly createHostSync: (timeLeft: () => number) => HostSync
  readonly now: () => number
}

/** LRU cache of a child's isolates, one for each program. */
export const createIsolateCache = (deps: Deps) => {
  const { lean, ready, warmUp } = deps.scripts
  const snapshotOf = (scripts: readonly SnapshotScript[]) => ivm.Isolate.createSnapshot([...scripts], warmUp)
  const leanSnapshot = snapshotOf([lean])
  let readySnapshot: ivm.ExternalCopy<ArrayBuffer> | undefined
  const withReady = () => {
    readySnapshot ??= snapshotOf([lean, ready])
    return readySnapshot
  }
  const programs = new LRUCache<string, { readonly program: ProgramHeader; readonly code: string }>({
    max: MAX_PROGRAMS,
  })
  const units = new LRUCache<string, ProgramIsolate>({
    max: MAX_ISOLATES,
    dispose: (unit, _, reason) => {
      if (reason === 'evict') evictedAt = deps.now()
      end(unit)
    },
  })
  let evictedAt = -Infinity

  const end = (unit: ProgramIsolate) => {
    unit.dispose()
    for (const guest of [...unit.guests]) guest.lost()
  }

  const create = ({
    program,
    code,
  }: {
    readonly program: ProgramHeader
    readonly code: string
  }): ProgramIsolate => {
    const isolate = new ivm.Isolate({
      memoryLimit: program.memoryMib,
      snapshot: needsPreload(code) ? withReady() : leanSnapshot,
      // V8 cannot terminate the code: this process is no longer usable
      onCatastrophicError: () => process.kill(process.pid, 'SIGKILL'),
    })
    return createProgramIsolate(isolate, program, code, deps)
  }

  /** Isolates without invocations, least recently used first. */
  const idle = (): readonly ProgramIsolate[] =>
    [...(units.rvalues() as Generator<ProgramIsolate>)].filter(({ guests }) => guests.size === 0)

  /** Evicts until one isolate can grow to `memoryMib`: above its memory limit, the parent kills the complete child. */
  const shrink = (memoryMib: number) => {
    const most = (CHILD_RSS_MIB - memoryMib) * MIB - MARGIN
    let heap = 0
    for (const unit of units.values() as Generator<ProgramIsolate>) heap += unit.heap
    let rss = process.memoryUsage.rss()
    for (const unit of idle()) {
      if (heap <= MAX_HEAP && rss <= most) return
      heap -= unit.heap
      rss -= unit.heap
      evictedAt = deps.now()
      units.delete(unit.program.key)
    }
  }

  setInterval(() => {
    for (const unit of idle()) if (deps.now() - unit.usedAt > IDLE_MS) units.delete(unit.program.key)
  }, SWEEP_MS).unref()

  return {
    learn: (program: ProgramHeader, code: string): void => {
      programs.set(program.key, { program, code })
    },
    /** Creates the second snapshot before a program needs it. */
    prefetch: (): void => void withReady(),
    has: (key: string): boolean => units.peek(key)?.gone === false,
    /** The program's isolate, created on demand; undefined for an unknown program. */
    get: (key: string): ProgramIsolate | undefined => {
      const known = units.get(key)
      if (known !== undefined && !known.gone) return known
      const program = programs.get(key)
      if (program === undefined) return undefined
      shrink(program.program.memoryMib)
      const unit = create(program)
      units.set(key, unit)
      return unit
    },
    /** Counts an ended invocation; false when the isolate must be replaced. */
    used: (unit: ProgramIsolate): boolean => {
      unit.usedAt = deps.now()
      if (unit.invocations++ % MEASURE_EVERY === 0 && !unit.gone) {
        unit.measure()
        shrink(unit.program.memoryMib)
      }
      return unit.invocations < MAX_INVOCATIONS || unit.guests.size > 0
    },
    /** Whether to prepare a context ahead: for a new program the isolate may be evicted before the next invocation. */
    worthPreparing: (unit: ProgramIsolate): boolean =>
      unit.invocations > 1 || deps.now() - evictedAt > CROWDED_MS,
    drop: (unit: ProgramIsolate): void => {
      if (units.peek(unit.program.key) === unit) units.delete(unit.program.key)
      else end(unit)
    },
  }
}

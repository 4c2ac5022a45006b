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
/**
 * Bytes that isolates with waiting invocations may hold together. V8 reserves the memory of buffers that were never
 * written, so the process's resident memory does not show it, but its data limit counts it (`CHILD_DATA_KB`).
 */
const MAX_WAITING = 200 * MIB
/** Bytes of idle isolates that waiting ones cannot displace. */
const MIN_IDLE = 32 * MIB
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
  readonly createHostSync: (timeLeft: () => number) => HostSync
  readonly now: () => number
}

const heapOf = (isolates: readonly ProgramIsolate[]): number =>
  isolates.reduce((sum, { heap }) => sum + heap, 0)

/** The largest isolate of the tenant whose isolates are largest together. */
const largestOf = (isolates: readonly ProgramIsolate[]): ProgramIsolate | undefined => {
  const byTenant = Map.groupBy(isolates, ({ program }) => program.tenantId)
  const [largest] = [...byTenant.values()].toSorted((a, b) => heapOf(b) - heapOf(a))
  return largest?.toSorted((a, b) => b.heap - a.heap)[0]
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
  const isolates = new LRUCache<string, ProgramIsolate>({
    max: MAX_ISOLATES,
    dispose: (isolate, _, reason) => {
      if (reason === 'evict') evictedAt = deps.now()
      end(isolate)
    },
  })
  let evictedAt = -Infinity

  const end = (isolate: ProgramIsolate) => {
    isolate.dispose()
    for (const invocation of [...isolate.invocations]) invocation.lost()
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
    const onLoaded = () => {
      if (heapOf(all()) > MAX_HEAP) shrink(program.memoryMib)
    }
    return createProgramIsolate(isolate, program, code, { ...deps, onLoaded })
  }

  /** Least recently used first. */
  const all = (): readonly ProgramIsolate[] => [...(isolates.rvalues() as Generator<ProgramIsolate>)]
  const idle = (): readonly ProgramIsolate[] => all().filter(({ invocations }) => invocations.size === 0)
  const waiting = (): readonly ProgramIsolate[] => all().filter(({ invocations }) => invocations.size > 0)

  /** Evicts until one isolate can grow to `memoryMib`: above its memory limit, the parent kills the complete child. */
  const shrink = (memoryMib: number) => {
    const maxRss = (CHILD_RSS_MIB - memoryMib) * MIB - MARGIN
    const maxHeap = Math.max(MAX_HEAP, heapOf(waiting()) + MIN_IDLE)
    let heap = heapOf(all())
    let rss = process.memoryUsage.rss()
    for (const isolate of idle()) {
      if (heap <= maxHeap && rss <= maxRss) return
      heap -= isolate.heap
      rss -= isolate.heap
      evictedAt = deps.now()
      isolates.delete(isolate.program.key)
    }
  }

  const dropped = new WeakSet<ProgramIsolate>()
  const drop = (isolate: ProgramIsolate): void => {
    // the end of its invocations drops it again, while the cache is deleting it
    if (dropped.has(isolate)) return
    dropped.add(isolate)
    if (isolates.peek(isolate.program.key) === isolate) isolates.delete(isolate.program.key)
    else end(isolate)
  }

  setInterval(() => {
    for (const isolate of idle())
      if (deps.now() - isolate.usedAt > IDLE_MS) isolates.delete(isolate.program.key)
  }, SWEEP_MS).unref()

  return {
    learn: (program: ProgramHeader, code: string): void => {
      programs.set(program.key, { program, code })
    },
    /** Creates the second snapshot before a program needs it. */
    prefetch: (): void => void withReady(),
    has: (key: string): boolean => isolates.peek(key)?.gone === false,
    /** The program's isolate, created on demand; undefined for an unknown program. */
    get: (key: string): ProgramIsolate | undefined => {
      const known = isolates.get(key)
      if (known !== undefined && !known.gone) return known
      const program = programs.get(key)
      if (program === undefined) return undefined
      shrink(program.program.memoryMib)
      const isolate = create(program)
      isolates.set(key, isolate)
      return isolate
    },
    /** Counts an ended invocation; false when the isolate must be replaced. */
    used: (isolate: ProgramIsolate): boolean => {
      isolate.usedAt = deps.now()
      if (isolate.uses++ % MEASURE_EVERY === 0 && !isolate.gone) {
        isolate.measure()
        shrink(isolate.program.memoryMib)
      }
      return isolate.uses < MAX_INVOCATIONS || isolate.invocations.size > 0
    },
    /** Whether to prepare a context ahead: for a new program the isolate may be evicted before the next invocation. */
    worthPreparing: (isolate: ProgramIsolate): boolean =>
      isolate.uses > 1 || deps.now() - evictedAt > CROWDED_MS,
    /**
     * Measures an isolate whose invocation waits now. Ends waiting invocations with the memory limit while all of them
     * hold too much: those of the largest isolate of the tenant that holds most.
     */
    waits: (isolate: ProgramIsolate): void => {
      if (isolate.gone) return
      isolate.measure()
      if (heapOf(waiting()) > MAX_WAITING) for (const other of waiting()) if (!other.gone) other.measure()
      for (let held = waiting(); heapOf(held) > MAX_WAITING; held = waiting()) {
        const largest = largestOf(held)
        if (largest === undefined) return
        largest.outgrown = true
        drop(largest)
      }
      if (heapOf(all()) > MAX_HEAP) shrink(isolate.program.memoryMib)
    },
    drop,
  }
}

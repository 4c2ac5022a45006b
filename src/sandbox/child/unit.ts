import type ivm from 'isolated-vm'
import type { ProgramHeader } from '../protocol.ts'
import type { HostSync, LoadVerdict } from '../realm/abi.ts'
import { type Cell, createCell } from './cell.ts'
import { type Compiled, compile } from './compile.ts'
import { memoryError, timedOut } from './failures.ts'

/** An isolate with one program in it, and a loaded cell ready for the next invocation. */
export interface Unit {
  readonly program: ProgramHeader
  readonly compiled: Compiled
  /** Invocations that are in it now. */
  readonly guests: Set<{ lost(): void }>
  invocations: number
  /** Bytes of its heap when it was last measured, and when it was last used (ms). */
  heap: number
  usedAt: number
  /** A cell that is loaded, or one whose load the caller has yet to do within its own limits. */
  take(): { readonly cell: Cell; readonly loaded: boolean }
  /** A cell that nobody lives in; `onWish` is told when its top level asks for something that waits. */
  open(onWish?: () => void): Cell
  /** Makes the next cell ready; passes over code that cannot be loaded ahead. Whether the isolate is still good. */
  prepare(cpuMs: number): boolean
  measure(): number
  readonly gone: boolean
  dispose(): void
}

export const createUnit = (
  isolate: ivm.Isolate,
  program: ProgramHeader,
  code: string,
  deps: {
    readonly packages: readonly string[]
    readonly createSync: () => HostSync
    readonly now: () => number
  },
): Unit => {
  const compiled = compile(isolate, code, program.name)
  const settings = {
    name: program.name,
    resultChars: program.resultBytes,
    logLines: program.logLines,
    logChars: program.logBytes,
    packages: deps.packages,
  }
  let spare: Cell | undefined
  let ahead = compiled.kind !== 'faulty'
  const make = () => createCell(isolate, compiled, settings)
  const open = (onWish = () => {}): Cell => {
    const cell = make()
    cell.moveIn({ sync: deps.createSync(), async: onWish, done: () => {} })
    return cell
  }

  return {
    program,
    compiled,
    guests: new Set(),
    invocations: 0,
    heap: 0,
    usedAt: deps.now(),
    take: () => {
      const cell = spare
      spare = undefined
      return cell === undefined ? { cell: make(), loaded: false } : { cell, loaded: true }
    },
    open,
    prepare: (cpuMs) => {
      if (!ahead || spare !== undefined || isolate.isDisposed) return !isolate.isDisposed
      let wished = false
      const cell = open(() => {
        wished = true
      })
      try {
        const verdict: LoadVerdict = cell.load(cpuMs)
        ahead = verdict.kind === 'function' && !wished
      } catch (thrown) {
        ahead = false
        if (memoryError(isolate, thrown) || timedOut(thrown)) return false
      }
      if (ahead) spare = cell
      else cell.release()
      return true
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
      spare = undefined
      if (!isolate.isDisposed) isolate.dispose()
    },
  }
}

/**
 * Garbage collection after large bodies. Buffers lie outside V8's heap, so V8 collects them only after 64 MiB, and then
 * with a full collection where a minor one would do.
 */
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Bytes received between two collections. Garbage is then three to four times as much. */
const EVERY = 10_485_760

/**
 * Growth of old objects and buffers, in bytes, before a major collection: objects that survive two minor ones are old.
 */
const AGED = 16_777_216

type Collect = (options: { readonly type: 'minor' | 'major' }) => void

/** V8's own `gc`, without exposing it to other code; undefined when V8 does not provide it. */
const exposed = (): Collect | undefined => {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('globalThis.gc')
  setFlagsFromString('--no-expose-gc')
  return typeof collect === 'function' ? (collect as Collect) : undefined
}

/** Old objects and all buffers. The space of young objects grows and shrinks by itself. */
const size = (): number => {
  let bytes = process.memoryUsage().arrayBuffers
  for (const { space_name, space_size } of getHeapSpaceStatistics())
    if (!space_name.startsWith('new_')) bytes += space_size
  return bytes
}

/**
 * A function to call with the number of bytes received. Each `every` bytes it starts a minor collection, or a major one
 * when memory has grown, so that uploads need little memory.
 */
export const createGcPressure = (
  collect: Collect | undefined = exposed(),
  every: number = EVERY,
): ((bytes: number) => void) => {
  let left = every
  let most = size() + AGED
  return (bytes) => {
    left -= bytes
    if (left > 0) return
    left = every
    const old = size() > most
    collect?.({ type: old ? 'major' : 'minor' })
    if (old) most = size() + AGED
  }
}

/**
 * Collects the garbage of a start: half of the heap is garbage of loading modules then, which V8 would hold for
 * minutes. Takes 0.1 s, so it is for a process that does not serve calls yet. V8's last-resort flavor would return some
 * MiB more, but drop compiled code that the first calls use.
 */
export const releaseStartMemory = (): void => exposed()?.({ type: 'major' })

/**
 * Buffers lie outside V8's heap, and few other objects come with a large body, so V8 thinks of collecting them only when
 * 64 MiB are there, and then goes through the whole heap for what a collection of young objects finds in a moment.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Bytes received between two collections; three or four times as much is left behind by then. */
const EVERY = 10_485_760

/** Bytes that heap and buffers may grow by before all of it is gone through: what is in use during two collections grows old. */
const AGED = 16_777_216

type Collect = (options: { readonly type: 'minor' | 'major' }) => void

/** V8's own `gc`, which nobody else gets to see; undefined where it is not to be had. */
const exposed = (): Collect | undefined => {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('globalThis.gc')
  setFlagsFromString('--no-expose-gc')
  return typeof collect === 'function' ? (collect as Collect) : undefined
}

const size = (): number => {
  const { heapTotal, arrayBuffers } = process.memoryUsage()
  return heapTotal + arrayBuffers
}

/**
 * To be told of bytes received; each time that there were enough of them it collects young objects, or old ones too when
 * many have grown old, so that uploads need little memory.
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

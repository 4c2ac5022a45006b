import t from 'tap'
import { attempt } from '../../../src/kernel/tasks/attempt.ts'

const never = new AbortController().signal
const untilAborted = (signal: AbortSignal) =>
  new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))))

t.test('a run is ok, or failed with its error', async (t) => {
  const ends = { stopping: never, lost: never }
  t.strictSame(await attempt(async () => 1, ends), { outcome: 'ok' })
  const err = new Error('no')
  const failing = async () => {
    throw err
  }
  t.strictSame(await attempt(failing, ends), { outcome: 'failed', err })
})

t.test('a run that never ends is aborted after its timeout', async (t) => {
  let signal: AbortSignal | undefined
  const hanging = (given: AbortSignal) => {
    signal = given
    return new Promise(() => {})
  }
  t.strictSame(await attempt(hanging, { stopping: never, lost: never, timeout: 20 }), { outcome: 'timeout' })
  t.equal(signal?.aborted, true)
})

t.test('a run whose lease is lost is aborted, and not waited for', async (t) => {
  const losing = new AbortController()
  const running = attempt(() => new Promise(() => {}), { stopping: never, lost: losing.signal })
  losing.abort()
  t.strictSame(await running, { outcome: 'lost' })
  t.strictSame(await attempt(async () => t.fail(), { stopping: never, lost: losing.signal }), {
    outcome: 'lost',
  })
})

t.test('a stop aborts a run and waits for it: it may still succeed', async (t) => {
  const stopping = new AbortController()
  const ends = { stopping: stopping.signal, lost: never }
  const interrupted = attempt(untilAborted, ends)
  const completed = attempt((signal) => untilAborted(signal).catch(() => 'stored'), ends)
  stopping.abort()
  t.strictSame(await interrupted, { outcome: 'interrupted' })
  t.strictSame(await completed, { outcome: 'ok' })
})

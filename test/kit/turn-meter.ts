/**
 * Preloaded into the admin and gateway processes of a whole program (`NODE_OPTIONS=--import=…`): appends the CPU
 * milliseconds of each long turn of the event loop to a file. CPU time, since a busy machine makes wall time longer.
 */
import { appendFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

/** CPU milliseconds that are worth a line. */
const LONG = 15

const cpu = (): number => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

const file = process.env.SIDEVAULT_TEST_TURNS
if (file !== undefined && isMainThread && process.argv[1]?.endsWith('roles/process.ts')) {
  let before = cpu()
  // A timer is due in every turn that takes longer than this.
  setInterval(() => {
    const ms = cpu() - before
    if (ms >= LONG) appendFileSync(file, `${process.title.replace('sidevault: ', '')} ${ms.toFixed(1)}\n`)
    before = cpu()
  }, 1).unref()
}

import { setTimeout } from 'node:timers/promises'
import type { Test } from 'tap'
import { freePort } from '../kit/sidevault.ts'
import { descendants, isAlive, until } from './processes.ts'
import { startBlind } from './start.ts'

/** Children by their command lines, which change during a start. */
export const CHILDREN = {
  'a process that loads its code': /roles\/process\.ts|^sidevault: loading/,
  'the admin process': /^sidevault: admin/,
  'a gateway': /^sidevault: gateway/,
  Envoy: /--config-path/,
}

interface Kill {
  readonly dataDir: string
  readonly pattern: RegExp
  /** ms from the first sight of the child to its end. */
  readonly ms?: number
}

const STACK = /^ +at |"stack"|unhandled|uncaught|ECONNRESET|node:internal/im
const SENTENCE = /[\w-]+ ended before it was ready \(SIGKILL\).*\. Start again\./

/** ms between two looks at the processes: each runs ps. */
const LOOK_MS = 40
/** More than the time limits of a start and of a stop. */
const LIMIT_MS = 100_000

/** Starts at most until the child is seen: under load it may be gone between two looks. */
const ATTEMPTS = 5

/**
 * Starts the program and kills a child of it. The start must continue, or end with a sentence and exit code 1, within a
 * time limit; nothing is left of it. Resolves with how it went. Rejects, with the log, when any of this takes too long.
 */
export const startAndKill = async (t: Test, kill: Kill): Promise<'continued' | 'ended'> => {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const outcome = await attemptToKill(t, kill)
    if (outcome !== 'missed') return outcome
  }
  throw new Error(`not seen in ${ATTEMPTS} starts: ${kill.pattern}`)
}

/** `missed`: the start was complete before the child was seen. */
const attemptToKill = async (
  t: Test,
  { dataDir, pattern, ms = 0 }: Kill,
): Promise<'continued' | 'ended' | 'missed'> => {
  const { child, output } = startBlind(dataDir, {
    port: await freePort(),
    env: { SIDEVAULT_WORKERS: '1' },
  })
  const below = () => descendants(child.pid ?? 0)
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null
  const isReady = () => output.stdout.includes('\ncurl ')
  const wait = (what: string, condition: () => boolean | Promise<boolean>) => until(what, condition, LIMIT_MS)
  try {
    let victim: number | undefined
    await wait('the child is there', async () => {
      await setTimeout(LOOK_MS)
      victim = below().find(({ command }) => pattern.test(command))?.pid
      return victim !== undefined || isReady() || hasEnded()
    })
    await setTimeout(ms)
    const processes = below()
    if (victim !== undefined && isAlive(victim)) process.kill(victim, 'SIGKILL')
    await wait('ready, or ended', () => isReady() || hasEnded())
    const ended = hasEnded()
    child.kill('SIGTERM')
    await wait('ended', hasEnded)
    await wait('every process is gone', () => !processes.some(({ pid }) => isAlive(pid)))
    t.equal(child.exitCode, ended ? 1 : 0, output.stderr)
    if (ended) t.match(output.stderr, SENTENCE)
    t.notMatch(output.stderr, STACK)
    if (victim === undefined) return 'missed'
    return ended ? 'ended' : 'continued'
  } catch (error) {
    throw new Error(`${String(error)}\n${output.stdout}\n${output.stderr}`)
  } finally {
    child.kill('SIGKILL') // its children end with it
  }
}

/** Each child of a supervisor is killed at each step of its start, fifty times in all. */
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { freePort } from '../kit/sidevault.ts'
import { descendants, isAlive, until } from './processes.ts'
import { start, startBlind } from './start.ts'

/** Children by their command lines, which change during a start. */
const CHILDREN = {
  'a process that loads its code': /roles\/process\.ts|^sidevault: loading/,
  'the admin process': /^sidevault: admin/,
  'a gateway': /^sidevault: gateway/,
  Envoy: /--config-path/,
}
/** ms from the first sight of the child to its end. The last ones are when most starts are complete. */
const DELAYS = [0, 10, 20, 35, 60, 100, 150, 200, 300, 400, 600, 900]
/** Starts at a time, each on a data directory of its own. */
const LANES = 3
const STACK = /^ +at |"stack"|unhandled|uncaught|ECONNRESET|node:internal/im
const SENTENCE = /[\w-]+ ended before it was ready \(SIGKILL\).*\. Start again\./

const folder = t.testdir()
/** The data directory of a lane; the first start on it is complete. */
const laneOf = (lane: number) => `${folder}/${lane}`

/** False: the start was complete before the child was seen. */
const startAndKill = async (t: Test, pattern: RegExp, ms: number, dataDir: string) => {
  const { child, output, exited } = startBlind(dataDir, { port: await freePort() })
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null
  const isReady = () => output.stdout.includes('\ncurl ')
  let victim: number | undefined
  await until('the child is there', () => {
    const matching = descendants(child.pid ?? 0).filter(({ command }) => pattern.test(command))
    victim = matching.at(ms % 100 === 0 ? 0 : -1)?.pid
    return victim !== undefined || isReady() || hasEnded()
  })
  await setTimeout(ms)
  const processes = descendants(child.pid ?? 0)
  if (victim !== undefined && isAlive(victim)) process.kill(victim, 'SIGKILL')
  await until('ready, or ended', () => isReady() || hasEnded())
  if (hasEnded()) {
    t.match(output.stderr, SENTENCE)
    t.equal(child.exitCode, 1)
  } else {
    child.kill('SIGTERM')
    await exited
    t.equal(child.exitCode, 0, output.stderr)
  }
  t.notMatch(output.stderr, STACK)
  await until('every process is gone', () => !processes.some(({ pid }) => isAlive(pid)))
  return victim !== undefined
}

t.before(async () => {
  const runs = await Promise.all(Array.from({ length: LANES }, (_, lane) => start(laneOf(lane))))
  await Promise.all(runs.map((run) => run.stop()))
})

for (const [name, pattern] of Object.entries(CHILDREN))
  t.test(`a start without ${name} continues, or ends with a sentence`, async (t) => {
    const delays = [...DELAYS]
    const run = async (lane: number) => {
      for (let ms = delays.shift(); ms !== undefined; ms = delays.shift())
        if (!(await startAndKill(t, pattern, ms, laneOf(lane)))) delays.push(ms)
    }
    await Promise.all(Array.from({ length: LANES }, (_, lane) => run(lane)))
  })

t.test(
  'a first start without the admin process ends with a sentence, and the next one succeeds',
  async (t) => {
    const kill = (ms: number) => startAndKill(t, CHILDREN['the admin process'], ms, `${folder}/first-${ms}`)
    await Promise.all([kill(100), kill(400)])
  },
)

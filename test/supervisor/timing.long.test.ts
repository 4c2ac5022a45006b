/** How long starts and restarts take, each against another start of the same run. */
import { join } from 'node:path'
import t from 'tap'
import { startSidevault } from '../kit/sidevault.ts'
import { descendants, isAlive, until } from './processes.ts'
import { start } from './start.ts'

/** Of each time; their median is judged. */
const ROUNDS = 5

const median = (times: readonly number[]): number => times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0

const rounds = async (measure: (round: number) => Promise<number>): Promise<number> => {
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round++) times.push(await measure(round))
  return median(times)
}

t.test('a second start takes no longer than a first one', async (t) => {
  const directory = t.testdir({})
  const ready = async (round: number): Promise<number> => {
    const { ms, stop } = await start(join(directory, String(round)))
    t.equal(await stop(), 0)
    return ms
  }
  const [first, second] = [await rounds(ready), await rounds(ready)]
  t.ok(second < 1.25 * first, `${Math.round(second)} ms after ${Math.round(first)} ms`)
})

t.test('a killed process recovers sooner than the service starts', async (t) => {
  const began = performance.now()
  const sidevault = await startSidevault()
  const whole = performance.now() - began
  t.teardown(() => sidevault.stop())
  const key = await sidevault.application({ permissions: ['token:create', 'token:use'] })
  const pidOf = (part: RegExp) => descendants(sidevault.pid).find(({ command }) => part.test(command))?.pid
  const works = async () => {
    const ready = await sidevault.call('GET', '/readyz').catch(() => undefined)
    if (ready?.status !== 200) return false
    const response = await sidevault
      .call('POST', '/proxy', { key, body: {}, headers: { 'svc-proxy-url': 'https://demo.sidevault.test' } })
      .catch(() => undefined)
    return response?.status === 200
  }
  t.ok(await works())
  for (const [name, part] of [
    ['envoy', /envoy .*run\/envoy\.json/],
    ['gateway', /^sidevault: gateway/],
    ['admin', /^sidevault: admin/],
  ] as const) {
    const back = await rounds(async () => {
      const pid = pidOf(part) ?? 0
      const before = performance.now()
      process.kill(pid, 'SIGKILL')
      await until(`${name} is gone`, () => !isAlive(pid))
      await until(`${name} responds again`, works)
      return performance.now() - before
    })
    t.ok(back < whole, `${name}: ${Math.round(back)} ms after a start of ${Math.round(whole)} ms`)
  }
})

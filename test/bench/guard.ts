/** What the response guard costs a call. `npm run bench -- guard [--quick]`. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { startSidevault } from '../kit/sidevault.ts'
import { cpuUntilStored, UNTIL_STORED } from './cpu.ts'
import { startDestination } from './destination.ts'
import { httpRequest, load, warm } from './load.ts'
import { partsBelow } from './processes.ts'
import { bodyWith } from './proxy.ts'
import { table } from './report.ts'

const MODES = ['off', 'report', 'replace', 'block'] as const
const SIZES = [1_000, 100_000]
const CONCURRENCY = 8

const median = (values: readonly number[]) =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

interface GuardBenchOptions {
  readonly rounds: number
  readonly seconds: number
  readonly warmSeconds: number
}

const EVENTS = 200
/** ms between two events of a response. */
const BETWEEN = 20

/** ms from the request to the first event, and from the destination's second event to its arrival. */
const eventTimes = async (port: number, headers: Readonly<Record<string, string>>, body: string) => {
  const sent = performance.now()
  const call = request({ host: '127.0.0.1', port, path: '/proxy', method: 'POST', headers })
  call.end(body)
  const [response] = await once(call, 'response')
  const times: number[] = []
  for await (const chunk of response) {
    const [, at] = /data: ([0-9.]+)/.exec(String(chunk)) ?? []
    times.push(performance.now() - (times.length === 0 ? sent : Number(at)))
  }
  return { first: times[0] ?? Number.NaN, next: times[1] ?? Number.NaN }
}

/** A destination of two events, each with the time at which it was sent. */
const startEvents = async (directory: string) => {
  const pem = (name: string) => readFileSync(join(directory, name))
  const server = createServer({ cert: pem('cert.pem'), key: pem('key.pem') }, (incoming, response) => {
    incoming.resume().on('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const event = () => `data: ${performance.now()}\n\n`
      response.write(event())
      setTimeout(() => response.end(event()), BETWEEN)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { port: (server.address() as AddressInfo).port, close: () => server.close() }
}

/** Events one call at a time, modes in turns. */
const benchEvents = async (
  port: number,
  headersOf: (mode: string) => Readonly<Record<string, string>>,
  body: string,
): Promise<string> => {
  const times = MODES.map((mode) => ({ mode, first: [] as number[], next: [] as number[] }))
  for (let call = 0; call < EVENTS; call++)
    for (const { mode, first, next } of times) {
      const got = await eventTimes(port, headersOf(mode), body)
      first.push(got.first)
      next.push(got.next)
    }
  const rows = times.map(({ mode, first, next }) => [mode, median(first).toFixed(2), median(next).toFixed(2)])
  return table(['mode', 'first event ms', 'next event ms'], rows)
}

/** One token in a body of 1 KB, eight calls at once; responses of 1 and 100 KB without it, and events; in turns. */
export const benchGuard = async ({ rounds, seconds, warmSeconds }: GuardBenchOptions): Promise<string> => {
  const destination = await startDestination()
  const sidevault = await startSidevault({ env: destination.env })
  try {
    const key = await sidevault.application({ permissions: ['token:create', 'token:use'] })
    const token = await sidevault.call('POST', '/tokens', {
      key,
      body: {
        type: 'card',
        data: { number: '4242424242424242', expiration_month: 1, expiration_year: 2031 },
      },
    })
    const body = bodyWith(`{{ ${token.json.id} | json: '$.number' }}`, 1024)
    const headersOf = (mode: string, url = destination.url) => ({
      'content-type': 'application/json',
      'svc-api-key': key,
      'svc-proxy-url': url,
      'svc-proxy-guard': mode,
    })
    const pids = partsBelow(sidevault.pid)
    const targets = SIZES.flatMap((size) =>
      MODES.map((mode) => ({
        size,
        mode,
        request: httpRequest('POST', `/proxy/${size}/`, headersOf(mode), body),
        cost: [] as Record<string, number>[],
        p50: [] as number[],
      })),
    )
    const options = { host: '127.0.0.1', port: sidevault.port }
    for (const { request } of targets) await warm({ ...options, requests: [request], seconds: warmSeconds })
    for (let round = 0; round < rounds; round++)
      for (const target of targets) {
        const run = () => load({ ...options, requests: [target.request], concurrency: CONCURRENCY, seconds })
        const { result, used } = await cpuUntilStored(sidevault, pids, run)
        if (result.failures > 0) throw new Error(`${result.failures} calls failed with mode ${target.mode}`)
        target.cost.push(
          Object.fromEntries(Object.entries(used).map(([name, s]) => [name, (s / result.requests) * 1_000])),
        )
        target.p50.push(result.p50)
      }
    const total = (cost: Readonly<Record<string, number>>) =>
      Object.values(cost).reduce((sum, value) => sum + value, 0)
    const rows = targets.map(({ size, mode, cost, p50 }) => {
      const off = targets.find((other) => other.size === size && other.mode === 'off')
      const ratios = cost.map((each, round) => total(each) / total(off?.cost[round] ?? {}))
      return [
        `${size / 1_000} KB`,
        mode,
        median(p50).toFixed(2),
        median(cost.map(total)).toFixed(3),
        median(ratios).toFixed(2),
        `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`,
        Object.keys(pids)
          .map((name) => `${name} ${median(cost.map((each) => each[name] ?? 0)).toFixed(2)}`)
          .join(', '),
      ]
    })
    const events = await startEvents(destination.directory)
    const url = `https://${destination.host}:${events.port}`
    const ofEvents = await benchEvents(sidevault.port, (mode) => headersOf(mode, url), body)
    events.close()
    const ofCalls = table(
      ['response', 'mode', 'p50 ms', 'CPU s per 1,000', 'beside off', 'of the rounds', 'of which'],
      rows,
    )
    return `${ofCalls}\n\n${UNTIL_STORED}\n\n${ofEvents}`
  } finally {
    await sidevault.stop()
    await destination.stop()
  }
}

/**
 * CPU µs of the admin process for each request, by thread, the ingest of its audit record included. The whole program
 * is asked through the edge at concurrency 8: `node test/bench/cost.ts [rounds]`, with ENVOY_BIN set. On a shared
 * machine this says more than rates do, though contention shows in it too: compare runs that alternate.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { startSidevault } from '../kit/sidevault.ts'
import { httpRequest, load, warm } from './load.ts'
import { partsBelow } from './processes.ts'
import { spent, threadCpu } from './threads.ts'

const rounds = Number(process.argv[2] ?? 3)
const CARD =
  '{"type":"card","data":{"number":"4242424242424242","expiration_month":1,"expiration_year":2031}}'
const BULK = `[${Array.from({ length: 100 }, () => CARD).join(',')}]`
/** µs within `PAUSE` ms below which the process counts as at rest. */
const REST = 20_000
const PAUSE = 400

const sidevault = await startSidevault({ env: { SIDEVAULT_LOG_LEVEL: 'warn' } })
try {
  const key = await sidevault.application({ permissions: ['token:create', 'token:read'] })
  const admin = partsBelow(sidevault.pid).admin
  if (admin === undefined) throw new Error('there is no admin process')
  const headers = { 'content-type': 'application/json', 'svc-api-key': key }
  const create = async () => {
    const response = await sidevault.call('POST', '/tokens', { key, body: JSON.parse(CARD) })
    return String(response.json.id)
  }
  const ids: string[] = []
  for (let i = 0; i < 200; i++) ids.push(await create())
  const kinds = {
    create: [httpRequest('POST', '/tokens', headers, CARD)],
    read: ids.map((id) => httpRequest('GET', `/tokens/${id}`, headers)),
    'tokenize 100': [httpRequest('POST', '/tokenize', headers, BULK)],
  }
  const total = () => Object.values(threadCpu(admin)).reduce((sum, used) => sum + used, 0)
  /** The ingest is part of what a request costs: waits until it has caught up. */
  const atRest = async () => {
    for (let before = total(); ; before = total()) {
      await delay(PAUSE)
      if (total() - before < REST) return
    }
  }
  const run = async (requests: readonly Buffer[], seconds: number) => {
    await atRest()
    const before = threadCpu(admin)
    const done = await load({ host: '127.0.0.1', port: sidevault.port, requests, concurrency: 8, seconds })
    await atRest()
    if (done.failures > 0) throw new Error(`${done.failures} requests failed`)
    return { perSecond: Math.round(done.perSecond), ...spent(before, threadCpu(admin), done.requests) }
  }
  for (const requests of Object.values(kinds))
    await warm({ host: '127.0.0.1', port: sidevault.port, requests, seconds: 30 })
  for (let round = 0; round < rounds; round++)
    for (const [kind, requests] of Object.entries(kinds))
      process.stdout.write(`${kind}: ${JSON.stringify(await run(requests, 4))}\n`)
} finally {
  await sidevault.stop()
}

import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { partsBelow } from '../bench/processes.ts'
import { startLocalNetwork } from '../kit/local-network.ts'
import { startReceiver } from '../kit/receiver.ts'
import { startSidevault } from '../kit/sidevault.ts'
import { upload } from '../kit/upload.ts'

const MB = 1_000_000
const { certificate, ...network } = await startLocalNetwork(t, ['dest.test'])
const receiver = await startReceiver(certificate, 'h1')
const sidevault = await startSidevault({ env: { SIDEVAULT_LOG_LEVEL: 'warn', ...network.env } })
t.teardown(async () => {
  await sidevault.stop()
  await receiver.close()
})
const key = await sidevault.application({ permissions: ['token:create', 'token:use'] })
const PAN = '4242424242424242'
const created = await sidevault.call('POST', '/tokens', { key, body: { type: 'token', data: PAN } })
const token = `{{ ${created.json.id} }}`
const { gateway = 0, envoy = 0 } = partsBelow(sidevault.pid)

/** Resident bytes now, and at most since the last look. */
const resident = (pid: number): readonly [now: number, peak: number] => {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8')
  const kilobytes = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(text)?.[1]) * 1024
  const sizes = [kilobytes('VmRSS'), kilobytes('VmHWM')] as const
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
  return sizes
}

/** A body of some 100 MB: its parts, and the number of them. */
const KINDS: Readonly<Record<string, (value: string, at: number) => string>> = {
  'application/json': (value, at) =>
    `${at === 0 ? '[' : ','}${JSON.stringify({ at, pan: value, fill: 'y'.repeat(100_000) })}`,
  'application/x-ndjson': (value, at) =>
    `${JSON.stringify({ at, pan: value, fill: 'y'.repeat(2_000) })}\n`.repeat(50),
  'text/plain': (value, at) => `${at} ${value} ${'some text '.repeat(10_000)}\n`,
}
const COUNT = 1_000

const send = async (type: string, count: number) => {
  const make = KINDS[type] as (value: string, at: number) => string
  const parts = function* (value: string) {
    for (let at = 0; at < count; at++) yield make(value, at)
    if (type === 'application/json') yield ']'
  }
  const hash = createHash('sha256')
  for (const part of parts(PAN)) hash.update(part)
  const to = `https://dest.test:${receiver.port}`
  const headers = { 'svc-api-key': key, 'content-type': type }
  const response = await upload(sidevault.port, to, parts(token), { headers })
  const arrival = await receiver.ended()
  return { status: response.status, bytes: arrival.bytes, whole: arrival.sha256 === hash.digest('hex') }
}

for (const type of Object.keys(KINDS)) await send(type, 20)
const idle = [gateway, envoy].map((pid) => resident(pid)[0])

for (const type of Object.keys(KINDS))
  t.test(`100 MB of ${type} need less than 100 MB of memory`, async (t) => {
    const { status, bytes, whole } = await send(type, COUNT)
    t.equal(status, 200)
    t.ok(whole)
    t.ok(bytes > 99 * MB)
    const more = [gateway, envoy].map((pid, at) => resident(pid)[1] - (idle[at] ?? 0))
    t.ok(
      (more[0] ?? 0) + (more[1] ?? 0) < 100 * MB,
      `gateway and Envoy: ${more.map((one) => Math.round(one / MB)).join(', ')} MB`,
    )
  })

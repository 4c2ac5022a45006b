import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Registry } from 'prom-client'
import t from 'tap'
import { createLog } from '../../src/common/log.ts'
import { watchEdgeCertificate } from '../../src/roles/edge-certificate.ts'
import { createAuthority } from '../kit/authority.ts'

const DAY = 86_400_000

t.test('a certificate that ends soon is named by health and metrics until it is renewed', async (t) => {
  const path = join(t.testdir(), 'cert.pem')
  const { cert } = await (await createAuthority()).issue(['localhost'])
  writeFileSync(path, cert)
  const registry = new Registry()
  const clock = { now: () => Date.now() }
  const watch = watchEdgeCertificate(path, { registry, log: createLog('test', 'silent'), clock })
  const metric = async () =>
    Number(/^sidevault_certificate_expiry_timestamp_seconds ([\d.]+)$/m.exec(await registry.metrics())?.[1])
  const ends = (await metric()) * 1000
  t.ok(ends > Date.now())
  clock.now = () => ends - 8 * DAY
  t.equal(await watch.health(), 'ok')
  clock.now = () => ends - 6 * DAY
  t.equal(await watch.health(), 'degraded')
  writeFileSync(path, 'no certificate')
  t.equal(await watch.health(), 'degraded', 'what cannot be read refuses no request')
  t.equal(await metric(), 0)
  watch.reload(undefined)
  t.equal(await watch.health(), 'ok')
})

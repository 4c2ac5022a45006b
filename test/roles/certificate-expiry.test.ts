import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Registry } from '@prometheus-io/client'
import t from 'tap'
import { createLog } from '../../src/common/log.ts'
import { edgeCertificate, forwardAuthority, watchCertificates } from '../../src/roles/certificate-expiry.ts'
import { createAuthority } from '../kit/authority.ts'

const DAY = 86_400_000

t.test('a certificate that expires soon is reported by health and metrics until it is renewed', async (t) => {
  const path = join(t.testdir(), 'cert.pem')
  const { cert } = await (await createAuthority()).issue(['localhost'])
  writeFileSync(path, cert)
  const registry = new Registry()
  const clock = { now: () => Date.now() }
  let file: string | undefined = path
  const { edge_certificate: edge } = watchCertificates(
    { edge_certificate: edgeCertificate(() => file) },
    { registry, log: createLog('test', 'silent'), clock },
  )
  const metric = async () =>
    Number(
      /^sidevault_certificate_expiry_timestamp_seconds\{certificate="edge_certificate"\} ([\d.]+)$/m.exec(
        await registry.metrics(),
      )?.[1],
    )
  const ends = (await metric()) * 1000
  t.ok(ends > 0)
  clock.now = () => ends - 8 * DAY
  t.equal(await edge(), 'ok')
  clock.now = () => ends - 6 * DAY
  t.equal(await edge(), 'degraded')
  writeFileSync(path, 'no certificate')
  t.equal(await edge(), 'degraded', 'an unreadable certificate rejects no request')
  t.equal(await metric(), 0)
  file = undefined
  t.equal(await edge(), 'ok')
})

t.test('the authority of the forward proxy is reported 90 days before it expires, once', async (t) => {
  const registry = new Registry()
  const lines: string[] = []
  const log = { ...createLog('test', 'silent'), warn: (_: object, text: string) => lines.push(text) } as never
  let expiry = 100 * DAY
  const clock = { now: () => 0 }
  const checks = watchCertificates(
    { forward_ca: forwardAuthority({ expiry: async () => expiry }) },
    { registry, log, clock },
  )
  t.equal(await checks.forward_ca(), 'ok')
  expiry = 89 * DAY
  t.equal(await checks.forward_ca(), 'degraded')
  t.equal(await checks.forward_ca(), 'degraded')
  t.equal(lines.length, 1)
  t.match(lines[0], /ca rotate/)
  t.match(await registry.metrics(), `{certificate="forward_ca"} ${(89 * DAY) / 1000}`)
})

import t from 'tap'
import { loadConfig } from '../../src/config.ts'
import { isLow, retentionLimitsOf } from '../../src/roles/data-disk.ts'

const GIB = 2 ** 30

t.test('a disk is low when less than a tenth of it and than 10 GiB is free', (t) => {
  t.equal(isLow({ bytes: 4 * GIB, free: GIB }), false)
  t.equal(isLow({ bytes: 4 * GIB, free: 0.3 * GIB }), true)
  t.equal(isLow({ bytes: 1000 * GIB, free: 11 * GIB }), false)
  t.equal(isLow({ bytes: 1000 * GIB, free: 9 * GIB }), true)
  t.end()
})

t.test('the default retention fits the disk', (t) => {
  const keep = (env: NodeJS.ProcessEnv, bytes: number) =>
    retentionLimitsOf(loadConfig(env), { bytes, free: 0 })
  const days = (count: number) => count * 86_400_000
  t.same(keep({}, 1000 * GIB), { ageMs: days(30), bytes: 10 * GIB })
  t.same(keep({}, 4 * GIB), { ageMs: days(30), bytes: GIB })
  t.same(keep({ SIDEVAULT_AUDIT_RETENTION_DAYS: 'forever' }, GIB), { ageMs: Infinity, bytes: Infinity })
  t.same(keep({ SIDEVAULT_AUDIT_RETENTION_DAYS: '0', SIDEVAULT_AUDIT_RETENTION_MIB: '2048' }, GIB), {
    ageMs: 0,
    bytes: 2 * GIB,
  })
  t.same(keep({ SIDEVAULT_AUDIT_RETENTION_DAYS: 'forever', SIDEVAULT_AUDIT_RETENTION_MIB: '0' }, GIB), {
    ageMs: Infinity,
    bytes: 0,
  })
  t.throws(() => loadConfig({ SIDEVAULT_AUDIT_RETENTION_DAYS: '-1' }), { message: /0 to 9999, or forever/ })
  t.end()
})

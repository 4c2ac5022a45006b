import t from 'tap'
import { createHostSync } from '../../../src/sandbox/realm/realm.ts'

const LONG = ['x'.repeat(5e6), 'utf8']
const SHORT = ['b', 'utf8']
const OUT_OF_RANGE = { error: { code: 'ERR_OUT_OF_RANGE' } }

/** Host functions of a program that has a second left. */
const openHost = () => {
  const host = createHostSync(() => 1_000)
  return (name: string, ...args: readonly unknown[]) => JSON.parse(host(name, JSON.stringify(args)))
}

t.test("a program's slow derivations do not count as the speed of others'", async (t) => {
  const hostile = openHost()
  t.match(hostile('crypto.pbkdf2', LONG, SHORT, 1, 1, 'sha256'), { ok: String })
  t.match(hostile('crypto.scrypt', LONG, SHORT, 1, { N: 2, r: 1, p: 1 }), { ok: String })
  const honest = openHost()
  t.match(honest('crypto.pbkdf2', SHORT, SHORT, 100_000, 32, 'sha256'), { ok: String })
  t.match(honest('crypto.scrypt', SHORT, SHORT, 32, { N: 16_384, r: 8, p: 1 }), { ok: String })
})

t.test('a long salt, which is hashed for each block of the output, counts', async (t) => {
  const host = openHost()
  t.match(host('crypto.pbkdf2', SHORT, LONG, 1, 65_536, 'sha1'), OUT_OF_RANGE)
  t.match(host('crypto.scrypt', SHORT, LONG, 32, { N: 2, r: 1, p: 2 ** 14 }), OUT_OF_RANGE)
  t.match(host('crypto.scrypt', SHORT, SHORT, 65_536, { N: 2, r: 1, p: 2 ** 18 }), OUT_OF_RANGE)
})

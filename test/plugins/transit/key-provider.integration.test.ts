import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { keyProvider } from '../../../plugins/transit/key-provider.ts'
import { startTransit } from '../../kit/transit.ts'

const place = (address: string, env: Record<string, string>) => ({
  address,
  env,
  config: {},
  signal: AbortSignal.timeout(10_000),
})

t.test('a wrapped key unwraps, also after key rotation, until its version is disallowed', async (t) => {
  const transit = await startTransit(t)
  const at = place(transit.address, transit.env)
  const key = randomBytes(32)
  const wrapped = await keyProvider.wrap(key, at)
  t.match(wrapped, /^vault:v1:/)
  transit.rotate()
  t.same(await keyProvider.unwrap(wrapped, at), key)
  t.match(await keyProvider.wrap(key, at), /^vault:v2:/)
  transit.state.minimum = 2
  await t.rejects(keyProvider.unwrap(wrapped, at), {
    code: 'invalid',
    message: /400 .*too old.*still has the version/,
  })
  t.same(
    new Set(transit.state.calls),
    new Set(['POST /v1/transit/encrypt/sidevault', 'POST /v1/transit/decrypt/sidevault']),
  )
})

t.test('a token may be read from a file, and from the variables of Vault', async (t) => {
  const transit = await startTransit(t, { mount: 'team', key: 'own' })
  const path = join(t.testdir(), 'token')
  writeFileSync(path, 's.token\n')
  for (const env of [{ BAO_TOKEN_FILE: path }, { VAULT_TOKEN_FILE: path }, { VAULT_TOKEN: 's.token' }])
    t.match(await keyProvider.wrap(randomBytes(32), place(transit.address, env)), /^vault:v1:/)
})

t.test('an error of the transit server has a fix, and neither key nor token', async (t) => {
  const transit = await startTransit(t)
  const { address, env, state } = transit
  const key = randomBytes(32)
  const wrapped = await keyProvider.wrap(key, place(address, env))
  const rejected = async (where: ReturnType<typeof place>, code: string, message: RegExp, text = wrapped) => {
    const thrown: Error & { code?: string } = await keyProvider.unwrap(text, where).then(
      () => new Error('it responded'),
      (error) => error,
    )
    t.match(thrown, { code, message })
    t.notMatch(thrown.message, /s\.token|wrong-token/)
    t.notOk(thrown.message.includes(key.toString('base64')))
  }
  await rejected(
    place(address, { BAO_TOKEN: 'wrong-token' }),
    'invalid',
    /403 \("permission denied"\).*policy allows update/,
  )
  await rejected(place(address, {}), 'invalid', /needs a token.*BAO_TOKEN/)
  await rejected(place(address, { BAO_TOKEN: 'a b' }), 'invalid', /needs a token/)
  await rejected(
    place(address, { BAO_TOKEN_FILE: '/nowhere/token' }),
    'invalid',
    /BAO_TOKEN_FILE names cannot be read/,
  )
  await rejected(place(`${address}x`, env), 'invalid', /400 \("encryption key not found"\)/)
  await rejected(
    place(address.replace('transit', 'other'), env),
    'invalid',
    /404 \("no handler.*Check the mount/,
  )
  const altered = `${wrapped.slice(0, -4)}AAA=`
  await rejected(place(address, env), 'invalid', /400 \("cipher: message authentication failed"\)/, altered)
  await rejected(
    place('http://127.0.0.1:9/transit/x', env),
    'gateway_timeout',
    /does not respond \(ECONNREFUSED\)/,
  )
  state.sealed = true
  await rejected(place(address, env), 'gateway_timeout', /503 \("Vault is sealed"\).*Unseal it/)
  state.sealed = false
  for (const response of [
    '',
    'hello',
    '{"data":null}',
    '[]',
    '{"data":{"plaintext":7}}',
    'x'.repeat(100_000),
  ]) {
    state.fixed = response
    await rejected(
      place(address, env),
      response.length > 90_000 ? 'gateway_timeout' : 'invalid',
      /transit server/,
    )
  }
})

t.test('a transit address without TLS, mount or key is invalid', async (t) => {
  for (const address of [
    'http://bao.example:8200/transit/x',
    'https://bao.example:8200/x',
    'bao.example/transit/x',
    'https://u:p@bao.example/transit/x',
    '',
  ])
    await t.rejects(keyProvider.wrap(randomBytes(32), place(address, { BAO_TOKEN: 'x' })), {
      code: 'invalid',
      message: /is not usable\. Write transit:https/,
    })
})

t.test('a sealed transit server is degraded, and one that does not respond is rejected', async (t) => {
  const { address, env, state } = await startTransit(t)
  t.equal(await keyProvider.health?.(place(address, env)), undefined)
  state.sealed = true
  t.match(await keyProvider.health?.(place(address, {})), {
    degraded: /^The transit server is sealed; .*start/,
  })
  await t.rejects(async () => keyProvider.health?.(place('http://127.0.0.1:9/transit/x', env)), {
    code: 'gateway_timeout',
  })
})

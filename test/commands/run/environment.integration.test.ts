import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { environmentFor } from '../../../src/commands/run/environment.ts'
import { javaKeyStore } from '../../../src/commands/run/key-store.ts'
import { writeTrustFiles } from '../../../src/commands/run/trust-files.ts'
import { loadConfig } from '../../../src/config.ts'
import { createAuthority } from '../../kit/authority.ts'
import { directoryFor } from '../../kit/directory.ts'

const files = { added: '/t/ca.pem', bundle: '/t/bundle.pem', keyStore: '/t/bundle.jks' }
const address = { tls: false, host: '127.0.0.1', port: 8090 }
const of = (
  env: Record<string, string | undefined>,
  more: Partial<Parameters<typeof environmentFor>[1]> = {},
) => environmentFor(env, { config: loadConfig(env), address, key: 'key_abc', files, ...more })

t.test('proxy variables are set in both spellings, and NO_PROXY keeps its entries', async (t) => {
  const env = of({ NO_PROXY: 'intra.test, 10.0.0.1', no_proxy: 'intra.test,b.test', PATH: '/bin' })
  t.match(env, { HTTPS_PROXY: 'http://x:key_abc@127.0.0.1:8090', NODE_USE_ENV_PROXY: '1', PATH: '/bin' })
  t.equal(env.https_proxy, env.HTTPS_PROXY)
  t.equal(env.NO_PROXY, 'localhost,127.0.0.1,::1,intra.test,10.0.0.1,b.test')
  t.equal(env.no_proxy, env.NO_PROXY)
  t.notOk('HTTP_PROXY' in env || 'http_proxy' in env, 'plain HTTP is not proxied')
  const other = of({}, { address: { tls: true, host: '::1', port: 1 }, key: 'a b@:/' })
  t.equal(other.HTTPS_PROXY, 'https://x:a%20b%40%3A%2F@[::1]:1')
})

t.test(
  "variables that replace the system's trust get all authorities; those that add to it get ours",
  async (t) => {
    const env = of({ JAVA_TOOL_OPTIONS: '-Xmx1g' })
    const bundles = ['SSL_CERT_FILE', 'REQUESTS_CA_BUNDLE', 'PIP_CERT', 'CURL_CA_BUNDLE', 'GIT_SSL_CAINFO']
    for (const name of [...bundles, 'CARGO_HTTP_CAINFO', 'npm_config_cafile', 'AWS_CA_BUNDLE'])
      t.equal(env[name], files.bundle, name)
    for (const name of ['NODE_EXTRA_CA_CERTS', 'DENO_CERT']) t.equal(env[name], files.added, name)
    t.match(env.JAVA_TOOL_OPTIONS, /^-Xmx1g -Dhttps\.proxyHost=127\.0\.0\.1 -Dhttps\.proxyPort=8090 /)
    t.match(env.JAVA_TOOL_OPTIONS, /trustStore=\/t\/bundle\.jks/)
    t.notMatch(env.JAVA_TOOL_OPTIONS, /key_abc/, 'a JVM prints it')
  },
)

t.test('Java gets the hosts of NO_PROXY in its own form', async (t) => {
  const hostsFor = (NO_PROXY: string) =>
    /-Dhttp\.nonProxyHosts=(\S+)/.exec(of({ NO_PROXY }).JAVA_TOOL_OPTIONS ?? '')?.[1]
  t.equal(hostsFor(''), 'localhost|127.*|[::1]')
  t.equal(
    hostsFor('a.test,.b.test,*.c.test,d.test:8443,10.0.0.1,10.0.0.0/8,fd00::1,*'),
    'localhost|127.*|[::1]|a.test|*.a.test|b.test|*.b.test|c.test|*.c.test|d.test|*.d.test|10.0.0.1|[fd00::1]|*',
  )
})

t.test('a JVM reads a path with blanks and quotes', async (t) => {
  const keyStore = `/a b/it's "c"/d`
  const { JAVA_TOOL_OPTIONS } = environmentFor(
    {},
    { config: loadConfig({}), address, key: 'k', files: { ...files, keyStore } },
  )
  const { error, stderr } = spawnSync('java', ['-XshowSettings:properties', '-version'], {
    env: { ...process.env, JAVA_TOOL_OPTIONS },
    encoding: 'utf8',
  })
  if (error) return t.pass('there is no Java here')
  t.ok(stderr.includes(`javax.net.ssl.trustStore = ${keyStore}\n`), stderr)
})

t.test('settings of the service, its root key among them, are not passed to the command', async (t) => {
  const env = of({
    SIDEVAULT_ROOT_KEY: 'env:K',
    SIDEVAULT_DATA_DIR: '/d',
    NODE_COMPILE_CACHE: '/c',
    HOME: '/h',
  })
  t.same(
    Object.keys(env).filter((name) => /SIDEVAULT|COMPILE/.test(name)),
    [],
  )
  t.equal(env.HOME, '/h')
})

t.test('variables with secrets of the service are not passed to the command', async (t) => {
  const env = { MINE: 'secret', PGPASSWORD: 'secret', BAO_TOKEN: 'secret', VAULT_TOKEN: 'secret' }
  const passed = (settings: Record<string, string>) =>
    Object.entries(of({ ...env, ...settings }))
      .filter(([, value]) => value === 'secret')
      .map(([name]) => name)
  const all = Object.keys(env)
  const without = (...names: string[]) => all.filter((name) => !names.includes(name))
  t.same(passed({}), all, "they are the command's when the service does not use them")
  t.same(passed({ SIDEVAULT_ROOT_KEY: 'env:MINE' }), without('MINE'))
  t.same(passed({ SIDEVAULT_ROOT_KEY: 'passphrase:env:MINE' }), without('MINE'))
  t.same(passed({ SIDEVAULT_ROOT_KEY: 'passphrase:text of its own' }), all)
  const transit = 'transit:https://bao.test:8200/transit/sidevault'
  t.same(passed({ SIDEVAULT_ROOT_KEY: transit }), without('BAO_TOKEN', 'VAULT_TOKEN'))
  t.same(passed({ SIDEVAULT_STORE: 'postgres://sidevault@localhost/vault' }), without('PGPASSWORD'))
})

t.test("the files hold our authorities, the system's and the user's", async (t) => {
  const [ours, users, extra] = await Promise.all(['a', 'b', 'c'].map((name) => createAuthority(name)))
  const directory = directoryFor(t)
  const write = (name: string, text = '') => {
    writeFileSync(join(directory, name), text)
    return join(directory, name)
  }
  const env = {
    NODE_EXTRA_CA_CERTS: write('extra.pem', extra?.pem),
    SSL_CERT_FILE: write('own.pem', users?.pem),
  }
  const { readFile, stat } = await import('node:fs/promises')
  const written = await writeTrustFiles(ours?.pem ?? '', { env, cwd: '/', now: 0 })
  const [added, bundle] = await Promise.all(
    [written.added, written.bundle].map((path) => readFile(path, 'utf8')),
  )
  t.equal(added, `${ours?.pem}${extra?.pem}`)
  t.equal(bundle, `${ours?.pem}${extra?.pem}${users?.pem}`)
  await written.remove()
  await t.rejects(stat(written.bundle))
  const system = await writeTrustFiles(ours?.pem ?? '', { env: {}, cwd: '/', now: 0 })
  t.ok((await readFile(system.bundle, 'utf8')).length > (ours?.pem.length ?? 0) * 20, "with the system's")
  await system.remove()
})

t.test('the Java key store is readable by keytool', async (t) => {
  const authority = await createAuthority('In a key store')
  const path = join(directoryFor(t), 'trust.jks')
  writeFileSync(path, javaKeyStore([authority.pem, authority.pem], 1_700_000_000_000))
  const { error, status, stdout } = spawnSync(
    'keytool',
    ['-list', '-v', '-keystore', path, '-storepass', 'changeit'],
    { encoding: 'utf8' },
  )
  if (error) return t.pass('there is no JDK here')
  t.equal(status, 0, stdout)
  t.equal(stdout.split('trustedCertEntry').length, 3)
  t.match(stdout, /Owner: CN=In a key store/)
})

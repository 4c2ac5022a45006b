import { globSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { command } from '../commands/in-process.ts'
import { directoryFor } from '../kit/directory.ts'
import { freePort } from '../kit/sidevault.ts'
import { root } from '../kit/sources.ts'
import { bundle, shell } from './bundle-kit.ts'

const { writeArchive } = await import(new URL('../../bin/bootstrap/bundle.js', import.meta.url).href)

t.test('an archive depends on names, contents and the bit of execution only', async (t) => {
  const variants = [
    { files: ['b', 'a', 'a:c'], mode: 0o700, time: 1, tar: '' },
    { files: ['a:c', 'a', 'b'], mode: 0o755, time: 2_000_000_000, tar: '--owner=17' },
  ]
  for (const type of ['.tar.gz', '.tar.xz'] as const) {
    const bytes: string[] = []
    for (const { files, mode, time, tar } of variants) {
      const parent = directoryFor(t)
      mkdirSync(join(parent, 'top'), { mode })
      for (const name of files) {
        writeFileSync(join(parent, 'top', name), name, { mode: mode & (name === 'b' ? 0o777 : 0o666) })
        utimesSync(join(parent, 'top', name), time, time)
      }
      process.env.TAR_OPTIONS = tar
      const file = join(parent, `it's: one${type}`)
      await writeArchive({ parent, name: 'top', type, file })
      delete process.env.TAR_OPTIONS
      bytes.push(readFileSync(file, 'base64'))
      t.match(
        await shell(parent, `tar -tvf "$FILE" --force-local`, { FILE: file }),
        /-rwxr-xr-x 0\/0 .* top\/b\n/,
      )
    }
    t.equal(new Set(bytes).size, 1, type)
  }
})

t.test('a wrong name and an existing file end with a sentence', async (t) => {
  const directory = directoryFor(t)
  writeFileSync(join(directory, 'old.tar.gz'), 'old')
  const run = (...args: string[]) => command(directory, ['bundle', ...args])
  t.match(await run(), { code: 2, err: /--out/ })
  t.match(await run('--out', 'a.zip'), { code: 2, err: /^sidevault: [^\n]*\.tar\.gz nor \.tar\.xz[^\n]*\n$/ })
  t.match(await run('--out', 'old.tar.gz'), { code: 1, err: /^sidevault: [^\n]*already exists[^\n]*\n$/ })
  t.match(await run('--out', 'no/a.tar.gz'), { code: 1, err: /^sidevault: [^\n]*\(ENOENT\)[^\n]*\n$/ })
  t.equal(readFileSync(join(directory, 'old.tar.gz'), 'utf8'), 'old')
  t.same(readdirSync(directory), ['old.tar.gz'])
})

/** A card is stored, used and seen by the demo destination, in the folder of an unpacked bundle. */
const JOURNEY = `set -e
./sidevault start > "$LOG" 2>&1 & pid=$!
until ./sidevault status > "$LOG.status" 2>&1; do kill -0 $pid || { cat "$LOG"; exit 1; }; sleep 0.3; done
./runtime/node --input-type=module -e '
  const at = process.env.URL
  const call = async (path, key, body, headers = {}) => {
    const init = { method: "POST", headers: { "SVC-API-KEY": key, "Content-Type": "application/json", ...headers }, body: JSON.stringify(body) }
    return (await fetch(at + path, init)).json()
  }
  const { key } = await call("/applications", process.env.SIDEVAULT_BOOTSTRAP_KEY, { name: "a", type: "private", permissions: ["token:create", "token:use"] })
  const { id } = await call("/tokens", key, { type: "card", data: { number: "4242424242424242", expiration_month: 12, expiration_year: 2099 } })
  const seen = await call("/proxy", key, { card: "{{ " + id + " | json: \\u0027$.number\\u0027 }}" }, { "SVC-PROXY-URL": "https://demo.sidevault.test/pay" })
  const outside = await fetch("http://192.0.2.1/").then(() => "connected", ({ cause }) => cause.code)
  console.log(JSON.stringify({ seen, outside }))'
kill $pid
wait $pid
`

t.test('a bundle has its checksums, and starts without a network', async (t) => {
  const directory = directoryFor(t)
  const file = join(directory, 'bundle.tar.gz')
  const staged = () => globSync('.cache/tmp/bundle-*', { cwd: root })
  const before = staged()
  const [sum, name] = (await bundle(file)).trim().split('  ')
  t.equal(name, 'bundle.tar.gz')
  t.match(await shell(directory, 'sha256sum bundle.tar.gz'), `${sum}  bundle.tar.gz`)
  t.same(staged(), before, 'nothing is left')
  await shell(directory, 'tar -xzf bundle.tar.gz')
  const [top = ''] = readdirSync(directory).filter((name) => name.startsWith('sidevault-'))
  const at = join(directory, top)
  await shell(at, 'sha256sum --check --quiet --strict SHA256SUMS')
  const listed = (await shell(at, 'find . -type f ! -name SHA256SUMS | wc -l; wc -l < SHA256SUMS')).split(
    '\n',
  )
  t.equal(listed[0], listed[1], 'every file has its checksum')
  t.equal(await shell(at, 'find . ! -type f ! -type d'), '', 'no links')
  t.same(readdirSync(at).sort(), [
    ...['LICENSES.txt', 'SHA256SUMS', 'bin', 'docs', 'node_modules', 'package-lock.json', 'package.json'],
    ...['plugins', 'proto', 'runtime', 'sbom.cdx.json', 'sidevault', 'src'],
  ])
  t.notOk(readdirSync(join(at, 'node_modules')).includes('typescript'), 'no development packages')
  const licenses = readFileSync(join(at, 'LICENSES.txt'), 'utf8')
  for (const title of ['Node: MIT', 'Envoy: Apache-2.0', 'fastify 5', '@grpc/grpc-js 1'])
    t.match(licenses, title)

  const port = await freePort()
  const env = {
    PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
    LOG: join(directory, 'log'),
    URL: `http://127.0.0.1:${port}`,
    SIDEVAULT_LISTEN: `127.0.0.1:${port}`,
    SIDEVAULT_DATA_DIR: join(directory, 'data'),
    SIDEVAULT_BOOTSTRAP_KEY: 'key_of_the_first_management_application',
    npm_config_registry: 'http://127.0.0.1:1',
    PIP_INDEX_URL: 'http://127.0.0.1:1',
  }
  const isolated = await shell(at, 'unshare -rn ip link set lo up').then(
    () => true,
    () => false,
  )
  t.comment(isolated ? 'in a network namespace with lo only' : 'with unreachable registries')
  const script = isolated ? `exec unshare -rn sh -c 'ip link set lo up; eval "$JOURNEY"'` : JOURNEY
  const { seen, outside } = JSON.parse(await shell(at, script, { ...env, JOURNEY }))
  t.match(JSON.stringify(seen), '4242424242424242', 'the destination got the card')
  if (isolated) t.equal(outside, 'ENETUNREACH')
})

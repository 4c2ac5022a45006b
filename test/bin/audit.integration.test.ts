import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { directoryFor } from '../kit/directory.ts'
import { root } from '../kit/sources.ts'

const VERSION = '1.0.0'
const INTEGRITY = `sha512-${Buffer.alloc(64).toString('base64')}`

/** A registry with these severities of packages. Undefined: it knows no audits. */
const registry = async (t: Test, severities: Readonly<Record<string, string>> | undefined) => {
  const asked: string[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const reply = (status: number, body: object) => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(body))
    }
    if (request.method === 'GET') {
      const name = (request.url ?? '').slice(1)
      return reply(200, {
        name,
        'dist-tags': { latest: VERSION },
        versions: { [VERSION]: { name, version: VERSION } },
      })
    }
    if (severities === undefined) return reply(405, {})
    const names = Object.keys(JSON.parse(gunzipSync(Buffer.concat(chunks)).toString()))
    asked.push(...names)
    const advisories = names
      .filter((name) => name in severities)
      .map((name, id) => [
        name,
        [
          {
            id,
            url: `https://advisories.test/${name}`,
            title: name,
            severity: severities[name],
            vulnerable_versions: '*',
            cwe: [],
          },
        ],
      ])
    reply(200, Object.fromEntries(advisories))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, asked }
}

/** Runs `.ci/audit.js` in a project with a production and a development package. */
const audit = async (t: Test, url: string) => {
  const folder = join(directoryFor(t), "it's a project")
  mkdirSync(folder)
  const manifest = {
    name: 'fixture',
    version: VERSION,
    dependencies: { one: VERSION },
    devDependencies: { two: VERSION },
  }
  const entry = { version: VERSION, integrity: INTEGRITY }
  const packages = { '': manifest, 'node_modules/one': entry, 'node_modules/two': { ...entry, dev: true } }
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  writeFileSync(
    join(folder, 'package-lock.json'),
    JSON.stringify({ name: 'fixture', lockfileVersion: 3, packages }),
  )
  const child = spawn(process.execPath, [join(root, '.ci/audit.js')], {
    cwd: folder,
    env: { ...process.env, npm_config_registry: url, npm_config_cache: join(folder, 'cache') },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  return { output, code }
}

t.test('the audit fails for severe vulnerabilities of production packages only', async (t) => {
  const moderate = await registry(t, { one: 'moderate', two: 'critical' })
  t.match(await audit(t, moderate.url), {
    code: 0,
    output:
      /1 vulnerable production packages, 0 of high severity or above\n {2}moderate: one https:\/\/advisories.test\/one/,
  })
  for (const severity of ['high', 'critical']) {
    const { url } = await registry(t, { one: severity })
    t.match(await audit(t, url), { code: 1, output: new RegExp(`${severity}: one`) })
  }
  t.match(await audit(t, (await registry(t, {})).url), { code: 0, output: /^npm audit: 0 vulnerable/ })
})

t.test('a registry without audits, or out of reach, is reported loudly', async (t) => {
  const { url } = await registry(t, undefined)
  t.match(await audit(t, url), { code: 0, output: /^!+\nNOT AUDITED: .*405 Method Not Allowed/ })
  t.match(await audit(t, 'http://127.0.0.1:1/'), { code: 0, output: /^!+\nNOT AUDITED: .*127\.0\.0\.1:1/ })
})

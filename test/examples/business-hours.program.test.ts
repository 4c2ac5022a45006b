import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { scaffold } from '../../src/commands/plugins/scaffold.ts'
import { provideSdk } from '../../src/kernel/load/import-module.ts'
import type { CheckedCall, PluginContext } from '../../src/sdk/index.ts'
import { startSidevault } from '../kit/sidevault.ts'
import { root } from '../kit/sources.ts'
import { installExample } from './project.ts'

const FILE = join(root, 'examples/plugin-business-hours/index.js')
const ALWAYS = { days: ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'], from: 0, to: 24 }

t.test('it is short', async (t) => {
  t.ok(readFileSync(FILE, 'utf8').split('\n').length < 62)
})

t.test('calls are denied outside the hours of their application, where it is', async (t) => {
  provideSdk()
  const { plugin } = await import(pathToFileURL(FILE).href)
  const hours = { days: ['Mon'], from: 9, to: 17 }
  const config = { time_zone: 'Europe/Berlin', applications: { Shop: hours } }
  const verdictAt = async (time: string, name?: string) => {
    const context = { config, clock: { now: () => Date.parse(time) } } as unknown as PluginContext
    const { checks } = await plugin.setup(context)
    const call = { ...(name && { application: { id: 'a', name } }) } as CheckedCall
    return checks[0].handle(call, new AbortController().signal)
  }
  t.equal(await verdictAt('2026-11-30T08:00:00Z', 'Shop'), undefined, 'Monday at nine')
  for (const time of ['2026-11-30T07:59:00Z', '2026-11-30T16:00:00Z', '2026-12-01T10:00:00Z']) {
    t.match(await verdictAt(time, 'Shop'), { deny: { code: 'outside_hours', detail: /9 to 17/ } }, time)
    t.equal(await verdictAt(time, 'Other'), undefined)
    t.equal(await verdictAt(time), undefined)
  }
})

t.test('installed from outside, it holds calls of the whole program', async (t) => {
  const folder = t.testdir({ 'package.json': '{"private":true}' })
  installExample(folder, 'plugin-business-hours')
  scaffold({ form: 'folder', kind: 'check', path: 'no-deletes', cwd: folder })
  const applications = { Closed: { ...ALWAYS, to: 0 }, Open: ALWAYS }
  const configuration = join(folder, 'sidevault.yaml')
  writeFileSync(
    configuration,
    `plugins: ["*", sidevault-plugin-business-hours, ./no-deletes]\nplugin_config: ${JSON.stringify({ 'business-hours': { applications } })}\n`,
  )
  const vault = await startSidevault({ env: { SIDEVAULT_CONFIG: configuration } })
  t.teardown(() => vault.stop())
  const management = vault.managementKey
  const application = async (name: string) => {
    const body = { name, type: 'private', permissions: ['token:create', 'token:use'] }
    const { json } = await vault.call('POST', '/applications', { key: management, body })
    return json as { id: string; key: string }
  }
  const open = await application('Open')
  const closed = await application('Closed')
  const { id } = (await vault.call('POST', '/tokens', { key: open.key, body: { data: 'the value' } })).json
  const send = (key: string, headers: Record<string, string> = {}) =>
    vault.call('POST', '/proxy', {
      key,
      body: { sent: `{{ ${id} }}` },
      headers: { 'svc-proxy-url': 'https://demo.sidevault.test', ...headers },
    })
  t.match(await send(open.key), { status: 200, json: { body: { sent: 'the value' } } })
  const labeled = (await vault.call('GET', `/logs?operation=check`, { key: management })).json.data
  t.match(labeled, [{ entity_type: 'proxy', entity_id: open.id, labels: { host: 'demo.sidevault.test' } }])
  const denied = await send(closed.key)
  t.match(denied, {
    status: 403,
    json: {
      proxy_error: {
        type: '/docs/errors#denied_by_plugin',
        code: 'denied_by_plugin',
        errors: { check: ['outside_hours'] },
      },
    },
  })
  const { data } = (await vault.call('GET', `/logs?actor_id=${closed.id}`, { key: management })).json
  t.match(data, [
    { message: 'Proxy call denied: check "business-hours", outside_hours' },
    { message: 'Proxy used' },
  ])
  t.notOk(
    data.some(({ entity_id }: { entity_id: string }) => entity_id === id),
    'no token was used',
  )

  const tried = await send(closed.key, { 'svc-proxy-dry-run': 'true' })
  t.match(tried.json, {
    forwards: false,
    proxy_error: { code: 'denied_by_plugin' },
    checks: [
      { name: 'business-hours', on: 'request', fail: 'closed', verdict: 'denied', code: 'outside_hours' },
    ],
  })
  t.match((await send(open.key, { 'svc-proxy-dry-run': 'true' })).json, {
    forwards: true,
    checks: [{ verdict: 'allowed' }, { verdict: 'labeled', labels: { host: 'demo.sidevault.test' } }],
  })
  const metrics = await fetch(`${vault.url}/metrics`, { headers: { 'svc-api-key': management } })
  t.match(await metrics.text(), /sidevault_checks_total\{check="business-hours",outcome="denied"\} 2/)
})

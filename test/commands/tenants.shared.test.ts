import { mkdirSync, renameSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { directoryFor } from '../kit/directory.ts'
import { FORWARD_PROXY, sharedSidevault } from '../kit/shared-sidevault.ts'
import { command } from './in-process.ts'

const here = t.testdir()
const tenants = (dataDir: string, ...args: string[]) =>
  command(here, ['tenants', ...args], { SIDEVAULT_DATA_DIR: dataDir })

t.test('an operator creates, lists and deletes tenants of a running service', async (t) => {
  const service = await sharedSidevault(FORWARD_PROXY)
  const run = (...args: string[]) => tenants(service.dataDir, ...args)

  const created = await run('create', 'Second one')
  t.equal(created.code, 0, created.err)
  const [, id, key] = /^tenant {2}(\S+)\nkey {5}(\S+)\n$/.exec(created.out) ?? []
  t.ok(id && key, created.out)
  const self = await service.call('GET', '/tenants/self', { key: key! })
  t.match(self.json, { id, name: 'Second one' })
  const first = await service.call('GET', '/tenants/self', { key: service.managementKey })
  t.not(first.json.id, id)
  t.strictSame(
    (await service.call('GET', '/applications', { key: service.managementKey })).json.data.length,
    1,
    'the first tenant does not see the other',
  )

  const list = await run('list')
  t.match(list.out, new RegExp(`^${first.json.id} .*\\n${id} .*"Second one"\\n$`, 'm'))
  t.notMatch(list.out, key!)

  const fresh = await run('new-key', id!)
  t.equal(fresh.code, 0, fresh.err)
  const [, another] = /^application {2}\S+\nkey {10}(\S+)\n$/.exec(fresh.out) ?? []
  t.ok(another, fresh.out)
  t.match((await service.call('GET', '/tenants/self', { key: another! })).json, { id })
  t.notMatch(service.stdout() + service.stderr(), another!)
  const unknown = await run('new-key', '00000000-0000-4000-8000-000000000000')
  t.match(unknown, { code: 1, out: '', err: /^sidevault: There is no tenant "0{8}-[^\n]+\n$/ })

  t.equal((await run('delete', id!)).out, `deleted ${id}\n`)
  t.equal((await service.call('GET', '/tenants/self', { key: key! })).status, 401)
  const again = await run('delete', id!)
  t.equal(again.code, 1)
  t.match(again.err, /There is no tenant/)
  t.match((await run('delete', 'First tenant')).err, /There is no tenant "First%20tenant"/)
  const wrong = await run('create', 'x'.repeat(201))
  t.equal(wrong.code, 1)
  t.match(wrong.err, /200 characters/)
})

t.test('a command without a running service reports that', async (t) => {
  const { code, err } = await tenants(t.testdir(), 'list')
  t.equal(code, 1)
  t.match(err, /No service runs on the data directory/)
})

/** A data directory in whose `runDir` something listens on the socket of operators. */
const listening = async (t: Test, dataDir: string, runDir: string, respond: RequestListener) => {
  mkdirSync(join(dataDir, runDir))
  const server = createServer(respond)
  const path = join(dataDir, runDir, 'operator.sock')
  await new Promise<void>((resolve) => server.listen(`${path}.new`, resolve))
  // Under another name the socket stays behind when its server closes.
  renameSync(`${path}.new`, path)
  t.teardown(() => server.close())
  return server
}

t.test('a command waits for a slow service, and prints its key', async (t) => {
  const dataDir = directoryFor(t)
  await listening(t, dataDir, 'run', async (_, response) => {
    await setTimeout(2_500)
    response.end(JSON.stringify({ id: 'tenant', name: 'Slow', key: 'key_slow' }))
  })
  t.match(await tenants(dataDir, 'create', 'Slow'), { code: 0, out: /key_slow/ })
})

t.test('a command reports an unknown outcome when a change is not confirmed', async (t) => {
  const dataDir = directoryFor(t)
  await listening(t, dataDir, 'run', (request) => request.socket.destroy())
  for (const args of [
    ['create', 'Interrupted'],
    ['delete', 'id'],
  ])
    t.match(await tenants(dataDir, ...args), {
      code: 1,
      err: /outcome is unknown.*"sidevault tenants list"/,
    })
  t.match(await tenants(dataDir, 'new-key', 'id'), {
    code: 1,
    err: /outcome is unknown\. Retry\. .*key was not printed/,
  })
})

t.test('sockets that a killed service has left are skipped', async (t) => {
  const dataDir = directoryFor(t)
  const killed = await listening(t, dataDir, 'run', () => {})
  await new Promise((resolve) => killed.close(resolve))
  t.match(await tenants(dataDir, 'list'), { code: 1, err: /No service runs on the data directory/ })
  await listening(t, dataDir, 'run-admin', (_, response) => {
    response.end(JSON.stringify([{ id: 'tenant', created_at: 'today', name: 'First' }]))
  })
  t.match(await tenants(dataDir, 'list'), { code: 0, out: 'tenant  today  "First"\n' })
})

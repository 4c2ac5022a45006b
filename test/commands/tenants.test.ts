import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { startSidevault } from '../kit/sidevault.ts'

const bin = fileURLToPath(new URL('../../bin/sidevault.js', import.meta.url))

/** Runs the command as an operator would, and answers what it printed. */
const sidevault = (dataDir: string, ...args: string[]): Promise<{ code: number; out: string; err: string }> =>
  new Promise((resolve) => {
    const env = { PATH: process.env.PATH, HOME: process.env.HOME, SIDEVAULT_DATA_DIR: dataDir }
    const child = execFile(process.execPath, [bin, 'tenants', ...args], { env }, (_error, out, err) =>
      resolve({ code: child.exitCode ?? -1, out, err }),
    )
  })

t.test('an operator creates, lists and deletes tenants of a running service', async (t) => {
  const service = await startSidevault()
  t.teardown(() => service.stop())
  const run = (...args: string[]) => sidevault(service.dataDir, ...args)

  const made = await run('create', 'Second one')
  t.equal(made.code, 0, made.err)
  const [, id, key] = /^tenant {2}(\S+)\nkey {5}(\S+)\n$/.exec(made.out) ?? []
  t.ok(id && key, made.out)
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
  t.match(list.out, new RegExp(`^${first.json.id} .*\\n${id} .*"Second one"\\n$`))
  t.notMatch(list.out, key!)

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

t.test('without a running service the command says so', async (t) => {
  const { code, err } = await sidevault(t.testdir(), 'list')
  t.equal(code, 1)
  t.match(err, /No service runs on the data directory/)
})

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { directoryFor } from '../kit/directory.ts'
import { ALL_TOKEN_PERMISSIONS, startSidevault } from '../kit/sidevault.ts'
import { sidevault } from './run.ts'

t.test('root key and data keys are rotated while a service runs', async (t) => {
  const dataDir = directoryFor(t)
  const cwd = t.testdir()
  const run = (...args: string[]) => sidevault(cwd, args, { SIDEVAULT_DATA_DIR: dataDir })
  const service = await startSidevault({ dataDir })
  const permissions = ALL_TOKEN_PERMISSIONS
  const rules = [{ description: 'all', priority: 1, container: '/', transform: 'reveal', permissions }]
  const key = await service.application({ rules })
  const ids: string[] = []
  const create = async (data: string) => {
    const { status, json, text } = await service.call('POST', '/tokens', { key, body: { data } })
    if (status !== 201) t.fail(text)
    ids.push(json.id)
  }
  for (let i = 0; i < 20; i++) await create(`value ${i}`)
  const oldRoot = readFileSync(join(dataDir, 'root.key'), 'utf8')

  let stop = false
  const load = (async () => {
    for (let i = 20; !stop; i++) {
      await create(`value ${i}`)
      const at = i % ids.length
      const { json } = await service.call('GET', `/tokens/${ids[at]}`, { key })
      if (json.data !== `value ${at}`) t.fail(`token ${at}: ${JSON.stringify(json)}`)
    }
  })()
  const root = await run('keys', 'rotate-root')
  t.match(root, {
    code: 0,
    text: /^wrapped 5 keys(?:.*\n)*^retained .*root\.key\.[0-9a-f]{16}: (?:.*\n)*^rotated /m,
  })
  t.match(await run('keys', 'rotate-data'), {
    code: 0,
    text: /^rotated \S+: data key version 2, \d+ values/m,
  })
  t.match(await run('keys', 'destroy-old'), { code: 1, text: /^skipped \S+: running calls/m })
  stop = true
  await load
  t.match(await run('tenants', 'create', 'Another'), { code: 0 }, 'a key made now is under the new root key')
  t.not(readFileSync(join(dataDir, 'root.key'), 'utf8'), oldRoot)
  t.equal(readdirSync(dataDir).filter((name) => name.startsWith('root.key')).length, 2)
  await service.stop()

  const again = await startSidevault({ dataDir })
  t.teardown(() => again.stop())
  t.ok(ids.length > 20)
  for (const [at, id] of ids.entries())
    t.match(await again.call('GET', `/tokens/${id}`, { key }), {
      status: 200,
      json: { data: `value ${at}` },
    })
  t.match(await run('audit', 'verify'), { code: 0, text: /^ok {6}operator: 3 records$/m })
  const logs = await again.call('GET', '/logs?entity_type=tenant', { key: again.managementKey })
  t.match(JSON.stringify(logs.json), /Data key rotated to version 2/)
})

t.test('secrets on the command line are rejected', async (t) => {
  const cwd = t.testdir()
  const run = (...args: string[]) => sidevault(cwd, args, { SIDEVAULT_DATA_DIR: cwd })
  const rejected = await run('keys', 'rotate-root', '--to', 'passphrase:correct horse battery')
  t.match(rejected, { code: 2, text: /--to passphrase:env:<NAME>/ })
  t.notMatch(rejected.text, /horse/)
  t.match(await run('migrate-store', '--to', 'env:NONE'), { code: 2, text: /"NONE" of --to is not set/ })
  const warned = await run('migrate-store', '--to', 'postgres://user:battery@localhost/vault')
  t.match(warned, { code: 1, text: /^warning: .*a password on the command line(?:.*\n)*.*no database in/m })
  t.notMatch(warned.text, /battery/)
})

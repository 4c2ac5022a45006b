import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { Log } from '../../src/common/log.ts'
import { prepareToServe, warmUp } from '../../src/roles/warm-up.ts'
import { silentLog } from '../kit/egress.ts'
import { openVault } from '../maintenance/vault.ts'

const runDir = mkdtempSync(join(tmpdir(), 'sidevault-warm-up-'))
t.teardown(() => rmSync(runDir, { recursive: true, force: true }))

/** A log that stores its warnings. */
const warningsOf = (): { readonly log: Log; readonly warnings: unknown[] } => {
  const warnings: unknown[] = []
  return { warnings, log: { ...silentLog(), warn: (...line: unknown[]) => void warnings.push(line) } as Log }
}

for (const kind of ['admin', 'gateway'] as const) {
  t.test(`the warm-up of a ${kind} process runs all of its calls, and leaves nothing`, async (t) => {
    const { log, warnings } = warningsOf()
    await warmUp({ kind, worker: 0, runDir }, log)
    t.same(warnings, [])
    t.same(readdirSync(runDir), [])
  })

  t.test(`the warm-up of a ${kind} process that fails is a warning`, async (t) => {
    const { log, warnings } = warningsOf()
    const file = join(runDir, 'file')
    writeFileSync(file, '')
    await warmUp({ kind, worker: 0, runDir: file }, log)
    rmSync(file)
    t.equal(warnings.length, 1)
  })
}

t.test('a process loads the keys of the newest tenants before it serves, and records nothing', async (t) => {
  const vault = await openVault(t.testdir())
  t.teardown(() => vault.close())
  await vault.tenant('second')
  const { json } = await vault.call('GET', '/tenants/self')
  const records = async () => (await vault.call('GET', '/logs')).json.data
  const before = await records()
  const loaded: string[] = []
  const keys = {
    ...vault.keys,
    tenant: (id: string) => {
      loaded.push(id)
      return vault.keys.tenant(id)
    },
  }
  await prepareToServe({ ...vault, keys })
  t.same(loaded, ['second', json.id])
  t.same(await records(), before)
})

t.test('a process serves without keys that cannot be loaded', async (t) => {
  const vault = await openVault(t.testdir())
  t.teardown(() => vault.close())
  const keys = { ...vault.keys, tenant: () => Promise.reject(new Error('not loaded')) }
  await t.resolves(prepareToServe({ ...vault, keys }))
})

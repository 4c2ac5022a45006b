import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Test as TapTest } from 'tap'
import { startAdmin } from '../../src/admin/server.ts'
import { systemClock } from '../../src/common/clock.ts'
import { createLog } from '../../src/common/log.ts'
import { Secret } from '../../src/common/secret.ts'
import { type Config, loadConfig } from '../../src/config.ts'
import { bootstrapTenant } from '../../src/roles/bootstrap-tenant.ts'
import { createTenant } from '../../src/roles/create-tenant.ts'
import { openRuntime } from '../../src/roles/runtime.ts'
import { rememberChecks, shareChecks } from '../kit/checked.ts'

const log = createLog('test', 'silent')

export const configOf = (dataDir: string, env: NodeJS.ProcessEnv = {}): Config =>
  loadConfig({ ...env, SIDEVAULT_DATA_DIR: dataDir })

const randomKey = () => `key_${randomBytes(24).toString('hex')}`

/** The admin role without a port on a data directory, as commands find it: files under their real names. */
export const openVault = async (dataDir: string, key = randomKey(), env: NodeJS.ProcessEnv = {}) => {
  rememberChecks(dataDir)
  const foundation = await openRuntime(configOf(dataDir, env), { name: 'admin', owner: true, log })
  shareChecks(dataDir)
  const now = systemClock.now()
  await bootstrapTenant(foundation, { bootstrapKey: new Secret(key), now, log })
  const admin = await startAdmin(
    { kernel: foundation.kernel, metrics: foundation.metrics, log },
    { listen: 'nowhere' },
  )
  return {
    ...foundation,
    key,
    call: async (method: string, path: string, { body, as = key }: { body?: unknown; as?: string } = {}) => {
      const response = await admin.app.inject({
        method: method as 'GET',
        url: path,
        headers: { 'svc-api-key': as, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
        ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
      })
      return { status: response.statusCode, json: response.body === '' ? undefined : response.json() }
    },
    /** Another tenant with a management key. */
    tenant: async (id: string): Promise<string> => {
      const own = randomKey()
      const credentials = foundation.kernel.registry.ports.credentials!
      await createTenant({ ...foundation, credentials }, { id, name: id, key: new Secret(own), now })
      return own
    },
    close: async () => {
      await admin.close()
      await foundation.maintenance.catchUp()
      await foundation.close()
    },
  }
}

export type OpenVault = Awaited<ReturnType<typeof openVault>>

/** Two folders of one test: where a vault is, and where another one comes to be. */
export const twoFolders = (t: TapTest) => {
  const base = t.testdir({ here: {}, there: {} })
  return { here: join(base, 'here'), there: join(base, 'there'), file: (name: string) => join(base, name) }
}

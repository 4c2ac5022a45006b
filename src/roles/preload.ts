import { readdirSync } from 'node:fs'
import { compileValidator } from '../common/validate.ts'
import { PLUGINS_DIR } from './plugins-dir.ts'

/** Loads the modules of both roles and of all plugins for a standby process. */
export const preload = async (): Promise<void> => {
  await import('./admin.ts')
  await import('./gateway.ts')
  if (process.env.SIDEVAULT_REDIS_URL) await import('../shared-state/redis/state.ts')
  await import('../sandbox/sandbox.ts')
  compileValidator({}) // The first call compiles the meta-schema.
  for (const { name } of readdirSync(PLUGINS_DIR, { withFileTypes: true }))
    await import(`${PLUGINS_DIR}/${name}/index.ts`).catch(() => {}) // The kernel reports errors of plugins.
}

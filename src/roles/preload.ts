import { readdirSync } from 'node:fs'
import { compileValidator } from '../kernel/invoke/validate.ts'
import { PLUGINS_DIR } from './plugins-dir.ts'

/** Loads the modules of a role, or of both and of the plugins here, so that a later start finds them loaded. */
export const preload = async (kind: string | undefined): Promise<void> => {
  if (kind !== 'gateway') await import('./admin.ts')
  if (kind !== 'admin') await import('./gateway.ts')
  if (process.env.SIDEVAULT_REDIS_URL) await import('../shared-state/redis/state.ts')
  if (kind !== undefined) return
  await import('../sandbox/sandbox.ts')
  compileValidator({}) // the first one builds the validator of schemas themselves
  for (const { name } of readdirSync(PLUGINS_DIR, { withFileTypes: true }))
    await import(`${PLUGINS_DIR}/${name}/index.ts`).catch(() => {}) // the kernel tells what is wrong with a plugin
}

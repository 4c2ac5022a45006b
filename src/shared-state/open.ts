import { createInProcessState } from './in-process.ts'
import type { RedisStateDeps } from './redis/state.ts'
import type { SharedState } from './types.ts'

/** State of this process alone without a URL; else in Redis, whose client is loaded then only. */
export const openSharedState = async ({
  url,
  ...deps
}: Omit<RedisStateDeps, 'url'> & { readonly url: string | undefined }): Promise<SharedState> => {
  if (url === undefined) return createInProcessState(deps)
  const { openRedisState } = await import('./redis/state.ts')
  return openRedisState({ ...deps, url })
}

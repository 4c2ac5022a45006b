import { createInProcessState } from './in-process.ts'
import type { RedisStateDeps } from './redis/state.ts'
import type { SharedState } from './types.ts'

/** Opens the state of this process, or with a URL the state in Redis, whose client is loaded on demand. */
export const openSharedState = async ({
  url,
  ...deps
}: Omit<RedisStateDeps, 'url'> & { readonly url: string | undefined }): Promise<SharedState> => {
  if (url === undefined) return createInProcessState(deps)
  const { openRedisState } = await import('./redis/state.ts')
  return openRedisState({ ...deps, url })
}

import { AppError } from '../../common/errors.ts'
import { createSandboxHosts } from '../../host-api/host.ts'
import type { SandboxHost } from '../../sandbox/types.ts'
import type { PluginContext } from '../../sdk/index.ts'

/** The host of code without a vault: `fetch` works, `bt` rejects. */
export const createLocalHost = (fetch: PluginContext['fetch']): SandboxHost => {
  const hosts = createSandboxHosts({
    operations: [],
    invokeAs: () => Promise.reject(new Error('no operation runs here')),
    fetch,
  })
  const host = hosts({ tenantId: 'local', traceId: 'local', depth: 0 })
  return {
    sdk: true,
    call: async (method, input, signal) => {
      if (method === 'fetch') return host.call(method, input, signal)
      throw new AppError(
        'gateway_timeout',
        `bt.${method} needs a vault, and a local run has none. Call the proxy of a running service.`,
      )
    },
  }
}

import type { Sandbox } from '../sandbox/types.ts'
import type { Code, PluginContext } from '../sdk/index.ts'
import { createCode } from './code.ts'
import { type CreateSandboxHost, createSandboxHosts, type HostDeps } from './host.ts'
import { createLazySandbox, type SandboxStart } from './lazy-sandbox.ts'

/** Runs tenants' code in one process. */
export interface HostApi {
  /** Its processes start with the first code. */
  readonly sandbox: Sandbox
  /** Called once by the kernel, with its operations. */
  createCode(deps: Omit<HostDeps, 'fetch'>): Code
  /** Creates the host of one invocation; available after `createCode`. */
  readonly createHost: CreateSandboxHost
  close(): Promise<void>
}

export const createHostApi = ({
  sandbox: howToStart,
  fetch,
  headerPrefixes,
}: {
  readonly sandbox: SandboxStart
  readonly fetch: PluginContext['fetch']
  /** Prefixes of the service's headers, which code cannot set. */
  readonly headerPrefixes?: readonly string[]
}): HostApi => {
  const sandbox = createLazySandbox(howToStart)
  let hosts: CreateSandboxHost | undefined
  const createHost: CreateSandboxHost = (invocation) => {
    if (hosts === undefined) throw new Error('createHost was called before createCode')
    return hosts(invocation)
  }
  return {
    sandbox,
    createHost,
    createCode: (deps) => {
      hosts = createSandboxHosts({ ...deps, fetch })
      return createCode({ sandbox, createHost, headerPrefixes })
    },
    close: () => sandbox.close(),
  }
}

import type { Sandbox } from '../sandbox/types.ts'
import type { Code, PluginContext } from '../sdk/index.ts'
import { createCode } from './code.ts'
import { type CreateSandboxHost, createSandboxHosts, type HostDeps } from './host.ts'
import { onDemand } from './lazy-sandbox.ts'

/** What a process runs tenants' code with. */
export interface CodeHost {
  /** Its processes start with the first use. */
  readonly sandbox: Sandbox
  /** For the kernel, once its operations are known. */
  createCode(parts: Omit<HostDeps, 'fetch'>): Code
  /** What one invocation may ask of the service; from the kernel's start on. */
  readonly createHost: CreateSandboxHost
  close(): Promise<void>
}

export const createCodeHost = ({
  startSandbox,
  fetch,
}: {
  readonly startSandbox: () => Promise<Sandbox>
  readonly fetch: PluginContext['fetch']
}): CodeHost => {
  const sandbox = onDemand(startSandbox)
  let hosts: CreateSandboxHost | undefined
  const createHost: CreateSandboxHost = (of) => {
    if (hosts === undefined) throw new Error('code runs from the start of the kernel on')
    return hosts(of)
  }
  return {
    sandbox,
    createHost,
    createCode: (parts) => {
      hosts = createSandboxHosts({ ...parts, fetch })
      return createCode({ sandbox, createHost })
    },
    close: () => sandbox.close(),
  }
}

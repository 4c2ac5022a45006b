import { createLog } from '../../src/common/log.ts'
import { createMetrics } from '../../src/common/metrics.ts'
import type { SandboxStart } from '../../src/host-api/lazy-sandbox.ts'
import { type Confinement, detectConfinement } from '../../src/sandbox/parent/confinement.ts'
import { createSandbox } from '../../src/sandbox/sandbox.ts'
import type { Sandbox } from '../../src/sandbox/types.ts'
import { atProcessEnd } from './process-end.ts'

const log = createLog('test', 'silent')

let confinement: Promise<Confinement> | undefined
let sandbox: Promise<Sandbox> | undefined

/** Without run-files.ts nothing says when the process ends: its open sandbox would keep it from ending. */
const isShared = Symbol.for('sidevault.test.process') in globalThis

const started = (found: Confinement): Promise<Sandbox> =>
  createSandbox({ log, metrics: createMetrics() }, { confinement: found })

const shared = (found: Confinement): Promise<Sandbox> => {
  if (sandbox === undefined) {
    sandbox = started(found)
    atProcessEnd(async () => (await sandbox)?.close())
  }
  return sandbox
}

/** A sandbox for all services of a test process, whose start costs more than most tests. It ends with the process. */
export const sharedSandbox: SandboxStart = {
  confine: () => (confinement ??= detectConfinement([], log)),
  start: async (found) => (isShared ? { ...(await shared(found)), close: async () => {} } : started(found)),
}

import { AppError } from '../common/errors.ts'
import type { Json } from '../common/json.ts'
import type { Outcome, Sandbox, SandboxHost } from '../sandbox/types.ts'
import type { CodeRun } from '../sdk/index.ts'
import { runCode } from './code.ts'

/** What code is given that must not do anything: neither a request nor a call of the service leaves it. */
const idleHost = (sdk: boolean): SandboxHost => ({
  sdk,
  call: async (method) => {
    throw new AppError(
      'forbidden',
      `${method === 'fetch' ? method : `bt.${method}`} does nothing in a dry run.`,
    )
  },
})

/** `Code.run` without effects. `heard` is told console and times, also when it rejects. */
export const createRunIdle =
  (sandbox: Pick<Sandbox, 'run'>) =>
  (run: CodeRun, heard: (outcome: Outcome) => void): Promise<Json | undefined> =>
    runCode(sandbox, idleHost(run.applicationId !== undefined), run, heard)

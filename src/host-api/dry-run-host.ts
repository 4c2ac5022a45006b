import { AppError } from '../common/errors.ts'
import type { Json } from '../common/json.ts'
import type { Outcome, Sandbox, SandboxHost } from '../sandbox/types.ts'
import type { CodeRun } from '../sdk/index.ts'
import { runCode } from './code.ts'

/** A host that denies every request and call. */
const idleHost = (sdk: boolean): SandboxHost => ({
  sdk,
  call: async (method) => {
    throw new AppError(
      'forbidden',
      `${method === 'fetch' ? method : `bt.${method}`} is not available in a dry run.`,
    )
  },
})

/** `Code.run` without effects. `onOutcome` gets console and times, also before it rejects. */
export const createDryRunner =
  (sandbox: Pick<Sandbox, 'run'>, headerPrefixes: readonly string[]) =>
  (run: CodeRun, onOutcome: (outcome: Outcome) => void): Promise<Json | undefined> =>
    runCode(sandbox, idleHost(run.applicationId !== undefined), { ...run, headerPrefixes }, onOutcome)

import { join } from 'node:path'
import { codeOf } from '../../common/errors.ts'
import { loadConfig } from '../../config.ts'
import { PluginIssues } from '../../kernel/check/issues.ts'
import { StartError } from '../../supervisor/start-error.ts'
import { loadOperations } from '../operations.ts'
import { writeOperations } from './files.ts'

/** `sidevault proto`. Resolves with true if there are issues and nothing was written. */
export const writeProtos = async (
  env: NodeJS.ProcessEnv,
  options: { readonly config?: string; readonly out: string },
  print: (text: string) => void,
): Promise<boolean> => {
  try {
    const operations = await loadOperations(loadConfig(env, { file: options.config }))
    const { written, issues } = await writeOperations(operations, options.out).catch((error: unknown) => {
      const code = codeOf(error)
      if (!/^E[A-Z]+$/.test(code)) throw error
      throw new StartError(
        `"${options.out}" cannot be written (${code}). Name a folder that this user can write: --out <folder>.`,
      )
    })
    for (const name of written) print(`${join(options.out, name)}\n`)
    if (issues.length > 0)
      print(`Nothing was written, as existing clients would break:\n  ${issues.join('\n  ')}\n`)
    return issues.length > 0
  } catch (error) {
    if (!(error instanceof PluginIssues)) throw error
    print(`${error.message}\n`)
    return true
  }
}

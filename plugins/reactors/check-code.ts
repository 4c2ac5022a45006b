import { CodeCheck, checkCode } from '#kit'
import { defineOperation, type PluginContext } from '#sdk'
import * as examples from './examples.ts'
import { ReactorCode } from './schemas.ts'

/** The check of the code of a formula or reactor before it is saved. */
export const checkCodeOperation = (context: PluginContext) =>
  defineOperation({
    rpc: 'Reactors.CheckCode',
    http: 'POST /reactors/check-code',
    summary: 'Check whether code of a formula or reactor parses, without saving it',
    permission: 'reactor:read',
    audit: 'none',
    input: ReactorCode,
    output: CodeCheck,
    examples: examples.checkCode,
    run: async ({ code }, { caller }) => ({ warnings: await checkCode(context, caller.tenantId, { code }) }),
  })

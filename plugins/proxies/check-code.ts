import { CodeCheck, checkCode } from '#kit'
import { defineOperation, type PluginContext } from '#sdk'
import * as examples from './examples.ts'
import { codeMembers } from './input.ts'
import { ProxyCode } from './schemas.ts'

/** The check of transforms before they are saved. */
export const checkCodeOperation = (context: PluginContext) =>
  defineOperation({
    rpc: 'Proxies.CheckCode',
    http: 'POST /proxies/check-code',
    summary: 'Check whether transforms parse, without saving them',
    permission: 'proxy:read',
    audit: 'none',
    input: ProxyCode,
    output: CodeCheck,
    examples: examples.checkCode,
    run: async (input, { caller }) => ({
      warnings: await checkCode(context, caller.tenantId, codeMembers(input)),
    }),
  })

import {
  AppError,
  type Call,
  defineOperation,
  isoTime,
  listOf,
  newId,
  offsetPage,
  offsetQuery,
  type PluginContext,
  pageOf,
  type Static,
  Type,
} from 'sidevault/sdk'
import { isPassport } from './passport.ts'

/** The record of a check. Contains no data of the passport. */
export const Checks = {
  name: 'passport_checks',
  schema: Type.Object({
    id: Type.String(),
    token_id: Type.String(),
    expired: Type.Boolean(),
    checked_at: Type.Integer(),
  }),
  indexes: ['token_id'],
}

type Check = Static<typeof Checks.schema>

const CheckOutput = Type.Object({
  id: Type.String({ field: 1 }),
  token_id: Type.String({ field: 2 }),
  expired: Type.Boolean({ field: 3 }),
  checked_at: Type.String({ format: 'date-time', field: 4 }),
})

const shown = (check: Check) => ({ ...check, checked_at: isoTime(check.checked_at) })

const DAY_MS = 86_400_000

/** The operations on checks; a passport counts as expired `graceDays` after its date. */
export const checkOperations = (context: PluginContext, graceDays: number) => {
  const checks = context.records(Checks)

  /** Uses the caller's own grants: the vault authorizes and records the disclosure as for the proxy. */
  const expiryOf = async (tokenId: string, { caller, traceId, now }: Call): Promise<number> => {
    const used = await context.vault.use([tokenId], { caller, traceId, now })
    const token = used.get(tokenId)
    if (token?.type !== 'passport' || !isPassport(token.data))
      throw new AppError(
        'unprocessable',
        `The token "${tokenId}" is not a passport that this key may use. Name one that it may reveal.`,
      )
    return Date.parse(token.data.expires) + (graceDays + 1) * DAY_MS
  }

  return [
    defineOperation({
      rpc: 'PassportChecks.Create',
      http: 'POST /passport-checks',
      summary: 'Check whether a passport has expired',
      permission: 'passport:check',
      audit: { entity: 'passport_check', verb: 'create' },
      input: Type.Object({ token_id: Type.String({ maxLength: 400, field: 1 }) }),
      output: CheckOutput,
      status: 201,
      location: ({ id }) => `/passport-checks/${id}`,
      run: async ({ token_id }, call) => {
        const expired = (await expiryOf(token_id, call)) <= call.now
        const check = { id: newId(), token_id, expired, checked_at: call.now }
        await checks.insert(call.caller.tenantId, check)
        return shown(check)
      },
    }),
    defineOperation({
      rpc: 'PassportChecks.Get',
      http: 'GET /passport-checks/{id}',
      summary: 'Get a check',
      permission: 'passport:check',
      audit: 'none',
      input: Type.Object({ id: Type.String({ field: 1 }) }),
      output: CheckOutput,
      run: async ({ id }, call) => {
        const check = await checks.get(call.caller.tenantId, id)
        if (check === undefined) throw new AppError('not_found', `The check "${id}" does not exist.`)
        return shown(check)
      },
    }),
    defineOperation({
      rpc: 'PassportChecks.List',
      http: 'GET /passport-checks',
      summary: 'List checks, newest first',
      permission: 'passport:check',
      audit: 'none',
      input: Type.Object({ ...offsetQuery, token_id: Type.Optional(Type.String({ field: 3 })) }),
      output: listOf(CheckOutput),
      run: async ({ token_id, ...input }, call) => {
        const page = pageOf(input)
        const where = token_id === undefined ? {} : { where: { token_id } }
        const { items, total } = await checks.find(call.caller.tenantId, { ...page, ...where })
        return offsetPage(items.map(shown), total, page)
      },
    }),
  ]
}

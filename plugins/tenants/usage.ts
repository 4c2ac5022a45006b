import { defineOperation, isoTime, type PluginContext, Type } from '#sdk'
import * as examples from './examples.ts'

const TypeMetrics = Type.Object(
  {
    count: Type.Integer({ field: 1 }),
    last_created_at: Type.Optional(Type.String({ format: 'date-time', field: 2 })),
  },
  { title: 'TokenTypeMetrics' },
)

/** The interface's Tenant Usage Report, with `total_tokens` (completions §10). */
const UsageReport = Type.Object(
  {
    token_report: Type.Object(
      {
        metrics_by_type: Type.Record(Type.String(), TypeMetrics, { field: 1 }),
        included_monthly_active_tokens: Type.Integer({ field: 2 }),
        monthly_active_tokens: Type.Integer({ field: 3 }),
        total_tokens: Type.Integer({ field: 4 }),
      },
      { field: 1, title: 'TokenReport' },
    ),
  },
  { title: 'UsageReport' },
)

export const usageReport = (context: PluginContext, included: number) =>
  defineOperation({
    rpc: 'Tenants.GetUsage',
    http: 'GET /tenants/self/reports/usage',
    summary: 'Get the usage report of the tenant',
    permission: 'report:read',
    audit: 'none',
    input: Type.Object({}),
    output: UsageReport,
    examples: examples.usage,
    run: async (_input, { caller }) => {
      const { types, active } = await context.usage(caller.tenantId)
      return {
        token_report: {
          metrics_by_type: Object.fromEntries(
            types.map(({ type, count, last_created_at: at }) => [
              type,
              { count, ...(at > 0 ? { last_created_at: isoTime(at) } : {}) },
            ]),
          ),
          included_monthly_active_tokens: included,
          monthly_active_tokens: active,
          total_tokens: types.reduce((sum, { count }) => sum + count, 0),
        },
      }
    },
  })

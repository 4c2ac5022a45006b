import { Type } from 'typebox'
import { createLog } from '../../src/common/log.ts'
import { createMetrics } from '../../src/common/metrics.ts'
import { createExpressions } from '../../src/expressions/expressions.ts'
import { PluginIssues } from '../../src/kernel/check/issues.ts'
import { startKernel } from '../../src/kernel/kernel.ts'
import type { Contribution, Operation, Plugin, TokenType } from '../../src/sdk/index.ts'
import { testClock } from '../kit/service.ts'

type KernelOptions = Parameters<typeof startKernel>[1]

/** A plugin with this contribution. */
export const pluginOf = (
  contribution: unknown = {},
  rest: Partial<Record<keyof Plugin, unknown>> = {},
): Plugin =>
  ({
    api: 1,
    name: 'sample',
    version: '1.0.0',
    setup: () => contribution as Contribution,
    ...rest,
  }) as Plugin

export const operationOf = (rest: Partial<Record<keyof Operation, unknown>> = {}): Operation =>
  ({
    rpc: 'Things.Get',
    http: 'GET /things/{id}',
    summary: 'Get a thing',
    permission: 'any key',
    audit: 'none',
    input: Type.Object({ id: Type.String({ field: 1 }) }),
    output: Type.Object({ id: Type.String({ field: 1 }) }),
    run: async (input: { id: string }) => input,
    ...rest,
  }) as Operation

export const typeOf = (rest: Partial<Record<keyof TokenType, unknown>> = {}): TokenType =>
  ({
    name: 'locker',
    title: 'Locker',
    data: Type.Object({ code: Type.String(), pin: Type.Optional(Type.String()) }),
    container: '/lockers/',
    ...rest,
  }) as TokenType

/** A kernel without store and vault, to check plugins: with an issue nothing starts. */
export const startOverNothing = (plugins: KernelOptions['plugins'], options: Partial<KernelOptions> = {}) =>
  startKernel(
    {
      store: {} as never,
      keys: { mac: () => '', tenant: async () => ({}) as never },
      ingested: async () => {},
      checkDestination: () => {},
      headerPrefixes: ['SVC', 'BT'],
      clock: testClock(),
      log: createLog('test', 'silent'),
      metrics: createMetrics(),
      journal: { append: async () => {}, health: async () => {}, close: async () => {} },
      createExpressions,
      createVault: () => ({}) as never,
      createCode: () => ({}) as never,
      fetch: () => Promise.reject(new Error('nothing is fetched')),
      delegations: async () => [],
    },
    { plugins, pluginsDir: '/nowhere', ...options },
  )

/** The issues of a start as text; none when it starts. */
export const issuesOf = async (
  plugins: KernelOptions['plugins'],
  options: Partial<KernelOptions> = {},
): Promise<readonly string[]> => {
  try {
    await (await startOverNothing(plugins, options)).stop()
    return []
  } catch (thrown) {
    if (!(thrown instanceof PluginIssues)) throw thrown
    return thrown.issues.map(({ location: place, message, fix }) => `${place}: ${message} ${fix}`)
  }
}

import { eachRecord, managementPermission } from '#kit'
import { definePlugin, Type } from '#sdk'
import { createRequests } from './async-invocations.ts'
import { createCallbacks } from './callbacks.ts'
import { checkCodeOperation } from './check-code.ts'
import { Callbacks, Formulas, Reactors, Requests } from './collections.ts'
import { formulaOperations } from './formula-operations.ts'
import { createReact } from './react.ts'
import { reactOperations } from './react-operations.ts'
import { reactorOperations } from './reactor-operations.ts'

/** Seconds before each attempt to deliver a callback. */
const DELAYS = [0, 1, 5, 30, 120, 600]

/**
 * Reactor formulas and the reactors made of them (interface, "Reactor formulas"; completions §8). One plugin, so that a
 * reactor and its formula change in one commit.
 */
export const plugin = definePlugin({
  api: 1,
  name: 'reactors',
  version: '1.0.0',
  requires: ['applications', 'tokens'],
  config: Type.Object({
    callback_delays: Type.Array(Type.Number({ minimum: 0, maximum: 43_200 }), {
      minItems: 1,
      maxItems: 20,
      default: DELAYS,
      description: 'Seconds before each attempt to deliver a callback.',
    }),
    async_lease: Type.Number({
      minimum: 1,
      maximum: 600,
      default: 15,
      description:
        'Seconds after which a background invocation has failed when its process no longer renews its lease, and between two searches for overdue callbacks.',
    }),
  }),
  setup: (context) => {
    const react = createReact(context)
    const stopping = new AbortController()
    const { signal } = stopping
    const leaseMs = context.config.async_lease * 1_000
    const requests = createRequests(context, {
      react,
      deliver: (waiting, due) => callbacks.begin(waiting, due),
      leaseMs,
      signal,
    })
    const callbacks = createCallbacks(context, {
      delays: context.config.callback_delays.map((seconds) => seconds * 1_000),
      results: { of: requests.pending, drop: requests.drop, isRunning: requests.isRunning },
      signal,
    })
    return {
      operations: [
        ...formulaOperations(context),
        ...reactorOperations(context),
        ...reactOperations(context, react, requests),
        checkCodeOperation(context),
      ],
      collections: [Formulas, Reactors, Requests, Callbacks],
      ports: {
        reactors: {
          programs: react.programs,
          actingAs: async function* (tenantId, applicationIds) {
            const acting = eachRecord(context.records(Reactors), tenantId, { application_id: applicationIds })
            for await (const { id, name, application_id } of acting)
              if (application_id !== undefined)
                yield { id, name, applicationId: application_id, code: true, anonymous: false }
          },
        },
      },
      permissions: [
        managementPermission('reactor:create', 'Create reactors and reactor formulas'),
        managementPermission('reactor:read', 'Read reactors and reactor formulas'),
        managementPermission('reactor:update', 'Update reactors and reactor formulas'),
        managementPermission('reactor:delete', 'Delete reactors and reactor formulas'),
      ],
      start: () => callbacks.start(leaseMs),
      stop: async () => {
        stopping.abort()
        await requests.settled()
        await callbacks.settled()
      },
    }
  },
})

import { basename } from 'node:path'
import { AppError } from '../../common/errors.ts'
import type { Json } from '../../common/json.ts'
import { createLog } from '../../common/log.ts'
import { createMetrics } from '../../common/metrics.ts'
import { type Config, listenPorts } from '../../config.ts'
import { machineAddresses } from '../../control-plane/options.ts'
import { createOutbound } from '../../egress/fetch.ts'
import { trustBundle } from '../../egress/trust-bundle.ts'
import { BODY_LIMITS } from '../../gateway/body/limits.ts'
import { headerChanges } from '../../gateway/dry-run/changes.ts'
import { headerRules } from '../../gateway/headers.ts'
import { runTransform, type TransformName } from '../../gateway/transform/run.ts'
import { runCode } from '../../host-api/code.ts'
import { createSandbox } from '../../sandbox/sandbox.ts'
import type { Outcome } from '../../sandbox/types.ts'
import { type FixtureOptions, fixtureOf, readText } from './fixtures.ts'
import { createLocalHost } from './host.ts'
import { changesText, consoleText, failureText, timingText } from './report.ts'

export interface Printed {
  /** Prints the result of the code. */
  out(text: string): void
  /** Prints everything else. */
  err(text: string): void
}

const PROPERTY = { request: 'requestTransform', response: 'responseTransform' } as const

/**
 * Runs the code of a file on a message like a gateway, in the same sandbox, without a service. Resolves with true if it
 * returned a valid result. Rejects with FixtureError if it cannot be run.
 */
export const runFile = async (
  file: string,
  options: FixtureOptions,
  config: Pick<
    Config,
    | 'headerPrefixes'
    | 'egress'
    | 'listen'
    | 'apiListen'
    | 'opsListen'
    | 'forwardListen'
    | 'destinationTimeoutMs'
  >,
  print: Printed,
): Promise<boolean> => {
  const prefixes = headerRules(config.headerPrefixes)
  const { message, configuration } = await fixtureOf(options, prefixes)
  const direction = options.response ? 'response' : 'request'
  const code = readText(file)
  const { egress, destinationTimeoutMs: timeoutMs } = config
  const own = { addresses: machineAddresses(), ports: listenPorts(config) }
  const outbound = createOutbound({ egress, trust: await trustBundle(egress.ca), own, timeoutMs })
  const sandbox = await createSandbox(
    { log: createLog('transform', 'fatal'), metrics: createMetrics() },
    { children: 1 },
  )
  const host = createLocalHost(outbound.fetch)
  const name = basename(file)
  let outcome: Outcome | undefined
  let returned: Json | undefined
  const run = async (run: Parameters<typeof runCode>[2]) => {
    returned = await runCode(sandbox, host, { ...run, name }, (ended) => {
      outcome = ended
    })
    return returned
  }
  try {
    // Compiled before its first call, like stored code.
    await sandbox.warm([{ tenantId: 'local', name, code }])
    const transformed = await runTransform(`${direction}_transform` satisfies TransformName, message, {
      code: { run },
      proxy: {
        id: 'local',
        tenantId: 'local',
        destinationUrl: '',
        requireAuth: true,
        configuration,
        [PROPERTY[direction]]: code,
      },
      destination: { host: 'local', port: 443, method: 'POST', path: '/' },
      prefixes,
      exposeErrorMessages: true,
      traceId: 'local',
      signal: new AbortController().signal,
      limits: BODY_LIMITS,
    })
    print.out(`${JSON.stringify(returned, null, 2)}\n`)
    print.err(changesText(headerChanges(message.head, message.stripped ?? [], transformed.edits)))
    return true
  } catch (thrown) {
    if (!(thrown instanceof AppError)) throw thrown
    print.err(failureText(name, thrown, outcome))
    return false
  } finally {
    if (outcome !== undefined) print.err(consoleText(outcome) + timingText(outcome))
    await Promise.all([sandbox.close(), outbound.close()])
  }
}

import { startGrpc } from '../admin/grpc/server.ts'
import { startAdmin } from '../admin/server.ts'
import { systemClock } from '../common/clock.ts'
import type { Log } from '../common/log.ts'
import { programVersion } from '../common/version.ts'
import type { Config } from '../config.ts'
import { DEMO_HOST, demoFiles } from '../supervisor/demo-certificate.ts'
import { startDemoDestination } from '../supervisor/demo-destination.ts'
import { type ProcessStart, socketsIn } from '../supervisor/messages.ts'
import { createPurge } from '../vault/purge.ts'
import { type Foundation, openFoundation } from './foundation.ts'
import { install } from './install.ts'
import { machineOf } from './machine.ts'
import { startOperator } from './operator.ts'
import { type RunningRole, type Tell, WARM_AFTER_MS } from './running-role.ts'

const PURGE_MS = 5_000

/** Reactors that are compiled before anybody asks. */
const WARM_REACTORS = 50

const warmReactors = async ({ kernel, codeHost }: Foundation): Promise<void> =>
  codeHost.sandbox.warm((await kernel.registry.ports.reactors?.programs(WARM_REACTORS)) ?? [])

/** The admin process: management API, first tenant, ingest of the audit journals, purge, demo destination. */
export const startAdminRole = async (
  config: Config,
  start: ProcessStart,
  log: Log,
  tell: Tell = {},
): Promise<RunningRole> => {
  const foundation = await openFoundation(config, {
    name: 'admin',
    owner: true,
    listenPort: start.listen.port,
    trustBundle: start.settings.trustBundle,
    log,
    tell,
  })
  const { store, keys, kernel, metrics, upkeep } = foundation
  // Of several machines that start on one new store, one makes the first tenant.
  const installed = await store.alone('install', () =>
    install(foundation, { given: config.bootstrapKey, now: systemClock.now(), log }),
  )
  await upkeep.catchUp()
  upkeep.start()
  const purge = createPurge(
    {
      stores: [store.tokens, store.leftovers],
      clock: systemClock,
      time: store.time,
      log,
    },
    { intervalMs: PURGE_MS },
  )
  purge.start()
  const machine = machineOf(foundation, config, start, log)
  const { checks, sources } = machine
  const sockets = socketsIn(start.runDir, config.workers)
  const demo = start.demo ? await startDemoDestination(sockets.demo, demoFiles(start.runDir)) : undefined
  const admin = await startAdmin(
    { kernel, metrics, log, checks, sources },
    {
      listen: { socketPath: sockets.api },
      prefixes: config.headerPrefixes,
      version: programVersion(),
      bodyLimit: config.bodyLimit,
      admit: foundation.admit,
    },
  )
  const grpc = await startGrpc(
    { kernel, metrics, log, checks },
    {
      socketPath: sockets.grpc,
      prefixes: config.headerPrefixes,
      messageLimit: config.bodyLimit,
      admit: foundation.admit,
    },
  )
  const operator = await startOperator(
    {
      store,
      keys,
      credentials: kernel.registry.ports.credentials,
      journal: foundation.journal,
      clock: systemClock,
      log,
    },
    sockets.operator,
  )
  const warming = setTimeout(() => {
    warmReactors(foundation).catch((err: unknown) => {
      log.warn({ err }, 'reactors could not be made ready; each will be when it is first invoked')
    })
  }, WARM_AFTER_MS).unref()
  if (demo) log.debug({ host: DEMO_HOST }, 'demo destination runs')
  return {
    ...(installed === undefined ? {} : { installed }),
    take: async (next, trustBundle) => {
      await foundation.take(next, trustBundle)
      machine.take(next)
    },
    close: async () => {
      clearTimeout(warming)
      await Promise.all([admin.close(), grpc.close(), operator.close()])
      await demo?.close()
      await purge.stop()
      await upkeep.stop()
      await foundation.close()
    },
  }
}

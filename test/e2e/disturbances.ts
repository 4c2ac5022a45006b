/**
 * What may happen to replicas whose plugins have consumers: kills at each step of a batch and of a delivery, and frozen
 * processes.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { killQuietly } from '../../src/common/kill.ts'
import type { startReceivers } from '../kit/post-receiver.ts'
import type { PostgresServer } from '../kit/postgres.ts'
import type { Sidevault } from '../kit/sidevault.ts'
import { until } from '../kit/until.ts'
import { descendants } from '../supervisor/processes.ts'

type Receiver = Awaited<ReturnType<Awaited<ReturnType<typeof startReceivers>>['startReceiver']>>

interface World {
  /** The replicas as they run now. */
  readonly all: readonly Sidevault[]
  readonly postgres: Pick<PostgresServer, 'kill' | 'start'>
  readonly query: <R extends object>(text: string, values?: readonly unknown[]) => Promise<readonly R[]>
  /** `seq` of the newest log. */
  readonly newest: () => Promise<number>
  /** Of events. */
  readonly receiver: Receiver
  /** Of proxied calls. */
  readonly destination: Receiver
  /** Starts a killed replica again. */
  readonly restart: (at: number) => Promise<void>
  /** Resolves when the consumer waits at a step of a batch, with a function that lets it continue. */
  readonly hold: (step: Step) => Promise<() => void>
}

const STEPS = ['before', 'in', 'after'] as const
type Step = (typeof STEPS)[number]

interface Kill {
  readonly kill: () => Promise<void>
  readonly recover: () => Promise<void>
}

interface Disturbance {
  readonly name: string
  /** Resolves when all processes run again. */
  readonly disturb: () => Promise<void>
}

/** Proxied calls that reach a destination while one of three replicas does not ingest. */
const NOT_INGESTED = 30

const pidsOf = ({ pid }: Sidevault): readonly number[] => [pid, ...descendants(pid).map(({ pid }) => pid)]

export const disturbancesOf = ({
  all,
  postgres,
  query,
  newest,
  receiver,
  destination,
  restart,
  hold,
}: World): readonly Disturbance[] => {
  /** Of a task of a plugin: the replica whose process has the lease. */
  const holderAt = async (task: string): Promise<number> => {
    const has = 'select 1 from plugin_tasks where name = $1 and holder is not null'
    await until('a process has the lease', async () => (await query(has, [task])).length > 0)
    const sql = 'select holder from plugin_tasks where name = $1'
    const holder = (await query<{ holder: string }>(sql, [task]))[0]?.holder ?? ''
    return all.findIndex(({ dataDir }) =>
      holder.endsWith(readFileSync(join(dataDir, 'replica-id'), 'utf8').trim()),
    )
  }
  const adminOf = (at: number): number => {
    const admin = descendants(all[at]!.pid).find(({ command }) => command.includes('sidevault: admin'))
    if (admin === undefined) throw new Error('the replica has no admin process')
    return admin.pid
  }
  const killReplica = async (at: number, pids = pidsOf(all[at]!)) => {
    for (const pid of pids) killQuietly(pid)
    await all[at]!.kill()
  }

  /** Each gets the replica that has the lease; what it needs is there before it kills. */
  const victims: Readonly<Record<string, (at: number) => Kill>> = {
    'the process': (at) => {
      const pid = adminOf(at)
      return { kill: async () => killQuietly(pid), recover: async () => {} }
    },
    'its replica': (at) => {
      const pids = pidsOf(all[at]!)
      return { kill: () => killReplica(at, pids), recover: () => restart(at) }
    },
    PostgreSQL: () => ({ kill: postgres.kill, recover: postgres.start }),
  }
  /** Each waits for its moment in what a task does, and kills. */
  const moments: readonly (readonly [string, string, (kill: () => Promise<void>) => Promise<void>])[] = [
    ...STEPS.map(
      (step) =>
        [
          `${step} a batch`,
          'witness/rows',
          async (kill: () => Promise<void>) => {
            const release = await hold(step)
            await kill()
            release()
          },
        ] as const,
    ),
    [
      'while a receiver is waited for',
      'webhooks/events',
      async (kill) => {
        receiver.statuses.push(0)
        const before = receiver.posts.length
        await until('a request', () => receiver.posts.slice(before).some(({ status }) => status === 0))
        await kill()
      },
    ],
    [
      'before the outcome of a request is stored',
      'webhooks/events',
      async (kill) => {
        await receiver.arrived(receiver.posts.length + 1)
        await kill()
      },
    ],
  ]

  /** Freezes a replica with records that are not ingested until `condition` holds, and waits for them. */
  const freeze = async (at: number, condition: () => Promise<boolean>) => {
    process.kill(adminOf(at), 'SIGSTOP')
    const before = destination.posts.length
    await destination.arrived(before + NOT_INGESTED)
    const pids = pidsOf(all[at]!)
    for (const pid of pids) process.kill(pid, 'SIGSTOP')
    const frozenAt = Date.now()
    await until('the others continue', condition)
    const position = await newest()
    for (const pid of pids) process.kill(pid, 'SIGCONT')
    const sql = 'select 1 from logs where seq > $1 and created_at < $2 limit 1'
    await until('older rows arrive late', async () => (await query(sql, [position, frozenAt])).length > 0)
  }

  const others: readonly (readonly [string, (at: number) => Promise<void>])[] = [
    [
      'kill -9 of the replica; another one gets the lease',
      async (at) => {
        await killReplica(at)
        await until('another one has it', async () => (await holderAt('witness/rows')) !== at)
        await restart(at)
      },
    ],
    [
      'kill -9 of another replica',
      async (at) => {
        await killReplica((at + 1) % all.length)
        await restart((at + 1) % all.length)
      },
    ],
    [
      'a slow replica',
      async (at) => {
        const position = await newest()
        await freeze((at + 1) % all.length, async () => (await newest()) > position + 200)
      },
    ],
    [
      'a frozen process; another one gets the lease',
      (at) => freeze(at, async () => (await holderAt('witness/rows')) !== at),
    ],
  ]
  return [
    ...moments.flatMap(([when, task, at]) =>
      Object.entries(victims).map(([what, victim]) => ({
        name: `kill -9 of ${what} ${when}`,
        disturb: async () => {
          const { kill, recover } = victim(await holderAt(task))
          await at(kill)
          await recover()
        },
      })),
    ),
    ...others.map(([name, disturb]) => ({
      name,
      disturb: async () => disturb(await holderAt('witness/rows')),
    })),
  ]
}

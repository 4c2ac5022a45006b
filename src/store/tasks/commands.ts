import { defineCommand } from '../command.ts'
import type { Session } from '../session.ts'
import {
  allTasks,
  deleteTask,
  endLease,
  endLeases,
  endRun,
  leaseTask,
  newestLog,
  renewLease,
  startTask,
  taskByKey,
  upsertTask,
} from './statements.ts'
import type { LeasedTask, TaskKey, TaskRow, TaskRun, TaskStore } from './types.ts'

/** Small writes of the service, for which nothing large waits. */
const FACTS = {
  tenantOf: () => undefined,
  scope: 'service',
  isEffect: false,
  isMaintenance: false,
  movesCounters: false,
  destroysKeys: false,
} as const

export const registerTasks = defineCommand({
  name: 'tasks.register',
  run: async (
    session: Session,
    {
      tasks,
      now,
      purgeBefore,
    }: { readonly tasks: Parameters<TaskStore['register']>[0] } & Parameters<TaskStore['register']>[1],
  ): Promise<void> => {
    const isPresent = (row: TaskKey) => tasks.some(({ kind, name }) => kind === row.kind && name === row.name)
    for (const { kind, name, present_at } of await session.all(allTasks, {}))
      if (present_at < purgeBefore && !isPresent({ kind, name }))
        await session.run(deleteTask, { kind, name, before: purgeBefore })
    const newest = (await session.get(newestLog, {}))?.seq ?? 0
    for (const { kind, name, from } of tasks)
      await session.run(upsertTask, { kind, name, present_at: now, position: from === 'now' ? newest : 0 })
  },
  ...FACTS,
})

export const acquireTask = defineCommand({
  name: 'tasks.acquire',
  run: async (
    session: Session,
    lease: LeasedTask & { readonly holder: string; readonly now: number; readonly until: number },
  ): Promise<TaskRow | undefined> => {
    const { kind, name } = lease
    const acquired = await session.run(kind === 'job' ? startTask : leaseTask, lease)
    return acquired === 0 ? undefined : session.get(taskByKey, { kind, name })
  },
  ...FACTS,
})

export const renewTasks = defineCommand({
  name: 'tasks.renew',
  run: async (
    session: Session,
    { leases, until }: { readonly leases: readonly LeasedTask[]; readonly until: number },
  ): Promise<readonly boolean[]> => {
    const renewed: boolean[] = []
    for (const { kind, name, lease_number } of leases)
      renewed.push((await session.run(renewLease, { kind, name, lease_number, until })) > 0)
    return renewed
  },
  ...FACTS,
})

export const settleTask = defineCommand({
  name: 'tasks.settle',
  run: async (
    session: Session,
    { kind, name, lease_number, release, ...run }: LeasedTask & TaskRun,
  ): Promise<boolean> => {
    const task = { kind, name, lease_number }
    const written = await session.run(endRun, { ...task, ...run, position: run.position ?? null })
    if (written > 0 && release) await session.run(endLease, task)
    return written > 0
  },
  ...FACTS,
})

export const releaseTasks = defineCommand({
  name: 'tasks.release',
  run: async (session: Session, { holder }: { readonly holder: string }): Promise<void> => {
    await session.run(endLeases, { holder })
  },
  ...FACTS,
})

import type { Session } from '../session.ts'
import type { Writer } from '../writer.ts'
import { acquireTask, registerTasks, releaseTasks, renewTasks, settleTask } from './commands.ts'
import { allTasks, newestLog } from './statements.ts'
import type { TaskStore } from './types.ts'

export const createTaskStore = ({
  session,
  writer,
}: {
  readonly session: Session
  readonly writer: Writer
}): TaskStore => ({
  register: (tasks, times) => writer.write(registerTasks, { tasks, ...times }),
  state: async () => {
    const [tasks, newest] = await Promise.all([session.all(allTasks, {}), session.get(newestLog, {})])
    return { tasks, newest: newest?.seq ?? 0 }
  },
  acquire: ({ kind, name, lease_number }, lease) =>
    writer.write(acquireTask, { kind, name, lease_number, ...lease }),
  renew: (leases, until) => writer.write(renewTasks, { leases, until }),
  settle: ({ kind, name, lease_number }, run) =>
    writer.write(settleTask, { kind, name, lease_number, ...run }),
  release: (holder) => writer.write(releaseTasks, { holder }),
})

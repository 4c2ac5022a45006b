import type { Command } from './command.ts'
import { probeWrite } from './health.ts'
import { abandonRequest, abandonRequestsOf, beginRequest, finishRequest } from './idempotency/commands.ts'
import { addKeys, closeDataKeys, endRootChange, removeKeys, rewrapKeys } from './keys/commands.ts'
import { ingestLogs } from './logs/ingest.ts'
import { purgeDeletedTenant, purgeExpired } from './purge/commands.ts'
import { commitRecords } from './records/commit.ts'
import { replaceSealed } from './reencrypt/commands.ts'
import { acquireTask, registerTasks, releaseTasks, renewTasks, settleTask } from './tasks/commands.ts'
import { createTenant, deleteTenant, markEgressOnly, updateTenant } from './tenants/commands.ts'
import { associateTokens, dissociateTokens } from './tokens/associate.ts'
import { deleteOneToken, purgeDueTokens, updateOneToken } from './tokens/change.ts'
import { createTokens } from './tokens/create.ts'

/** Every command of the store: a writer thread knows only these. */
const commands: readonly Command[] = [
  createTokens,
  updateOneToken,
  deleteOneToken,
  purgeDueTokens,
  associateTokens,
  dissociateTokens,
  commitRecords,
  createTenant,
  updateTenant,
  markEgressOnly,
  deleteTenant,
  addKeys,
  rewrapKeys,
  closeDataKeys,
  removeKeys,
  endRootChange,
  replaceSealed,
  ingestLogs,
  registerTasks,
  acquireTask,
  renewTasks,
  settleTask,
  releaseTasks,
  beginRequest,
  finishRequest,
  abandonRequest,
  abandonRequestsOf,
  purgeExpired,
  purgeDeletedTenant,
  probeWrite,
]

const byName = new Map(commands.map((command) => [command.name, command]))

/** The command of this name. */
export const commandNamed = (name: string): Command => {
  const command = byName.get(name)
  if (command === undefined) throw new Error(`commands.ts does not list the command "${name}"`)
  return command
}

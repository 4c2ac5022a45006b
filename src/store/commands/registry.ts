import type { Session } from '../session.ts'
import { touchHealth } from './health.ts'
import { ingestLogs } from './logs-ingest.ts'
import { commitRecords } from './records-commit.ts'
import { addKeys, createTenant } from './tenants.ts'
import { deleteOneToken, purgeDue, updateOneToken } from './tokens-change.ts'
import { createTokens } from './tokens-create.ts'

/**
 * Every write of the store, by name. A command runs inside a transaction of its own; arguments and answer are plain
 * data, so that it can run on another thread. When it throws, nothing of it stays.
 */
export const commands = {
  'tokens.create': createTokens,
  'tokens.update': updateOneToken,
  'tokens.delete': deleteOneToken,
  'tokens.purge': purgeDue,
  'records.commit': commitRecords,
  'tenants.create': createTenant,
  'keys.add': addKeys,
  'logs.ingest': ingestLogs,
  'health.touch': (session: Session, _: Record<string, never>) => touchHealth(session),
} as const

export type CommandName = keyof typeof commands

export type Commands = {
  readonly [N in CommandName]: {
    readonly args: Parameters<(typeof commands)[N]>[1]
    readonly answer: Awaited<ReturnType<(typeof commands)[N]>>
  }
}

/** Runs one command by its name. */
export const runCommand = (session: Session, name: CommandName, args: unknown): Promise<unknown> =>
  (commands[name] as (session: Session, args: unknown) => Promise<unknown>)(session, args)

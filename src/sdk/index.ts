import type { Static, TSchema } from 'typebox'
import type { KeyProvider } from './key-provider.ts'
import type { Operation } from './operation.ts'
import type { Contribution, Plugin, PluginContext } from './plugin.ts'

export type { Static, TSchema } from 'typebox'

export { isoTime } from '../common/clock.ts'
export type { DestinationCount } from '../common/destination-counts.ts'
export { AppError, invalid } from '../common/errors.ts'
export { newId } from '../common/ids.ts'
export type { Json } from '../common/json.ts'
export { isObject } from '../common/json.ts'
export { Type } from '../common/json-schema.ts'
export type { RecentRequest } from '../common/request-ring.ts'
export { Secret } from '../common/secret.ts'
export type * from './access.ts'
export type * from './checks.ts'
export type * from './code.ts'
export type * from './collection.ts'
export type * from './consumers.ts'
export type * from './delegations.ts'
export * from './destinations.ts'
export type * from './health.ts'
export type * from './jobs.ts'
export type * from './key-provider.ts'
export * from './lists.ts'
export type * from './logs.ts'
export type * from './operation.ts'
export type * from './outbound.ts'
export type * from './plugin.ts'
export type * from './ports.ts'
export * from './schemas.ts'
export type * from './surfaces.ts'
export { TokenInput, TokenPatch } from './token-input.ts'
export type * from './token-type.ts'
export type * from './vault.ts'

/** A plugin module exports its plugin under the name `plugin`. The type of `context.config` is that of the schema. */
export const definePlugin = <C extends TSchema>(
  plugin: Omit<Plugin, 'config' | 'setup'> & {
    readonly config?: C
    setup(context: PluginContext<Static<C>>): Contribution | Promise<Contribution>
  },
): Plugin => plugin as Plugin

/** A key provider's module exports it under the name `keyProvider`. The type of `config` is that of the schema. */
export const defineKeyProvider = <C extends TSchema>(
  provider: Omit<KeyProvider<Static<C>>, 'config'> & { readonly config?: C },
): KeyProvider => provider as KeyProvider

/** Returns the declaration with its input and output types inferred. */
export const defineOperation = <I extends TSchema, O extends TSchema>(
  operation: Operation<I, O>,
): Operation<I, O> => operation

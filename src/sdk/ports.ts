import type { TSchema } from 'typebox'

/**
 * A port that a plugin opens to others, beside the built-in ones of `Ports`. Its name in the service is
 * `<plugin>/<name>`: `ports: { 'alarms/pager': { … } }` provides it, `context.port('alarms/pager')` finds the
 * provider. Its type is added to `Ports`: `declare module 'sidevault/sdk' { interface Ports { … } }`.
 */
export interface PortDeclaration {
  /** `[a-z][a-z0-9-]*`, at most 50, unique in its plugin. */
  readonly name: string
  /** Functions that a provider must give, by name. */
  readonly functions?: readonly string[]
  /** JSON Schema of an object: what else a provider gives. Its defaults are not set. */
  readonly schema?: TSchema
}

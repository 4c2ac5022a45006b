import type { Contribution, Operation, Plugin } from '../../sdk/index.ts'

/** A plugin and its contributions, each as kind and text. */
export interface PluginSummary {
  readonly name: string
  readonly version: string
  /** Its location, e.g. `plugins/card`. */
  readonly place: string
  readonly brings: readonly (readonly [kind: string, text: string])[]
}

/** `contribution`: undefined if the setup failed. `scheme`: scheme of its key provider. */
export const summaryOf = (
  { name, version }: Plugin,
  place: string,
  { contribution = {}, scheme }: { contribution: Contribution | undefined; scheme: string | undefined },
): PluginSummary => {
  const { tokenTypes = [], operations = [], filters = {}, collections = [] } = contribution
  const { permissions = [], ports = {} } = contribution
  return {
    name,
    version,
    place,
    brings: [
      ...tokenTypes.map((type) => ['token type', `${type.name} (${type.title}), ${type.container}`] as const),
      ...operations.map(
        ({ http, rpc, permission }: Operation) => ['operation', `${http} (${rpc}), ${permission}`] as const,
      ),
      ...Object.keys(filters).map((filter) => ['filter', filter] as const),
      ...collections.map((collection) => ['collection', collection.name] as const),
      ...permissions.map(({ type }) => ['permission', type] as const),
      ...Object.keys(ports).map((port) => ['port', port] as const),
      ...(scheme === undefined ? [] : [['root key', `${scheme}:…`] as const]),
    ],
  }
}

const KIND_WIDTH = 'collection'.length

/** `name version  place`, followed by the contributions. */
export const printSummary = ({ name, version, place, brings }: PluginSummary): string => {
  const lines = brings.map(([kind, text]) => `  ${kind.padEnd(KIND_WIDTH)}  ${text}\n`)
  return `${name} ${version}  ${place}\n${lines.join('') || '  nothing\n'}`
}

import type { Contribution, Operation, Plugin } from '../../sdk/index.ts'

/** A plugin and its contributions, each as kind and text. */
export interface PluginSummary {
  readonly name: string
  readonly version: string
  /** Its location, e.g. `plugins/card`. */
  readonly place: string
  readonly contributes: readonly { readonly kind: string; readonly text: string }[]
}

/** `contribution`: undefined if the setup failed. `scheme`: scheme of its key provider. */
export const summaryOf = (
  { name, version }: Plugin,
  place: string,
  { contribution = {}, scheme }: { contribution: Contribution | undefined; scheme: string | undefined },
): PluginSummary => {
  const { tokenTypes = [], operations = [], filters = {}, collections = [] } = contribution
  const {
    permissions = [],
    openPorts = [],
    ports = {},
    consumers = [],
    jobs = [],
    checks = [],
  } = contribution
  const each = (kind: string, texts: readonly string[]) => texts.map((text) => ({ kind, text }))
  return {
    name,
    version,
    place,
    contributes: [
      ...each(
        'token type',
        tokenTypes.map((type) => `${type.name} (${type.title}), ${type.container}`),
      ),
      ...each(
        'operation',
        operations.map(({ http, rpc, permission }: Operation) => `${http} (${rpc}), ${permission}`),
      ),
      ...each('filter', Object.keys(filters)),
      ...each(
        'collection',
        collections.map(({ name: collection }) => collection),
      ),
      ...each(
        'permission',
        permissions.map(({ type }) => type),
      ),
      ...each(
        'open port',
        openPorts.map((port) => `${name}/${port.name}`),
      ),
      ...each('port', Object.keys(ports)),
      ...each(
        'consumer',
        consumers.map((consumer) => `${consumer.name}, from ${consumer.from}`),
      ),
      ...each(
        'job',
        jobs.map((job) => `${job.name}, every ${job.every} s`),
      ),
      ...each(
        'check',
        checks.map(({ name, on, fail }) => `${name} (${on}), fails ${fail}`),
      ),
      ...each('root key', scheme === undefined ? [] : [`${scheme}:…`]),
    ],
  }
}

const KIND_WIDTH = 'collection'.length

/** `name version  place`, followed by the contributions. */
export const printSummary = ({ name, version, place, contributes }: PluginSummary): string => {
  const lines = contributes.map(({ kind, text }) => `  ${kind.padEnd(KIND_WIDTH)}  ${text}\n`)
  return `${name} ${version}  ${place}\n${lines.join('') || '  nothing\n'}`
}

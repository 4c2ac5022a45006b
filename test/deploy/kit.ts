import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { parseAllDocuments } from 'yaml'
import { settingNames, variableOf } from '../../src/config/schema.ts'
import { type Config, loadConfig } from '../../src/config.ts'
import { ROLES } from '../../src/supervisor/messages.ts'
import { directoryFor } from '../kit/directory.ts'
import { root } from '../kit/sources.ts'

// biome-ignore lint/suspicious/noExplicitAny: manifests of every shape
export type Manifest = any

export const textOf = (path: string): string => readFileSync(join(root, path), 'utf8')

/** The documents of a YAML text, with anchors and merges resolved. Throws on errors and duplicate keys. */
export const documentsOf = (text: string): readonly Manifest[] =>
  parseAllDocuments(text, { merge: true, uniqueKeys: true, version: '1.2' }).map((document) => {
    const [issue] = [...document.errors, ...document.warnings]
    if (issue) throw issue
    return document.toJS()
  })

/** Those of a file. */
export const manifestsOf = (path: string): readonly Manifest[] => documentsOf(textOf(path))

/** Instructions of the Dockerfile's stages with their arguments, continued lines joined. */
export const instructionsOf = (text: string): readonly { readonly name: string; readonly rest: string }[] =>
  text
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => ({ name: line.split(' ')[0] ?? '', rest: line.slice(line.indexOf(' ') + 1) }))

const FILES = ['SIDEVAULT_TLS_CERT', 'SIDEVAULT_TLS_KEY'] as const

/** The configuration that an environment makes, with every variable known; files of other machines are stood in for. */
export const configOf = (t: Test, environment: Readonly<Record<string, string>>): Config => {
  const known = new Set(settingNames.map(variableOf))
  for (const name of Object.keys(environment))
    if (name.startsWith('SIDEVAULT_')) t.ok(known.has(name), `${name} is a setting`)
  const directory = directoryFor(t)
  const standing = { ...environment }
  for (const name of FILES) {
    if (environment[name] === undefined) continue
    standing[name] = join(directory, name)
    writeFileSync(standing[name], '')
  }
  return loadConfig(standing)
}

/** The role that a container's command starts. */
export const roleOf = (t: Test, command: readonly string[]): string => {
  const [start, flag, role = ''] = command
  t.strictSame([start, flag], ['start', '--role'])
  t.ok((ROLES as readonly string[]).includes(role), `${role} is a role`)
  return role
}

const FOLDER = 'examples/kubernetes'
const VALUES = 'values.yaml'

/** Arguments of `helm` that print the manifests of the example. */
export const TEMPLATE = [
  ...['template', 'sidevault', 'charts/sidevault', '--namespace', 'sidevault'],
  ...['--values', `${FOLDER}/${VALUES}`],
]

/** Documents of the example's manifests. */
export const kubernetes = () => {
  const manifests = readdirSync(join(root, FOLDER))
    .filter((name) => name.endsWith('.yaml') && name !== VALUES)
    .flatMap((name) => manifestsOf(join(FOLDER, name)))
  const ofKind = (kind: string) => manifests.filter((manifest) => manifest.kind === kind)
  const secrets: ReadonlyMap<string, Manifest> = new Map(
    ofKind('Secret').map(({ metadata, stringData }) => [metadata.name, stringData]),
  )
  const pods: readonly Manifest[] = ofKind('Deployment').map(({ spec }) => spec.template)
  const containersOf = ({ spec }: Manifest): readonly Manifest[] => [
    ...(spec.initContainers ?? []),
    ...spec.containers,
  ]
  /** Our containers with their pods. */
  const ours = pods.flatMap((pod) =>
    containersOf(pod).flatMap((container) => (container.name === 'sidevault' ? [{ pod, container }] : [])),
  )
  return { manifests, ofKind, secrets, pods, containersOf, ours }
}

/** A container's variables, with those of secrets put in. */
export const environmentOf = (
  { env }: Manifest,
  secrets: ReadonlyMap<string, Manifest>,
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    env.map(({ name, value, valueFrom }: Manifest) => {
      const ref = valueFrom?.secretKeyRef
      return [name, value ?? secrets.get(ref.name)?.[ref.key]]
    }),
  )

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import formats from 'ajv-formats'
import t from 'tap'
import { sbomText } from '../../src/maintenance/production.ts'
import { createSbom, type PackageLock } from '../../src/maintenance/sbom.ts'
import { root } from '../kit/sources.ts'
import { textOf } from './kit.ts'

const SCHEMAS = join(root, 'node_modules/@cyclonedx/cyclonedx-library/res/schema')
const schemaOf = (name: string) =>
  JSON.parse(readFileSync(join(SCHEMAS, `${name}.SNAPSHOT.schema.json`), 'utf8'))

/** Errors by the schema of CycloneDX 1.6. */
const issuesOf = (sbom: unknown) => {
  const ajv = new Ajv({ strict: false, formats: { 'iri-reference': true, 'idn-email': true } })
  ;(formats as unknown as (ajv: Ajv) => void)(ajv)
  for (const name of ['spdx', 'jsf-0.82'])
    ajv.addSchema(schemaOf(name), `http://cyclonedx.org/schema/${name}.SNAPSHOT.schema.json`)
  const validate = ajv.compile(schemaOf('bom-1.6'))
  validate(sbom)
  return validate.errors ?? []
}

const committed = JSON.parse(textOf('sbom.cdx.json'))

t.test('sbom.cdx.json is that of the lock file and the pinned binaries', async (t) => {
  t.equal(textOf('sbom.cdx.json'), await sbomText(), 'run "npm run docs"')
})

t.test('sbom.cdx.json is valid CycloneDX 1.6', async (t) => {
  t.same(issuesOf(committed), [])
  t.not(issuesOf({ ...committed, components: [{ name: 'no type' }] }).length, 0, 'the schema rejects others')
  t.not(issuesOf({ ...committed, serialNumber: 'x' }).length, 0)
})

t.test('each production package is a component with hash, licence and dependencies', async (t) => {
  const { packages }: PackageLock = JSON.parse(textOf('package-lock.json'))
  const production = Object.entries(packages).filter(
    ([place, { dev, devOptional }]) => place && !dev && !devOptional,
  )
  t.ok(production.length > 100)
  const components = new Map<string, { hashes: unknown[]; licenses?: unknown[] }>(
    committed.components.map((each: { 'bom-ref': string }) => [each['bom-ref'], each]),
  )
  const refs = production.map(([place, { version }]) => {
    const name = place.slice(place.lastIndexOf('node_modules/') + 13)
    return `pkg:npm/${name.replace('@', '%40')}@${version}`
  })
  const binaries = ['linux-x64', 'linux-arm64'].flatMap((platform) => [
    `envoy-${platform}`,
    `node-${platform}`,
  ])
  t.same([...components.keys()].sort(), [...new Set([...refs, ...binaries])].sort())
  for (const [ref, { hashes, licenses }] of components)
    t.ok(hashes.length === 1 && licenses?.length === 1, ref)

  const edges = new Map<string, string[]>(
    committed.dependencies.map(({ ref, dependsOn }: { ref: string; dependsOn: string[] }) => [
      ref,
      dependsOn,
    ]),
  )
  const reached = new Set<string>()
  const visit = (ref: string) => {
    if (reached.has(ref)) return
    reached.add(ref)
    for (const next of edges.get(ref) ?? []) visit(next)
  }
  visit(committed.metadata.component['bom-ref'])
  t.same(
    [...components.keys()].filter((ref) => !reached.has(ref)),
    [],
    'all are reached from the program',
  )
})

t.test('a nested package is the dependency of its parent, another version that of the rest', async (t) => {
  const integrity = `sha512-${'A'.repeat(86)}==`
  const packages = {
    '': { dependencies: { a: '1', b: '1' } },
    'node_modules/a': {
      version: '1.0.0',
      integrity,
      license: '(MIT OR Apache-2.0)',
      dependencies: { b: '2' },
    },
    'node_modules/a/node_modules/b': {
      version: '2.0.0',
      integrity,
      license: 'MIT',
      dependencies: { c: '1' },
    },
    'node_modules/b': { version: '1.0.0', integrity, optionalDependencies: { absent: '1' } },
    'node_modules/c': { version: '1.0.0', integrity, optional: true },
    'node_modules/d': { version: '1.0.0', integrity, dev: true },
  }
  const sbom = createSbom(
    { name: 'x', version: '1.0.0', description: 'd' },
    { packages },
    { node: {}, envoy: {} },
  )
  t.same(issuesOf(sbom), [])
  t.match(sbom, {
    components: [
      { name: 'a', licenses: [{ expression: '(MIT OR Apache-2.0)' }] },
      { name: 'b', version: '1.0.0' },
      { name: 'b', version: '2.0.0' },
      { name: 'c', scope: 'optional' },
    ],
    dependencies: [
      { ref: 'pkg:npm/x@1.0.0', dependsOn: ['pkg:npm/a@1.0.0', 'pkg:npm/b@1.0.0'] },
      { ref: 'pkg:npm/a@1.0.0', dependsOn: ['pkg:npm/b@2.0.0'] },
      { ref: 'pkg:npm/b@2.0.0', dependsOn: ['pkg:npm/c@1.0.0'] },
      { ref: 'pkg:npm/b@1.0.0', dependsOn: [] },
      { ref: 'pkg:npm/c@1.0.0', dependsOn: [] },
    ],
  })
})

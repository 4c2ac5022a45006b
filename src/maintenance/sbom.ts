import { createHash } from 'node:crypto'
import type { Bootstrap } from './production.ts'

/** An entry of `packages` in package-lock.json. */
interface LockedPackage {
  readonly version?: string
  readonly integrity?: string
  readonly license?: string
  readonly dev?: boolean
  readonly devOptional?: boolean
  readonly optional?: boolean
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

export interface PackageLock {
  readonly packages: Readonly<Record<string, LockedPackage>>
}

/** The pinned binaries of a bundle, by platform. */
interface PinnedBinaries {
  readonly node: Bootstrap['NODE_BINARIES']
  readonly envoy: Bootstrap['ENVOY_BINARIES']
}

const FOLDER = 'node_modules/'

/** Places of the packages that run in production, e.g. `node_modules/pino`. */
export const productionPlaces = ({ packages }: PackageLock): readonly string[] =>
  Object.keys(packages).filter((place) => {
    const { dev, devOptional } = packages[place] ?? {}
    return place !== '' && !dev && !devOptional
  })

/** `@grpc/grpc-js` for `node_modules/@grpc/reflection/node_modules/@grpc/grpc-js`. */
const nameOf = (place: string): string => place.slice(place.lastIndexOf(FOLDER) + FOLDER.length)

/** https://github.com/package-url/purl-spec */
const purlOf = (place: string, { version }: LockedPackage): string =>
  `pkg:npm/${nameOf(place).replace('@', '%40')}@${version}`

const sha512 = (integrity = '') => ({
  alg: 'SHA-512',
  content: Buffer.from(integrity.replace(/^sha512-/, ''), 'base64').toString('hex'),
})

const licenseOf = (license: string) =>
  /^[\w.+-]+$/.test(license) ? { license: { id: license } } : { expression: license }

const packageComponent = (place: string, entry: LockedPackage) => {
  const [name, group] = nameOf(place).split('/').reverse()
  return {
    type: 'library',
    'bom-ref': purlOf(place, entry),
    ...(group === undefined ? {} : { group }),
    name,
    version: entry.version,
    ...(entry.optional ? { scope: 'optional' } : {}),
    hashes: [sha512(entry.integrity)],
    ...(entry.license === undefined ? {} : { licenses: [licenseOf(entry.license)] }),
    purl: purlOf(place, entry),
  }
}

const binaryComponents = ({ node, envoy }: PinnedBinaries) => [
  ...Object.entries(envoy).map(([platform, { version, sha256 }]) => ({
    type: 'application',
    'bom-ref': `envoy-${platform}`,
    name: 'envoy',
    version,
    hashes: [{ alg: 'SHA-256', content: sha256 }],
    licenses: [licenseOf('Apache-2.0')],
    cpe: `cpe:2.3:a:envoyproxy:envoy:${version}:*:*:*:*:*:*:*`,
    properties: [{ name: 'sidevault:platform', value: platform }],
  })),
  ...Object.entries(node).map(([platform, { name, version, integrity }]) => ({
    type: 'application',
    'bom-ref': `node-${platform}`,
    name: 'node',
    version,
    hashes: [sha512(integrity)],
    licenses: [licenseOf('MIT')],
    cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:-:*:*:*`,
    purl: `pkg:npm/${name}@${version}`,
    properties: [{ name: 'sidevault:platform', value: platform }],
  })),
]

/** References of the packages that Node finds for the dependencies of `place`: the nearest node_modules wins. */
const dependenciesOf = (packages: PackageLock['packages'], place: string): readonly string[] => {
  const { dependencies, optionalDependencies, peerDependencies } = packages[place] ?? {}
  const names = Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })
  return names.flatMap((name) => {
    for (let folder = place; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf(`/${FOLDER}`)))) {
      const candidate = `${folder === '' ? '' : `${folder}/`}${FOLDER}${name}`
      const entry = packages[candidate]
      if (entry !== undefined) return entry.dev || entry.devOptional ? [] : [purlOf(candidate, entry)]
      if (folder === '') return []
    }
  })
}

const byRef = (one: { 'bom-ref': string }, other: { 'bom-ref': string }) =>
  one['bom-ref'] < other['bom-ref'] ? -1 : 1

/** A UUID (RFC 9562, version 8) that depends on the content only. */
const serialNumberOf = (content: unknown): string => {
  const hex = createHash('sha256').update(JSON.stringify(content)).digest('hex')
  return `urn:uuid:${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/**
 * The software bill of materials (CycloneDX 1.6, JSON): Node, Envoy and the production packages. It depends on its
 * arguments only: no time, no random number.
 */
export const createSbom = (
  { name, version, description }: { readonly name: string; readonly version: string; description: string },
  { packages }: PackageLock,
  binaries: PinnedBinaries,
): object => {
  const places = productionPlaces({ packages })
  const own = binaryComponents(binaries)
  const all = [...own, ...places.map((place) => packageComponent(place, packages[place] ?? {}))]
  const components = [...new Map(all.map((each) => [each['bom-ref'], each])).values()].sort(byRef)

  const root = `pkg:npm/${name}@${version}`
  const edges = new Map<string, Set<string>>([[root, new Set(own.map((each) => each['bom-ref']))]])
  for (const place of ['', ...places]) {
    const ref = place === '' ? root : purlOf(place, packages[place] ?? {})
    const uses = edges.get(ref) ?? new Set()
    for (const dependency of dependenciesOf(packages, place)) uses.add(dependency)
    edges.set(ref, uses)
  }
  const dependencies = [...edges].map(([ref, uses]) => ({ ref, dependsOn: [...uses].sort() }))

  const component = { type: 'application', 'bom-ref': root, name, version, description }
  const content = { metadata: { component }, components, dependencies }
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: serialNumberOf(content),
    version: 1,
    ...content,
  }
}

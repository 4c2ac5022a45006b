import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Contribution, Json, Plugin, PluginContext, TokenType } from '#sdk'
import { openApi } from '../../src/admin/openapi/document.ts'
import { createExpressions } from '../../src/expressions/expressions.ts'
import { type Issue, issuesAt } from '../../src/kernel/check/issues.ts'
import { checkOperation } from '../../src/kernel/check/operation.ts'
import { checkConfig, checkPlugins } from '../../src/kernel/check/plugin.ts'
import { checkTokenType } from '../../src/kernel/check/token-type.ts'
import { createTokenTypes } from '../../src/vault/token-types.ts'
import type { TokenTypeExamples } from './plugin-examples.ts'

const expressions = createExpressions()

/** A kernel whose services must not be used yet: reading any of them throws. */
const closedKernel = (config: unknown): PluginContext =>
  new Proxy({ config } as unknown as PluginContext, {
    get: (target, name) => {
      if (name === 'config') return target.config
      throw new Error(`setup used kernel.${String(name)}`)
    },
  })

/** The contribution of a plugin with its default configuration. */
export const contributionOf = async (plugin: Plugin): Promise<Contribution> => {
  const issues: Issue[] = []
  const config = checkConfig(plugin, undefined, issues)
  if (issues.length > 0) throw new Error(`${plugin.name} has no default configuration`)
  return plugin.setup(closedKernel(config))
}

const scalars = (value: Json): string[] =>
  typeof value === 'object' && value !== null
    ? Object.values(value).flatMap((item) => scalars(item as Json))
    : [String(value)]

const tokenTypeContract = (t: Test, type: TokenType, examples: TokenTypeExamples | undefined) => {
  const compiled = createTokenTypes(() => new Map([[type.name, type]])).get(type.name)
  if (compiled === undefined || examples === undefined) {
    t.fail(`${type.name} has examples`)
    return
  }
  const accept = (data: Json): Json => {
    const outcome = compiled.accept(data)
    if ('issues' in outcome) throw new Error(`rejected: ${JSON.stringify(outcome.issues)}`)
    return outcome.data
  }
  const render = (expression: string, data: Json) =>
    expressions.parseStored(expression).render({ data, metadata: {} })

  t.test('its declaration has no issue', async (t) => {
    const issues: Issue[] = []
    checkTokenType(type, expressions, issuesAt(type.name, issues))
    t.same(issues, [])
  })

  t.test('it accepts its examples, and normalization is idempotent', async (t) => {
    t.ok(examples.valid.length > 0)
    for (const { data, stored } of examples.valid) {
      const before = structuredClone(data)
      const accepted = accept(data)
      t.strictSame(accepted, stored ?? data)
      t.strictSame(accept(accepted), accepted)
      t.strictSame(data, before, 'what was handed in is as it was')
    }
  })

  t.test('it accepts the documented examples', async (t) => {
    t.ok(type.examples?.length)
    for (const data of type.examples ?? []) accept(data)
  })

  t.test('invalid data is rejected at its place, without the value', async (t) => {
    for (const { data, at } of examples.invalid) {
      const outcome = compiled.accept(data)
      if (!('issues' in outcome)) {
        t.fail(`accepted ${JSON.stringify(data)}`)
        continue
      }
      t.ok(
        outcome.issues.some((issue) => issue.at === at),
        `issue at "${at}" for ${JSON.stringify(data)}`,
      )
      const reported = JSON.stringify(outcome.issues)
      for (const value of scalars(data)) if (value.length > 3) t.notOk(reported.includes(value), reported)
    }
  })

  t.test('its mask shows the intended parts only', async (t) => {
    for (const { data, masked } of examples.valid)
      t.strictSame(
        type.mask === undefined ? undefined : expressions.evaluateMask(type.mask, { data: accept(data) }),
        masked,
      )
  })

  t.test('its fingerprint is equal for equal values, and different for others', async (t) => {
    const groups = examples.fingerprints.map((group) =>
      group.map((data) => render(compiled.fingerprint, accept(data))),
    )
    for (const group of groups) t.equal(new Set(group).size, 1)
    t.equal(new Set(groups.map(([first]) => first)).size, groups.length)
    for (const [text] of groups) t.ok(text, 'a fingerprint is made of something')
  })

  t.test('its search indexes return the terms by which the value is found', async (t) => {
    for (const { data, indexes = [] } of examples.valid)
      t.strictSame(
        compiled.searchIndexes.map((expression) => render(expression, accept(data))),
        indexes,
      )
  })
}

/** Import specifiers of a module's text. */
const imports = (text: string): string[] => [...text.matchAll(/\bfrom '([^']+)'/g)].map((match) => match[1]!)

interface ContractInput {
  readonly folder: string
  readonly plugin: Plugin
  /** Permissions that any plugin declares. */
  readonly permissions: ReadonlySet<string>
  readonly examples: Readonly<Record<string, TokenTypeExamples>>
}

/** Contract of every plugin, built-in or not. */
export const pluginContract = (t: Test, input: ContractInput): void => {
  const { folder, plugin, permissions, examples } = input

  t.test(`plugin ${plugin.name}`, async (t) => {
    t.test('its top-level declaration has no issue', async (t) => {
      const issues: Issue[] = []
      // Alone: the plugins that it requires are not in this list.
      checkPlugins([{ place: folder, value: { ...plugin, requires: [] } }], issues)
      t.same(issues, [])
    })

    t.test('it imports #sdk, #kit, packages, modules of Node and its own files', async (t) => {
      for (const file of readdirSync(folder).filter((name) => name.endsWith('.ts')))
        for (const specifier of imports(readFileSync(join(folder, file), 'utf8')))
          t.ok(
            /^#(sdk|kit)$/.test(specifier) || /^(\.\/[\w-]+\.ts|(node:)?[a-z@][\w@/-]*)$/.test(specifier),
            `${file}: ${specifier}`,
          )
    })

    t.test('setup only declares: it uses no service, and gives the same result twice', async (t) => {
      const [first, second] = [await contributionOf(plugin), await contributionOf(plugin)]
      t.same(JSON.stringify(first), JSON.stringify(second))
      const provides = existsSync(join(folder, 'key-provider.ts'))
      t.ok(Object.keys(first).length > 0 || provides, 'it brings something')
    })

    const { operations = [], tokenTypes = [], permissions: own = [] } = await contributionOf(plugin)

    if (operations.length > 0) {
      t.test('its operations have no issue, each field number once', async (t) => {
        const issues: Issue[] = []
        for (const operation of operations)
          checkOperation(operation, permissions, issuesAt(operation.rpc, issues))
        t.same(issues, [])
      })

      t.test('its operations can be printed as OpenAPI', async (t) => {
        const { paths } = openApi({ operations, tokenTypes: new Map() }, { prefix: 'SVC', version: '1.0.0' })
        for (const { http, summary } of operations) {
          const [method, path] = http.split(' ') as [string, string]
          t.equal(paths[path]?.[method.toLowerCase()]?.summary, summary, http)
        }
        t.notMatch(JSON.stringify(paths), /"field":/, 'proto field numbers stay out of it')
      })
    }

    if (own.length > 0)
      t.test(
        'each of its permissions is described, with the application types that may hold it',
        async (t) => {
          for (const { type, description, application_types } of own) {
            t.match(type, /^[a-z]+(:[a-z]+){1,2}$/)
            t.ok(description.length > 5 && application_types.length > 0, type)
          }
        },
      )

    for (const type of tokenTypes)
      t.test(`token type ${type.name}`, async (t) => tokenTypeContract(t, type, examples[type.name]))
  })
}

import { isObject } from '../../common/json.ts'
import { html } from '../docs/html.ts'
import type { OpenApi, OpenApiOperation } from './types.ts'

const code = (text: unknown) => `<code>${html(text)}</code>`

const alternatives = (schema: Record<string, unknown>): Record<string, unknown>[] =>
  [schema.anyOf ?? schema.oneOf ?? []].flat().filter(isObject)

/** A schema in a few words: "string", "array of string", "string or null". */
const typeName = (schema: unknown): string => {
  if (!isObject(schema)) return 'any'
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => JSON.stringify(value)).join(' or ')
  const choices = alternatives(schema)
  if (choices.length > 0) return [...new Set(choices.map(typeName))].join(' or ')
  if (schema.type === 'array') return `array of ${typeName(schema.items)}`
  if (schema.type === 'object' && schema.properties === undefined) return 'map'
  if (typeof schema.format === 'string') return `${schema.type} (${schema.format})`
  return schema.type === undefined ? 'any' : [schema.type].flat().join(' or ')
}

const LIMITS: readonly (readonly [string, string])[] = [
  ['default', 'default'],
  ['minimum', 'at least'],
  ['maximum', 'at most'],
  ['minLength', 'characters at least'],
  ['maxLength', 'characters at most'],
  ['maxItems', 'items at most'],
  ['pattern', 'matches'],
]

const notes = (schema: unknown): string => {
  if (!isObject(schema)) return ''
  const limits = LIMITS.filter(([name]) => schema[name] !== undefined).map(
    ([name, words]) => `${words} ${code(JSON.stringify(schema[name]))}`,
  )
  return [...(typeof schema.description === 'string' ? [html(schema.description)] : []), ...limits].join('; ')
}

/** The members of a schema and of those below it, one row each: `rules[].priority`. */
const memberRows = (schema: unknown, path = '', depth = 0): string[] => {
  if (!isObject(schema) || depth > 6) return []
  const required = Array.isArray(schema.required) ? schema.required : []
  const own = Object.entries(isObject(schema.properties) ? schema.properties : {}).flatMap(
    ([name, child]) => {
      const place = path === '' ? name : `${path}.${name}`
      const mark = required.includes(name) ? '' : ' <span class="note">optional</span>'
      return [
        `<tr><td>${code(place)}${mark}</td><td>${html(typeName(child))}</td><td>${notes(child)}</td></tr>`,
        ...memberRows(child, place, depth + 1),
      ]
    },
  )
  const items = isObject(schema.items) ? memberRows(schema.items, `${path}[]`, depth + 1) : []
  return [...own, ...items, ...alternatives(schema).flatMap((choice) => memberRows(choice, path, depth + 1))]
}

const table = (title: string, rows: readonly string[]) =>
  rows.length === 0
    ? ''
    : `<h3>${html(title)}</h3><div class="scroll"><table><tr><th>name</th><th>type</th><th></th></tr>${rows.join('')}</table></div>`

const schemaSection = (title: string, schema: unknown): string => {
  const rows = memberRows(schema)
  return rows.length > 0
    ? table(title, rows)
    : `<h3>${html(title)}</h3><p>${html(typeName(schema))} ${notes(schema)}</p>`
}

const statusRows = (operation: OpenApiOperation) =>
  Object.keys(operation.responses)
    .filter((status) => status !== 'default')
    .map((status) => code(status))
    .join(', ')

const json = (value: unknown) => `<pre><code>${html(JSON.stringify(value, null, 2))}</code></pre>`

const contentIn = (holder: unknown): Record<string, unknown> => {
  const content =
    isObject(holder) && isObject(holder.content) ? holder.content['application/json'] : undefined
  return isObject(content) ? content : {}
}

/** The parts of each example together again, under its summary. */
const exampleSections = (operation: OpenApiOperation): string => {
  const sections = new Map<string, { summary: string; parts: string[] }>()
  const add = (examples: unknown, show: (value: unknown) => string) => {
    for (const [name, example] of Object.entries(isObject(examples) ? examples : {})) {
      const { summary, value } = example as { summary: string; value: unknown }
      const section = sections.get(name) ?? { summary, parts: [] }
      section.parts.push(show(value))
      sections.set(name, section)
    }
  }
  for (const { name, examples } of operation.parameters ?? [])
    add(examples, (value) => `<div>${code(name)}: ${code(JSON.stringify(value))}</div>`)
  add(contentIn(operation.requestBody).examples, (value) => `<div>Body</div>${json(value)}`)
  for (const [status, response] of Object.entries(operation.responses))
    add(contentIn(response).examples, (value) => `<div>Response ${code(status)}</div>${json(value)}`)
  return [...sections.values()]
    .map(({ summary, parts }) => `<h3>Example: ${html(summary)}</h3>${parts.join('')}`)
    .join('\n')
}

const operationSection = (method: string, path: string, operation: OpenApiOperation): string => {
  const parameters = (operation.parameters ?? []).map(
    ({ name, in: place, required, schema }) =>
      `<tr><td>${code(name)} <span class="note">${place}${required ? '' : ', optional'}</span></td>` +
      `<td>${html(typeName(schema))}</td><td>${notes(schema)}</td></tr>`,
  )
  const body = operation.requestBody && Object.entries(operation.requestBody.content)
  const [, success] = Object.entries(operation.responses).find(([status]) => status.startsWith('2')) ?? []
  const { schema } = contentIn(success)
  return `<details id="${html(operation.operationId)}"><summary><b class="method">${method.toUpperCase()}</b> ${code(path)} — ${html(operation.summary)}${operation.deprecated ? ' <span class="note">deprecated</span>' : ''}</summary><div>
${operation.description === undefined ? '' : `<p>${html(operation.description)}</p>`}
<p>Permission: ${code(operation['x-permission'])}. Statuses: ${statusRows(operation)}. RPC: ${code(operation.operationId)}.${operation['x-cross-origin'] ? ' Open to pages of allowed origins.' : ''}</p>
${table('Parameters', parameters)}
${body ? schemaSection(`Body (${body.map(([type]) => type).join(', ')})`, body[0]![1].schema) : ''}
${schema === undefined ? '' : schemaSection('Response', schema)}
${exampleSections(operation)}
</div></details>`
}

/** Data of tokens by type: the schemas named `data.<type>`. */
const tokenTypeSections = (document: OpenApi): string => {
  const sections = Object.entries(document.components.schemas ?? {}).flatMap(([name, schema]) => {
    if (!name.startsWith('data.') || !isObject(schema)) return []
    const examples = Array.isArray(schema.examples) ? schema.examples.map(json).join('') : ''
    return [
      `<details id="${html(name)}"><summary>${code(name.slice('data.'.length))} — ${html(schema.title)}</summary><div>
${schemaSection('Data', schema)}
${examples === '' ? '' : `<h3>Examples</h3>${examples}`}
</div></details>`,
    ]
  })
  return sections.length === 0
    ? ''
    : `<section><h2 id="token-types">Token types</h2>\n${sections.join('\n')}\n</section>`
}

/** The operations and token types of a document, grouped by tag, as HTML. */
export const apiContent = (document: OpenApi): string => {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  const sections = document.tags.map(({ name }) => {
    const own = operations.filter(({ operation }) => operation.tags.includes(name))
    return `<section><h2 id="tag-${html(name)}">${html(name)}</h2>
${own.map(({ method, path, operation }) => operationSection(method, path, operation)).join('\n')}
</section>`
  })
  const key = document.components.securitySchemes?.ApiKey
  return `<h1>${html(document.info.title)} API <span class="note">${html(document.info.version)}</span></h1>
<p>${html(document.info.description)} Calls carry an API key in the header ${code(isObject(key) ? key.name : '')}.
The same as data: <a href="/openapi.json">/openapi.json</a>.</p>
<nav class="tags">${document.tags.map(({ name }) => `<a href="#tag-${html(name)}">${html(name)}</a>`).join('')}<a href="#token-types">Token types</a></nav>
${sections.join('\n')}
${tokenTypeSections(document)}`
}

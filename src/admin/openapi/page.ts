import { createHash } from 'node:crypto'
import { isObject } from '../../common/json.ts'
import type { OpenApi, OpenApiOperation } from './types.ts'

const STYLE = `
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent); --soft: color-mix(in srgb, currentColor 6%, transparent); }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 62rem; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; } h2 { border-bottom: 1px solid var(--line); margin-top: 2.5rem; }
nav { columns: 16rem; margin: 1rem 0; } nav a { display: block; text-decoration: none; }
details { border: 1px solid var(--line); border-radius: 6px; margin: .5rem 0; } details > div { padding: 0 1rem 1rem; }
summary { cursor: pointer; padding: .5rem 1rem; } summary:hover { background: var(--soft); }
code { font: 13px/1.5 ui-monospace, monospace; } b.method { display: inline-block; min-width: 4.2rem; }
table { border-collapse: collapse; width: 100%; } th { text-align: left; font-weight: 600; }
td, th { border-bottom: 1px solid var(--line); padding: .25rem .5rem .25rem 0; vertical-align: top; }
pre { background: var(--soft); border-radius: 6px; margin: .25rem 0; overflow-x: auto; padding: .5rem .75rem; white-space: pre-wrap; }
h3 { font-size: 1rem; margin: 1rem 0 .25rem; } .note { opacity: .7; }
`

/** Nothing but this page's own style may load: no script, no picture, no frame, no form. */
export const PAGE_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

const html = (text: unknown): string =>
  String(text).replaceAll(/[&<>"']/g, (character) => ESCAPES[character]!)

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
    : `<h3>${html(title)}</h3><table><tr><th>name</th><th>type</th><th></th></tr>${rows.join('')}</table>`

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
    add(contentIn(response).examples, (value) => `<div>Answer ${code(status)}</div>${json(value)}`)
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
  return `<details id="${html(operation.operationId)}"><summary><b class="method">${method.toUpperCase()}</b> ${code(path)} — ${html(operation.summary)}</summary><div>
${operation.description === undefined ? '' : `<p>${html(operation.description)}</p>`}
<p>Permission: ${code(operation['x-permission'])}. Statuses: ${statusRows(operation)}. RPC: ${code(operation.operationId)}.</p>
${table('Parameters', parameters)}
${body ? schemaSection(`Body (${body.map(([type]) => type).join(', ')})`, body[0]![1].schema) : ''}
${schema === undefined ? '' : schemaSection('Answer', schema)}
${exampleSections(operation)}
</div></details>`
}

/** What tokens of each type hold: the schemas named `data.<type>`. */
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

/** The operations and token types of a document on one page, grouped by tag; complete in itself, no script. */
export const docsPage = (document: OpenApi): string => {
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
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${html(document.info.title)} API</title><style>${STYLE}</style></head><body>
<h1>${html(document.info.title)} API <span class="note">${html(document.info.version)}</span></h1>
<p>${html(document.info.description)} Calls carry an API key in the header ${code(isObject(key) ? key.name : '')}.
The same as data: <a href="/openapi.json">/openapi.json</a>.</p>
<nav>${document.tags.map(({ name }) => `<a href="#tag-${html(name)}">${html(name)}</a>`).join('')}<a href="#token-types">Token types</a></nav>
${sections.join('\n')}
${tokenTypeSections(document)}
</body></html>
`
}

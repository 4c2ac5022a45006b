import { type CallOptions, queryText } from '../api/client.ts'

/** A call as a program. The key is the variable `SIDEVAULT_API_KEY` of the environment, never a key. */
interface Snippet {
  readonly method: string
  readonly path: string
  readonly query?: CallOptions['query']
  /** A string is sent as it is, anything else as JSON. */
  readonly body?: unknown
  /** Headers besides the key. With a body, `content-type` is JSON unless it is among them. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Origin of the service: `https://vault.example`. */
  readonly origin: string
  /** Prefix of the service's headers: `SVC`. */
  readonly prefix: string
}

export type SnippetLanguage = 'curl' | 'fetch' | 'Python'

const urlOf = ({ origin, path, query }: Snippet): string => `${origin}${path}${queryText(query)}`

const shell = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

const literal = (text: string): string =>
  JSON.stringify(text).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')

const headersOf = ({ body, headers = {} }: Snippet): readonly (readonly [name: string, value: string])[] => {
  const hasType = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type')
  return Object.entries({
    ...(body === undefined || hasType ? {} : { 'content-type': 'application/json' }),
    ...headers,
  })
}

/** The body as text, in a list; empty without one. */
const bodyOf = ({ body }: Snippet): readonly string[] =>
  body === undefined ? [] : [typeof body === 'string' ? body : JSON.stringify(body)]

const curl = (snippet: Snippet): string =>
  [
    `curl${snippet.method === 'GET' ? '' : ` -X ${snippet.method}`} ${shell(urlOf(snippet))}`,
    `-H "${snippet.prefix}-API-KEY: $SIDEVAULT_API_KEY"`,
    ...headersOf(snippet).map(([name, value]) => `-H ${shell(`${name}: ${value}`)}`),
    ...bodyOf(snippet).map((body) => `--data-raw ${shell(body)}`),
  ].join(' \\\n  ')

const fetchCall = (snippet: Snippet): string =>
  [
    `const response = await fetch(${literal(urlOf(snippet))}, {`,
    ...(snippet.method === 'GET' ? [] : [`  method: ${literal(snippet.method)},`]),
    `  headers: {`,
    `    ${literal(`${snippet.prefix}-API-KEY`)}: process.env.SIDEVAULT_API_KEY,`,
    ...headersOf(snippet).map(([name, value]) => `    ${literal(name)}: ${literal(value)},`),
    '  },',
    ...(snippet.body === undefined
      ? []
      : typeof snippet.body === 'string'
        ? [`  body: ${literal(snippet.body)},`]
        : [`  body: JSON.stringify(${JSON.stringify(snippet.body, null, 2).replaceAll('\n', '\n  ')}),`]),
    '})',
    'const result = await response.json()',
  ].join('\n')

const python = (snippet: Snippet): string =>
  [
    'import json, os, urllib.request',
    '',
    'request = urllib.request.Request(',
    `    ${literal(urlOf(snippet))},`,
    `    method=${literal(snippet.method)},`,
    `    headers={${literal(`${snippet.prefix}-API-KEY`)}: os.environ["SIDEVAULT_API_KEY"]${headersOf(snippet)
      .map(([name, value]) => `, ${literal(name)}: ${literal(value)}`)
      .join('')}},`,
    ...bodyOf(snippet).map((body) => `    data=${literal(body)}.encode(),`),
    ')',
    'with urllib.request.urlopen(request) as response:',
    '    result = json.load(response)',
  ].join('\n')

export const SNIPPETS: Readonly<Record<SnippetLanguage, (snippet: Snippet) => string>> = {
  curl,
  fetch: fetchCall,
  Python: python,
}

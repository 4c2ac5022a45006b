import type { StoredProxy } from '../proxies/types.ts'
import { type Draft, headerOf } from './call.ts'

/** Where the API evaluates expressions of a call (spec/completions.md §6 and §13). Pure functions. */

/** A text around the caret. */
interface Caret {
  readonly before: string
  /** What an insertion replaces. */
  readonly selected: string
  readonly after: string
}

type Writer = (expression: string) => string

/** How an expression is written in each kind of place, or why none may be there. */
const PLACES = {
  /** Inside a JSON string. */
  string: (expression) => JSON.stringify(expression).slice(1, -1),
  /** A JSON value, with quotes of its own. */
  value: (expression) => JSON.stringify(expression),
  /** In a form, the path or the query. */
  encoded: (expression) => expression.replaceAll(/[%&+?#/]/g, encodeURIComponent),
  text: (expression) => expression,
  outside:
    'Expressions stand inside a JSON string: put the caret between quotes, or where a value may stand.',
  name: 'Names are not evaluated: put the caret into a value.',
  expression: 'The caret is inside another expression: put it before or after that one.',
  binary: 'Bodies of this content type are not evaluated.',
} as const satisfies Readonly<Record<string, Writer | string>>

type Place = keyof typeof PLACES

const isInExpression = (text: string): boolean => text.lastIndexOf('{{') > text.lastIndexOf('}}')

/** A place in JSON, or in lines of JSON, that may be incomplete. */
const placeInJson = ({ before, selected, after }: Caret): Place => {
  const rest = before.replaceAll(/"(?:[^"\\]|\\.)*"/gs, 's')
  const quote = rest.indexOf('"')
  const outside = (quote < 0 ? rest : rest.slice(0, quote)).trimEnd()
  const open: string[] = []
  for (const [bracket] of outside.matchAll(/[[\]{}]/g))
    if (/[[{]/.test(bracket)) open.push(bracket)
    else open.pop()
  const last = outside.at(-1)
  if (quote < 0) {
    const mayBegin = last === undefined || /[:[]/.test(last) || (last === ',' && open.at(-1) === '[')
    const isOne = /^\s*(?:"(?:[^"\\]|\\.)*"|[^\s",:[\]{}]*)\s*$/s.test(selected)
    return mayBegin && isOne && /^\s*(?:[,\]}]|$)/.test(after) ? 'value' : 'outside'
  }
  const text = rest.slice(quote + 1)
  if (!/^(?:[^"\\]|\\.)*$/s.test(text) || !/^(?:[^"\\]|\\.)*$/s.test(selected)) return 'outside'
  if (open.at(-1) === '{' && last !== ':') return 'name'
  return isInExpression(text) ? 'expression' : 'string'
}

const TEXTS = /^text\/|^multipart\/form-data|xml|csv|graphql|script|yaml|toml|sql|edi(?:fact|-x12)/i

const placeInBody = (caret: Caret, contentType: string): Place => {
  if (/json/i.test(contentType)) return placeInJson(caret)
  if (/x-www-form-urlencoded/i.test(contentType))
    return placeBehind('=', caret.before.split('&').at(-1), 'encoded')
  if (!TEXTS.test(contentType)) return 'binary'
  return isInExpression(caret.before) ? 'expression' : 'text'
}

/** A place behind the sign that ends a name. */
const placeBehind = (sign: string, text = '', place: Place): Place =>
  !text.includes(sign) ? 'name' : isInExpression(text) ? 'expression' : place

/** Headers that are no surface. */
const NEVER =
  /^header:(?:content-|host$|forwarded$|x-forwarded-|via$|trace|x-request-id$|expect$|x-envoy-|.*proxy-)/

/** Surface and place of the caret in a field of the form; undefined: no surface of the call. */
const surfaceAt = (
  name: keyof Draft,
  caret: Caret,
  contentType: string,
): readonly [surface: string, place: Place] | undefined => {
  const { before } = caret
  if (name === 'body') return ['body', placeInBody(caret, contentType)]
  if (name === 'headers') {
    const line = before.split('\n').at(-1) ?? ''
    return [`header:${line.replace(/:.*/s, '').trim().toLowerCase()}`, placeBehind(':', line, 'text')]
  }
  if (name !== 'path') return undefined
  const [, query] = before.split(/\?(.*)/s)
  if (query === undefined) return ['path', placeBehind('', before, 'encoded')]
  const pair = query.split('&').at(-1)
  return [`query:${[...new URLSearchParams(pair).keys()][0]}`, placeBehind('=', pair, 'encoded')]
}

/** Surfaces that a call evaluates; undefined: those of a proxy that this key may not read. */
const surfacesOf = (draft: Draft, proxy: StoredProxy | undefined): readonly string[] | undefined => {
  if (proxy === undefined && draft.proxyKey !== '') return undefined
  const named = proxy?.evaluate ?? headerOf(draft, /-proxy-evaluate$/i)?.split(',') ?? ['body']
  return named.flatMap((text) => {
    const surface = text.trim().replace(/^header:.*/i, (header) => header.toLowerCase())
    return surface === '' ? [] : [surface]
  })
}

interface Call {
  readonly draft: Draft
  readonly proxy?: StoredProxy | undefined
  /** Prefix of the service's headers. */
  readonly prefix: string
}

/** How an expression is written at the caret of a field, or a sentence that says why none may stand there. */
export const placeOf = (name: keyof Draft, caret: Caret, { draft, proxy, prefix }: Call): Writer | string => {
  const found = surfaceAt(name, caret, headerOf(draft, /^content-type$/i) ?? 'application/json')
  if (found === undefined || NEVER.test(found[0]))
    return 'Expressions stand in the body, in most headers, in the path and in the query, and not here.'
  const [surface, place] = found
  const written: Writer | string = PLACES[place]
  const surfaces = surfacesOf(draft, proxy)
  if (typeof written === 'string' || surfaces === undefined || surfaces.includes(surface)) return written
  const advice =
    proxy === undefined
      ? `Add the header ${prefix}-PROXY-EVALUATE: ${[...surfaces, surface].join(', ')}`
      : `Add ${surface} on the page of the proxy, or choose another place.`
  return `This call evaluates ${surfaces.join(', ') || 'nothing'}, and not ${surface}. ${advice}`
}

/** Expressions in headers of a proxied request (completions §13). */
import { mapInTurns } from '../../common/event-loop.ts'
import type { Json } from '../../common/json.ts'
import { badExpression } from '../../expressions/errors.ts'
import type { Resolve, Template } from '../../expressions/types.ts'
import { Bytes } from '../../expressions/values.ts'
import type { VariablePath, Variables } from '../../expressions/variables.ts'
import type { Work } from '../../expressions/work.ts'
import type { StoredProxy, Surface } from '../../sdk/index.ts'
import { checkHead, type Edits, type Head, type HeaderRules } from '../headers.ts'
import { isHidden } from '../transform/headers.ts'
import { parseHeaderLine } from './encoded-text.ts'
import { inSurface, type SurfaceText } from './surface-text.ts'

/** The headers of a request, and what its expressions there may read. */
export interface HeaderSource {
  readonly head: Head
  /** Names that are not forwarded. */
  readonly stripped: readonly string[]
  readonly prefixes: HeaderRules
  readonly proxy: StoredProxy | undefined
  /** True when the body is streamed, so that no header may depend on it. */
  readonly streamed: boolean
}

export interface HeadersPlan {
  readonly texts: readonly SurfaceText[]
  /** Headers that hold what they read of the body. */
  readonly copies: readonly Surface[]
  /** Lines with braces that are not evaluated. */
  readonly closed: readonly { readonly place: string; readonly text: string }[]
  /**
   * Adds the evaluated headers to the edits of a request with this body. A header that a transform changed keeps what
   * the transform returned, which is data. Rejects with `invalid_expression` and `headers_too_large`.
   */
  apply(edits: Edits, body: Buffer, resolve: Resolve, work: Work): Promise<Edits>
}

const mayHold = (lines: readonly string[]): boolean => lines.some((line) => line.includes('{{'))

const utf8Of = (line: string): string => Buffer.from(line, 'latin1').toString('utf8')

/** Throws `invalid_expression` for a variable that the request does not have. */
const checkVariable = (
  [scope, kind, name]: VariablePath,
  { proxy, streamed }: HeaderSource,
  evaluated: ReadonlySet<string>,
): void => {
  if (scope === 'configuration' && proxy === undefined)
    throw badExpression('Only requests to a stored proxy have a configuration.')
  if (kind === 'body' && streamed)
    throw badExpression(
      'A header depends on the body, which is streamed. Send the request without streaming.',
    )
  if (kind === 'headers' && name !== undefined && evaluated.has(name))
    throw badExpression('A header reads another one that holds an expression itself.')
}

/** Joined lines of a header as it goes out: as the edits have it, else as the caller sent it. */
const lineOf = (
  name: string,
  { head, stripped }: HeaderSource,
  { set, remove }: Edits,
): string | undefined => {
  const lines =
    set.get(name) ?? (remove.includes(name) || stripped.includes(name) ? undefined : head.get(name))
  return lines === undefined ? undefined : utf8Of([lines].flat().join(', '))
}

export const planHeaders = (
  source: HeaderSource,
  surfaces: readonly Surface[],
  parse: (expression: string, seen: (path: VariablePath) => void) => Template,
): HeadersPlan => {
  const { head, stripped, prefixes, proxy } = source
  const lines = new Map<string, SurfaceText[]>()
  const closed: { place: string; text: string }[] = []
  const used: VariablePath[] = []
  const copies = new Set<Surface>()
  head.forEach((values, name) => {
    if (name.startsWith(':') || stripped.includes(name) || !mayHold(values)) return
    const surface: Surface = `header:${name}`
    if (!surfaces.includes(surface)) for (const text of values) closed.push({ place: surface, text })
    else {
      const read = (text: string) =>
        parse(text, (path) => {
          used.push(path)
          if (path[1] === 'body') copies.add(surface)
        })
      lines.set(
        name,
        values.map((value) => inSurface(surface, () => parseHeaderLine(value, read))),
      )
    }
  })
  const evaluated = new Set(lines.keys())
  for (const path of used) checkVariable(path, source, evaluated)

  const variablesOf = (edits: Edits, body: Buffer): Variables => {
    const headers: Record<string, string> = Object.create(null)
    for (const [, kind, name] of used) {
      if (kind !== 'headers' || name === undefined || isHidden(name, prefixes)) continue
      const value = lineOf(name, source, edits)
      if (value !== undefined) headers[name] = value
    }
    const configuration = (proxy?.configuration ?? {}) as Readonly<Record<string, Json>>
    return { request: { body: new Bytes(body), headers }, configuration }
  }

  return {
    texts: [...lines.values()].flat(),
    copies: [...copies],
    closed,
    apply: async (edits, body, resolve, work) => {
      if (lines.size === 0) return edits
      const set = new Map(edits.set)
      const variables = variablesOf(edits, body)
      for (const [name, texts] of lines)
        if (!edits.set.has(name) && !edits.remove.includes(name))
          set.set(name, await mapInTurns(texts, (text) => text.print(resolve, work, variables)))
      checkHead(new Map([...head, ...[...set].map(([name, value]) => [name, [value].flat()] as const)]))
      return { ...edits, set }
    },
  }
}

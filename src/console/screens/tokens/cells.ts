import type { Token } from '../../api/types.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { isObject } from '../../kit/json.ts'

const SHOWN = 80

const cut = (text: string): string => {
  const characters = Array.from(text.slice(0, 4 * SHOWN))
  return characters.length > SHOWN ? `${characters.slice(0, SHOWN - 1).join('')}…` : text
}

/** Masked data in one line. */
const summaryOf = (data: unknown): string => {
  if (typeof data === 'string') return cut(data)
  if (!isObject(data)) return cut(JSON.stringify(data) ?? '')
  const { number, expiration_month: month, expiration_year: year } = data
  if (typeof number === 'string')
    return cut(
      [number, ...(month === undefined || year === undefined ? [] : [`${month}/${year}`])].join('  '),
    )
  return cut(
    Object.entries(data)
      .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
      .join(', '),
  )
}

/** Data may be large, and views are made again as time passes. */
const summaries = new WeakMap<object, string>()

/** Data of a response that was asked for as masked; a token without a mask has none. */
export const maskedData = (token: Pick<Token, 'data'>): TemplateResult => {
  if (token.data === undefined) return html`<span class="soft">no mask</span>`
  const text = summaries.get(token) ?? summaryOf(token.data)
  summaries.set(token, text)
  return html`<code class="one-line">${text}</code>`
}

/** Entries of a row. */
const CHIPS = 2

/** The first entries of metadata. */
export const metadataChips = ({ metadata = {} }: Pick<Token, 'metadata'>): TemplateResult => {
  const entries = Object.entries(metadata)
  return html`<span class="chips"
    >${entries.slice(0, CHIPS).map(([key, value]) => html`<span class="chip" title=${`${key}: ${value}`}>${cut(key)}: ${cut(value)}</span>`)}${
      entries.length > CHIPS ? html`<span class="soft">+ ${entries.length - CHIPS}</span>` : nothing
    }</span
  >`
}

import type { Token } from '../../api/types.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { isObject } from '../../kit/json.ts'

const SHOWN = 80

const cut = (text: string): string => {
  const characters = Array.from(text.slice(0, 4 * SHOWN))
  return characters.length > SHOWN ? `${characters.slice(0, SHOWN - 1).join('')}…` : text
}

/** Data as text: a text as it is, else JSON. */
export const dataText = (data: unknown, indent?: number): string =>
  typeof data === 'string' ? data : (JSON.stringify(data, null, indent) ?? '')

/** Masked data in one line. */
const summaryOf = (data: unknown): string => {
  if (!isObject(data)) return dataText(data)
  const { number, expiration_month: month, expiration_year: year } = data
  if (typeof number !== 'string')
    return Object.entries(data)
      .map(([name, value]) => `${name}: ${dataText(value)}`)
      .join(', ')
  return month === undefined || year === undefined ? number : `${number}  ${month}/${year}`
}

/** Data may be large, and views are made again as time passes. */
const summaries = new WeakMap<object, string>()

/** Data of a response that was asked for as masked; a token without a mask has none. */
export const maskedData = (token: Pick<Token, 'data'>): TemplateResult => {
  if (token.data === undefined) return html`<span class="soft">no mask</span>`
  const text = summaries.get(token) ?? cut(summaryOf(token.data))
  summaries.set(token, text)
  return html`<code class="one-line">${text}</code>`
}

/** Entries of a row. */
const CHIPS = 2

/** The first entries of metadata. */
export const metadataChips = ({ metadata = {} }: Pick<Token, 'metadata'>): TemplateResult => {
  const entries = Object.entries(metadata)
  const chips = entries
    .slice(0, CHIPS)
    .map(
      ([key, value]) =>
        html`<span class="chip" title=${`${key}: ${value}`}>${cut(key)}: ${cut(value)}</span>`,
    )
  const more = entries.length - CHIPS
  return html`<span class="chips">${chips}${more > 0 ? html`<span class="soft">+ ${more}</span>` : nothing}</span>`
}
